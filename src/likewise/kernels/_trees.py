"""Evaluation of trees whose splits compare distances to two prototypes.

Trees are full: node k splits into 2k + 1 (f(x) = d(x, x′) − d(x, x″) ≤ threshold) and 2k + 2.
"""

import numpy as np

from likewise.kernels._jit import kernel


@kernel
def find_leaves(distances, firsts, seconds, thresholds, leaves):
    """Write the leaf of every example in every tree.

    Parameters
    ----------
    distances : (n, n_prototypes)
    firsts, seconds : (n_trees, n_nodes) int64, prototypes
    thresholds : (n_trees, n_nodes)
    leaves : (n, n_trees) int64, written
    """
    n_nodes = firsts.shape[1]
    for i in range(distances.shape[0]):
        for t in range(firsts.shape[0]):
            node = 0
            while node < n_nodes:
                gap = distances[i, firsts[t, node]] - distances[i, seconds[t, node]]
                node = 2 * node + (2 if gap > thresholds[t, node] else 1)
            leaves[i, t] = node - n_nodes


@kernel
def sum_trees(distances, firsts, seconds, thresholds, outputs, scores):
    """Write Σ_t h_t of every example into `scores`, (n, n_labels); the rest as in `find_leaves`.

    outputs : (n_trees, n_leaves, n_labels)
    """
    n_nodes = firsts.shape[1]
    for i in range(distances.shape[0]):
        for c in range(outputs.shape[2]):
            scores[i, c] = 0.0
        for t in range(firsts.shape[0]):
            node = 0
            while node < n_nodes:
                gap = distances[i, firsts[t, node]] - distances[i, seconds[t, node]]
                node = 2 * node + (2 if gap > thresholds[t, node] else 1)
            for c in range(outputs.shape[2]):
                scores[i, c] += outputs[t, node - n_nodes, c]


@kernel
def add_staged_losses(leaves, outputs, classes, importances, scales, wrong, losses):
    """Add the importance of misclassified examples and their weighted log-loss at each round.

    Class probabilities are proportional to exp(scale · F); with a single label, F of the two
    classes is −F and F.

    Parameters
    ----------
    leaves : (n, n_trees) int64
    outputs : (n_trees, n_leaves, n_labels)
    classes : (n,) int64
    importances : (n,), weights of the examples
    scales : (n_scales,)
    wrong : (n_trees,), added to
    losses : (n_trees, n_scales), added to
    """
    n_labels = outputs.shape[2]
    F = np.empty(max(2, n_labels))
    for i in range(leaves.shape[0]):
        for c in range(F.shape[0]):
            F[c] = 0.0
        own = classes[i]
        for t in range(outputs.shape[0]):
            output = outputs[t, leaves[i, t]]
            if n_labels == 1:
                F[0] -= output[0]
                F[1] += output[0]
            else:
                for c in range(n_labels):
                    F[c] += output[c]
            best = 0
            for c in range(1, F.shape[0]):
                if F[c] > F[best]:
                    best = c
            wrong[t] += importances[i] * (best != own)
            for k in range(scales.shape[0]):
                total = 0.0
                for c in range(F.shape[0]):
                    total += np.exp(scales[k] * (F[c] - F[best]))
                loss = np.log(total) - scales[k] * (F[own] - F[best])
                losses[t, k] += importances[i] * loss
