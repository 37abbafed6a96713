"""LMNN as an estimator: scikit-learn's contract, files, interrupts, and input of every kind."""

import pickle
import signal
import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts import cases, checks
from tests.contracts.sample_weights import NEIGHBORS_ARE_COUNTED

import likewise as lw
from likewise import kernels
from likewise.exceptions import InterruptedWarning
from likewise.learners.linear_map import LBFGS


@pytest.fixture
def rows(rng):
    y = np.array(["ash", "beech", "cedar"])[np.arange(45) % 3]
    return rng.normal(size=(45, 4)) + (y == "ash")[:, None] * [2, 0, 0, 0], y


@pytest.mark.filterwarnings("ignore:LMNN has not converged:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:fewer than:UserWarning")
@parametrize_with_checks(
    [lw.LMNN(max_iter=20, n_jobs=1)], expected_failed_checks=lambda estimator: NEIGHBORS_ARE_COUNTED
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", checks.SIMILARITY, ids=lambda check: check.__name__)
def test_what_is_learned_keeps_the_contract_of_similarities(rows, check):
    X, y = rows
    learned = lw.LMNN(n_jobs=1).fit(X, y).similarity_
    check(cases.Case("LMNN", learned, X[:7], X[7:16], serves=("euclidean", "inner_product")))


def test_it_works_in_a_pipeline_and_a_grid(rows):
    X, y = rows
    steps = make_pipeline(StandardScaler(), lw.LMNN(n_jobs=1, tol=0.01), KNeighborsClassifier(3))
    grid = {"lmnn__c": [0.2, 1.0], "lmnn__n_neighbors": [1, 3]}
    search = GridSearchCV(steps, grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.predict(X).shape == (45,)


def test_a_clone_is_unfitted_and_equal_in_parameters():
    lmnn = lw.LMNN(5, c=0.3, n_components=2, init="pca", max_iter=9, tol=0.1, n_jobs=1)
    assert clone(lmnn).get_params() == lmnn.get_params()
    for ask in (lambda: lmnn.transform([[1.0]]), lambda: lmnn.duality_gap_):
        with pytest.raises(NotFittedError):
            ask()


@pytest.mark.parametrize("asked_before", [True, False])
def test_a_pickle_is_a_map_without_the_rows(rows, asked_before):
    X, y = rows
    lmnn = lw.LMNN(n_jobs=1).fit(X, y)
    gap = lmnn.duality_gap_ if asked_before else None
    copy = pickle.loads(pickle.dumps(lmnn))
    assert_array_equal(copy.transform(X), lmnn.transform(X))
    if asked_before:
        assert copy.duality_gap_ == gap
    else:
        with pytest.raises(AttributeError, match="known only to the object that was fitted"):
            _ = copy.duality_gap_
    many = np.tile(X, (50, 1)) + np.arange(50).repeat(45)[:, None] * 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        large = lw.LMNN(1, max_iter=1).fit(many, np.tile(y, 50))
    assert len(pickle.dumps(large)) < many.nbytes / 10


def test_a_file_gives_back_the_learner(rows, tmp_path):
    X, y = rows
    lmnn = lw.LMNN(c=0.5, n_components=3, n_jobs=1).fit(X, y)
    lw.save(lmnn, tmp_path / "lmnn")
    loaded = lw.load(tmp_path / "lmnn")
    assert loaded.get_params() == lmnn.get_params()
    assert loaded.transform(X).tobytes() == lmnn.transform(X).tobytes()
    assert (loaded.objective_, loaded.n_iter_) == (lmnn.objective_, lmnn.n_iter_)
    assert loaded.history_ == lmnn.history_
    assert_array_equal(loaded.get_feature_names_out(), lmnn.get_feature_names_out())
    with pytest.raises(AttributeError, match="known only to the object that was fitted"):
        _ = loaded.duality_gap_


@pytest.mark.parametrize("rule", ["majority", "energy"])
def test_a_file_gives_back_a_classifier_with_its_learner(rows, tmp_path, rule):
    X, y = rows
    classifier = lw.SimilarityClassifier(learner=lw.LMNN(n_jobs=1), rule=rule).fit(X, y)
    lw.save(classifier, tmp_path / "c")
    assert_array_equal(lw.load(tmp_path / "c").predict_proba(X), classifier.predict_proba(X))


def test_features_are_named_after_the_learner(rows):
    import pandas as pd

    frame = pd.DataFrame(rows[0], columns=list("abcd"))
    lmnn = lw.LMNN(n_components=2, n_jobs=1).set_output(transform="pandas").fit(frame, rows[1])
    assert lmnn.get_feature_names_out().tolist() == ["lmnn0", "lmnn1"]
    assert lmnn.transform(frame).columns.tolist() == ["lmnn0", "lmnn1"]
    assert lmnn.feature_names_in_.tolist() == list("abcd")


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1, but 0"),
        ({"n_neighbors": 1.5}, TypeError, "n_neighbors must be a whole number"),
        ({"c": 0}, ValueError, "c must be finite and above 0"),
        ({"c": -1.0}, ValueError, "c must be finite and above 0"),
        ({"c": np.nan}, ValueError, "c must be finite"),
        ({"tol": -1e-9}, ValueError, "tol must be finite and at least 0"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"n_components": 0}, ValueError, "n_components must be at least 1"),
        ({"n_components": 5}, ValueError, "n_components is 5, but X has only 4 features"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be at least 1"),
        ({"init": "best"}, ValueError, "init must be one of 'identity', 'pca', 'lda'"),
        ({"init": np.eye(3)}, ValueError, "init must be an array of shape"),
    ],
)
def test_parameters_are_checked_before_anything_is_done(rows, parameters, error, message):
    lmnn = lw.LMNN(n_jobs=1).fit(*rows)
    kept = lmnn.components_
    with pytest.raises(error, match=message):
        lmnn.set_params(**parameters).fit(*rows)
    assert lmnn.components_ is kept
    with pytest.raises(error, match=message):
        lmnn.fit_triplets([[0, 1, 2]], rows[0])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X, y: (np.where(X > 1, np.nan, X), y), ValueError, "NaN"),
        (lambda X, y: (X, y[:-1]), ValueError, "inconsistent numbers of samples"),
        (lambda X, y: (X, np.full(45, "ash")), ValueError, "y has one class, ash; at least two"),
        (lambda X, y: (X, X[:, 0]), ValueError, "y is continuous"),
        (lambda X, y: (X[:, 0], y), ValueError, "Expected 2D array"),
        (lambda X, y: (X[:1], y[:1]), ValueError, "minimum of 2 is required"),
        (lambda X, y: (X, None), ValueError, "requires y"),
        (lambda X, y: (X, y, [[1]]), ValueError, r"target_neighbors must have shape \(45, k\)"),
        (lambda X, y: (X, y, np.full((45, 1), 99)), ValueError, "points at row 99, but X has 45"),
    ],
)
def test_input_that_cannot_be_learned_from_is_refused(rows, change, error, message):
    with pytest.raises(error, match=message):
        lw.LMNN().fit(*change(*rows))


@pytest.mark.parametrize(
    ("triplets", "error", "message"),
    [
        ([[0, 1, 45]], ValueError, "triplets points at row 45, but X has 45 rows"),
        ([[0, 1, 1]], ValueError, "prefers item 1 to itself"),
        ([[0, 1]], ValueError, "three columns"),
        (np.empty((0, 3), int), ValueError, "triplets has no rows"),
        ([[0.0, 1.0, 2.0]], TypeError, "whole row numbers"),
    ],
)
def test_triplets_are_checked(rows, triplets, error, message):
    with pytest.raises(error, match=message):
        lw.LMNN().fit_triplets(triplets, rows[0])


def test_lda_cannot_start_without_labels(rows):
    with pytest.raises(ValueError, match="init 'lda' needs labels"):
        lw.LMNN(init="lda").fit_triplets([[0, 1, 2]], rows[0])


def test_small_classes_are_named_once_and_learning_goes_on(rows):
    X, y = rows[0], rows[1].astype("<U6")
    y[0], y[1:3] = "lonely", "two"
    with pytest.warns(UserWarning, match=r"class lonely \(1\), two \(2\)") as caught:
        lmnn = lw.LMNN(3, n_jobs=1).fit(X, y)
    assert len(caught) == 1
    assert np.isfinite(lmnn.components_).all()


def test_rows_that_are_all_alike_leave_nothing_to_learn():
    lmnn = lw.LMNN(2, n_jobs=1).fit(np.ones((9, 3)), np.arange(9) % 3)
    assert lmnn.objective_ == 9 * 2 * 6  # every margin is violated by 1
    assert np.isfinite(lmnn.components_).all()
    assert 0 <= lmnn.duality_gap_ <= 1


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, 1e6 + 0.1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_column_changes_nothing(rows, value, dtype):
    """Nor is it weighed so much that new rows drown in it."""
    X, y = rows
    more = np.hstack([X, np.full((45, 1), value)]).astype(dtype)
    usual, lmnn = lw.LMNN(n_jobs=1).fit(X, y), lw.LMNN(n_jobs=1).fit(more, y)
    assert_allclose(lmnn.objective_, usual.objective_, rtol=1e-3)
    assert np.abs(lmnn.components_[:, -1]).max() <= 2 * np.abs(lmnn.components_[:, :-1]).max() + 1


def test_classes_far_apart_cost_only_the_pull(rng):
    y = np.arange(30) % 3
    X = 0.01 * rng.normal(size=(30, 3)) + 1e3 * np.eye(3)[y]
    lmnn = lw.LMNN(2, c=1e4, n_jobs=1).fit(X, y)
    found = lmnn.similarity_.neighbors(X, X, 2, exclude_self=True)
    assert (y[found.ids] == y[:, None]).all()
    assert -found.scores.sum() - 1e-9 <= lmnn.objective_ <= 0.01


def test_without_any_impostor_the_objective_is_the_pull_and_can_be_nothing():
    """Rows that are their targets' doubles: every class is a point."""
    X = np.repeat(np.eye(3), 4, axis=0)
    lmnn = lw.LMNN(3, n_jobs=1).fit(X, np.repeat(["a", "b", "c"], 4))
    assert lmnn.objective_ == 0
    assert lmnn.duality_gap_ == 0
    assert lmnn.history_[-1]["impostors"] == 0


def test_progress_is_shown_when_asked(rows, capfd):
    lw.LMNN(n_jobs=1).fit(*rows)
    assert capfd.readouterr() == ("", "")
    lmnn = lw.LMNN(n_jobs=1, verbose=True).fit(*rows)
    assert f"fitting LMNN: {lmnn.n_iter_}/200 steps" in capfd.readouterr().err
    assert lmnn.duality_gap_ >= 0
    assert "certifying" in capfd.readouterr().err


def test_ctrl_c_keeps_the_best_map(rows, interrupt_at):
    taken = interrupt_at(13, "step", LBFGS)
    with pytest.warns(InterruptedWarning, match="fitting LMNN was interrupted after 13 of 200"):
        lmnn = lw.LMNN(n_jobs=1, tol=0).fit(*rows)
    assert lmnn.n_iter_ == len(taken) == 13
    assert lmnn.objective_ == min(milestone["objective"] for milestone in lmnn.history_)
    assert lmnn.transform(rows[0]).shape == (45, 4)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_in_a_kernel_keeps_the_best_map_too(rows, interrupt_at):
    interrupt_at(40, "margin_costs", kernels)
    with pytest.warns(InterruptedWarning, match="kept: the best map so far"):
        lmnn = lw.LMNN(n_jobs=1, tol=0).fit(*rows)
    assert lmnn.objective_ < lmnn.history_[0]["objective"]


def peak_of_fit(rng, n_rows, apart):
    """Return the bytes that a fit needs, of three classes so many spreads apart."""
    y = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, 5)) + apart * y[:, None] * [1, 0, 0, 0, 0]
    lw.LMNN(1, tol=0.1, n_jobs=1).fit(X[:30], y[:30])  # compiled, and imported
    tracemalloc.start()
    lw.LMNN(tol=0.01, n_jobs=1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_square_of_the_rows(rng):
    assert peak_of_fit(rng, 3000, apart=6) < 3000 * 3000 * 4 / 3


def test_classes_far_apart_do_not_list_every_pair(rng):
    # At the optimum every pair is at its margin; twice the rows have four times the pairs.
    assert peak_of_fit(rng, 3000, apart=100) < 3 * peak_of_fit(rng, 1500, apart=100)
