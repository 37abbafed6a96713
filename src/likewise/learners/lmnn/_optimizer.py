"""Minimize the LMNN objective over linear maps: L-BFGS with repeated impostor searches."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from likewise._progress import LongWork
from likewise.learners.linear_map import LBFGS
from likewise.learners.lmnn._impostors import ImpostorSearch
from likewise.learners.lmnn._objective import Margins

_RIDGE = 1e-4  # smallest pull of a direction, as a share of the mean pull
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
        cost = partial(margins.cost_and_gradient, width=widths[0])
        optimizer = LBFGS(cost, L, preconditioner=preconditioner_of(margins))
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


def preconditioner_of(margins: Margins) -> np.ndarray | None:
    """Return the inverse of the pull of all directions, which makes the pull isotropic.

    Correlated features have directions of little pull, in which gradients are small although the
    map must become large. None if no target differs from its anchor.
    """
    pull = margins.pull()
    mean = np.trace(pull) / len(pull)
    if not mean > 0:
        return None
    return np.asarray(np.linalg.inv(pull / mean + _RIDGE * np.eye(len(pull))))


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
