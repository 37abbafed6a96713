"""Single and double precision of AROMA's covariances, and the full covariance."""

import dataclasses
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from tests.crafted_files import read, write
from tests.learners.online.beliefs import aroma, belief_of, problem

import likewise as lw
from likewise._files import from_bytes
from likewise.exceptions import ModelFileError


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_covariances_stay_positive_definite_over_a_long_stream(rng, dtype):
    Q, P, triplets = problem(rng, size=20_000)
    model = aroma("factored", r=0.01, dtype=dtype).fit_triplets(triplets, Q, P)
    for part in belief_of(model)[1:]:
        assert np.linalg.eigvalsh(part.astype(np.float64)).min() > 0
        assert np.abs(part - part.T).max() < 1e-5
    assert aroma(r=0.01, dtype=dtype).fit_triplets(triplets, Q, P).state_.S.min() > 0


@pytest.mark.parametrize("scale", [1.0, 0.08])
def test_single_precision_gives_way_to_double_where_covariances_need_it(scale, tmp_path):
    """Long rows and a small r: rounding made the smallest eigenvalue −1e-3, and W another form."""
    X, y = load_digits(return_X_y=True)
    X = scale * X
    triplets = lw.supervision.LabelTriplets(y).draw(3000, np.random.default_rng(0))
    double = aroma("factored", r=1e-3).fit_triplets(triplets, X)
    single = aroma("factored", r=1e-3, dtype="float32")
    single.fit_triplets(triplets[:50], X)
    assert (single.state_.W.dtype == np.float64) == (scale == 1)  # at once, or in a later block
    single.partial_fit_triplets(triplets[50:2000], X)
    lw.save(single, tmp_path / "model")
    for model in (single, lw.load(tmp_path / "model")):
        model.partial_fit_triplets(triplets[2000:], X)
        for part in belief_of(model)[1:]:
            assert np.linalg.eigvalsh(part).min() > 0
        off = np.abs(model.state_.W - double.state_.W).max()
        assert off < 1e-3 * np.abs(double.state_.W).max()
        assert model.n_updates_ == double.n_updates_


def test_a_loaded_learner_changes_its_precision_with_the_one_that_was_saved(tmp_path):
    """The bound on the eigenvalues is stored: computed anew, it would allow more steps."""
    X, y = load_digits(return_X_y=True)
    triplets = lw.supervision.LabelTriplets(y).draw(1200, np.random.default_rng(0))
    going_on = aroma("factored", r=1e-3, dtype="float32").fit_triplets(triplets[:100], 0.08 * X)
    lw.save(going_on, tmp_path / "model")
    resumed, dtypes = lw.load(tmp_path / "model"), []
    for part in np.array_split(triplets[100:], 11):
        for model in (going_on, resumed):
            model.partial_fit_triplets(part, 0.08 * X)
        dtypes.append(going_on.state_.W.dtype.name)
        for kept, loaded in zip(belief_of(going_on), belief_of(resumed), strict=True):
            assert kept.dtype == loaded.dtype
            assert_array_equal(kept, loaded)
    assert set(dtypes) == {"float32", "float64"}


@pytest.mark.parametrize(("covariance", "name"), [("factored", "item_bound"), ("full", "bound")])
@pytest.mark.parametrize(("value", "message"), [(-1, "at least 0, but -1"), ("x", "a number")])
def test_a_stored_bound_that_is_no_bound_is_refused(tmp_path, covariance, name, value, message):
    lw.save(aroma(covariance).fit_triplets([[0, 1, 2]], np.eye(3)), tmp_path / "model")
    header, arrays = read((tmp_path / "model").read_bytes())
    fitted = json.loads(header["fitted"])
    fitted["state_"]["$object"]["parameters"][name] = value
    with pytest.raises(ModelFileError, match=f"bound must be .*{message}"):
        from_bytes(write({**header, "fitted": json.dumps(fitted)}, arrays))


@pytest.mark.parametrize("side", ["Lambda", "Sigma"])
@pytest.mark.parametrize("update", ["margin", "mistake"])
@pytest.mark.parametrize(("eigenvalue", "dtype"), [(1e-6, "float64"), (1e-3, "float32")])
def test_either_covariance_that_single_precision_cannot_hold_is_enough(
    side, update, eigenvalue, dtype
):
    model = aroma("factored", dtype="float32", update=update, init="zero").initialize(3, 3)
    covariance = np.diag([1, 1, eigenvalue]).astype(np.float32)
    model.state_ = dataclasses.replace(model.state_, **{side: covariance})  # as from a file
    model.partial_fit_triplets([[0, 1, 2]], np.eye(3))
    assert {part.dtype.name for part in belief_of(model)} == {dtype}
    assert model.n_updates_ == 1


def test_rows_that_no_precision_can_hold_are_refused_and_cost_nothing():
    X, y = load_digits(return_X_y=True)
    triplets = lw.supervision.LabelTriplets(y).draw(20, np.random.default_rng(0))
    model = aroma("factored", r=1.0, dtype="float32").fit_triplets([[0, 1, 2]], np.eye(64))
    kept, seen = model.similarity_.W, model.n_triplets_seen_
    with pytest.raises(ValueError, match=r"r must be larger for rows of this length, but 1 was"):
        model.partial_fit_triplets(triplets, 1e6 * X)
    assert_array_equal(model.similarity_.W, kept)
    assert model.n_triplets_seen_ == seen


def test_a_full_covariance_is_in_double_precision_whatever_was_asked(rng):
    Q, P, triplets = problem(rng, n=4)
    double, single = (
        aroma("full", dtype=dtype).fit_triplets(triplets, Q, P) for dtype in ("float64", "float32")
    )
    for part, wanted in zip(belief_of(single), belief_of(double), strict=True):
        assert_array_equal(part, wanted)
    single.partial_fit_triplets(triplets, Q, P)
    with pytest.raises(ValueError, match="r must be larger for rows of this length"):
        single.partial_fit_triplets(triplets, 1e9 * Q, P)


@pytest.mark.parametrize("init", ["auto", "ridge"])
def test_a_full_covariance_of_too_many_entries_is_refused_before_it_is_made(init):
    X, y = np.ones((20, 65)), np.arange(20) % 2
    model = aroma("full", init=init)
    sentence = "at most 4,096 entries of W, .* but 65 query and 65 item features make 4,225: give"
    doors = {
        "fit": (X, y),
        "partial_fit": (X, y),
        "fit_relevance": (np.eye(20), X),
        "fit_pairs": ([[0, 1]], [1], X),
        "fit_triplets": ([[0, 1, 2]], X),
        "partial_fit_triplets": ([[0, 1, 2]], X),
        "initialize": (65, 65),
    }
    for door, arguments in doors.items():
        with pytest.raises(ValueError, match=sentence):
            getattr(model, door)(*arguments)
    assert not hasattr(model, "state_")


def test_shards_in_single_precision_merge_into_double_where_that_is_needed(rng):
    rows = rng.normal(size=(60, 6))
    triplets = rng.integers([60, 30, 30], size=(2000, 3)) + np.array([0, 0, 30])
    parts = np.array_split(triplets, 8)
    merged = {
        dtype: lw.AROMA.merge(
            [aroma("factored", r=1e-3, dtype=dtype).fit_triplets(part, rows) for part in parts]
        )
        for dtype in ("float32", "float64")
    }
    assert merged["float32"].state_.W.dtype == np.float64
    for part, wanted in zip(*(belief_of(model) for model in merged.values()), strict=True):
        assert_allclose(part, wanted, atol=1e-2 * np.abs(wanted).max())
