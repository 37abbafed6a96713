"""SiLA as printed: a visit at a time, and the whole sequence of matrices kept."""

from itertools import combinations

import numpy as np

BASE = {"cosine": 1.0, "dice": 2.0, "jaccard": 1.0, "none": 1.0}


def normaliser(x, y, norm):
    """Return N(x, y)."""
    if norm == "cosine":
        return np.sqrt(x @ x) * np.sqrt(y @ y)
    if norm == "dice":
        return np.abs(x).sum() + np.abs(y).sum()
    if norm == "jaccard":
        return np.abs(x).sum() + np.abs(y).sum() - x @ y
    return 1.0


def score(A, x, y, norm):
    """Return xᵀ A y / N(x, y); 0 where N is 0."""
    N = normaliser(x, y, norm)
    return float(x @ A @ y / N) if N > 0 else 0.0


def features(x, y, form, norm):
    """Return the matrix f(x, y)."""
    N = normaliser(x, y, norm)
    if N == 0:
        return np.zeros((len(x), len(x)))
    if form == "diagonal":
        return np.diag(x * y) / N
    if form == "symmetric":
        return (np.outer(x, y) + np.outer(y, x)) / N
    return np.outer(x, y) / N


def nearest(A, X, i, candidates, k, norm):
    """Return the k candidates most similar to row i; of equal ones the lower row."""
    scores = np.array([score(A, X[i], X[j], norm) for j in candidates])
    return [candidates[at] for at in np.argsort(-scores, kind="stable")[:k]]


def targets(X, y, k, norm):
    """Return each row's nearest rows of its own class under the base similarity."""
    base = BASE[norm] * np.eye(X.shape[1])
    members = [[j for j in range(len(X)) if y[j] == y[i] and j != i] for i in range(len(X))]
    return [nearest(base, X, i, members[i], k, norm) for i in range(len(X))]


def visits(A, X, rows, T, others, k, form, norm, weights=None):
    """Visit rows in order; yield the matrix after each and, if it was a mistake, its others."""
    p = X.shape[1]
    w = np.ones(len(X)) if weights is None else weights
    for i in rows:
        B = nearest(A, X, i, others[i], k, norm)
        near = sum(score(A, X[i], X[j], norm) for j in T[i])
        far = sum(score(A, X[i], X[j], norm) for j in B)
        if near - far <= 0:
            A = A + w[i] * sum((features(X[i], X[j], form, norm) for j in T[i]), np.zeros((p, p)))
            A = A - w[i] * sum((features(X[i], X[j], form, norm) for j in B), np.zeros((p, p)))
            yield A, B
        else:
            yield A, None


def train(X, y, k, n_epochs, *, form="square", norm="cosine", init="zero", orders=None,
          start=None, weights=None):  # fmt: skip
    """Return the sequence [(A_1, w_1), ...], from `start` if given, and each epoch's mistakes."""
    X = np.asarray(X, dtype=np.float64)
    p = X.shape[1]
    A = BASE[norm] * np.eye(p) if init == "base" else np.zeros((p, p))
    A = A if start is None else start
    T = targets(X, y, k, norm)
    others = [[j for j in range(len(X)) if y[j] != y[i]] for i in range(len(X))]
    sequence, mistakes = [[A, 0]], []
    for epoch in range(n_epochs):
        mistakes.append(0)
        order = range(len(X)) if orders is None else orders[epoch]
        for after, B in visits(sequence[-1][0], X, order, T, others, k, form, norm, weights):
            if B is None:
                sequence[-1][1] += 1
            else:
                sequence.append([after, 1])
                mistakes[-1] += 1
    return sequence, mistakes


def voted(sequence, tail=None):
    """Return Σ w_l A_l over the last `tail` elements."""
    return sum(w * A for A, w in (sequence if tail is None else sequence[-tail:]))


def margins(A, X, y, k, norm):
    """Return m_i of Definition 2 under A/‖A‖: the maximum is over all sets of k other rows."""
    A = A / np.linalg.norm(A)
    T = targets(X, y, k, norm)
    found = []
    for i in range(len(X)):
        near = sum(score(A, X[i], X[j], norm) for j in T[i])
        others = [score(A, X[i], X[j], norm) for j in range(len(X)) if y[j] != y[i]]
        found.append(near - max(sum(chosen) for chosen in combinations(others, k)))
    return np.array(found)


def deviation(margins, gamma):
    """Return D_A,γ of Definition 2."""
    return np.sqrt(sum(max(0.0, gamma - m) ** 2 for m in margins))
