"""SimilarityRegressor predicts the weighted means that its words and formulas say."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests import strategies
from tests.oracles import nca as nca_oracle
from tests.oracles import similarities as similarity_oracle
from tests.oracles import voting as oracle
from threadpoolctl import threadpool_limits

import likewise as lw

WEIGHTS = ("uniform", "distance", "kernel")
every_weight = pytest.mark.parametrize("weights", WEIGHTS)


@pytest.fixture
def problem(rng):
    """Return test rows, training rows, two targets and weights."""
    rows = rng.normal(size=(50, 3))
    targets = np.column_stack([rows[:, 0] ** 2, 10 * rows[:, 1]]) + rng.normal(size=(50, 2))
    return rng.normal(size=(20, 3)), rows, targets, rng.integers(1, 5, size=50) / 2


def expected_means(scores, targets, k, weights, of_rows, bandwidth=None):
    """Return Σ w_j y_j / Σ w_j, with the weights that `weights` names times those of the rows."""
    if weights == "kernel":
        return oracle.kernel(scores, bandwidth, of_rows) @ targets
    if weights == "distance":
        by_item = oracle.inverse_distances(np.sqrt(-scores), k) * of_rows
    else:
        by_item = (oracle.inverse_distances(-scores + 1, k) > 0) * of_rows
    return (by_item / by_item.sum(axis=1, keepdims=True)) @ targets


@every_weight
@pytest.mark.parametrize("n_targets", [None, 1, 2])
def test_predictions_are_weighted_means(weights, n_targets, problem):
    tests, rows, targets, of_rows = problem
    y = targets[:, 0] if n_targets is None else targets[:, :n_targets]
    model = lw.SimilarityRegressor(n_neighbors=4, weights=weights).fit(rows, y, of_rows)
    scores = similarity_oracle.mahalanobis(1.0, tests, rows)
    expected = expected_means(scores, y, 4, weights, of_rows, model.bandwidth_)
    assert_allclose(model.predict(tests), expected, rtol=1e-9)
    assert model.predict(tests).shape == (20, *y.shape[1:])


@given(
    rows=strategies.tables(st.integers(2, 9), st.just(2)),
    tests=strategies.tables(st.integers(1, 4), st.just(2)),
)
@every_weight
def test_ties_and_duplicates_follow_the_formula(weights, rows, tests):
    y, k = np.arange(len(rows)) ** 2.0, len(rows) // 2 + 1
    model = lw.SimilarityRegressor(n_neighbors=k, weights=weights).fit(rows, y)
    scores = similarity_oracle.mahalanobis(1.0, tests, rows)
    expected = expected_means(scores, y, k, weights, np.ones(len(rows)), model.bandwidth_)
    assert_allclose(model.predict(tests), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbors_are_averaged_as_in_scikit_learn(weights, problem):
    tests, rows, targets, _ = problem
    ours = lw.SimilarityRegressor(n_neighbors=6, weights=weights).fit(rows, targets)
    theirs = KNeighborsRegressor(6, weights=weights).fit(rows, targets)
    assert_allclose(ours.predict(tests), theirs.predict(tests), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
def test_a_training_row_has_distance_zero_to_itself(dtype, form, rng):
    X, y = form((100 + rng.normal(size=(200, 30))).astype(dtype)), rng.normal(size=200)
    L = rng.normal(size=(5, 30))
    model = lw.SimilarityRegressor(similarity=lw.Mahalanobis(L), weights="distance").fit(X, y)
    assert_allclose(model.predict(X), y, rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_mlkr_the_kernel_is_its_own(form, weighted, problem):
    tests, rows, targets, of_rows = problem
    of_rows = of_rows if weighted else None
    learner = lw.MLKR(random_state=0)
    model = lw.SimilarityRegressor(learner=learner, weights="kernel")
    model.fit(form(rows), targets, sample_weight=of_rows)
    mlkr = lw.MLKR(random_state=0).fit(form(rows), targets, sample_weight=of_rows)
    assert model.bandwidth_ == 1.0
    found = model.predict(form(tests))
    assert_allclose(found, mlkr.predict(form(tests)), rtol=1e-9)
    weights = np.ones(50) if of_rows is None else of_rows
    printed = nca_oracle.kernel_prediction(mlkr.components_, rows, targets, weights, tests)
    assert_allclose(found, printed, rtol=1e-9)


def test_a_fitted_mlkr_brings_its_kernel(problem):
    tests, rows, targets, _ = problem
    mlkr = lw.MLKR(random_state=0).fit(rows, targets)
    model = lw.SimilarityRegressor(similarity=mlkr, weights="kernel").fit(rows, targets)
    assert_allclose(model.predict(tests), mlkr.predict(tests), rtol=1e-9)


@pytest.mark.parametrize("similarity", ["euclidean", "cosine", "cityblock"])
def test_other_similarities_get_the_bandwidth_of_the_smallest_error(similarity, problem):
    _, rows, targets, _ = problem
    model = lw.SimilarityRegressor(similarity=similarity, weights="kernel").fit(rows, targets)
    scaled = (targets - targets.mean(axis=0)) / targets.std(axis=0)

    def squared_error(bandwidth):
        among = lw.as_similarity(similarity).score(rows, rows).astype(float)
        np.fill_diagonal(among, -np.inf)
        predicted = oracle.kernel(among, bandwidth, np.ones(50)) @ scaled
        return np.sum((predicted - scaled) ** 2)

    best = squared_error(model.bandwidth_)
    for factor in (0.25, 0.5, 2.0, 4.0):
        assert squared_error(factor * model.bandwidth_) > best


def test_mlkr_is_better_than_euclid_where_columns_are_noise():
    X, y = make_friedman1(600, n_features=15, noise=0.5, random_state=0)
    scores = {
        name: model.fit(X[:400], y[:400]).score(X[400:], y[400:])
        for name, model in {
            "euclid": lw.SimilarityRegressor(),
            "euclid, kernel": lw.SimilarityRegressor(weights="kernel"),
            "learned": lw.SimilarityRegressor(lw.MLKR(random_state=0), weights="kernel"),
        }.items()
    }
    assert scores["learned"] > 0.8 > scores["euclid, kernel"] > scores["euclid"] > 0.4


@every_weight
def test_objects_without_features_are_compared_by_a_function(weights):
    words = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"]
    by_length = lw.from_distance(lambda a, b: abs(len(a) - len(b)))
    model = lw.SimilarityRegressor(similarity=by_length, n_neighbors=2, weights=weights)
    predicted = model.fit(words, [1.0, 2, 3, 4, 5, 6]).predict(["zzz", "zzzzzzz"])
    if weights == "uniform":
        assert_allclose(predicted, [2.5, 5.5])
    elif weights == "distance":
        assert_allclose(predicted, [3, (6 / 1 + 5 / 2) / (1 + 1 / 2)])
    else:
        assert_allclose(predicted, [3, 6], atol=0.8)


@every_weight
@pytest.mark.parametrize("similarity", ["precomputed", "precomputed_distance"])
def test_a_matrix_predicts_as_its_rows_do(similarity, weights, problem):
    tests, rows, targets, of_rows = problem
    of_rows[::7] = 0
    if (similarity, weights) == ("precomputed", "distance"):
        pytest.skip("similarities have no distance")
    distance = lw.from_distance("cityblock").distance
    sign = 1 if similarity == "precomputed_distance" else -1
    by_matrix = lw.SimilarityRegressor(similarity=similarity, weights=weights)
    by_matrix.fit(sign * distance(rows, rows), targets, of_rows)
    by_rows = lw.SimilarityRegressor(similarity="cityblock", weights=weights)
    expected = by_rows.fit(rows, targets, of_rows).predict(tests)
    assert_allclose(by_matrix.predict(sign * distance(tests, rows)), expected, rtol=1e-12)


@every_weight
def test_a_row_of_weight_zero_leaves_no_trace(weights, problem):
    tests, rows, targets, of_rows = problem
    X, y = np.vstack([tests, rows]), np.vstack([np.full((20, 2), 1e9), targets])
    model = lw.SimilarityRegressor(weights=weights)
    found = model.fit(X, y, np.concatenate([np.zeros(20), of_rows])).predict(tests)
    assert_allclose(found, model.fit(rows, targets, of_rows).predict(tests), rtol=1e-12)


@every_weight
def test_one_thread_answers_as_two_do(weights, rng):
    X, y, tests = rng.normal(size=(900, 20)), rng.normal(size=900), rng.normal(size=(3000, 20))
    answers = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            answers.append(lw.SimilarityRegressor(weights=weights).fit(X, y).predict(tests))
    assert answers[0].tobytes() == answers[1].tobytes()


def test_it_works_in_a_pipeline_with_names(problem):
    _, rows, targets, _ = problem
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    model = lw.SimilarityRegressor().fit(frame, targets)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    pipeline = make_pipeline(StandardScaler(), lw.SimilarityRegressor())
    assert pipeline.fit(frame, targets[:, 1]).score(frame, targets[:, 1]) > 0.5


def test_neighbors_are_shown(problem):
    tests, rows, targets, _ = problem
    model = lw.SimilarityRegressor(n_neighbors=4).fit(rows, targets)
    matches = model.kneighbors(tests)
    assert_allclose(targets[matches.ids].mean(axis=1), model.predict(tests))
    assert (model.kneighbors().ids != np.arange(50)[:, None]).all()


@every_weight
@pytest.mark.parametrize("learner", [None, lw.MLKR(random_state=0)], ids=["given", "learned"])
def test_a_file_predicts_as_before(weights, learner, problem, tmp_path):
    tests, rows, targets, of_rows = problem
    model = lw.SimilarityRegressor(learner, weights=weights).fit(rows, targets, of_rows)
    lw.save(model, tmp_path / "model.safetensors")
    loaded = lw.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict(tests), model.predict(tests), strict=True)
    assert loaded.bandwidth_ == model.bandwidth_
    assert_array_equal(loaded.kneighbors(tests).ids, model.kneighbors(tests).ids)


def test_a_fit_that_fails_leaves_what_was_learned(problem):
    tests, rows, targets, _ = problem
    model = lw.SimilarityRegressor().fit(rows, targets)
    before = model.predict(tests)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(rows, np.full(50, np.nan))
    assert_array_equal(model.predict(tests), before)
    model.set_params(weights="kernel")
    with pytest.raises(ValueError, match="weights changed after fit: fit again"):
        model.predict(tests)


@pytest.mark.parametrize(
    ("parameters", "change", "error", "message"),
    [
        ({"weights": "near"}, None, ValueError, "weights must be one of 'uniform', 'distance', 'k"),
        ({"weights": None}, None, TypeError, "weights must be one of"),
        ({"n_neighbors": 51}, None, ValueError, "n_neighbors is 51, but X has only 50 rows"),
        ({"n_neighbors": 0}, None, ValueError, "n_neighbors must be at least 1"),
        ({"similarity": "cosin"}, None, ValueError, "Did you mean 'cosine'"),
        ({"learner": lw.MLKR(), "similarity": "cosine"}, None, ValueError, "were both given"),
        ({"learner": lw.MLKR}, None, TypeError, "learner must be an estimator"),
        ({"learner": lw.LMNN()}, None, ValueError, "LMNN learns from classes: MLKR learns from"),
        (
            {"similarity": "cosine", "weights": "distance"},
            None,
            ValueError,
            "weights 'distance' needs .* has none: use 'uniform' or 'kernel'",
        ),
        ({}, lambda X, y: (X, None), ValueError, "requires y to be passed"),
        ({}, lambda X, y: (X, np.full(50, "dear")), ValueError, "y must hold numbers, but 'dear'"),
        ({}, lambda X, y: (X, np.where(y > 1, np.inf, y)), ValueError, "y contains infinity"),
        ({}, lambda X, y: (X, y[:-1]), ValueError, "X has 50 rows and y has 49"),
        ({}, lambda X, y: (X[:1], y[:1]), ValueError, "X has only one sample"),
        ({}, lambda X, y: (np.where(X > 1, np.nan, X), y), ValueError, "X contains NaN"),
        ({"similarity": "precomputed"}, None, ValueError, "X must be a square matrix"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(parameters, change, error, message, problem):
    _, X, y, _ = problem
    X, y = (X, y[:, 0]) if change is None else change(X, y[:, 0])
    model = lw.SimilarityRegressor(**parameters)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_the_kernel_needs_no_number_of_neighbors(problem):
    _, X, y, _ = problem
    model = lw.SimilarityRegressor(n_neighbors=51, weights="kernel").fit(X[:2], y[:2])
    assert np.isfinite(model.predict(X)).all()


def test_one_row_is_what_is_predicted():
    model = lw.SimilarityRegressor(weights="kernel").fit([[1.0]], [7.0])
    assert_array_equal(model.predict([[0.0], [5.0]]), [7.0, 7.0])
