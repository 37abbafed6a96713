"""Minimise the cost of margins over linear maps."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from likewise._progress import LongWork
from likewise.learners.lmnn._descent import Descent
from likewise.learners.lmnn._impostors import ImpostorSearch
from likewise.learners.lmnn._objective import Margins

_STEPS_BETWEEN_SEARCHES = 10
_LEAST_SHARE = 2**-8  # of a way that led to too many impostors
# Classes far apart are pulled in until every pair is at its margin: a list of them all would grow
# with the number of rows squared.
_MOST_FOR_EACH_ROW = 500
# Smoothing the hinge over w shifts the minimum by a share of the objective that was about w/40 on
# standardised wine: at 10 tol that is well within the tolerance.
_WIDEST_HINGE, _NARROWEST_HINGE, _WIDTH_FOR_TOL = 0.3, 1e-5, 10


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
        "fitting LMNN", total=max_iter, unit="steps", partial_result="the best map so far"
    ) as work:
        widths = list(_hinge_widths(tol))
        for width in widths[-1:] if warm else widths:
            descent = Descent(partial(margins.cost_and_gradient, width=width), L)
            leads = width == _WIDEST_HINGE and len(widths) > 1  # the first only leads the way
            enough = 10 * tol if leads else tol
            n_steps, converged = _STEPS_BETWEEN_SEARCHES, False
            while not converged and work.done < max_iter and not work.interrupted:
                before, start = descent.value, descent.x
                moved = _descend(descent, work, min(n_steps, max_iter - work.done))
                share, objective = _renew_between(start, before, descent, margins, search)
                history.append(_milestone(work.done, objective, margins, began))
                if objective < best:
                    best, best_L = objective, descent.x
                gained = before - descent.value <= enough * descent.value
                converged = share == 0 or not moved or (gained and share == 1)
                # A list that went stale before its time is renewed sooner the next time.
                n_steps = min(2 * n_steps, _STEPS_BETWEEN_SEARCHES) if share == 1 else 2
            L = descent.x
    return Found(best_L, best, work.done, converged or work.interrupted, history)


def _renew_between(
    start: np.ndarray, before: float, descent: Descent, margins: Margins, search: ImpostorSearch
) -> tuple[float, float]:
    """Look for impostors where the descent has come to, and go back where that was too far.

    Steps on a list of impostors may lead to where many more are, and the cost is higher than it
    was `before`: then half of the way, or half of that. Returns the share of the way that was
    kept, 0 where none of it is any good, and the plain objective there.
    """
    end = descent.x
    most = max(margins.n_impostors, _MOST_FOR_EACH_ROW * margins.n_rows)
    share = 1.0
    while share >= _LEAST_SHARE:
        objective = search.renew(start + share * (end - start), most=most)
        if np.isfinite(objective):
            if share == 1:
                descent.revalue()
            else:
                descent.move_to(start + share * (end - start))
            if descent.value <= before:
                return share, objective
        share /= 2
    objective = search.renew(start)
    descent.move_to(start)
    return 0.0, objective


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
