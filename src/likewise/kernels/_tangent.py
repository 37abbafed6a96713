"""Two-sided tangent distance between images."""

import numpy as np

from likewise.kernels._jit import kernel


@kernel
def tangent_distances(products, left, right, left_own, right_own, stiffness, out):
    """Write the two-sided tangent distances of all pairs of images.

    With r = x − y and orthonormal tangents X, Y it is the root of
    min over a, b of |r − Xa − Yb|² + stiffness (|a|² + |b|²).
    The first unknowns are eliminated, and a k × k system is left: S b = s with
    S = (1 + σ) I − CᵀC / (1 + σ), s = Yᵀr − Cᵀ Xᵀr / (1 + σ), C = XᵀY.

    Parameters
    ----------
    products : (n (1 + k), m (1 + k)) inner products of (image, its k tangents) on either side
    left, right : (n, width), (m, width), the images
    left_own, right_own : (n, k), (m, k), inner products of tangents with their own image
    stiffness : float, above 0
    out : (n, m) float64
    """
    k = left_own.shape[1]
    soft = 1.0 + stiffness
    u = np.empty(k)
    s = np.empty(k)
    S = np.empty((k, k))
    for i in range(left.shape[0]):
        at_left = i * (1 + k)
        for j in range(right.shape[0]):
            at_right = j * (1 + k)
            total = 0.0
            for f in range(left.shape[1]):
                gap = left[i, f] - right[j, f]
                total += gap * gap
            for a in range(k):
                u[a] = left_own[i, a] - products[at_left + 1 + a, at_right]
                total -= u[a] * u[a] / soft
            for b in range(k):
                value = products[at_left, at_right + 1 + b] - right_own[j, b]
                for a in range(k):
                    value -= products[at_left + 1 + a, at_right + 1 + b] * u[a] / soft
                s[b] = value
                for c in range(b + 1):
                    dot = 0.0
                    for a in range(k):
                        dot += (
                            products[at_left + 1 + a, at_right + 1 + b]
                            * products[at_left + 1 + a, at_right + 1 + c]
                        )
                    S[b, c] = -dot / soft
                S[b, b] += soft
            # Cholesky decomposition with forward substitution: only sᵀ S⁻¹ s is needed
            for b in range(k):
                for c in range(b):
                    value = S[b, c]
                    for a in range(c):
                        value -= S[b, a] * S[c, a]
                    S[b, c] = value / S[c, c]
                value = S[b, b]
                solved = s[b]
                for a in range(b):
                    value -= S[b, a] * S[b, a]
                    solved -= S[b, a] * s[a]
                S[b, b] = np.sqrt(value)
                s[b] = solved / S[b, b]
                total -= s[b] * s[b]
            out[i, j] = np.sqrt(max(total, 0.0))
