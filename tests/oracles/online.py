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


def full(seen, r, W, Sigma):
    """Return W, Σ, the number of updates and the sum of losses of AROW on vec(W)."""
    w, Sigma, n_updates, losses = W.ravel().copy(), Sigma.copy(), 0, 0.0
    for q, p, weight in seen:
        x = np.outer(q, p).ravel()
        loss = max(0.0, 1 - w @ x)
        losses += loss
        v = x @ Sigma @ x
        if loss == 0 or v <= 0 or weight == 0:
            continue
        beta = 1 / (v + r / weight)
        w += loss * beta * Sigma @ x
        Sigma -= beta * np.outer(Sigma @ x, x @ Sigma)
        n_updates += 1
    return w.reshape(W.shape), Sigma, n_updates, losses


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


def full_objective(q, p, r, old, new):
    """Return KL(new ‖ old) + loss²/2r + variance/2r, with beliefs (W, Σ)."""
    (W_old, S_old), (W, S) = old, new
    x, moved, inverse = np.outer(q, p).ravel(), (W - W_old).ravel(), np.linalg.inv(S_old)
    divergence = (
        np.trace(inverse @ S) - len(S) + moved @ inverse @ moved + log_det(S_old) - log_det(S)
    ) / 2
    loss = max(0.0, 1 - q @ W @ p)
    return divergence + (loss**2 + x @ S @ x) / (2 * r)


def log_det(matrix):
    """Return the logarithm of the determinant of a positive definite matrix."""
    sign, value = np.linalg.slogdet(matrix)
    assert sign > 0
    return value


# The mistake-driven variants keep a sum Θ of w qpᵀ over mistakes, and judge with a covariance that
# already includes the triplet. With Θ₀ = 0 and weights of 1, for every form V,
#
#     M − Σℓ ≤ Σ qᵀVp = ⟨V, Θ⟩ ≤ √(V's energy under the precision) · √(Θ's under the covariance),
#
# by the hinge losses ℓ of V over the M mistakes and by Cauchy and Schwarz. Each docstring bounds
# the energy of Θ; the covariance only shrinks, so that what earlier triplets left of it only falls.


def diagonal_mistakes(seen, r, W, S):
    """Return W = Θ∘S, S, the number of mistakes and the sum of losses.

    For z = qpᵀ and A = 1/S, entry by entry, (Θ + z)²/A' ≤ Θ²/A + 2zΘ/A' + z²/A'; the middle sums to
    at most 0 at a mistake, and z²/A' = r(A' − A)/A' ≤ r log(A'/A). So ΣΘ²/A ≤ rΣ log A (theorem 1).
    """
    Theta, A, n_updates, losses = W / S, 1 / S, 0, 0.0
    for q, p, w in seen:
        z = np.outer(q, p)
        losses += max(0.0, 1 - (z * Theta / A).sum())
        A_new = A + z * z * w / r
        if (z * Theta / A_new).sum() <= 0 and z.any() and w > 0:
            Theta, A, n_updates = Theta + w * z, A_new, n_updates + 1
    return Theta / A, 1 / A, n_updates, losses


def factored_mistakes(seen, r, W, Lambda, Sigma):
    """Return W = ΛΘΣ, Λ, Σ, the number of mistakes and the sum of losses.

    With Σᵢ⁻¹ = Σᵢ₋₁⁻¹ + a/(mr) ppᵀ, a = qᵀΛᵢ₋₁q: a pᵀΣᵢp = mr(1 − detΣᵢ/detΣᵢ₋₁), at most mr times
    the growth of logdet Σ⁻¹ (lemma 3). Tr(ΘᵀΛΘΣ) grows at a mistake by at most
    (qᵀΛᵢq)(pᵀΣᵢp) ≤ a pᵀΣᵢp; likewise with b = pᵀΣᵢ₋₁p and n. So it is at most
    r min(m logdet Σ⁻¹, n logdet Λ⁻¹) (theorem 2).
    """
    m, n = W.shape
    L_inverse, S_inverse = np.linalg.inv(Lambda), np.linalg.inv(Sigma)
    Theta, n_updates, losses = L_inverse @ W @ S_inverse, 0, 0.0
    for q, p, w in seen:
        by_q, by_p = np.linalg.solve(L_inverse, q), np.linalg.solve(S_inverse, p)
        losses += max(0.0, 1 - by_q @ Theta @ by_p)
        L_new = L_inverse + (p @ by_p) * w / (n * r) * np.outer(q, q)
        S_new = S_inverse + (q @ by_q) * w / (m * r) * np.outer(p, p)
        margin = np.linalg.solve(L_new, q) @ Theta @ np.linalg.solve(S_new, p)
        if margin <= 0 and q.any() and p.any() and w > 0:
            Theta, L_inverse, S_inverse = Theta + w * np.outer(q, p), L_new, S_new
            n_updates += 1
    Lambda, Sigma = np.linalg.inv(L_inverse), np.linalg.inv(S_inverse)
    return Lambda @ Theta @ Sigma, Lambda, Sigma, n_updates, losses


def full_mistakes(seen, r, W, Sigma):
    """Return W = ΣΘ, Σ, the number of mistakes and the sum of losses: a second-order perceptron.

    With Σᵢ⁻¹ = Σᵢ₋₁⁻¹ + xxᵀ/r, ΘᵀΣΘ grows at a mistake by at most xᵀΣᵢx = r(1 − detΣᵢ/detΣᵢ₋₁), so
    that it is at most r logdet Σ⁻¹ (AROW).
    """
    inverse = np.linalg.inv(Sigma)
    Theta, n_updates, losses = inverse @ W.ravel(), 0, 0.0
    for q, p, w in seen:
        x = np.outer(q, p).ravel()
        losses += max(0.0, 1 - x @ np.linalg.solve(inverse, Theta))
        new = inverse + w / r * np.outer(x, x)
        if x @ np.linalg.solve(new, Theta) <= 0 and x.any() and w > 0:
            Theta, inverse, n_updates = Theta + w * x, new, n_updates + 1
    Sigma = np.linalg.inv(inverse)
    return (Sigma @ Theta).reshape(W.shape), Sigma, n_updates, losses
