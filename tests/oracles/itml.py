"""ITML as printed, by projections onto one constraint after another, and LEGO's update."""

import numpy as np


def divergence(A, B):
    """Return the LogDet divergence tr(AB⁻¹) − log det(AB⁻¹) − d."""
    product = A @ np.linalg.inv(B)
    return np.trace(product) - np.linalg.slogdet(product)[1] - len(A)


def project(A, z, xi, multiplier, delta, gamma, printed=False):
    """Return A, ξ and λ after the projection onto the constraint of a pair (Algorithm 1, line 3).

    δ is 1 for a similar pair, with zᵀAz ≤ ξ, and −1 for a dissimilar one, with zᵀAz ≥ ξ. The
    printed α = δ/2 (1/p − γ/ξ) leads to zᵀAz = ξ for γ = 1 alone; δ γ/(γ + 1) (1/p − 1/ξ) always.
    """
    p = z @ A @ z
    free = delta / 2 * (1 / p - gamma / xi)
    if not printed:
        free = delta * gamma / (gamma + 1) * (1 / p - 1 / xi)
    alpha = min(multiplier, free)
    beta = delta * alpha / (1 - delta * alpha * p)
    xi = gamma * xi / (gamma + delta * alpha * xi)
    v = A @ z
    return A + beta * np.outer(v, v), xi, multiplier - alpha


def solve(A0, Z, similar, bounds, gamma, n_sweeps):
    """Return A, ξ and λ after projections onto every constraint in turn, `n_sweeps` times."""
    A = A0.copy()
    xi = np.where(similar, *bounds).astype(float)
    multipliers = np.zeros(len(Z))
    for _ in range(n_sweeps):
        for c, z in enumerate(Z):
            delta = 1 if similar[c] else -1
            A, xi[c], multipliers[c] = project(A, z, xi[c], multipliers[c], delta, gamma)
    return A, xi, multipliers


def objective(A, A0, Z, similar, bounds, gamma):
    """Return D(A, A₀) + γ Σ D(ξ, ξ₀) with the best ξ of each pair."""
    total = divergence(A, A0)
    for z, is_similar in zip(Z, similar, strict=True):
        d, bound = z @ A @ z, bounds[0 if is_similar else 1]
        xi = max(d, bound) if is_similar else min(d, bound)
        total += gamma * (xi / bound - np.log(xi / bound) - 1)
    return total


def lego_update(M, z, bound, eta):
    """Return argmin D(A, M) + η/2 (zᵀAz − bound)², found without the closed form.

    At the minimum A⁻¹ = M⁻¹ + η (zᵀAz − bound) zzᵀ, an equation in the number zᵀAz alone.
    """
    inverse = np.linalg.inv(M)
    d = z @ M @ z
    low, high = min(d, bound), max(d, bound)
    for _ in range(200):
        middle = (low + high) / 2
        slope = eta * (middle - bound)
        if 1 + slope * d > 0 and d / (1 + slope * d) < middle:
            high = middle
        else:
            low = middle
    return np.linalg.inv(inverse + eta * (low - bound) * np.outer(z, z))
