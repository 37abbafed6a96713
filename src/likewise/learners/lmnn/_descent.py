"""Limited-memory BFGS whose function may change a little between steps."""

from collections import deque
from collections.abc import Callable

import numpy as np

_SUFFICIENT_DECREASE = 1e-4
_MOST_HALVINGS = 25


class Descent:
    """A minimiser that is stepped from outside.

    scipy's L-BFGS-B owns its loop: what it has learned of the curvature is lost whenever the
    function is replaced, as LMNN does with every new list of impostors. Here it is kept.

    Parameters
    ----------
    function : callable from an array to (value, gradient)
    start : ndarray
    memory : int, default=10
        How many past steps tell of the curvature.

    Attributes
    ----------
    x, value, gradient : the current point
    """

    def __init__(
        self,
        function: Callable[[np.ndarray], tuple[float, np.ndarray]],
        start: np.ndarray,
        memory: int = 10,
    ) -> None:
        self._function = function
        self._past: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=memory)
        self.x = start
        self.value, self.gradient = function(start)

    def revalue(self) -> None:
        """Evaluate the current point again, after the function has changed."""
        self.value, self.gradient = self._function(self.x)

    def move_to(self, x: np.ndarray) -> None:
        """Go on from another point; what is known of the curvature is forgotten."""
        self._past.clear()
        self.x = x
        self.revalue()

    def step(self) -> bool:
        """Go one step down; False where none is found, which is at a minimum up to rounding."""
        direction = self._direction()
        slope = float(np.vdot(self.gradient, direction))
        if slope >= 0:  # the curvature has misled it: start afresh
            self._past.clear()
            direction = self._direction()
            slope = float(np.vdot(self.gradient, direction))
        if not slope < 0:
            return False
        length = 1.0
        for _ in range(_MOST_HALVINGS):
            x = self.x + length * direction
            value, gradient = self._function(x)
            if value <= self.value + _SUFFICIENT_DECREASE * length * slope:
                self._remember(x - self.x, gradient - self.gradient)
                self.x, self.value, self.gradient = x, value, gradient
                return True
            # the minimum of the parabola through both values and the slope, kept within reason
            best = -slope * length**2 / (2 * (value - self.value - slope * length))
            length = float(np.clip(best, 0.1 * length, 0.5 * length))
        return False

    def _direction(self) -> np.ndarray:
        """Return −H·gradient, with H the inverse Hessian that the past steps suggest."""
        direction = -self.gradient
        if not self._past:
            size = np.linalg.norm(direction)
            # With nothing known: a tenth of the point's own size.
            return direction * (0.1 * np.linalg.norm(self.x) / size if size > 0 else 0.0)
        shares = []
        for moved, turned, inverse in reversed(self._past):
            share = inverse * np.vdot(moved, direction)
            direction = direction - share * turned
            shares.append(share)
        moved, turned, inverse = self._past[-1]
        direction = direction / (inverse * np.vdot(turned, turned))
        for (moved, turned, inverse), share in zip(self._past, reversed(shares), strict=True):
            direction = direction + (share - inverse * np.vdot(turned, direction)) * moved
        return direction

    def _remember(self, moved: np.ndarray, turned: np.ndarray) -> None:
        curvature = float(np.vdot(moved, turned))
        if curvature > 1e-12 * np.linalg.norm(moved) * np.linalg.norm(turned):
            self._past.append((moved, turned, 1 / curvature))
