"""Minimize a function of a map by L-BFGS until a criterion is met."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from likewise._progress import LongWork
from likewise._warnings import warn
from likewise.learners.linear_map._lbfgs import LBFGS


class Minimum(NamedTuple):
    """Where a descent ended."""

    L: np.ndarray
    value: float
    n_iter: int


def descend(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    max_iter: int,
    is_converged: Callable[[LBFGS], bool],
    name: str,
) -> Minimum:
    """Take steps of L-BFGS until `is_converged`, until none decreases the function, or Ctrl-C.

    Parameters
    ----------
    function : callable from an array to (value, gradient)
    start : ndarray
    max_iter : int
        With a warning if it is reached.
    is_converged : callable
        Asked before each step.
    name : str
        Name of the learner, in progress and warning.
    """
    solver = LBFGS(function, start)
    with LongWork(
        f"fitting {name}", total=max_iter, unit="steps", partial_result="the map so far"
    ) as work:
        converged = is_converged(solver)
        while not converged and work.done < max_iter and not work.interrupted:
            if not solver.step():  # a minimum, up to rounding
                converged = True
                break
            work.advance()
            converged = is_converged(solver)
    if not converged and not work.interrupted:
        warn(
            f"{name} has not converged in {max_iter} steps: raise max_iter or tol.",
            ConvergenceWarning,
        )
    return Minimum(solver.x, solver.value, work.done)
