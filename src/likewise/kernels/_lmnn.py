"""LMNN: listing of impostors, and the cost of margins."""

import numpy as np

from likewise.kernels._jit import kernel

# Columns compared at a time. Shorter loops of a constant length are unrolled, not vectorized, and
# so are loops over signed columns, because numba wraps negative indices.
_STRIP = np.uint64(64)


@kernel
def scan_impostors(
    block,
    first_row,
    first_column,
    labels,
    column_labels,
    reach,
    column_reach,
    scratch,
    tails,
    heads,
):
    """List pairs of different labels that are closer than the reach of either; return their number.

    Each pair of the upper triangle is examined once and may be listed in both directions. In
    blocks that are scanned in ascending order, the heads of each tail are ascending.

    Parameters
    ----------
    block : (n, m) squared distances of rows first_row … with rows first_column …
    labels, column_labels : (n,) and (m,) int64
    reach, column_reach : (n,) and (m,) squared search radius
    scratch : (m,) int32
    tails, heads : (2 n m,) int32, written: a row and its impostor
    """
    count = 0
    n_columns = np.uint64(block.shape[1])
    for i in range(block.shape[0]):
        row, own = block[i], reach[i]
        # Columns within reach, collected without a branch; most strips have none.
        n = 0
        start = np.uint64(max(0, first_row + i + 1 - first_column))
        while start < n_columns:
            stop = start + _STRIP
            hits = np.int32(1)
            if stop <= n_columns:
                hits = np.int32(0)
                for j in range(start, stop):
                    hits |= np.int32((row[j] < own) | (row[j] < column_reach[j]))
            else:
                stop = n_columns
            if hits > 0:
                for j in range(start, stop):
                    scratch[n] = j
                    n += (row[j] < own) | (row[j] < column_reach[j])
            start = stop
        for at in range(n):
            j = scratch[at]
            if labels[i] != column_labels[j]:
                tails[count], heads[count] = first_row + i, first_column + j
                count += row[j] < own
                tails[count], heads[count] = first_column + j, first_row + i
                count += row[j] < column_reach[j]
    return count


@kernel
def margin_costs(
    target_distances,
    target_indptr,
    impostor_distances,
    indptr,
    c,
    width,
    pull,
    push,
    loss,
    target_weights,
    impostor_weights,
):
    """Write the cost of each anchor and the weight of each of its edges.

    Cost: a Σ_j d_j + c Σ_j Σ_l b_l φ(1 + d_j − d_l), with φ the hinge smoothed over `width`: 0
    below 0, h²/2w up to w, h − w/2 above. Weights are its derivatives with respect to d_j and d_l.

    Parameters
    ----------
    target_distances : (n_targets,) float64
    target_indptr : (n_anchors + 1,) int64, first target of each anchor; see `_edges`
    impostor_distances : (n_impostors,) float64
    indptr : (n_anchors + 1,) int64, first impostor of each anchor
    c, width : float; width 0 for no smoothing
    pull, push : (n_anchors,) and (n_impostors,) float64, a and b; or None and None for ones
    loss : (n_anchors,) float64, written
    target_weights, impostor_weights : (n_targets,) and (n_impostors,) float64, written
    """
    narrow = width if width > 0 else 1e-200  # far below the rounding error of a hinge
    steepness = 1 / narrow
    for i in range(loss.shape[0]):
        first, stop = indptr[i] - indptr[0], indptr[i + 1] - indptr[0]
        first_target, stop_target = target_indptr[i], target_indptr[i + 1]
        for at in range(first, stop):
            impostor_weights[at] = 0
        own = 1.0
        if pull is not None:
            own = pull[i]
        distances, hinges = 0.0, 0.0
        for j in range(first_target - target_indptr[0], stop_target - target_indptr[0]):
            distances += target_distances[j]
            margin = 1 + target_distances[j]
            slopes = 0.0
            for at in range(first, stop):  # branch-free, so that it is vectorized
                h = margin - impostor_distances[at]
                h = h if h > 0 else 0.0
                slope = h * steepness if h < narrow else 1.0
                value = slope * (h - slope * narrow / 2)
                if push is not None:
                    value *= push[at]
                    slope *= push[at]
                hinges += value
                slopes += slope
                impostor_weights[at] -= c * slope
            target_weights[j] = own + c * slopes
        loss[i] = own * distances + c * hinges
