"""Minimize the LMNN objective over linear maps: L-BFGS with repeated impostor searches."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from likewise._progress import LongWork
from likewise.learners.lmnn._impostors import ImpostorSearch
from likewise.learners.lmnn._objective import Margins

_STEPS_BEFORE_SEARCH = 10, 15  # the first time, and later
_SMALL_GAIN = 0.03  # of a step, as a share of the tolerance: ends the steps on a list
_MIN_STEP_FRACTION = 2**-8  # of the steps since the last impostor search
# Where classes are far apart, the optimum has nearly every pair at its margin, and a list of all
# pairs would grow with the square of the number of rows.
_MAX_IMPOSTORS_PER_ROW = 500
# Smoothing the hinge over a width w shifts the minimum by about w/40 of the objective (measured on
# standardized wine data): a width of 10 tol is well within the tolerance. Minimizing over a width
# of 0.3 first takes more steps and more searches.
_MAX_HINGE_WIDTH, _MIN_HINGE_WIDTH, _WIDTH_PER_TOL = 0.01, 1e-5, 10
_SUFFICIENT_DECREASE = 1e-4
_MAX_BACKTRACKS = 25


@dataclass(frozen=True)
class Minimum:
    """Result of `minimize_margins`.

    Attributes
    ----------
    L : the map with the lowest objective
    objective : float
    n_iter : int
    converged : bool
    history : list of dict
    """

    L: np.ndarray
    objective: float
    n_iter: int
    converged: bool
    history: list[dict[str, float]]


def minimize_margins(
    margins: Margins,
    search: ImpostorSearch,
    L: np.ndarray,
    max_iter: int,
    tol: float,
    *,
    warm: bool = False,
) -> Minimum:
    """Minimize from `L`, and search for impostors again as the map changes.

    Steps on a list of impostors end when they gain little beside `tol`; the search for impostors
    is over when a new list then changes the cost by less than `tol`. The hinge is smoothed: first
    over a wide interval, then, from the minimum found, over one ten times narrower, until the
    smoothing error is below `tol`. A `warm` start is close to the minimum and uses only the last
    width.
    """
    started = perf_counter()
    best, best_L = search.renew(L), L
    history = [_history_entry(0, best, margins, started)]
    converged = False
    with LongWork(
        "fitting LMNN", total=max_iter, unit="steps", partial_result="the best map so far"
    ) as work:
        widths = list(_hinge_widths(tol))[-1 if warm else 0 :]
        optimizer = LBFGS(partial(margins.cost_and_gradient, width=widths[0]), L)
        for width in widths:
            if width != widths[0]:
                optimizer.replace(partial(margins.cost_and_gradient, width=width))
            width_tol = tol if width == widths[-1] else 10 * tol
            n_steps, converged = _STEPS_BEFORE_SEARCH[0], False
            while not converged and work.done < max_iter and not work.interrupted:
                before, start = optimizer.value, optimizer.x
                n_steps = min(n_steps, max_iter - work.done)
                is_flat = _take_steps(optimizer, work, n_steps, _SMALL_GAIN * width_tol)
                value = optimizer.value
                fraction, objective = _renew_impostors(start, before, optimizer, margins, search)
                history.append(_history_entry(work.done, objective, margins, started))
                if objective < best:
                    best, best_L = objective, optimizer.x
                is_valid = abs(optimizer.value - value) <= width_tol * value
                converged = fraction == 0 or (is_flat and is_valid and fraction == 1)
                # After an outdated list of impostors, search again sooner.
                n_steps = min(2 * n_steps, _STEPS_BEFORE_SEARCH[1]) if fraction == 1 else 2
    return Minimum(best_L, best, work.done, converged or work.interrupted, history)


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
            norm = np.linalg.norm(direction)
            # Without an estimate: a tenth of the norm of the point.
            return direction * (0.1 * np.linalg.norm(self.x) / norm if norm > 0 else 0.0)
        alphas = []
        for s, y, rho in reversed(self._pairs):
            alpha = rho * np.vdot(s, direction)
            direction = direction - alpha * y
            alphas.append(alpha)
        s, y, rho = self._pairs[-1]
        direction = direction / (rho * np.vdot(y, y))
        for (s, y, rho), alpha in zip(self._pairs, reversed(alphas), strict=True):
            direction = direction + (alpha - rho * np.vdot(y, direction)) * s
        return direction

    def _append_pair(self, s: np.ndarray, y: np.ndarray) -> None:
        """Store a step s and the change y of the gradient along it."""
        curvature = float(np.vdot(s, y))
        if curvature > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
            self._pairs.append((s, y, 1 / curvature))


def _take_steps(optimizer: LBFGS, work: LongWork, n_steps: int, tol: float) -> bool:
    """Take up to `n_steps` steps, fewer on Ctrl-C, until two in turn gain at most the share `tol`.

    Returns whether they did, or whether no step decreases the function.
    """
    n_small = 0
    for _ in range(n_steps):
        before = optimizer.value
        if not optimizer.step():
            return True
        work.advance()
        n_small = n_small + 1 if before - optimizer.value <= tol * optimizer.value else 0
        if n_small == 2:
            return True
        if work.interrupted:
            break
    return False


def _renew_impostors(
    start: np.ndarray, before: float, optimizer: LBFGS, margins: Margins, search: ImpostorSearch
) -> tuple[float, float]:
    """Search for impostors at the current point, and step back where it has too many.

    With new impostors the cost may be higher than `before`. Then half of the steps since `start`
    are kept, or half of that. Returns the fraction that was kept, 0 where none lowers the cost,
    and the unsmoothed objective there.
    """
    end = optimizer.x
    max_impostors = max(margins.n_impostors, _MAX_IMPOSTORS_PER_ROW * margins.n_rows)
    fraction = 1.0
    while fraction >= _MIN_STEP_FRACTION:
        objective = search.renew(start + fraction * (end - start), max_pairs=max_impostors)
        if np.isfinite(objective):
            if fraction == 1:
                optimizer.reevaluate()
            else:
                optimizer.restart(start + fraction * (end - start))
            if optimizer.value <= before:
                return fraction, objective
        fraction /= 2
    objective = search.renew(start)
    optimizer.restart(start)
    return 0.0, objective


def _history_entry(
    iteration: int, objective: float, margins: Margins, started: float
) -> dict[str, float]:
    return {
        "iteration": iteration,
        "objective": objective,
        "impostors": margins.n_impostors,
        "seconds": perf_counter() - started,
    }


def _hinge_widths(tol: float) -> Iterator[float]:
    width = _MAX_HINGE_WIDTH
    while True:
        yield width
        if width <= _WIDTH_PER_TOL * tol or width < _MIN_HINGE_WIDTH:
            return
        width /= 10
