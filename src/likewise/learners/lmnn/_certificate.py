"""A lower bound on the LMNN objective from its dual problem: the duality gap."""

from functools import partial

import numpy as np

from likewise._progress import LongWork
from likewise.learners.linear_map import LBFGS
from likewise.learners.lmnn._impostors import ImpostorSearch
from likewise.learners.lmnn._objective import Margins
from likewise.learners.lmnn._optimizer import preconditioner_of

# The slopes of the hinge are good dual variables only near a minimum of the smoothed problem, which
# is easier to find for a smoother hinge: on standardized wine data these two widths, in turn, give
# bounds 2e-4 and 8e-5 below the optimum.
_WIDTHS = (0.03, 0.01)
_STEPS_BETWEEN_BOUNDS = 25
_MAX_STEPS = 500
_TOL = 1e-5


def lower_bound(margins: Margins, search: ImpostorSearch, L: np.ndarray) -> float:
    """Return a lower bound on the global minimum, improved by minimizing from `L`."""
    L, preconditioner = _full_rank(L), preconditioner_of(margins)
    best = 0.0
    total = len(_WIDTHS) * _MAX_STEPS
    with LongWork(
        "certifying", total=total, unit="steps", partial_result="the best bound so far"
    ) as work:
        for width in _WIDTHS:
            search.renew(L)
            cost = partial(margins.cost_and_gradient, width=width)
            optimizer = LBFGS(cost, L, preconditioner=preconditioner)
            gain = np.inf
            for _ in range(_MAX_STEPS // _STEPS_BETWEEN_BOUNDS):
                for _ in range(_STEPS_BETWEEN_BOUNDS):
                    if work.interrupted or not optimizer.step():
                        break
                    work.advance()
                search.renew(optimizer.x)
                optimizer.reevaluate()
                bound = dual_bound(*margins.dual(optimizer.x, width))
                gain, best = bound - best, max(best, bound)
                if abs(gain) <= _TOL * best or work.interrupted:
                    break
            L = optimizer.x
    return best


def _full_rank(L: np.ndarray) -> np.ndarray:
    """Add small components in the directions that `L` does not span.

    The bound holds for all maps, and gradient steps never leave the row space of the first map.
    """
    _, singular_values, directions = np.linalg.svd(L)
    return np.vstack([L, 0.1 * singular_values.mean() * directions[len(L) :]])


def dual_bound(pull: np.ndarray, push: np.ndarray, total: float) -> float:
    """Return a lower bound on the minimum of the LMNN objective over all metrics.

    The dual is max c Σα over 0 ≤ α ≤ 1 with A(α) = pull + push(α) positive semidefinite. Scaling α
    by s ≤ 1 scales `push` and the value alike, so any α gives a bound once s is small enough.

    Parameters
    ----------
    pull : (n_features, n_features)
        Σ (x_i − x_j)(x_i − x_j)ᵀ over anchors and targets.
    push : (n_features, n_features)
        c Σ α [(x_i − x_j)(x_i − x_j)ᵀ − (x_i − x_l)(x_i − x_l)ᵀ].
    total : float
        c Σα.
    """
    values, vectors = np.linalg.eigh((pull + pull.T) / 2)
    push = vectors.T @ ((push + push.T) / 2) @ vectors
    # In directions without pull, the push must not be negative.
    flat = values <= 1e-12 * max(values[-1], 0)
    scale = np.abs(push).max()
    if flat.any() and np.linalg.eigvalsh(push[np.ix_(flat, flat)])[0] < -1e-9 * scale:
        return 0.0
    steep = ~flat
    if not steep.any():
        return total
    root = 1 / np.sqrt(values[steep])
    whitened = root[:, None] * push[np.ix_(steep, steep)] * root
    lowest = np.linalg.eigvalsh(whitened)[0]
    return float(total * min(1.0, -1 / lowest if lowest < 0 else 1.0))
