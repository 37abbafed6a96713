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
    margins: Margins, search: ImpostorSearch, L: np.ndarray, max_iter: int, tol: float
) -> Found:
    """Descend from `L`, looking for impostors again as the map moves.

    The hinge is smoothed, first widely and then, from where that ended, ten times less, until the
    smoothing costs no more than `tol`.
    """
    history: list[dict[str, float]] = []
    best, best_L = np.inf, L
    converged = False
    began = perf_counter()
    with LongWork(
        "fitting LMNN", total=max_iter, unit="steps", keeps="the best map so far"
    ) as work:
        for width in _hinge_widths(tol):
            search.renew(L)
            descent = Descent(partial(margins.cost_and_gradient, width=width), L)
            before, converged = np.inf, False
            while not converged and work.done < max_iter and not work.interrupted:
                moved = True
                for _ in range(min(_STEPS_BETWEEN_SEARCHES, max_iter - work.done)):
                    moved = descent.step()
                    work.advance()
                    if not moved or work.interrupted:
                        break
                objective = search.renew(descent.x)
                descent.revalue()
                history.append(
                    {
                        "iteration": work.done,
                        "objective": objective,
                        "impostors": margins.n_impostors,
                        "seconds": perf_counter() - began,
                    }
                )
                if objective < best:
                    best, best_L = objective, descent.x
                converged = not moved or before - objective <= tol * objective
                before = objective
            L = descent.x
    best = search.renew(best_L)
    return Found(best_L, best, work.done, converged or work.interrupted, history)


def _hinge_widths(tol: float) -> Iterator[float]:
    width = _WIDEST_HINGE
    while True:
        yield width
        if width <= _WIDTH_FOR_TOL * tol or width < _NARROWEST_HINGE:
            return
        width /= 10
