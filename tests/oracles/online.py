"""OASIS and AROMA as printed: one triplet after the other, in plain NumPy.

A weight w makes AROMA's r into r/w and OASIS's C into wC; a weight of 0 is no update. What was seen
is a list of (q, p, w) with p = p⁺ − p⁻. What is given is never changed.
"""

import numpy as np


def examples(triplets, queries, items, weights=None, unit=False):
    """Return (q, p, w) of each triplet, from dense rows."""
    queries, items = (np.asarray(rows, dtype=np.float64) for rows in (queries, items))
    if unit:
        queries, items = unit_rows(queries), unit_rows(items)
    weights = np.ones(len(triplets)) if weights is None else weights
    return [
        (queries[q], items[closer] - items[farther], w)
        for (q, closer, farther), w in zip(triplets, weights, strict=True)
    ]


def unit_rows(rows):
    """Return rows of unit length; a zero row stays zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def oasis(seen, C, W):
    """Return W, the number of updates and the sum of losses."""
    W, n_updates, losses = W.copy(), 0, 0.0
    for q, p, w in seen:
        loss = max(0.0, 1 - q @ W @ p)
        losses += loss
        reach = (q @ q) * (p @ p)
        if loss == 0 or reach == 0 or w == 0:
            continue
        W += min(w * C, loss / reach) * np.outer(q, p)
        n_updates += 1
    return W, n_updates, losses


def diagonal(seen, r, W, S):
    """Return W, S, the number of updates and the sum of losses."""
    W, S, n_updates, losses = W.copy(), S.copy(), 0, 0.0
    for q, p, w in seen:
        loss = max(0.0, 1 - q @ W @ p)
        losses += loss
        v = (q * q) @ S @ (p * p)
        if loss == 0 or v == 0 or w == 0:
            continue
        W += loss / (v + r / w) * S * np.outer(q, p)
        S = 1 / (1 / S + np.outer(q * q, p * p) * w / r)
        n_updates += 1
    return W, S, n_updates, losses


def factored(seen, r, W, Lambda, Sigma):
    """Return W, Λ, Σ, the number of updates and the sum of losses."""
    W, Lambda, Sigma, n_updates, losses = W.copy(), Lambda.copy(), Sigma.copy(), 0, 0.0
    m, n = W.shape
    for q, p, w in seen:
        loss = max(0.0, 1 - q @ W @ p)
        losses += loss
        by_q, by_p = Lambda @ q, Sigma @ p
        a, b = q @ by_q, p @ by_p
        if loss == 0 or a * b <= 0 or w == 0:
            continue
        noise = r / w
        W += loss / (noise + a * b) * np.outer(by_q, by_p)
        Sigma -= np.outer(by_p, by_p) / (b + m * noise / a)
        Lambda -= np.outer(by_q, by_q) / (a + n * noise / b)
        n_updates += 1
    return W, Lambda, Sigma, n_updates, losses


def diagonal_objective(q, p, r, old, new):
    """Return KL(new ‖ old) + loss²/2r + variance/2r, with beliefs (W, S)."""
    (W_old, S_old), (W, S) = old, new
    ratio = S / S_old
    divergence = (ratio - 1 - np.log(ratio) + (W - W_old) ** 2 / S_old).sum() / 2
    loss = max(0.0, 1 - q @ W @ p)
    return divergence + (loss**2 + (q * q) @ S @ (p * p)) / (2 * r)


def factored_objective(q, p, r, old, new):
    """Return KL(new ‖ old) + loss²/2r + variance/2r, with beliefs (W, Λ, Σ)."""
    (W_old, L_old, S_old), (W, L, S) = old, new
    m, n = W.shape
    L_inverse, S_inverse = np.linalg.inv(L_old), np.linalg.inv(S_old)
    moved = W - W_old
    divergence = (
        np.trace(L_inverse @ L) * np.trace(S_inverse @ S)
        - m * n
        + np.trace(L_inverse @ moved @ S_inverse @ moved.T)
        + n * (log_det(L_old) - log_det(L))
        + m * (log_det(S_old) - log_det(S))
    ) / 2
    loss = max(0.0, 1 - q @ W @ p)
    return divergence + (loss**2 + (q @ L @ q) * (p @ S @ p)) / (2 * r)


def log_det(matrix):
    """Return the logarithm of the determinant of a positive definite matrix."""
    sign, value = np.linalg.slogdet(matrix)
    assert sign > 0
    return value


def dual_diagonal(seen, r):
    """Return Θ and A of the mistake-driven dual: both change where the mean Θ/A is wrong.

    A already counts the example that it judges. For z = qpᵀ, entry by entry,
    (Θ + z)²/A' ≤ Θ²/A + 2zΘ/A' + z²/A'; the middle sums to at most 0 at a mistake, and
    z²/A' = r(A' − A)/A' ≤ r log(A'/A). So ΣΘ²/A ≤ r Σ log A.
    """
    q, p, _ = seen[0]
    Theta, A = np.zeros((len(q), len(p))), np.ones((len(q), len(p)))
    for q, p, _ in seen:
        z = np.outer(q, p)
        A_new = A + z * z / r
        if (z * Theta / A_new).sum() <= 0:
            Theta, A = Theta + z, A_new
    return Theta, A


def dual_factored(seen, r):
    """Return Θ, Λ, Σ and Σᵢ(qᵀΛᵢ₋₁q)(pᵀΣᵢp) of the mistake-driven dual.

    With Σᵢ⁻¹ = Σᵢ₋₁⁻¹ + a/(mr) ppᵀ, a = qᵀΛᵢ₋₁q: a pᵀΣᵢp = mr(1 − detΣᵢ/detΣᵢ₋₁), at most mr times
    the growth of logdet Σ⁻¹ (lemma 3). Tr(ΘᵀΛΘΣ) falls with Λ and Σ and, at a mistake, grows by at
    most (qᵀΛᵢq)(pᵀΣᵢp) ≤ a pᵀΣᵢp; likewise with b = pᵀΣᵢ₋₁p and n.
    """
    q, p, _ = seen[0]
    m, n = len(q), len(p)
    Theta, L_inverse, S_inverse, spread = np.zeros((m, n)), np.eye(m), np.eye(n), 0.0
    for q, p, _ in seen:
        a, b = q @ np.linalg.solve(L_inverse, q), p @ np.linalg.solve(S_inverse, p)
        L_new = L_inverse + b / (n * r) * np.outer(q, q)
        S_new = S_inverse + a / (m * r) * np.outer(p, p)
        by_q, by_p = np.linalg.solve(L_new, q), np.linalg.solve(S_new, p)
        if by_q @ Theta @ by_p <= 0:
            Theta, L_inverse, S_inverse = Theta + np.outer(q, p), L_new, S_new
            spread += a * (p @ by_p)
    return Theta, np.linalg.inv(L_inverse), np.linalg.inv(S_inverse), spread
