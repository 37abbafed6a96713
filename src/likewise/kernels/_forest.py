"""Evaluation of a forest whose nodes compare one feature with a threshold."""

from likewise.kernels._jit import kernel


@kernel
def forest_means(rows, roots, feature, threshold, left, right, value, means):
    """Write the mean value of the leaves that each row reaches.

    Parameters
    ----------
    rows : (n, n_features) float32
    roots : (n_trees,) int64, first nodes of the trees
    feature, left, right : (n_nodes,) int64
        A row goes to the left child if its feature is at most the threshold. A leaf is its own
        left child.
    threshold, value : (n_nodes,)
    means : (n,), written
    """
    for i in range(rows.shape[0]):
        total = 0.0
        for t in range(roots.shape[0]):
            node = roots[t]
            while left[node] != node:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            total += value[node]
        means[i] = total / roots.shape[0]
