"""LMNN: listing of impostors, and the cost of margins."""

from likewise.kernels._jit import kernel

_STRIP = 64


@kernel
def scan_impostors(block, first_row, first_column, labels, reach, tails, heads):
    """List pairs of different labels that are closer than the reach of either; return their number.

    Each pair of the upper triangle is examined once and may be listed in both directions. Pairs
    beyond the capacity of `tails` are counted but not written.

    Parameters
    ----------
    block : (n, m) squared distances of rows first_row … with rows first_column …
    labels : (n_rows,) int64
    reach : (n_rows,) squared search radius
    tails, heads : (capacity,) int32, written: a row and its impostor
    """
    count = 0
    capacity = tails.shape[0]
    n_columns = block.shape[1]
    column_reach = reach[first_column : first_column + n_columns]
    for i in range(block.shape[0]):
        row = first_row + i
        own = reach[row]
        for start in range(0, n_columns, _STRIP):
            stop = min(start + _STRIP, n_columns)
            # branch-free, so that it is vectorized: most strips have no pair
            hits = 0
            for j in range(start, stop):
                hits += (block[i, j] < own) | (block[i, j] < column_reach[j])
            if hits == 0:
                continue
            for j in range(max(start, row + 1 - first_column), stop):
                d = block[i, j]
                column = first_column + j
                if labels[row] == labels[column]:
                    continue
                if d < own:
                    if count < capacity:
                        tails[count], heads[count] = row, column
                    count += 1
                if d < column_reach[j]:
                    if count < capacity:
                        tails[count], heads[count] = column, row
                    count += 1
    return count


@kernel
def margin_costs(
    target_distances, impostor_distances, indptr, c, width, loss, target_weights, impostor_weights
):
    """Write the cost of each anchor and the weight of each of its edges.

    Cost: Σ_j d_j + c Σ_j Σ_l φ(1 + d_j − d_l), with φ the hinge smoothed over `width`: 0 below 0,
    h²/2w up to w, h − w/2 above. Weights are its derivatives with respect to d_j and d_l.

    Parameters
    ----------
    target_distances : (n_anchors, k); NaN where an anchor has fewer targets
    impostor_distances : (n_pairs,)
    indptr : (n_anchors + 1,) int64, first position of each anchor's impostors
    c, width : float; width 0 for no smoothing
    loss : (n_anchors,) float64, written
    target_weights : (n_anchors, k), written
    impostor_weights : (n_pairs,), written
    """
    n_anchors, k = target_distances.shape
    for i in range(n_anchors):
        total = 0.0
        widest = 0.0
        for j in range(k):
            target_weights[i, j] = 1
            near = target_distances[i, j]
            if near >= 0:  # false for NaN
                total += near
                widest = max(widest, near)
        for at in range(indptr[i], indptr[i + 1]):
            push = 0.0
            far = impostor_distances[at]
            if far < 1.0 + widest:
                for j in range(k):
                    h = 1.0 + target_distances[i, j] - far
                    if h > 0:  # false for NaN
                        slope = 1.0
                        if h < width:
                            slope = h / width
                            total += c * h * slope / 2
                        else:
                            total += c * (h - width / 2)
                        target_weights[i, j] += c * slope
                        push += slope
            impostor_weights[at] = -c * push
        loss[i] = total
