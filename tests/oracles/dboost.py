"""DBoost as it is printed: real AdaBoost.MH over stumps d(x, x′) − d(x, x″) against a threshold."""

import numpy as np


def signs(labels, n_classes, columns=None):
    """Y = ±1 for every example and label; two classes have one label, or two where asked."""
    if n_classes == 2 and columns != 2:
        return np.where(labels[:, None] == 1, 1, -1)
    return np.where(labels[:, None] == np.arange(n_classes), 1, -1)


def normaliser(block, Y, w):
    """2 Σ over blocks and labels of √(W₊W₋)."""
    z = 0.0
    for b in np.unique(block):
        inside = block == b
        for label in range(Y.shape[1]):
            positive = w[inside & (Y[:, label] > 0), label].sum()
            negative = w[inside & (Y[:, label] < 0), label].sum()
            z += 2 * np.sqrt(positive * negative)
    return z


def thresholds(f):
    """Middles between neighbouring values; the value itself where there is one."""
    values = np.unique(f)
    return (values[:-1] + values[1:]) / 2 if len(values) > 1 else values


def best_exact(f, Y, w):
    return min(normaliser(f > v, Y, w) for v in thresholds(f))


def best_histogram(f, Y, w, n_bins):
    """Least Z among the inner borders of equal bins, from the least f to the largest."""
    if f.min() == f.max():
        return normaliser(f > f.max(), Y, w)
    bins = ((f - f.min()) * (n_bins / (f.max() - f.min()) * (1 - 1e-12))).astype(int)
    return min(normaliser(bins > b, Y, w) for b in range(n_bins - 1))


def outputs(leaves, n_leaves, Y, w, smoothing):
    """½ ln((W₊ + e)/(W₋ + e)) of every leaf and label."""
    h = np.zeros((n_leaves, Y.shape[1]))
    for leaf in range(n_leaves):
        inside = (leaves == leaf)[:, None]
        positive = (w * (inside & (Y > 0))).sum(axis=0)
        negative = (w * (inside & (Y < 0))).sum(axis=0)
        h[leaf] = np.log((positive + smoothing) / (negative + smoothing)) / 2
    return h


def reweigh(leaves, h, Y, w):
    """Return w exp(−Yh)/Z, and Z."""
    w = w * np.exp(-Y * h[leaves])
    return w / w.sum(), w.sum()


def pairs(labels, weights, first_at, second_at):
    """x′ where the share of weight before it is reached, x″ likewise among the other classes."""
    found = []
    for at, then in zip(first_at, second_at, strict=True):
        first = int(np.searchsorted(np.cumsum(weights), at * weights.sum(), side="right"))
        others = np.flatnonzero(labels != labels[first])
        reach = np.cumsum(weights[others])
        found.append((first, others[np.searchsorted(reach, then * reach[-1], side="right")]))
    return np.array(found).T


def walk(distances, firsts, seconds, thresholds):
    """Return the leaf of an example in a full tree; node k has the children 2k + 1 and 2k + 2."""
    node = 0
    while node < len(firsts):
        node = 2 * node + (
            2 if distances[firsts[node]] - distances[seconds[node]] > thresholds[node] else 1
        )
    return node - len(firsts)


def boosted(D, labels, n_classes, pairs, columns=None, importances=None):
    """Boost stumps with exact thresholds, from given pairs a round; return scores and all Z."""
    n = len(labels)
    Y = signs(labels, n_classes, columns)
    v = np.ones(n) if importances is None else importances
    w = np.outer(v / v.sum(), np.ones(Y.shape[1])) / Y.shape[1]
    F, normalisers = np.zeros(Y.shape), []
    for candidates in pairs:
        best = None
        for first, second in candidates:
            f = D[:, first] - D[:, second]
            for v in thresholds(f):
                z = normaliser(f > v, Y, w)
                if best is None or z < best[0] - 1e-14:
                    best = z, (f > v).astype(int)
        leaves = best[1]
        h = outputs(leaves, 2, Y, w, 1 / (n * Y.shape[1]))
        w, z = reweigh(leaves, h, Y, w)
        F += h[leaves]
        normalisers.append(z)
    return F, normalisers


def vote(D, labels, n_classes, firsts, seconds):
    """Return the mean over pairs of sgn(d(x, x″) − d(x, x′)): for x′'s class, against x″'s."""
    scores = np.zeros((len(D), n_classes))
    for first, second in zip(firsts, seconds, strict=True):
        votes = np.sign(D[:, second] - D[:, first])
        scores[:, labels[first]] += votes / len(firsts)
        scores[:, labels[second]] -= votes / len(firsts)
    return scores


def margins(scores, labels, outputs):
    """Return y F / Σ max h; with a column for each class, y F is half the lead of the own one."""
    size = sum(np.abs(h).max() for h in outputs)
    if scores.ndim == 1:
        return np.where(labels == 1, scores, -scores) / size
    leads = [f[c] - max(np.delete(f, c)) for f, c in zip(scores, labels, strict=True)]
    return np.array(leads) / (2 * size)
