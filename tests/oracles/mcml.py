"""MCML as printed: steps along the gradient in M, each projected onto M ⪰ 0."""

import numpy as np


def probabilities(M, X, i, weights):
    """Return p(j|i) ∝ v_j exp(−d(i, j)), with p(i|i) = 0."""
    d = np.array([(X[i] - x) @ M @ (X[i] - x) for x in X])
    p = weights * np.exp(-(d - np.delete(d, i).min()))
    p[i] = 0
    return p / p.sum()


def ideal(y, i, weights):
    """Return p₀(j|i) ∝ v_j for the other rows of the class."""
    p = np.where(y == y[i], weights, 0.0)
    p[i] = 0
    return p / p.sum()


def objective(M, X, y, weights=None):
    """Return Σ v_i KL(p₀(·|i) ‖ p(·|i)) over rows whose class has another."""
    weights = np.ones(len(X)) if weights is None else weights / weights.mean()
    total = 0.0
    for i in range(len(X)):
        if np.sum(y == y[i]) > 1:
            p0, p = ideal(y, i, weights), probabilities(M, X, i, weights)
            own = p0 > 0
            total += weights[i] * np.sum(p0[own] * np.log(p0[own] / p[own]))
    return total


def gradient(M, X, y, weights=None):
    """Return Σ v_i (p₀(j|i) − p(j|i)) (x_j − x_i)(x_j − x_i)ᵀ."""
    weights = np.ones(len(X)) if weights is None else weights / weights.mean()
    G = np.zeros_like(M)
    for i in range(len(X)):
        if np.sum(y == y[i]) > 1:
            change = weights[i] * (ideal(y, i, weights) - probabilities(M, X, i, weights))
            for j in range(len(X)):
                G += change[j] * np.outer(X[j] - X[i], X[j] - X[i])
    return G


def solve(X, y, n_steps):
    """Return M after steps of projected gradient descent, each of which must decrease f."""
    M = np.eye(X.shape[1])
    step, value = 0.1, objective(M, X, y)
    for _ in range(n_steps):
        values, vectors = np.linalg.eigh(M - step * gradient(M, X, y))
        moved = (vectors * np.maximum(values, 0)) @ vectors.T
        if objective(moved, X, y) < value:
            M, value, step = moved, objective(moved, X, y), 1.5 * step
        else:
            step /= 2
    return M
