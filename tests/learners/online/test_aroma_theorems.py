"""The theorems that AROMA rests on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.learners.online.beliefs import (
    COVARIANCES,
    aroma,
    belief_of,
)
from tests.oracles import online as oracle


@st.composite
def steps(draw):
    """Return a believer that has seen something, and one more example on which it has a loss."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    m, n, r = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.sampled_from([0.1, 1, 10]))
    rows = rng.normal(size=(20, m)), rng.normal(size=(20, n))
    before = rng.integers([20, 10, 10], size=(draw(st.integers(1, 30)), 3)) + np.array([0, 0, 10])
    return rng, r, rows, before


@pytest.mark.parametrize("covariance", COVARIANCES)
@settings(max_examples=25)
@given(step=steps())
def test_each_update_is_the_minimiser_of_its_block(covariance, step):
    """Of KL + loss²/2r + variance/2r, the other blocks as they were: nothing nearby is lower."""
    rng, r, (Q, P), before = step
    model = aroma(covariance, r=r).fit_triplets(before, Q, P)
    old = tuple(part.copy() for part in belief_of(model))
    q, p = Q[0], P[0] - P[1]
    if q @ old[0] @ p > 0.99:
        p, last = -p, [0, 1, 0]
    else:
        last = [0, 0, 1]
    model.partial_fit_triplets([last], Q, P)
    new = belief_of(model)
    objective = getattr(oracle, f"{covariance}_objective")
    for block in range(len(old)):
        at = [*old[:block], new[block], *old[block + 1 :]]
        lowest = objective(q, p, r, old, at)
        assert lowest <= objective(q, p, r, old, old) + 1e-9
        for size in (1e-3, 1e-1):
            for _ in range(5):
                change = size * rng.normal(size=new[block].shape)
                if block == 0:
                    moved = new[0] + change
                elif covariance == "diagonal":
                    moved = new[1] * np.exp(change)
                else:  # stays symmetric and positive definite
                    root = np.eye(len(change)) + change
                    moved = root @ new[block] @ root.T
                there = [*old[:block], moved, *old[block + 1 :]]
                assert objective(q, p, r, old, there) >= lowest - 1e-9 * (1 + abs(lowest))


@settings(max_examples=25)
@given(step=steps())
def test_precisions_grow_by_what_was_seen_and_stay_positive_definite(step):
    _, r, (Q, P), before = step
    model = aroma("factored", r=r).fit_triplets(before, Q, P)
    W, L, S = (part.copy() for part in belief_of(model))
    m, n = W.shape
    q, p = Q[0], P[0] - P[1]
    model.partial_fit_triplets([[0, 0, 1]], Q, P)
    grows = q @ W @ p < 1
    a, b = q @ L @ q, p @ S @ p
    for before_, after, gain in (
        (S, model.state_.Sigma, a / (m * r) * np.outer(p, p)),
        (L, model.state_.Lambda, b / (n * r) * np.outer(q, q)),
    ):
        grown = np.linalg.inv(after) - np.linalg.inv(before_)
        assert_allclose(grown, grows * gain, rtol=1e-6, atol=1e-6)
        assert_allclose(after, after.T, atol=1e-10)
        assert np.linalg.eigvalsh(after).min() > 0


@st.composite
def streams(draw):
    """Return rows, comparisons that a form explains or that none does, r, and that form."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    m, n, r = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.sampled_from([0.1, 1, 10]))
    scales = rng.choice([0.1, 1.0, 5.0], size=(2, 4))
    Q, P = rng.normal(size=(20, m)) * scales[0, :m], rng.normal(size=(20, n)) * scales[1, :n]
    triplets = rng.integers([20, 10, 10], size=(25, 3)) + np.array([0, 0, 10])
    form = rng.normal(size=(m, n))
    if draw(st.booleans()):
        triplets = [
            (q, a, b) if Q[q] @ form @ (P[a] - P[b]) > 0 else (q, b, a) for q, a, b in triplets
        ]
    return Q, P, triplets, r, form * draw(st.sampled_from([0.3, 1, 10]))


def one_by_one(model, triplets, Q, P):
    """Yield (q, p, belief before, belief after) of each triplet that the learner updates at."""
    model.initialize(Q.shape[1], P.shape[1])
    for row in triplets:
        before, n = [part.copy() for part in belief_of(model)], model.n_updates_
        model.partial_fit_triplets([row], Q, P)
        if model.n_updates_ > n:
            after = [part.copy() for part in belief_of(model)]
            yield Q[row[0]], P[row[1]] - P[row[2]], before, after


@pytest.mark.parametrize("covariance", COVARIANCES)
@settings(max_examples=15)
@given(stream=streams())
def test_mistakes_are_bounded_by_the_theorems(covariance, stream):
    """Theorems 1 and 2, and AROW's, with any form V and its losses over the mistakes."""
    Q, P, triplets, r, V = stream
    model = aroma(covariance, r=r, update="mistake", init="zero")
    mistakes = list(one_by_one(model, triplets, Q, P))
    W, *spread = belief_of(model)
    m, n = W.shape
    if covariance == "diagonal":
        (S,) = spread
        of_V, of_W = (V**2 / S).sum(), (W**2 / S).sum()
        grown = -np.log(S).sum()
    elif covariance == "factored":
        L, S = spread
        inverses = np.linalg.inv(L), np.linalg.inv(S)
        of_V, of_W = (np.trace(F @ inverses[1] @ F.T @ inverses[0]) for F in (V, W))
        grown = min(-m * oracle.log_det(S), -n * oracle.log_det(L))
    else:
        (S,) = spread
        of_V, of_W = (F.ravel() @ np.linalg.solve(S, F.ravel()) for F in (V, W))
        grown = -oracle.log_det(S)
    for q, p, (W, *before), (_, *after) in mistakes:
        judged = W * after[0] / before[0] if covariance == "diagonal" else W
        assert q @ judged @ p <= 1e-9  # a mistake indeed
    losses = sum(max(0.0, 1 - q @ V @ p) for q, p, _, _ in mistakes)
    assert of_W <= r * grown * (1 + 1e-9) + 1e-9  # the energy of Θ = W times the precision
    assert len(mistakes) <= losses + np.sqrt(of_V * r * grown) + 1e-6
    assert model.n_updates_ == len(mistakes) > 0


@pytest.mark.parametrize("update", ["margin", "mistake"])
@settings(max_examples=15)
@given(stream=streams())
def test_variances_before_and_after_sum_to_at_most_the_growth_of_the_precision(update, stream):
    """Lemma 3, of which both variants have the same updates of the covariances."""
    Q, P, triplets, r, _ = stream
    model = aroma("factored", r=r, update=update)
    sums = np.zeros(2)
    for q, p, (_, L, S), (_, L_new, S_new) in one_by_one(model, triplets, Q, P):
        sums += (q @ L @ q) * (p @ S_new @ p), (q @ L_new @ q) * (p @ S @ p)
    m, n = model.state_.W.shape
    grown = (
        -m * r * oracle.log_det(model.state_.Sigma),
        -n * r * oracle.log_det(model.state_.Lambda),
    )
    assert (sums <= np.array(grown) * (1 + 1e-9) + 1e-9).all()
