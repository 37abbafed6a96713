"""MMC: the printed objective and constraint, and ascent with a projection after each step."""

import numpy as np


def objective(A, Z, similar):
    """Return Σ ‖z‖_A over dissimilar pairs."""
    return sum(np.sqrt(max(z @ A @ z, 0.0)) for z in Z[~similar])


def constraint(A, Z, similar):
    """Return Σ ‖z‖²_A over similar pairs."""
    return sum(z @ A @ z for z in Z[similar])


def project(B):
    """Return the nearest matrix with tr B = 1 and B ⪰ 0: eigenvalues go to the simplex."""
    values, vectors = np.linalg.eigh(B)
    descending = values[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(B) + 1)
    shift = excess[np.flatnonzero(descending > excess)[-1]]
    return (vectors * np.maximum(values - shift, 0)) @ vectors.T


def solve(Z, similar, n_steps):
    """Return A after steps of projected ascent, each of which must increase the objective.

    With B = C^½ A C^½ and C = Σ zzᵀ over similar pairs, the constraint is tr B = 1.
    """
    values, vectors = np.linalg.eigh(sum(np.outer(z, z) for z in Z[similar]))
    W = (vectors / np.sqrt(values)) @ vectors.T
    B = np.eye(len(W)) / len(W)
    step, value = 1.0, objective(W @ B @ W, Z, similar)
    for _ in range(n_steps):
        A = W @ B @ W
        gradient = sum(np.outer(W @ z, W @ z) / (2 * np.sqrt(z @ A @ z)) for z in Z[~similar])
        moved = project(B + step * gradient / np.linalg.norm(gradient))
        reached = objective(W @ moved @ W, Z, similar)
        if reached > value:
            B, value, step = moved, reached, 1.5 * step
        else:
            step /= 2
    return W @ B @ W
