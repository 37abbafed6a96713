"""L-BFGS, one step at a time."""

from collections import deque
from collections.abc import Callable

import numpy as np

_SUFFICIENT_DECREASE = 1e-4
_MAX_BACKTRACKS = 25


class LBFGS:
    """Limited-memory BFGS, one step per call, for a function that may change between steps.

    SciPy's L-BFGS-B runs its own loop and loses its curvature estimate when the function is
    replaced, as LMNN does with every new list of impostors. This one keeps it.

    Parameters
    ----------
    function : callable from an array to (value, gradient)
    start : ndarray
    memory : int, default=10
        Number of past steps in the curvature estimate.
    preconditioner : (n, n) array, optional
        Positive definite; multiplies the last axis of a gradient, so that the function is about as
        steep in every direction. The identity by default.

    Attributes
    ----------
    x, value, gradient : the current point
    """

    def __init__(
        self,
        function: Callable[[np.ndarray], tuple[float, np.ndarray]],
        start: np.ndarray,
        memory: int = 10,
        preconditioner: np.ndarray | None = None,
    ) -> None:
        self._function = function
        self._preconditioner = preconditioner
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=memory)
        self.x = start
        self.value, self.gradient = function(start)

    def replace(self, function: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> None:
        """Continue with a similar function, and with the curvature estimate."""
        self._function = function
        self.reevaluate()

    def reevaluate(self) -> None:
        """Evaluate the current point again, after the function has changed."""
        self.value, self.gradient = self._function(self.x)

    def restart(self, x: np.ndarray) -> None:
        """Continue from another point, without the curvature estimate."""
        self._pairs.clear()
        self.x = x
        self.reevaluate()

    def step(self) -> bool:
        """Take one step; return False if none decreases the function, as at a minimum."""
        direction = self._direction()
        slope = float(np.vdot(self.gradient, direction))
        if slope >= 0:  # not a descent direction: discard the curvature estimate
            self._pairs.clear()
            direction = self._direction()
            slope = float(np.vdot(self.gradient, direction))
        if not slope < 0:
            return False
        length = 1.0
        for _ in range(_MAX_BACKTRACKS):
            x = self.x + length * direction
            value, gradient = self._function(x)
            if value <= self.value + _SUFFICIENT_DECREASE * length * slope:
                self._append_pair(x - self.x, gradient - self.gradient)
                self.x, self.value, self.gradient = x, value, gradient
                return True
            # minimum of the parabola through both values and the slope, within safe bounds
            best = -slope * length**2 / (2 * (value - self.value - slope * length))
            length = float(np.clip(best, 0.1 * length, 0.5 * length))
        return False

    def _direction(self) -> np.ndarray:
        """Return −H·gradient with H the estimated inverse Hessian (two-loop recursion)."""
        direction = -self.gradient
        if not self._pairs:
            direction = self._preconditioned(direction)
            norm = np.linalg.norm(direction)
            # Without an estimate: a tenth of the norm of the point.
            return direction * (0.1 * np.linalg.norm(self.x) / norm if norm > 0 else 0.0)
        alphas = []
        for s, y, rho in reversed(self._pairs):
            alpha = rho * np.vdot(s, direction)
            direction -= alpha * y
            alphas.append(alpha)
        direction = self._preconditioned(direction) * self._scale
        for (s, y, rho), alpha in zip(self._pairs, reversed(alphas), strict=True):
            direction += (alpha - rho * np.vdot(y, direction)) * s
        return direction

    def _append_pair(self, s: np.ndarray, y: np.ndarray) -> None:
        """Store a step s and the change y of the gradient along it."""
        curvature = float(np.vdot(s, y))
        if curvature > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
            self._pairs.append((s, y, 1 / curvature))
            self._scale = curvature / float(np.vdot(y, self._preconditioned(y)))

    def _preconditioned(self, gradient: np.ndarray) -> np.ndarray:
        return gradient if self._preconditioner is None else gradient @ self._preconditioner
