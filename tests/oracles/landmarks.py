"""Ranks, booleans, margins and Winnow as they are printed, in plain NumPy."""

import numpy as np


def squared_distances(Q, P):
    return ((Q[:, None, :] - P[None, :, :]) ** 2).sum(axis=2)


def closer_counts(to_sample, to_items):
    """How many of the sample are strictly closer than each item, by distances (n, |S|), (n, m)."""
    return (to_sample[:, :, None] < to_items[:, None, :]).sum(axis=1)


def ranked(Q, S, P):
    """1 − 2 Prob over z in S of [d(x, z) < d(x, y)]."""
    return 1 - 2 * closer_counts(squared_distances(Q, S), squared_distances(Q, P)) / len(S)


def transductive(X):
    """Sort all n examples by distance to each, which is itself the first: 1 − 2 rank/(n − 1)."""
    distances = squared_distances(X, X)
    np.fill_diagonal(distances, -1)
    ranks = distances.argsort(axis=1, kind="stable").argsort(axis=1)
    return 1 - 2 * ranks / (len(X) - 1)


def mean_margins(K, y, weights=None):
    """E[K(x′, x) | same label] − E[K(x′, x) | other label], with x′ ≠ x the first argument."""
    weights = np.ones(len(y)) if weights is None else weights
    margins = []
    for x in range(len(y)):
        others = np.arange(len(y)) != x
        same, different = others & (y == y[x]), y != y[x]
        means = [np.average(K[part, x], weights=weights[part]) for part in (same, different)]
        margins.append(means[0] - means[1])
    return np.array(margins)


def rank_margins(distances, y, weights=None):
    """E sgn(d(x, x″) − d(x, x′)), of x′ ≠ x with the same label and x″ with another."""
    weights = np.ones(len(y)) if weights is None else weights
    margins = np.full(len(y), np.nan)
    for i, row in enumerate(distances):
        same = [j for j in range(len(y)) if y[j] == y[i] and j != i]
        others = [j for j in range(len(y)) if y[j] != y[i]]
        pairs = [(weights[a] * weights[b], np.sign(row[b] - row[a])) for a in same for b in others]
        total = sum(weight for weight, _ in pairs)
        if total > 0:
            margins[i] = sum(weight * sign for weight, sign in pairs) / total
    return margins


def above_median(X):
    """Column > median; ≥ where the median is the column's maximum."""
    medians = np.median(X, axis=0)
    return np.where(medians == X.max(axis=0), medians <= X, medians < X).astype(float)


class Winnow:
    """Both weight vectors, from 1; features as given, without an intercept of its own."""

    def __init__(self, n_features):
        self.plus, self.minus, self.mistakes = np.ones(n_features), np.ones(n_features), 0

    def learn(self, X, signs, epsilon, margin, weights):
        for x, y, v in zip(X, signs, weights, strict=True):
            score, most = (self.plus - self.minus) @ x, (self.plus + self.minus) @ np.abs(x)
            # sums that cancel do so up to rounding
            if v > 0 and y * score <= (margin + 1e-12) * most:
                self.plus *= np.exp(epsilon * v * y * x)
                self.minus *= np.exp(-epsilon * v * y * x)
                self.mistakes += 1


def winnow(X, signs, epsilon=0.5, n_passes=5, margin=0.0, weights=None):
    found = Winnow(X.shape[1])
    weights = np.ones(len(X)) if weights is None else weights
    for _ in range(n_passes):
        found.learn(X, signs, epsilon, margin, weights)
        epsilon /= 2
    return found


def original_winnow(X, positive, epsilon=0.5, n_passes=5, threshold=None):
    """Weights from 1, a threshold of d, factors 1 + εx and 1 − εx; return weights and mistakes."""
    weights, mistakes = np.ones(X.shape[1]), 0
    threshold = X.shape[1] if threshold is None else threshold
    for _ in range(n_passes):
        for x, y in zip(X, positive, strict=True):
            predicted = weights @ x >= threshold
            if predicted and not y:
                weights *= 1 - epsilon * x
            elif y and not predicted:
                weights *= 1 + epsilon * x
            mistakes += predicted != y
        epsilon /= 2
    return weights, mistakes


def perceptron_mistakes(X, signs):
    weights, mistakes = np.zeros(X.shape[1]), 0
    for x, y in zip(X, signs, strict=True):
        if y * (weights @ x) <= 0:
            weights += y * x
            mistakes += 1
    return mistakes
