"""Ridge regression towards the start, and offsets, as printed; plain NumPy."""

import numpy as np


def unit(rows):
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def form(Q, P, grades, W0, alpha):
    """Return W₀ + (QᵀQ + αI)⁻¹ Qᵀ(M − QW₀) over the queries that have a relevant item."""
    asked = grades.sum(axis=1) > 0
    Q, grades = Q[asked], grades[asked]
    M = (grades / grades.sum(axis=1, keepdims=True)) @ P
    gram = Q.T @ Q + alpha * np.eye(Q.shape[1])
    return W0 + np.linalg.solve(gram, Q.T @ (M - Q @ W0))


def directions(Q, grades, W0, near=None):
    """Return c of every item, zero where it is not judged, with counts and the center.

    With the items as `near`, each has a center of its own.
    """
    asked = grades.sum(axis=1) > 0
    t = unit(Q[asked] @ W0)
    center = t.mean(axis=0)
    counts = grades.sum(axis=0)
    c = np.zeros((grades.shape[1], t.shape[1]))
    for item in np.flatnonzero(counts):
        shift = center
        if near is not None:
            weights = np.exp(t @ unit(near[item][None])[0] / 0.1)
            shift = weights @ t / weights.sum()
        for query, grade in zip(t, grades[asked, item], strict=True):
            c[item] += grade * (query - shift)
        c[item] /= np.sqrt(counts[item])
    return c, counts, center


def moved(P, c, gamma):
    """Return ‖p‖ · unit(unit(p) + γ c); items that are not judged stay."""
    out = P.copy()
    for item in np.flatnonzero(np.abs(c).sum(axis=1)):
        towards = unit(P[item][None])[0] + gamma * c[item]
        out[item] = np.linalg.norm(P[item]) * unit(towards[None])[0]
    return out


def labels(X, y, alpha, weights=None):
    """Return W = BBᵀ with B = (XᵀX + αI)⁻¹ Xᵀ(Y − Ȳ), weighted."""
    weights = np.ones(len(y)) if weights is None else weights
    Y = (y[:, None] == np.unique(y)).astype(float)
    Y -= (weights[:, None] * Y).sum(axis=0) / weights.sum()
    B = np.linalg.solve(
        (X * weights[:, None]).T @ X + alpha * np.eye(X.shape[1]), (X * weights[:, None]).T @ Y
    )
    return B @ B.T


def gain(values, start):
    """Return the mean of paired differences and its standard error, without NaN; few are none."""
    differences = np.array([v - s for v, s in zip(values, start, strict=True) if v == v])
    if len(differences) < 5:
        return 0.0, np.inf
    n = len(differences)
    mean = differences.sum() / n
    return mean, np.sqrt(((differences - mean) ** 2).sum() / (n - 1) / n)


def protect(start, candidates):
    """Return the candidate of the highest overall gain where new items lose at most one error."""
    best = None
    for place, (overall, _, new) in enumerate(candidates):
        new_gain, new_error = gain(new, start[2])
        overall_gain, overall_error = gain(overall, start[0])
        if new_gain >= -new_error and (best is None or overall_gain > best[1]):
            best = place, overall_gain, overall_error
    return best
