"""Sugeno integrals of the differences between rows."""

import numpy as np

from likewise.kernels._jit import helper, kernel


@kernel
def sugeno_distances(left, right, shares, out):
    """Write max over α of min(α, share of columns with |x − y| ≥ α) of all pairs of rows.

    With d₁ ≥ d₂ ≥ … the differences of n columns, it is max over k of min(d_k, k/n). The largest k
    with d_k ≥ k/n is found by bisection; then it is k/n or d_{k+1}, whichever is larger.

    Parameters
    ----------
    left, right : (n, width), (m, width) float64
    shares : (width + 2,) float64, k/width for every k: a division here would be rounded otherwise
    out : (n, m) float64
    """
    width = left.shape[1]
    gaps = np.empty(width)
    for i in range(left.shape[0]):
        for j in range(right.shape[0]):
            for f in range(width):
                gaps[f] = abs(left[i, f] - right[j, f])
            low, high = 0, width + 1
            while high - low > 1:
                middle = (low + high) // 2
                if _count(gaps, shares[middle]) >= middle:
                    low = middle
                else:
                    high = middle
            out[i, j] = max(shares[low], _next_largest(gaps, low, shares[low + 1]))


@helper
def _count(gaps, bound):
    """Return the number of values of at least `bound`."""
    count = 0
    for gap in gaps:
        count += gap >= bound
    return count


@helper
def _next_largest(gaps, k, bound):
    """Return the (k + 1)-th largest value, which is known to be below `bound`; 0 if there is none.

    The values below the bound are visited from the top, and usually few of them are needed.
    """
    n_above = _count(gaps, bound)
    while n_above <= k < gaps.shape[0]:
        largest, n_equal = -1.0, 0
        for gap in gaps:
            if gap < bound:
                if gap > largest:
                    largest, n_equal = gap, 1
                elif gap == largest:
                    n_equal += 1
        n_above += n_equal
        bound = largest
    return bound if k < gaps.shape[0] else 0.0
