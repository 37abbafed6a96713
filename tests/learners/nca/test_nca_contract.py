"""NCA and MLKR as estimators: scikit-learn's contract, files, interrupts, and bad input."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts import cases, checks
from tests.contracts.sample_weights import EQUAL_ROWS_ARE_NEIGHBORS

import likewise as lw
from likewise.exceptions import InterruptedWarning
from likewise.learners.nca import _optimizer


@pytest.fixture
def rows(rng):
    y = np.array(["ash", "beech", "cedar"])[np.arange(45) % 3]
    return rng.normal(size=(45, 4)) + (y == "ash")[:, None] * [2, 0, 0, 0], y


@pytest.fixture(params=["NCA", "MLKR"])
def learner(request):
    """Return an estimator, and what turns the labels of `rows` into its targets."""
    if request.param == "NCA":
        return lw.NCA(random_state=0, max_iter=20), lambda y: y
    return lw.MLKR(random_state=0, max_iter=20), lambda y: (y == "ash") * 2.5


@parametrize_with_checks(
    [lw.NCA(max_iter=20), lw.MLKR(max_iter=20)],
    expected_failed_checks=lambda estimator: EQUAL_ROWS_ARE_NEIGHBORS,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", checks.SIMILARITY, ids=lambda check: check.__name__)
def test_what_is_learned_keeps_the_contract_of_similarities(rows, check, learner):
    X, y = rows
    learned = learner[0].fit(X, learner[1](y)).similarity_
    check(cases.Case("NCA", learned, X[:7], X[7:16], serves=("euclidean", "inner_product")))


def test_it_works_in_a_pipeline_and_a_grid(rows):
    X, y = rows
    steps = make_pipeline(lw.NCA(max_iter=5), KNeighborsClassifier(3))
    grid = {"nca__alpha": [0.01, 1.0], "nca__n_components": [2, 3]}
    search = GridSearchCV(steps, grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 4


def test_a_classifier_takes_it(rows):
    X, y = rows
    for given in (X, csr_array(X)):
        knn = lw.SimilarityClassifier(learner=lw.NCA(random_state=0)).fit(given, y)
        assert knn.score(given, y) > 0.5


def test_a_clone_is_unfitted_and_equal_in_parameters(learner):
    estimator = learner[0].set_params(n_components=2, init="pca", alpha=0.1, n_references=99)
    assert clone(estimator).get_params() == estimator.get_params()
    with pytest.raises(NotFittedError):
        estimator.transform([[1.0]])


def test_a_file_and_a_pickle_give_back_the_learner(rows, tmp_path, learner):
    X, y = rows
    fitted = learner[0].set_params(n_components=3).fit(X, learner[1](y))
    lw.save(fitted, tmp_path / "learner")
    for copy in (lw.load(tmp_path / "learner"), pickle.loads(pickle.dumps(fitted))):
        assert copy.get_params() == fitted.get_params()
        assert copy.transform(X).tobytes() == fitted.transform(X).tobytes()
        assert (copy.objective_, copy.n_iter_) == (fitted.objective_, fitted.n_iter_)
        assert copy.history_ == fitted.history_
        assert_array_equal(copy.get_feature_names_out(), fitted.get_feature_names_out())
        if hasattr(fitted, "predict"):
            assert_array_equal(copy.predict(X), fitted.predict(X))


def test_features_are_named_after_the_learner(rows):
    import pandas as pd

    frame = pd.DataFrame(rows[0], columns=list("abcd"))
    nca = lw.NCA(2).set_output(transform="pandas").fit(frame, rows[1])
    assert nca.transform(frame).columns.tolist() == ["nca0", "nca1"]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1, but 0"),
        ({"n_components": 5}, ValueError, "n_components is 5, but X has only 4 features"),
        ({"n_references": 1}, ValueError, "n_references must be at least 2, but 1"),
        ({"n_references": 2.5}, TypeError, "n_references must be a whole number"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"alpha": -0.1}, ValueError, "alpha must be finite and at least 0, but -0.1"),
        ({"alpha": np.nan}, ValueError, "alpha must be finite"),
        ({"alpha": "none"}, TypeError, "alpha must be 'auto' or a number, but 'none'"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be at least 1"),
        ({"init": "best"}, ValueError, "init must be one of 'identity', 'pca', 'lda', 'auto'"),
        ({"init": np.eye(3)}, ValueError, "init must be an array of shape"),
        ({"init": np.zeros((4, 4))}, ValueError, "init must not be zero everywhere"),
    ],
)
def test_parameters_are_checked_before_anything_is_done(rows, parameters, error, message, learner):
    X, y = rows[0], learner[1](rows[1])
    fitted = learner[0].fit(X, y)
    kept = fitted.components_
    with pytest.raises(error, match=message):
        fitted.set_params(**parameters).fit(X, y)
    assert fitted.components_ is kept


def test_an_unknown_objective_is_refused(rows):
    with pytest.raises(ValueError, match="objective must be one of 'likelihood', 'accuracy', but"):
        lw.NCA(objective="likelyhood").fit(*rows)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X, y: (np.where(X > 1, np.nan, X), y), ValueError, "NaN"),
        (lambda X, y: (X, y[:-1]), ValueError, "inconsistent numbers of samples"),
        (lambda X, y: (X, np.full(45, "ash")), ValueError, "y has one class, ash; at least two"),
        (lambda X, y: (X, np.arange(45)), ValueError, "y has a single row of each class"),
        (lambda X, y: (X, X[:, 0]), ValueError, "y is continuous"),
        (lambda X, y: (X[:1], y[:1]), ValueError, "minimum of 2 is required"),
        (lambda X, y: (X, None), ValueError, "requires y"),
        (lambda X, y: (X, y, np.zeros(45)), ValueError, "above zero for at least two rows"),
        (lambda X, y: (X, y, np.ones(3)), ValueError, "y has 45 rows and sample_weight has 3"),
        (
            lambda X, y: (X, y, -np.ones(45)),
            ValueError,
            "sample_weight must be finite and not",
        ),
        (lambda X, y: (X, y, (y == "ash") * 1.0), ValueError, "y has one class, ash"),
    ],
)
@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
def test_input_that_cannot_be_learned_from_is_refused(rows, change, error, message):
    with pytest.raises(error, match=message):
        lw.NCA().fit(*change(*rows))


def test_starts_that_sparse_rows_do_not_have_are_refused(rows):
    X = csr_array(rows[0])
    with pytest.raises(ValueError, match="init 'lda' needs dense rows, but X is sparse"):
        lw.NCA(init="lda").fit(X, rows[1])
    with pytest.raises(ValueError, match="init 'pca' finds fewer than 4 components"):
        lw.NCA(init="pca").fit(X, rows[1])


def test_lda_cannot_start_without_classes(rows):
    with pytest.raises(ValueError, match="init 'lda' needs labels"):
        lw.MLKR(init="lda").fit(rows[0], np.arange(45.0))


def test_progress_is_shown_when_asked(rows, capfd, learner):
    X, y = rows[0], learner[1](rows[1])
    learner[0].fit(X, y)
    assert capfd.readouterr() == ("", "")
    fitted = learner[0].set_params(verbose=True).fit(X, y)
    label = f"fitting {type(fitted).__name__}: {fitted.n_iter_}/20 steps"
    assert label in capfd.readouterr().err


@pytest.mark.parametrize("n_rows", [45, 1200])
def test_ctrl_c_keeps_the_map(rng, interrupt_at, n_rows):
    X, y = rng.normal(size=(n_rows, 4)), np.arange(n_rows) % 3
    X[:, 0] += y
    interrupt_at(4, "evaluate", _optimizer)
    with pytest.warns(InterruptedWarning, match="fitting NCA was interrupted .* the map so far"):
        nca = lw.NCA(random_state=0).fit(X, y)
    assert 1 <= nca.n_iter_ <= 4
    assert len(nca.history_) == nca.n_iter_
    assert nca.transform(X).shape == (n_rows, 4)
    assert nca.objective_ >= nca.history_[0]["objective"] - 0.1
