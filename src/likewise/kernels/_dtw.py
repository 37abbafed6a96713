"""Dynamic time warping of all pairs of series."""

import numpy as np

from likewise.kernels._jit import kernel


@kernel
def dtw_distances(left, left_bounds, right, right_bounds, out):
    """Write the DTW distances: √ of the minimum Σ |aᵢ − bⱼ|² over monotone alignments.

    Parameters
    ----------
    left, right : (n_frames, n_channels), the concatenated frames of all series
    left_bounds, right_bounds : (n + 1,), (m + 1,) int64, first frame of each series, and the end
    out : (n, m) float64
    """
    n_channels = left.shape[1]
    longest = 0
    for q in range(out.shape[1]):
        longest = max(longest, right_bounds[q + 1] - right_bounds[q])
    # minimum cost up to frame i of one series and each frame of the other; index 0: no frame
    cost = np.empty(longest + 1)
    for p in range(out.shape[0]):
        for q in range(out.shape[1]):
            start = right_bounds[q]
            length = right_bounds[q + 1] - start
            cost[0] = 0.0
            for j in range(length):
                cost[j + 1] = np.inf
            for i in range(left_bounds[p], left_bounds[p + 1]):
                diagonal = cost[0]
                cost[0] = np.inf
                before = np.inf
                for j in range(length):
                    step = 0.0
                    for c in range(n_channels):
                        gap = left[i, c] - right[start + j, c]
                        step += gap * gap
                    above = cost[j + 1]
                    before = step + min(diagonal, min(above, before))
                    cost[j + 1] = before
                    diagonal = above
            out[p, q] = np.sqrt(cost[length])
