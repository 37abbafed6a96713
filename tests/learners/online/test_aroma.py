"""AROMA: the printed updates, and streams."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests.learners.online.beliefs import (
    COVARIANCES,
    KINDS,
    aroma,
    belief_of,
    fresh_belief,
    problem,
)
from tests.oracles import online as oracle

import likewise as lw

LEARN = {"diagonal": oracle.diagonal, "factored": oracle.factored, "full": oracle.full}
MISTAKES = {
    "diagonal": oracle.diagonal_mistakes,
    "factored": oracle.factored_mistakes,
    "full": oracle.full_mistakes,
}


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
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(("n", "r"), [(7, 0.05), (4, 1.0), (4, 20.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_learning_from_mistakes_is_the_dual_variant(rng, covariance, kinds, n, r, weighted):
    Q, P, triplets = problem(rng, n=n)
    weights = rng.choice([0.0, 0.3, 1.0, 5.0], len(triplets)) if weighted else None
    seen = oracle.examples(triplets, Q, P, weights)
    *belief, n_updates, losses = MISTAKES[covariance](seen, r, *fresh_belief(covariance, 7, n))
    found = aroma(covariance, r=r, update="mistake")
    found.fit_triplets(triplets, kinds[0](Q), kinds[1](P), weights)
    for part, wanted in zip(belief_of(found), belief, strict=True):
        assert_allclose(part, wanted, rtol=1e-8, atol=1e-8)
    assert 0 < found.n_updates_ == n_updates < len(triplets)
    assert_allclose(found.history_[-1]["loss"], losses / len(triplets), rtol=1e-8)


@pytest.mark.parametrize("covariance", ["diagonal", "factored"])
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


@pytest.mark.parametrize("covariance", ["diagonal", "factored"])
@pytest.mark.parametrize("given_type", [np.float32, np.float64])
@pytest.mark.parametrize("update", ["margin", "mistake"])
def test_single_precision_is_kept_and_near(rng, covariance, given_type, update):
    Q, P, triplets = problem(rng)
    double = aroma(covariance, update=update).fit_triplets(triplets, Q, P)
    single = aroma(covariance, update=update, dtype="float32")
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
