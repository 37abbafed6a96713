"""A lower bound on the objective of LMNN, from its dual: it tells how far the optimum may be."""

from functools import partial

import numpy as np

from likewise._progress import LongWork
from likewise.learners.lmnn._descent import Descent
from likewise.learners.lmnn._impostors import ImpostorSearch
from likewise.learners.lmnn._objective import Margins

# The slopes of the hinge are good multipliers only close to a minimum of the smoothed problem, and
# are found more easily the smoother it is: on standardised wine these two widths, one after the
# other, lose 2e-4 and 8e-5 of the optimum.
_WIDTHS = (0.03, 0.01)
_STEPS_BETWEEN_BOUNDS = 25
_MOST_STEPS = 500
_ENOUGH = 1e-5


def lower_bound(margins: Margins, search: ImpostorSearch, L: np.ndarray) -> float:
    """Return a lower bound on the global minimum, sharpened by descending from `L`."""
    L = _with_all_directions(L)
    best = 0.0
    total = len(_WIDTHS) * _MOST_STEPS
    with LongWork(
        "certifying", total=total, unit="steps", partial_result="the best bound so far"
    ) as work:
        for width in _WIDTHS:
            search.renew(L)
            descent = Descent(partial(margins.cost_and_gradient, width=width), L)
            gain = np.inf
            for _ in range(_MOST_STEPS // _STEPS_BETWEEN_BOUNDS):
                for _ in range(_STEPS_BETWEEN_BOUNDS):
                    if work.interrupted or not descent.step():
                        break
                    work.advance()
                search.renew(descent.x)
                descent.revalue()
                bound = dual_bound(*margins.dual(descent.x, width))
                gain, best = bound - best, max(best, bound)
                if abs(gain) <= _ENOUGH * best or work.interrupted:
                    break
            L = descent.x
    return best


def _with_all_directions(L: np.ndarray) -> np.ndarray:
    """Add a little of the directions that a map of few components leaves out.

    The bound is on all maps, and a descent never gains the directions that it starts without.
    """
    _, sizes, directions = np.linalg.svd(L)
    return np.vstack([L, 0.1 * sizes.mean() * directions[len(L) :]])


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
    # Directions without pull: the push may not be negative there at all.
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
