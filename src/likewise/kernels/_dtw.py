"""Dynamic time warping of all pairs of series."""

import numpy as np

from likewise.kernels._jit import kernel


@kernel
def dtw_distances(left, left_bounds, right, right_bounds, share, frames, out):
    """Write the DTW distances: √ of the minimum Σ |aᵢ − bⱼ|² over monotone alignments.

    With a Sakoe–Chiba window of w frames, aᵢ is aligned only with frames |i − j| ≤ w; w is at least
    the difference of the lengths.

    Parameters
    ----------
    left, right : (n_frames, n_channels), the concatenated frames of all series
    left_bounds, right_bounds : (n + 1,), (m + 1,) int64, first frame of each series, and the end
    share, frames : float and int, w as a share of the longer series, and in frames: the larger
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
            left_length = left_bounds[p + 1] - left_bounds[p]
            # a share is written in decimals: 0.29 of 100 frames are 29
            window = max(frames, np.int64(share * max(length, left_length) + 1e-9))
            window = max(window, abs(length - left_length))
            cost[0] = 0.0
            for j in range(length):
                cost[j + 1] = np.inf
            for i in range(left_length):
                frame = left[left_bounds[p] + i]
                first, stop = max(0, i - window), min(length, i + window + 1)
                diagonal = cost[first]
                cost[0] = np.inf
                before = np.inf
                # slices, because indices from 0 are known not to be negative
                within, frames_right = cost[first + 1 : stop + 1], right[start + first :]
                for j in range(stop - first):
                    step = 0.0
                    for c in range(n_channels):
                        gap = frame[c] - frames_right[j, c]
                        step += gap * gap
                    above = within[j]
                    before = step + min(diagonal, min(above, before))
                    within[j] = before
                    diagonal = above
            out[p, q] = np.sqrt(cost[length])
