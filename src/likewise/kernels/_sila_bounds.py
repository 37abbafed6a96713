"""Bounds of SiLA's margins: which rows cannot be mistakes."""

import numpy as np

from likewise.kernels._jit import kernel
from likewise.kernels._sila_scores import rounding

_SAFETY = 1e-10  # a margin nearer to 0 than this share of its terms is always computed


@kernel
def lower_bound(near, far, slack):
    """Return what near − far is at least, where it may be off by `slack` beyond rounding."""
    return near - far - _SAFETY * (abs(near) + abs(far)) - slack


@kernel
def _lower(left, right, problem, slack, bounds):
    """Lower the bounds by what adding left_i right_j / N_ij to every score can do to a margin.

    What it does to the targets is known; of the others each gains at most the largest gain.
    """
    segments, reach, group = problem.segments, problem.reach, problem.group
    n_segments = segments.shape[0] - 1
    highest, lowest = np.full(n_segments, -np.inf), np.full(n_segments, np.inf)
    for s in range(n_segments):
        for j in range(segments[s], segments[s + 1]):
            highest[s] = max(highest[s], right[j])
            lowest[s] = min(lowest[s], right[j])
    n_groups = reach.shape[0]
    most, least = np.full(n_groups, -np.inf), np.full(n_groups, np.inf)
    for g in range(n_groups):
        for part in range(2):
            for s in range(reach[g, 2 * part], reach[g, 2 * part + 1]):
                most[g] = max(most[g], highest[s])
                least[g] = min(least[g], lowest[s])
    for i in range(left.shape[0]):
        weight = np.float64(left[i])
        near = 0.0
        for t in range(problem.targets.shape[1]):
            near += right[problem.targets[i, t]] * problem.target_weights[i, t]
        near *= weight
        far = max(weight * most[group[i]], weight * least[group[i]])
        far *= problem.n_others[i] * (
            problem.most_inverse[i] if far > 0 else problem.least_inverse[i]
        )
        bounds[i] += lower_bound(near, far, slack)


@kernel
def lower_bounds(left, right, problem, n_features, bounds):
    """Lower every row's bound of its margin by what one mistake can do to it.

    Parameters
    ----------
    left, right : (n,), x_i · (row of the mistake) and x_i · d of every row
    problem : SilaProblem
    n_features : int, from which follows how far off they are in single precision
    bounds : (n,), changed in place
    """
    k = problem.targets.shape[1]
    slack = 2 * k * rounding(left, n_features, k, 0) * 4 * k
    _lower(left, right, problem, slack, bounds)
    if problem.symmetric:
        _lower(right, left, problem, slack, bounds)
