"""AROMA: the printed updates, the theorems they rest on, and what its uncertainty is good for."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.datasets import load_digits
from tests.oracles import online as oracle

import likewise as lw

KINDS = {
    "dense-dense": (np.asarray, np.asarray),
    "csr-csr": (csr_array, csr_array),
    "dense-csr": (np.asarray, csr_array),
    "csr-dense": (csr_array, np.asarray),
}


def problem(rng, m=7, n=7, size=400):
    """Return queries, items and triplets, with zero rows and items that are doubles."""
    Q = rng.normal(size=(30, m)) * (rng.random((30, m)) < 0.5)
    P = rng.normal(size=(40, n)) * (rng.random((40, n)) < 0.5)
    Q[3], P[5], P[6], P[8] = 0, 0, 0, P[7]
    triplets = rng.integers([30, 20, 20], size=(size, 3)) + np.array([0, 0, 20])
    triplets[::9, 1:] = [7, 8]  # two rows that are the same
    triplets[4::9, 1:] = [5, 6]  # two zero rows
    return Q, P, triplets


def aroma(covariance="diagonal", **parameters):
    return lw.AROMA(covariance, **{"normalize": False, "dtype": "float64", **parameters})


def start_of(m, n):
    return np.eye(m) if m == n else np.zeros((m, n))


def belief_of(model):
    """Return (W, S) or (W, Λ, Σ)."""
    state = model.state_
    return (state.W, state.S) if hasattr(state, "S") else (state.W, state.Lambda, state.Sigma)


def fresh_belief(covariance, m, n):
    W = start_of(m, n)
    return (W, np.ones((m, n))) if covariance == "diagonal" else (W, np.eye(m), np.eye(n))


LEARN = {"diagonal": oracle.diagonal, "factored": oracle.factored}
COVARIANCES = list(LEARN)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("n", [7, 4])
@pytest.mark.parametrize("r", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_belief_is_that_of_the_printed_update(rng, covariance, kinds, n, r, weighted):
    Q, P, triplets = problem(rng, n=n)
    weights = rng.choice([0.0, 0.3, 1.0, 5.0], len(triplets)) if weighted else None
    seen = oracle.examples(triplets, Q, P, weights)
    *belief, n_updates, losses = LEARN[covariance](seen, r, *fresh_belief(covariance, 7, n))
    found = aroma(covariance, r=r).fit_triplets(triplets, kinds[0](Q), kinds[1](P), weights)
    for part, wanted in zip(belief_of(found), belief, strict=True):
        assert_allclose(part, wanted, rtol=1e-8, atol=1e-8)
    assert_array_equal(found.similarity_.W, found.state_.W)
    assert (found.n_updates_, found.n_triplets_seen_) == (n_updates, len(triplets))
    assert_allclose(found.history_[-1]["loss"], losses / len(triplets), rtol=1e-8)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_wide_rows_take_other_block_sizes_and_the_same_update(rng, covariance):
    Q, P = rng.normal(size=(50, 610)) / 25, rng.normal(size=(60, 3))
    triplets = rng.integers([50, 30, 30], size=(300, 3)) + np.array([0, 0, 30])
    seen = oracle.examples(triplets, Q, P)
    *belief, n_updates, _ = LEARN[covariance](seen, 0.1, *fresh_belief(covariance, 610, 3))
    found = aroma(covariance, r=0.1).fit_triplets(triplets, Q, P)
    for part, wanted in zip(belief_of(found), belief, strict=True):
        assert_allclose(part, wanted, rtol=1e-8, atol=1e-8)
    assert found.n_updates_ == n_updates


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_rows_of_unit_length_are_learned_from_and_scored(rng, covariance, kind):
    Q, P, triplets = problem(rng)
    seen = oracle.examples(triplets, Q, P, unit=True)
    *belief, n_updates, _ = LEARN[covariance](seen, 0.3, *fresh_belief(covariance, 7, 7))
    found = aroma(covariance, r=0.3, normalize=True).fit_triplets(triplets, kind(Q), kind(P))
    for part, wanted in zip(belief_of(found), belief, strict=True):
        assert_allclose(part, wanted, rtol=1e-8, atol=1e-8)
    assert found.similarity_.norm == "cosine"
    assert found.n_updates_ == n_updates


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("normalize", [True, False])
def test_doubles_and_zero_rows_are_no_update(covariance, kind, normalize):
    rows = kind(np.array([[3.0, 1.0], [3.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))
    found = aroma(covariance, normalize=normalize)
    found.fit_triplets([[0, 0, 1], [2, 0, 3], [0, 2, 3]], rows)
    assert (found.n_updates_, found.n_triplets_seen_) == (0, 3)
    for part, wanted in zip(belief_of(found), fresh_belief(covariance, 2, 2), strict=True):
        assert_array_equal(part, wanted)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("given_type", [np.float32, np.float64])
def test_single_precision_is_kept_and_near(rng, covariance, given_type):
    Q, P, triplets = problem(rng)
    double = aroma(covariance).fit_triplets(triplets, Q, P)
    single = aroma(covariance, dtype="float32")
    single.fit_triplets(triplets, Q.astype(given_type), P.astype(given_type))
    assert all(part.dtype == np.float32 for part in belief_of(single))
    assert_allclose(single.similarity_.W, double.similarity_.W, atol=2e-3)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("forget", [0.0, 0.2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_stream_in_pieces_is_the_batch(rng, covariance, kinds, forget, dtype):
    Q, P, triplets = problem(rng, size=2500)
    Q, P, weights = kinds[0](Q), kinds[1](P), rng.random(2500)
    whole = aroma(covariance, dtype=dtype, forget=forget, normalize=True)
    pieces = copy.deepcopy(whole)
    whole.fit_triplets(triplets, Q, P, weights)
    for part in (slice(0, 1), slice(1, 990), slice(990, 1025), slice(1025, 2500)):
        pieces.partial_fit_triplets(triplets[part], Q, P, weights[part])
    for one, other in zip(belief_of(pieces), belief_of(whole), strict=True):
        if covariance == "diagonal":
            assert one.tobytes() == other.tobytes()
        else:
            assert_allclose(one, other, atol=1e-12 if dtype == "float64" else 1e-4)
    if covariance == "diagonal" or dtype == "float64":
        assert pieces.n_updates_ == whole.n_updates_
    assert pieces.n_triplets_seen_ == 2500


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_variance_is_inflated_by_the_share_at_every_thousandth_triplet(rng, covariance):
    Q, P, triplets = problem(rng, size=2100)
    belief = fresh_belief(covariance, 7, 7)
    for part in (slice(0, 1000), slice(1000, 2000), slice(2000, 2100)):
        seen = oracle.examples(triplets[part], Q, P)
        W, *spread, _, _ = LEARN[covariance](seen, 0.5, *belief)
        if part.stop % 1000 == 0:
            starts = fresh_belief(covariance, 7, 7)[1:]
            spread = [s + 0.2 * (s0 - s) for s, s0 in zip(spread, starts, strict=True)]
        belief = W, *spread
    found = aroma(covariance, r=0.5, forget=0.2).fit_triplets(triplets, Q, P)
    for part, wanted in zip(belief_of(found), belief, strict=True):
        assert_allclose(part, wanted, rtol=1e-8, atol=1e-8)


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_covariances_stay_positive_definite_over_a_long_stream(rng, dtype):
    Q, P, triplets = problem(rng, size=20_000)
    model = aroma("factored", r=0.01, dtype=dtype).fit_triplets(triplets, Q, P)
    for part in belief_of(model)[1:]:
        assert np.linalg.eigvalsh(part.astype(np.float64)).min() > 0
        assert np.abs(part - part.T).max() < 1e-5
    assert aroma(r=0.01, dtype=dtype).fit_triplets(triplets, Q, P).state_.S.min() > 0


@pytest.mark.parametrize("r", [0.1, 1.0, 10.0])
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 4), n=st.integers(1, 4))
def test_mistakes_of_the_dual_variants_are_bounded(r, seed, m, n):
    """The bounds that the oracle derives, on labels that no form explains."""
    rng = np.random.default_rng(seed)
    seen = [(rng.normal(size=m), rng.normal(size=n), 1) for _ in range(40)]
    Theta, A = oracle.dual_diagonal(seen, r)
    assert (Theta**2 / A).sum() <= r * np.log(A).sum() + 1e-9
    Theta, L, S, spread = oracle.dual_factored(seen, r)
    grown_L, grown_S = -oracle.log_det(L), -oracle.log_det(S)
    energy = np.trace(Theta.T @ L @ Theta @ S)
    assert energy <= r * min(m * grown_S, n * grown_L) + 1e-9
    assert spread <= m * r * grown_S + 1e-9


# What the uncertainty is good for.


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("normalize", [False, True])
def test_score_variance_is_the_printed_one(rng, covariance, kinds, normalize):
    Q, P, triplets = problem(rng, n=4)
    model = aroma(covariance, normalize=normalize).fit_triplets(triplets, Q, P)
    found = model.score_variance(kinds[0](Q), kinds[1](P))
    q, p = (oracle.unit_rows(rows) if normalize else rows for rows in (Q, P))
    if covariance == "diagonal":
        wanted = (q * q) @ model.state_.S @ (p * p).T
    else:
        by_q = np.einsum("ij,jk,ik->i", q, model.state_.Lambda, q)
        wanted = np.outer(by_q, np.einsum("ij,jk,ik->i", p, model.state_.Sigma, p))
    assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_variance_falls_where_triplets_were_seen_and_confidence_rises(rng, covariance):
    rows = rng.normal(size=(12, 5))
    model = aroma(covariance, r=50.0, init="zero").fit_triplets([[0, 1, 2]], rows)
    before, sure = model.score_variance(rows, rows), model.confidence([[0, 1, 2]], rows)
    model.partial_fit_triplets([[0, 1, 2]] * 5, rows)
    assert (model.score_variance(rows, rows) <= before + 1e-12).all()
    assert model.confidence([[0, 1, 2]], rows) > sure


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_confidence_is_the_probability_that_the_margin_is_positive(rng, covariance, kinds):
    Q, P, triplets = problem(rng, n=4)
    model = aroma(covariance).fit_triplets(triplets[:50], Q, P)
    found = model.confidence(triplets, kinds[0](Q), kinds[1](P))
    for at, (q, p, _) in zip(found, oracle.examples(triplets, Q, P), strict=True):
        if covariance == "diagonal":
            variance = (q * q) @ model.state_.S @ (p * p)
        else:
            variance = (q @ model.state_.Lambda @ q) * (p @ model.state_.Sigma @ p)
        mean = q @ model.state_.W @ p
        wanted = norm.cdf(mean / np.sqrt(variance)) if variance > 0 else 0.5
        assert_allclose(at, wanted, atol=1e-9)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_most_uncertain_comparisons_are_asked_first(rng, covariance):
    Q, P, triplets = problem(rng)
    triplets = triplets[np.unique(triplets, axis=0, return_index=True)[1]]
    model = aroma(covariance).fit_triplets(triplets[:100], Q, P)
    candidates = rng.permutation(triplets)
    asked = model.most_informative(candidates, Q, P, n=25)
    assert asked.shape == (25, 3)
    unsure = 0.5 - np.abs(model.confidence(candidates, Q, P) - 0.5)
    useful = model.score_variance(Q, P)[candidates[:, 0]].max(axis=1) > 0
    useful &= (P[candidates[:, 1]] != P[candidates[:, 2]]).any(axis=1)
    best = np.sort(unsure[useful])[::-1][:25]
    chances = model.confidence(asked, Q, P)
    assert_allclose(0.5 - np.abs(chances - 0.5), best, atol=1e-9)
    assert {tuple(row) for row in asked.tolist()} <= {tuple(row) for row in candidates.tolist()}


def test_what_no_answer_would_change_is_asked_last(rng):
    rows = np.vstack([np.zeros((2, 3)), rng.normal(size=(4, 3))])
    model = aroma().fit_triplets([[2, 3, 4]], rows)
    asked = model.most_informative([[0, 3, 4], [2, 0, 1], [2, 3, 4]], rows, n=3)
    assert asked[0].tolist() == [2, 3, 4]
    assert len(model.most_informative([[2, 3, 4]], rows, n=10)) == 1


def test_the_two_sides_of_a_question_are_alike(rng):
    """Which of the two items is called closer does not matter to whether it is asked."""
    Q, P, triplets = problem(rng)
    model = aroma().fit_triplets(triplets[:100], Q, P)
    forth, back = model.confidence(triplets, Q, P), model.confidence(triplets[:, [0, 2, 1]], Q, P)
    assert_allclose(forth + back, 1, atol=1e-9)


@pytest.mark.parametrize("ask", ["confidence", "most_informative"])
def test_a_frame_of_comparisons_is_read_by_name(rng, ask):
    pandas = pytest.importorskip("pandas")
    Q, P, triplets = problem(rng)
    frame = pandas.DataFrame(triplets, columns=["query", "closer", "farther"])
    model = aroma().fit_triplets(triplets, Q, P)
    wanted = getattr(model, ask)(triplets, Q, P)
    found = getattr(model, ask)(frame[["farther", "query", "closer"]], Q, P)
    assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[0, 1, 9]], np.eye(3)), ValueError, "points at row 9, but items has 3 rows"),
        (([[0, 1, 2]], np.eye(4)), ValueError, "queries has 4 columns, but 3 are needed"),
        (([[0, 1, 2]], np.eye(3), np.eye(4)), ValueError, "items has 4 columns, but 3 are needed"),
        (([[0.0, 1, 2]], np.eye(3)), TypeError, "whole row numbers"),
        (([[0, 1, 2]], np.eye(3) * np.nan), ValueError, "queries holds NaN in row 0"),
        (([[0, 1, 1]], np.eye(3)), ValueError, "prefers item 1 to itself"),
    ],
)
@pytest.mark.parametrize("ask", ["confidence", "most_informative"])
def test_odd_questions_are_refused(ask, arguments, error, message):
    model = aroma().fit_triplets([[0, 1, 2]], np.eye(3))
    with pytest.raises(error, match=message):
        getattr(model, ask)(*arguments)


def test_nothing_can_be_asked_before_anything_is_learned():
    for ask in (
        lambda: aroma().score_variance([[1.0]], [[1.0]]),
        lambda: aroma().confidence([[0, 1, 2]], np.eye(3)),
        lambda: aroma().most_informative([[0, 1, 2]], np.eye(3)),
    ):
        with pytest.raises(ValueError, match="not fitted"):
            ask()
    with pytest.raises(ValueError, match="n must be at least 1"):
        aroma().fit_triplets([[0, 1, 2]], np.eye(3)).most_informative([[0, 1, 2]], np.eye(3), n=0)


# Merging.


@pytest.fixture
def shards(rng):
    Q, P, triplets = problem(rng, n=4, size=120)

    def make(covariance, **parameters):
        return [
            aroma(covariance, **parameters).fit_triplets(part, Q, P)
            for part in (triplets[:30], triplets[30:60], triplets[60:])
        ]

    return make


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_merging_one_model_gives_it_back(shards, covariance):
    one = shards(covariance)[0]
    merged = lw.AROMA.merge([one])
    for part, wanted in zip(belief_of(merged), belief_of(one), strict=True):
        assert_allclose(part, wanted, atol=1e-8)
    assert (merged.n_updates_, merged.n_triplets_seen_) == (one.n_updates_, one.n_triplets_seen_)
    assert merged.get_params() == one.get_params()
    assert not np.shares_memory(merged.state_.W, one.state_.W)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_shard_that_saw_nothing_changes_nothing(shards, covariance):
    one = shards(covariance)[0]
    nothing = aroma(covariance).fit_triplets([[0, 0, 1]], np.zeros((1, 7)), np.zeros((2, 4)))
    assert nothing.n_updates_ == 0
    for models in ([one, nothing], [nothing, one, nothing]):
        merged = lw.AROMA.merge(models)
        for part, wanted in zip(belief_of(merged), belief_of(one), strict=True):
            assert_allclose(part, wanted, atol=1e-8)


def test_merged_diagonals_follow_the_printed_formula(shards):
    models = shards("diagonal")
    gains = [1 / model.state_.S - 1 for model in models]
    total = sum(gains)
    moved = sum(g * model.state_.W for g, model in zip(gains, models, strict=True))
    merged = lw.AROMA.merge(models)
    assert_allclose(merged.state_.S, 1 / (1 + total), atol=1e-10)
    wanted = np.divide(moved, total, out=np.zeros_like(moved), where=total > 0)
    assert_allclose(merged.state_.W, wanted, atol=1e-10)


def test_merged_precisions_of_factors_add_up_beyond_the_start(shards):
    models = shards("factored")
    merged = lw.AROMA.merge(models)
    for name in ("Lambda", "Sigma"):
        start = np.eye(len(getattr(merged.state_, name)))
        gains = [np.linalg.inv(getattr(model.state_, name)) - start for model in models]
        wanted = np.linalg.inv(start + sum(gains))
        assert_allclose(getattr(merged.state_, name), wanted, atol=1e-10)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_start_that_knew_something_is_counted_once(rng, covariance):
    Q, P, triplets = problem(rng)
    start = aroma(covariance).fit_triplets(triplets[:100], Q, P)
    went_on = copy.deepcopy(start).partial_fit_triplets(triplets[100:200], Q, P)
    for models in ([went_on], [went_on, start]):
        merged = lw.AROMA.merge(models, start=start)
        for part, wanted in zip(belief_of(merged), belief_of(went_on), strict=True):
            assert_allclose(part, wanted, atol=1e-7)
        assert merged.n_updates_ == went_on.n_updates_
        assert merged.n_triplets_seen_ == 200


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_order_of_models_does_not_matter(shards, covariance):
    models = shards(covariance)
    one, other = lw.AROMA.merge(models), lw.AROMA.merge(models[::-1])
    for part, wanted in zip(belief_of(one), belief_of(other), strict=True):
        assert_allclose(part, wanted, atol=1e-8)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_merged_model_goes_on_learning_and_leaves_the_others_alone(shards, rng, covariance):
    Q, P, triplets = problem(rng, n=4)
    models = shards(covariance)
    kept = [part.copy() for model in models for part in belief_of(model)]
    lw.AROMA.merge(models).partial_fit_triplets(triplets, Q, P)
    now = [part for model in models for part in belief_of(model)]
    for part, wanted in zip(now, kept, strict=True):
        assert_array_equal(part, wanted)


def test_merged_covariances_are_positive_definite_where_shards_forgot(rng):
    """Shards that know less than the start they came from: that is no evidence."""
    rows = rng.normal(size=(40, 6))
    triplets = rng.integers([40, 20, 20], size=(4000, 3)) + np.array([0, 0, 20])
    start = aroma("factored", r=0.01).fit_triplets(triplets, rows)
    shards = [
        copy.deepcopy(start)
        .set_params(forget=0.99)
        .partial_fit_triplets(np.repeat(triplets[k : k + 1], 2000, axis=0), rows)
        for k in range(4)
    ]
    merged = lw.AROMA.merge(shards, start=start)
    for part in belief_of(merged)[1:]:
        assert np.linalg.eigvalsh(part).min() > 0


def test_merging_in_single_precision_is_merging_in_double(rng):
    """Directions that nobody saw hold rounding errors, which must not be taken for evidence."""
    rows = rng.normal(size=(200, 200))
    triplets = rng.integers([200, 100, 100], size=(50, 3)) + np.array([0, 0, 100])
    forms = {}
    for dtype in ("float32", "float64"):
        models = [
            aroma("factored", dtype=dtype, normalize=True).fit_triplets(part, rows)
            for part in (triplets[:25], triplets[25:])
        ]
        forms[dtype] = lw.AROMA.merge(models).similarity_.W
    moved = np.abs(forms["float64"] - np.eye(200)).max()
    assert np.abs(forms["float32"] - forms["float64"]).max() < 0.05 * moved


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_two_half_trained_shards_are_better_merged(covariance):
    digits = load_digits()
    X, y = digits.data, digits.target
    rng = np.random.default_rng(0)
    n = 300 if covariance == "factored" else 1500
    source = lw.supervision.LabelTriplets(y[:900])
    models = [lw.AROMA(covariance).fit_triplets(source.draw(n, rng), X[:900]) for _ in range(2)]
    alone = [model.score(X[900:], y[900:]) for model in models]
    assert lw.AROMA.merge(models).score(X[900:], y[900:]) > max(alone)


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        (lambda one: [], ValueError, "models is empty"),
        (lambda one: [one, lw.OASIS()], TypeError, "models must be AROMAs"),
        (lambda one: [one, aroma()], ValueError, "not fitted"),
        (
            lambda one: [one, aroma().fit_triplets([[0, 1, 2]], np.eye(3)[:, :2])],
            ValueError,
            "same kind and shape",
        ),
        (
            lambda one: [one, aroma("factored").fit_triplets([[0, 1, 2]], np.eye(3))],
            ValueError,
            "same kind and shape",
        ),
        (
            lambda one: [one, aroma(normalize=True).fit_triplets([[0, 1, 2]], np.eye(3))],
            ValueError,
            "normalize",
        ),
        (
            lambda one: [one, aroma(init="zero").fit_triplets([[0, 1, 2]], np.eye(3))],
            ValueError,
            "start|init",
        ),
    ],
)
def test_models_that_do_not_belong_together_are_not_merged(models, error, message):
    one = aroma().fit_triplets([[0, 1, 2]], np.eye(3))
    with pytest.raises(error, match=message):
        lw.AROMA.merge(models(one))


# Streams without end.


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_with_forget_a_stream_goes_on_being_learned_from(rng, covariance):
    """After a long time of one meaning, the opposite becomes true."""
    rows = rng.normal(size=(200, 6))
    meaning = rng.normal(size=(6, 6))

    def stream(form, size):
        triplets = rng.integers([200, 100, 100], size=(size, 3)) + np.array([0, 0, 100])
        gaps = [rows[q] @ form @ (rows[a] - rows[b]) for q, a, b in triplets]
        flipped = np.array(gaps) < 0
        triplets[flipped] = triplets[flipped][:, [0, 2, 1]]
        return triplets

    before, after, asked = stream(meaning, 8000), stream(-meaning, 1500), stream(-meaning, 500)
    right = {}
    for forget in (0.0, 0.1):
        model = lw.AROMA(covariance, r=0.1, forget=forget).fit_triplets(before, rows)
        model.partial_fit_triplets(after, rows)
        right[forget] = (model.confidence(asked, rows) > 0.5).mean()
    assert right[0.1] > right[0.0] + 0.05


def test_asking_what_is_least_certain_teaches_more_than_asking_anything():
    """On digits, with the same number of answers: 50 of 1,000 candidates, ten times."""
    digits = load_digits()
    X, y = digits.data, digits.target

    def taught(pool, choose):
        model = lw.AROMA("factored", r=0.1).fit_triplets(pool[:50], X[:900])
        for candidates in np.array_split(pool[50:], 10):
            model.partial_fit_triplets(choose(model, candidates), X[:900])
        return model.score(X[900:], y[900:])

    gains = []
    for seed in range(4):
        pool = lw.supervision.LabelTriplets(y[:900]).draw(10_050, np.random.default_rng(seed))
        asked = taught(pool, lambda model, some: model.most_informative(some, X[:900], n=50))
        gains.append(asked - taught(pool, lambda model, some: some[:50]))
    assert np.mean(gains) > 0.015
