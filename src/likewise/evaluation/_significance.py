"""Significance of differences between estimators on the same splits."""

from collections.abc import Sequence

import numpy as np


def corrected_p_value(differences: np.ndarray, test_share: float) -> float:
    """Return the p-value of the mean of paired differences, one for each split.

    The paired t-test of Nadeau and Bengio (2003): splits share training rows, so the variance of
    the mean difference is (1/n_splits + n_test/n_train) times that of a single split. NaN for one
    split, and where all differences are equal: neither has a variance to compare the mean with.

    Parameters
    ----------
    differences : ndarray of shape (n_splits,)
    test_share : float
        Number of test rows per training row.
    """
    from scipy.stats import t

    mean, n = float(differences.mean()), len(differences)
    if abs(mean) < 1e-12:
        return 1.0
    if n < 2 or np.allclose(differences, differences[0]):
        return float("nan")
    variance = differences.var(ddof=1) * (1 / n + test_share)
    return float(2 * t.sf(abs(mean) / np.sqrt(variance), df=n - 1))


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Return p-values adjusted for the number of tests (Holm, 1979); NaN is no test.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


def p_value_text(p: float) -> str:
    """Return a p-value with three decimals; never zero."""
    return "–" if np.isnan(p) else "<0.001" if p < 0.0005 else f"{p:.3f}"
