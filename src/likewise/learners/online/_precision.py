"""The eigenvalues that a covariance may have in single and in double precision."""

from typing import Any

import numpy as np

from likewise._validation import check_number

# Largest eigenvalue of an inverse covariance for which rounding changes W by less than a
# thousandth: measured on digits, the relative error of W is about eps times that eigenvalue.
_LIMITS = {np.dtype(np.float32): 1e5, np.dtype(np.float64): 1e13}


class PrecisionBound:
    """Upper bound on the eigenvalues of an inverse covariance, which updates only increase.

    Rounding of a covariance moves its eigenvalues by about the machine epsilon. One that should be
    smaller becomes negative, and what is learned in its direction is noise.

    Parameters
    ----------
    value : float, optional
        The bound; unknown by default, as after loading a file of an earlier edition.
    """

    def __init__(self, value: float | None = None) -> None:
        self._value = value

    @classmethod
    def from_file(cls, value: Any) -> "PrecisionBound":
        """Return a bound that was stored; a wrong one only costs or loses precision."""
        return cls(None if value is None else check_number(value, "bound", minimum=0))

    def for_file(self) -> float | None:
        """Return the bound, so that a loaded learner changes its precision when this one would."""
        return self._value if self._value is not None and np.isfinite(self._value) else None

    def allows(self, growth: float, covariance: np.ndarray) -> bool:
        """Return whether the precision of `covariance` may grow by `growth` in its dtype.

        The bound adds up growths in different directions. Where it reaches the limit, it is
        replaced by the eigenvalue itself, which then must leave room for more.
        """
        limit = _LIMITS[covariance.dtype]
        if self._value is None or self._value + growth > limit:
            self._value = largest_precision(covariance)
            if self._value > limit / 2 or self._value + growth > limit:
                return False
        self._value += growth
        return True


def largest_precision(covariance: np.ndarray) -> float:
    """Return the largest eigenvalue of the inverse; infinity if it is not positive definite."""
    from scipy.linalg import eigvalsh

    smallest = eigvalsh(covariance.astype(np.float64), subset_by_index=[0, 0])[0]
    return float(1 / smallest) if smallest > 0 else np.inf


def fits_single(covariance: np.ndarray) -> bool:
    """Return whether a covariance can be stored in single precision and learned with."""
    return largest_precision(covariance) <= _LIMITS[np.dtype(np.float32)] / 2
