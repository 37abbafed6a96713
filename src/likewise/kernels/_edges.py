"""Edges between rows: squared lengths, products with the graph Laplacian, and incidence lists."""

from likewise.kernels._jit import kernel


@kernel
def edge_distances(Z, tails, heads, out):
    """Write |z_tail − z_head|² of every edge into `out`.

    Parameters
    ----------
    Z : (n_rows, n_components)
    tails, heads : (n_edges,) int32 row numbers
    out : (n_edges,)
    """
    for e in range(tails.shape[0]):
        a, b = tails[e], heads[e]
        total = Z.dtype.type(0)
        for f in range(Z.shape[1]):
            gap = Z[a, f] - Z[b, f]
            total += gap * gap
        out[e] = total


@kernel
def edge_forces(Z, indptr, edges, others, weights, first, out):
    """Write Σ_e w_e (z_i − z_other) over the edges of each row i into `out`.

    This is the product of the weighted graph Laplacian with Z, for rows from `first`.

    Parameters
    ----------
    Z : (n_rows, n_components)
    indptr : (n_rows + 1,) int64, first position of each row's edges
    edges, others : (2 n_edges,) int32, number and other end of each row's edges
    weights : (n_edges,)
    first : int
    out : (n, n_components), for rows first … first + n − 1
    """
    for i in range(out.shape[0]):
        row = first + i
        for f in range(Z.shape[1]):
            out[i, f] = 0
        for at in range(indptr[row], indptr[row + 1]):
            w = weights[edges[at]]
            if w != 0:
                other = others[at]
                for f in range(Z.shape[1]):
                    out[i, f] += w * (Z[row, f] - Z[other, f])


@kernel
def incidence(tails, heads, indptr, edges, others):
    """List the edges of each row, and complete `indptr`, which holds their numbers shifted by two.

    Parameters
    ----------
    tails, heads : (n_edges,) int32
    indptr : (n_rows + 2,) int64; entry i + 2 holds the number of edges of row i, the others 0
    edges, others : (2 n_edges,) int32, written
    """
    for i in range(2, indptr.shape[0]):
        indptr[i] += indptr[i - 1]
    for e in range(tails.shape[0]):
        a, b = tails[e], heads[e]
        at = indptr[a + 1]
        edges[at], others[at] = e, b
        indptr[a + 1] = at + 1
        at = indptr[b + 1]
        edges[at], others[at] = e, a
        indptr[b + 1] = at + 1
