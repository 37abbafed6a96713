"""Minimise the cost of margins over linear maps."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from likewise._progress import LongWork
from likewise.learners._descent import Descent
from likewise.learners._impostors import ImpostorSearch
from likewise.learners._margins import Margins

_STEPS_BETWEEN_SEARCHES = 10
# Smoothing the hinge over w shifts the minimum by a share of the objective that was about w/40 on
# standardised wine: 30 tol is within what the stopping rule lets pass anyway.
_WIDEST_HINGE, _NARROWEST_HINGE, _WIDTH_FOR_TOL = 0.3, 1e-5, 30


@dataclass(frozen=True)
class Found:
    """Where `minimize_margins` ended.

    Attributes
    ----------
    L : the map of the lowest objective seen
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
) -> Found:
    """Descend from `L`, looking for impostors again as the map moves.

    The hinge is smoothed, first widely and then, from where that ended, ten times less, until the
    smoothing costs no more than `tol`. From a `warm` start, which the wide hinge would lead away
    from, only the last of these is needed.
    """
    began = perf_counter()
    best, best_L = search.renew(L), L
    history = [_milestone(0, best, margins, began)]
    converged = False
    with LongWork(
        "fitting LMNN", total=max_iter, unit="steps", keeps="the best map so far"
    ) as work:
        widths = list(_hinge_widths(tol))
        for width in widths[-1:] if warm else widths:
            descent = Descent(partial(margins.cost_and_gradient, width=width), L)
            before, converged = np.inf, False
            leads = width == _WIDEST_HINGE and len(widths) > 1  # the first only leads the way
            enough = 10 * tol if leads else tol
            while not converged and work.done < max_iter and not work.interrupted:
                moved = _descend(descent, work, min(_STEPS_BETWEEN_SEARCHES, max_iter - work.done))
                objective = search.renew(descent.x)
                history.append(_milestone(work.done, objective, margins, began))
                descent.revalue()
                if objective < best:
                    best, best_L = objective, descent.x
                converged = not moved or before - objective <= enough * objective
                before = objective
            L = descent.x
    return Found(best_L, best, work.done, converged or work.interrupted, history)


def _descend(descent: Descent, work: LongWork, n_steps: int) -> bool:
    """Go so many steps down, or until Ctrl-C; False where there is no way down."""
    for _ in range(n_steps):
        if not descent.step():
            return False
        work.advance()
        if work.interrupted:
            break
    return True


def _milestone(
    iteration: int, objective: float, margins: Margins, began: float
) -> dict[str, float]:
    return {
        "iteration": iteration,
        "objective": objective,
        "impostors": margins.n_impostors,
        "seconds": perf_counter() - began,
    }


def _hinge_widths(tol: float) -> Iterator[float]:
    width = _WIDEST_HINGE
    while True:
        yield width
        if width <= _WIDTH_FOR_TOL * tol or width < _NARROWEST_HINGE:
            return
        width /= 10
