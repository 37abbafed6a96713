"""AROMA learned on shards and merged."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from tests.learners.online.beliefs import (
    COVARIANCES,
    aroma,
    belief_of,
    problem,
)

import likewise as lw


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


def test_merged_full_covariances_are_the_product_of_the_beliefs(shards):
    """Gaussians of which each knows the start and its own triplets: exact, with the start once."""
    models = shards("full")
    gains = [np.linalg.inv(model.state_.Sigma) - np.eye(28) for model in models]
    moved = sum(g @ m.state_.W.ravel() for g, m in zip(gains, models, strict=True))
    merged = lw.AROMA.merge(models)
    assert_allclose(merged.state_.Sigma, np.linalg.inv(np.eye(28) + sum(gains)), atol=1e-10)
    wanted = np.linalg.lstsq(sum(gains), moved, rcond=1e-12)[0]
    assert_allclose(merged.state_.W.ravel(), wanted, atol=1e-8)


@pytest.mark.parametrize("covariance", ["diagonal", "factored"])
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
            "normalize, but both True and False",
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


def test_a_start_from_which_no_model_continued_is_refused():
    one, later = (aroma().fit_triplets([[0, 1, 2]] * n, np.eye(3)) for n in (1, 5))
    with pytest.raises(ValueError, match=r"start has seen 5 triplets, but a model .* has seen 1"):
        lw.AROMA.merge([one, later], start=later)
