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
        e, stop = indptr[a] - indptr[0], indptr[a + 1] - indptr[0]
        while e + 4 <= stop:
            p, q, r, s = heads[e], heads[e + 1], heads[e + 2], heads[e + 3]
            to_p, to_q, to_r, to_s = zero, zero, zero, zero
            for f in range(Z.shape[1]):
                z = Z[row, f]
                to_p += (z - Z[p, f]) * (z - Z[p, f])
                to_q += (z - Z[q, f]) * (z - Z[q, f])
                to_r += (z - Z[r, f]) * (z - Z[r, f])
                to_s += (z - Z[s, f]) * (z - Z[s, f])
            out[e], out[e + 1], out[e + 2], out[e + 3] = to_p, to_q, to_r, to_s
            e += 4
        while e < stop:
            p = heads[e]
            to_p = zero
            for f in range(Z.shape[1]):
                to_p += (Z[row, f] - Z[p, f]) * (Z[row, f] - Z[p, f])
            out[e] = to_p
            e += 1


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
    scratch : int32 array, at least as long as the most edges of an anchor
    out : (n_rows, n_features), changed in place
    degrees : (n_rows,) float64, changed in place
    """
    cast = X.dtype.type
    for a in range(anchors.shape[0]):
        row = anchors[a]
        n = 0
        for e in range(indptr[a] - indptr[0], indptr[a + 1] - indptr[0]):
            scratch[n] = e  # without a branch: it would be mispredicted
            n += weights[e] != 0
        for i in range(n):
            degrees[row] += weights[scratch[i]]
            degrees[heads[scratch[i]]] += weights[scratch[i]]
        i = 0
        while i + 4 <= n:
            e, g, h, k = scratch[i], scratch[i + 1], scratch[i + 2], scratch[i + 3]
            p, q, r, s = heads[e], heads[g], heads[h], heads[k]
            w_p, w_q = cast(weights[e]), cast(weights[g])
            w_r, w_s = cast(weights[h]), cast(weights[k])
            for f in range(X.shape[1]):
                out[row, f] += (w_p * X[p, f] + w_q * X[q, f]) + (w_r * X[r, f] + w_s * X[s, f])
            i += 4
        while i < n:
            p, w_p = heads[scratch[i]], cast(weights[scratch[i]])
            for f in range(X.shape[1]):
                out[row, f] += w_p * X[p, f]
            i += 1


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
