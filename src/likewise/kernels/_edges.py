"""Edges from anchors to rows: squared lengths, weighted sums of rows, and grouping by anchor.

The edges of an anchor follow each other. `indptr` holds the first edge of each anchor and the end
of the last; arrays of edges start at edge ``indptr[0]``, so that all of them can be slices.
"""

from likewise.kernels._jit import kernel


@kernel
def edge_distances(Z, anchors, indptr, heads, out):
    """Write |z_anchor − z_head|² of every edge into `out`.

    Four edges are computed at a time, because they share the row of the anchor.

    Parameters
    ----------
    Z : (n_rows, n_components)
    anchors : (n_anchors,) int64 row numbers
    indptr : (n_anchors + 1,) int64
    heads : (n_edges,) int32 row numbers
    out : (n_edges,) float64
    """
    zero = Z.dtype.type(0)
    for a in range(anchors.shape[0]):
        row = anchors[a]
        last = indptr[a + 1] - indptr[0] - 1
        for e in range(indptr[a] - indptr[0], last + 1, 4):
            # past the last edge, the last again
            f, g, h = e + 1, e + 2, e + 3
            if h > last:
                f = f if f < last else last
                g, h = g if g < last else last, last
            p, q, r, s = heads[e], heads[f], heads[g], heads[h]
            to_p, to_q, to_r, to_s = zero, zero, zero, zero
            for i in range(Z.shape[1]):
                z = Z[row, i]
                to_p += (z - Z[p, i]) * (z - Z[p, i])
                to_q += (z - Z[q, i]) * (z - Z[q, i])
                to_r += (z - Z[r, i]) * (z - Z[r, i])
                to_s += (z - Z[s, i]) * (z - Z[s, i])
            out[e], out[f], out[g], out[h] = to_p, to_q, to_r, to_s


@kernel
def add_neighbors(X, anchors, indptr, heads, weights, scratch, out, degrees):
    """Add Σ_e w_e x_head over each anchor's edges to its row of `out`, and w_e to both degrees.

    Edges of weight 0 are skipped, and the others are added four at a time.

    Parameters
    ----------
    X : (n_rows, n_features)
    anchors : (n_anchors,) int64 row numbers
    indptr : (n_anchors + 1,) int64
    heads : (n_edges,) int32 row numbers
    weights : (n_edges,) float64
    scratch : int32 array, longer than the most edges of an anchor by three
    out : (n_rows, n_features), changed in place
    degrees : (n_rows,) float64, changed in place
    """
    for a in range(anchors.shape[0]):
        row = anchors[a]
        n = 0
        for e in range(indptr[a] - indptr[0], indptr[a + 1] - indptr[0]):
            scratch[n] = e  # without a branch: it would be mispredicted
            n += weights[e] != 0
        for i in range(n, n + 3):
            scratch[i] = scratch[n - 1]  # the last edge again, to fill the last four
        for i in range(0, n, 4):
            e, g, h, k = scratch[i], scratch[i + 1], scratch[i + 2], scratch[i + 3]
            p, q, r, s = heads[e], heads[g], heads[h], heads[k]
            on_p = X.dtype.type(weights[e])
            on_q = X.dtype.type(weights[g] if i + 1 < n else 0.0)
            on_r = X.dtype.type(weights[h] if i + 2 < n else 0.0)
            on_s = X.dtype.type(weights[k] if i + 3 < n else 0.0)
            for f in range(X.shape[1]):
                out[row, f] += (on_p * X[p, f] + on_q * X[q, f]) + (on_r * X[r, f] + on_s * X[s, f])
            degrees[row] += on_p + on_q + on_r + on_s
            degrees[p] += on_p
            degrees[q] += on_q
            degrees[r] += on_r
            degrees[s] += on_s


@kernel
def group_edges(tails, heads, positions, out):
    """Write the heads of each tail's edges one after the other into `out`, in their given order.

    Parameters
    ----------
    tails, heads : (n_edges,) int32
    positions : (n_tails,) int64, first position of each tail in `out`; changed to the end
    out : (n_edges,) int32
    """
    for e in range(tails.shape[0]):
        tail = tails[e]
        out[positions[tail]] = heads[e]
        positions[tail] += 1
