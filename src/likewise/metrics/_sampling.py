"""Sampling error of a mean."""

import numpy as np

from likewise._validation import check_number, check_whole_number


def sampling_error(
    n_sampled: int, n_all: int, *, span: float = 1.0, confidence: float = 0.95
) -> float:
    """Return a bound on the error of a sample's mean that holds with the given probability.

    The bound of Hoeffding and Serfling (1974) for draws without replacement, which assumes only the
    range of the values.

    Parameters
    ----------
    n_sampled, n_all : int
        Number of values drawn, and of all values.
    span : float, default=1.0
        The largest possible value minus the smallest.
    confidence : float, default=0.95

    Examples
    --------
    >>> from likewise.metrics import sampling_error
    >>> round(sampling_error(5000, 60_000), 3)
    0.018
    """
    check_whole_number(n_sampled, "n_sampled")
    check_whole_number(n_all, "n_all", minimum=n_sampled)
    check_number(span, "span", minimum=0)
    if not 0 < check_number(confidence, "confidence", minimum=0) < 1:
        raise ValueError(f"confidence must lie between 0 and 1, but {confidence} was given.")
    if n_sampled == n_all:
        return 0.0
    not_sampled = 1 - (n_sampled - 1) / n_all
    return float(span * np.sqrt(not_sampled * np.log(2 / (1 - confidence)) / (2 * n_sampled)))
