"""AROMA with a factored covariance: the updates of a block of triplets."""

from likewise.kernels._jit import kernel


@kernel
def factored_decisions(
    queries, items, margins, weights, r, n_query, n_item, steps, shrinks, totals
):
    """Compute the updates of each triplet of a block in turn, from products of the block's rows.

    After triplet t, row t of `queries` right of the diagonal holds (Λₜqₜ)ᵀqₛ of the later triplets
    s, with Λₜ the factor before triplet t; likewise `items` with Σ. This suffices to update the
    later margins and products, so that Λ, Σ and W are written once per block.

    Parameters
    ----------
    queries, items : (n, n), QΛQᵀ and PΣPᵀ at the start of the block; the upper triangle is used
        and changed
    margins : (n,), qᵀWp of each triplet at the start of the block, changed
    weights : (n,)
    r : float
    n_query, n_item : int, numbers of features of queries and items
    steps : (n,), written: coefficient of Λq(Σp)ᵀ in the update of W; 0 for no update
    shrinks : (2, n), written: coefficients of −Λq(Λq)ᵀ and −Σp(Σp)ᵀ in the updates of Λ and Σ
    totals : (2,) float64: the losses and the updates are added
    """
    kind = queries.dtype.type
    n = margins.shape[0]
    for t in range(n):
        steps[t] = shrinks[0, t] = shrinks[1, t] = 0
        loss = 1 - margins[t]
        if not loss > 0:
            continue
        totals[0] += loss
        a, b = queries[t, t], items[t, t]
        if not a * b > 0 or not a > 0 or not weights[t] > 0:
            continue
        totals[1] += 1
        noise = r / weights[t]
        steps[t] = step = kind(loss / (noise + a * b))
        shrinks[0, t] = query_shrink = kind(1 / (a + n_item * noise / b))
        shrinks[1, t] = item_shrink = kind(1 / (b + n_query * noise / a))
        for s in range(t + 1, n):
            margins[s] += step * queries[t, s] * items[t, s]
            by_query, by_item = query_shrink * queries[t, s], item_shrink * items[t, s]
            for u in range(s, n):
                queries[s, u] -= by_query * queries[t, u]
                items[s, u] -= by_item * items[t, u]
