"""OASIS: the printed update through every door for triplets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests.learners.online.beliefs import KINDS, problem
from tests.oracles import online as oracle

import likewise as lw


def oasis(**parameters):
    return lw.OASIS(**{"normalize": False, "dtype": "float64", **parameters})


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("n", [7, 4])
@pytest.mark.parametrize("C", [0.02, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_form_is_that_of_the_printed_update(rng, kinds, n, C, weighted):
    Q, P, triplets = problem(rng, n=n)
    weights = rng.choice([0.0, 0.3, 1.0, 5.0], len(triplets)) if weighted else None
    start = np.eye(7) if n == 7 else np.zeros((7, n))
    W, n_updates, losses = oracle.oasis(oracle.examples(triplets, Q, P, weights), C, start)
    found = oasis(C=C).fit_triplets(triplets, kinds[0](Q), kinds[1](P), weights)
    assert_allclose(found.similarity_.W, W, rtol=1e-8, atol=1e-8)
    assert found.n_updates_ == n_updates
    assert found.n_triplets_seen_ == len(triplets)
    assert_allclose(found.history_[-1]["loss"], losses / len(triplets), rtol=1e-8)


def test_rows_of_unit_length_are_learned_from_and_scored(rng):
    Q, P, triplets = problem(rng)
    W, n_updates, _ = oracle.oasis(oracle.examples(triplets, Q, P, unit=True), 0.3, np.eye(7))
    for kind in (np.asarray, csr_array):
        found = oasis(C=0.3, normalize=True).fit_triplets(triplets, kind(Q), kind(P))
        assert_allclose(found.similarity_.W, W, rtol=1e-8, atol=1e-8)
        assert found.similarity_.norm == "cosine"
        assert found.n_updates_ == n_updates


def test_single_precision_is_kept_and_near(rng):
    Q, P, triplets = problem(rng)
    double = oasis().fit_triplets(triplets, Q, P)
    single = oasis(dtype="float32").fit_triplets(triplets, Q, P)
    assert single.similarity_.W.dtype == np.float32
    assert_allclose(single.similarity_.W, double.similarity_.W, atol=1e-3)


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_stream_in_pieces_is_the_batch_bit_for_bit(rng, kinds, dtype):
    Q, P, triplets = problem(rng, size=2500)
    Q, P, weights = kinds[0](Q), kinds[1](P), rng.random(2500)
    whole = oasis(dtype=dtype, normalize=True).fit_triplets(triplets, Q, P, weights)
    pieces = oasis(dtype=dtype, normalize=True)
    for part in (slice(0, 1), slice(1, 700), slice(700, 1025), slice(1025, 2500)):
        pieces.partial_fit_triplets(triplets[part], Q, P, weights[part])
    assert pieces.similarity_.W.tobytes() == whole.similarity_.W.tobytes()
    assert (pieces.n_updates_, pieces.n_triplets_seen_) == (whole.n_updates_, 2500)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_doubles_and_zero_rows_are_no_update(kind):
    rows = kind(np.array([[3.0, 1.0], [3.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))
    for normalize in (True, False):
        found = oasis(normalize=normalize).fit_triplets([[0, 0, 1], [2, 0, 3], [0, 2, 3]], rows)
        assert found.n_updates_ == 0
        assert_array_equal(found.similarity_.W, np.eye(2))
        assert found.n_triplets_seen_ == 3


def test_merged_models_are_the_mean_weighted_by_updates(rng):
    Q, P, triplets = problem(rng)
    one, two = (oasis().fit_triplets(part, Q, P) for part in (triplets[:300], triplets[300:]))
    merged = lw.OASIS.merge([one, two])
    shares = np.array([one.n_updates_, two.n_updates_])
    W = np.average([one.similarity_.W, two.similarity_.W], axis=0, weights=shares)
    assert_allclose(merged.similarity_.W, W, atol=1e-12)
    assert merged.n_updates_ == shares.sum()
    assert merged.n_triplets_seen_ == len(triplets)


def test_merging_with_a_model_that_saw_nothing_changes_nothing(rng):
    Q, P, triplets = problem(rng)
    one = oasis().fit_triplets(triplets, Q, P)
    nothing = oasis().fit_triplets([[0, 7, 8]], Q, P)
    assert nothing.n_updates_ == 0
    for models in ([one], [one, nothing], [nothing, one]):
        assert_allclose(lw.OASIS.merge(models).similarity_.W, one.similarity_.W, atol=1e-12)
    alone = lw.OASIS.merge([nothing, nothing])
    assert_array_equal(alone.similarity_.W, np.eye(7))


@pytest.mark.parametrize("C", [0, -1.0, np.nan, np.inf])
def test_a_step_that_is_none_is_refused(C):
    with pytest.raises(ValueError, match="C must be finite and above 0"):
        lw.OASIS(C=C).fit_triplets([[0, 1, 2]], np.eye(3))


def test_it_has_no_uncertainty_to_ask_for():
    assert not hasattr(lw.OASIS(), "score_variance")
    assert not hasattr(lw.OASIS(), "most_informative")
