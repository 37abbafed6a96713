"""The time of a selection, and the predicted time of fits on more rows."""

from collections.abc import Sequence

from likewise._compilation import clock

_MAX_FACTOR = 2.0**20
_HALVINGS = 50


class Budget:
    """Seconds that a selection may use, without those of compilation.

    Examples
    --------
    >>> budget = Budget(60.0)
    >>> 0 < budget.left() <= 60
    True
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadline = clock() + seconds

    def left(self) -> float:
        """Return the seconds left, below zero after the end."""
        return self._deadline - clock()


def predicted_seconds(seconds: float, growth: float, factor: float) -> float:
    """Return the predicted time, on `factor` times as many rows, of a fit that took `seconds`."""
    return float(seconds * factor**growth)


def affordable_factor(costs: Sequence[tuple[float, float]], available: float) -> float:
    """Return on how many times as many rows several fits take the available time together.

    Parameters
    ----------
    costs : sequence of (seconds, growth)
        Time of each fit, and the power of the number of rows with which it grows.
    available : float
        Seconds that may be used.

    Examples
    --------
    >>> affordable_factor([(2.0, 1.0), (1.0, 0.0)], 9.0)
    4.0
    """
    low, high = 0.0, _MAX_FACTOR
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        total = sum(predicted_seconds(*cost, middle) for cost in costs)
        low, high = (middle, high) if total <= available else (low, middle)
    return round(low, 6)
