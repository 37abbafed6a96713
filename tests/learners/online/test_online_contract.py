"""AROMA and OASIS as estimators: scikit-learn's contract, files, and use inside others."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts import cases, checks

import likewise as lw
from likewise.exceptions import ModelFileError

LEARNERS = [
    lw.AROMA(n_triplets=2000),
    lw.AROMA("factored", n_triplets=2000),
    lw.AROMA("full", update="mistake", n_triplets=300),
    lw.OASIS(n_triplets=2000),
]
each_learner = pytest.mark.parametrize(
    "learner", LEARNERS, ids=["diagonal", "factored", "full", "oasis"]
)


@pytest.fixture
def rows(rng):
    y = np.array(["ash", "beech", "cedar"])[np.arange(90) % 3]
    X = rng.normal(size=(90, 5)) + 2 * (y == "ash")[:, None] * [1, 0, 0, 0, 0]
    return X - 2 * (y == "cedar")[:, None] * [0, 1, 0, 0, 0], y


@pytest.fixture
def triplets(rng):
    return rng.integers([90, 45, 45], size=(200, 3)) + np.array([0, 0, 45])


@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
@pytest.mark.filterwarnings("ignore:there are too few queries to hold some out:UserWarning")
@parametrize_with_checks(LEARNERS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@each_learner
@pytest.mark.parametrize("check", checks.SIMILARITY, ids=lambda check: check.__name__)
def test_what_is_learned_keeps_the_contract_of_similarities(learner, rows, triplets, check):
    X, _ = rows
    learned = clone(learner).set_params(dtype="float64").fit_triplets(triplets, X).similarity_
    check(
        cases.Case(
            "online", learned, X[:7], X[7:16], serves=("cosine", "inner_product", "euclidean")
        )
    )


@each_learner
@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
@pytest.mark.filterwarnings("ignore:there are too few queries to hold some out:UserWarning")
def test_it_works_in_a_pipeline_and_a_grid(learner, rows):
    X, y = rows
    steps = make_pipeline(StandardScaler(), clone(learner).set_params(random_state=0))
    name = steps.steps[-1][0]
    grid = {f"{name}__n_triplets": [200, 2000], f"{name}__normalize": [True, False]}
    search = GridSearchCV(steps, grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert 0.3 < search.best_score_ <= 1


@each_learner
def test_a_clone_is_unfitted_and_equal_in_parameters(learner, rows, triplets):
    fitted = copy.deepcopy(learner).fit_triplets(triplets, rows[0])
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    assert not hasattr(fresh, "similarity_")
    with pytest.raises(AttributeError, match="is not fitted yet"):
        _ = fresh.similarity_
    with pytest.raises(ValueError, match="not fitted"):
        fresh.score(*rows)
    started = clone(learner).set_params(init=lw.Bilinear(np.eye(5), norm="cosine"))
    assert clone(started).init is started.init


@each_learner
def test_a_pickle_and_a_copy_learn_on_by_themselves(learner, rows, triplets):
    X, _ = rows
    model = clone(learner).fit_triplets(triplets[:100], X)
    kept = model.similarity_.W.copy()
    wanted = clone(learner).fit_triplets(triplets[:100], X).partial_fit_triplets(triplets[100:], X)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        other.partial_fit_triplets(triplets[100:], X)
        assert_array_equal(other.similarity_.W, wanted.similarity_.W)
    assert_array_equal(model.similarity_.W, kept)


@each_learner
@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
def test_a_file_gives_back_the_learner_and_it_goes_on_learning(learner, rows, triplets, tmp_path):
    X, y = rows
    model = clone(learner).set_params(random_state=3).fit(X, y)
    lw.save(model, tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert loaded.similarity_.W.tobytes() == model.similarity_.W.tobytes()
    assert loaded.similarity_.norm == model.similarity_.norm
    assert loaded.history_ == model.history_
    assert_equal(loaded.validation_, model.validation_)
    assert loaded.n_updates_ == model.n_updates_
    assert loaded.score(X, y) == model.score(X, y)
    for one in (model, loaded):
        one.partial_fit_triplets(triplets, X).partial_fit(X, y)
    assert loaded.similarity_.W.tobytes() == model.similarity_.W.tobytes()
    assert loaded.n_triplets_seen_ == model.n_triplets_seen_
    if isinstance(model, lw.AROMA):
        assert_array_equal(loaded.score_variance(X, X), model.score_variance(X, X))
        assert_array_equal(lw.AROMA.merge([loaded, model]).state_.W.shape, (5, 5))


@each_learner
def test_a_file_of_what_learned_between_two_widths(learner, rng, tmp_path):
    Q, P = csr_array(np.eye(4)), rng.normal(size=(9, 3))
    model = clone(learner).set_params(dtype="float64", init=rng.normal(size=(4, 3)))
    model.fit_triplets([[0, 1, 2], [3, 4, 8]], Q, P)
    lw.save(model, tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    assert_array_equal(loaded.init, model.init)
    assert_array_equal(loaded.similarity_.score(Q, P), model.similarity_.score(Q, P))
    model.similarity_.save(tmp_path / "form")
    assert_array_equal(lw.load(tmp_path / "form").W, model.similarity_.W)


@pytest.mark.parametrize(
    ("covariance", "parts"),
    [
        ("diagonal", {"S": np.ones((1, 1))}),
        ("diagonal", {"S": np.ones(25)}),
        ("diagonal", {"W": "five by five"}),
        ("diagonal", {"S": np.ones((5, 5), np.int64)}),
        ("factored", {"Lambda": np.eye(3)}),
        ("factored", {"Sigma": np.eye(6)}),
        ("full", {"Sigma": np.eye(24)}),
        ("full", {"W": np.eye(5, dtype=np.float32), "Sigma": np.eye(25, dtype=np.float32)}),
    ],
)
def test_a_file_whose_arrays_do_not_fit_together_is_refused(
    covariance, parts, rows, triplets, tmp_path
):
    """Kernels do not look at bounds: what they are given must fit."""
    model = lw.AROMA(covariance).fit_triplets(triplets, rows[0])
    for name, value in parts.items():
        setattr(model.state_, name, value)
    lw.save(model, tmp_path / "odd")
    with pytest.raises(ModelFileError):
        lw.load(tmp_path / "odd")


@each_learner
@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
def test_a_classifier_takes_it_as_a_learner(learner, rows, tmp_path):
    X, y = rows
    classifier = lw.SimilarityClassifier(learner=clone(learner).set_params(random_state=0))
    classifier.fit(X[:60], y[:60])
    assert classifier.score(X[60:], y[60:]) > 0.5
    sparse = lw.SimilarityClassifier(learner=clone(learner).set_params(random_state=0))
    sparse.fit(csr_array(X[:60]), y[:60])
    assert_array_equal(sparse.predict(csr_array(X[60:])), classifier.predict(X[60:]))
    lw.save(classifier, tmp_path / "c")
    assert_array_equal(lw.load(tmp_path / "c").predict(X), classifier.predict(X))


@each_learner
@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
def test_names_of_features_are_kept(learner, rows):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = clone(learner).set_params(random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcde")
    wanted = clone(learner).set_params(random_state=0).fit(X, y).similarity_.W
    assert_allclose(model.similarity_.W, wanted)
    assert 0 < model.score(frame, y) <= 1


@each_learner
def test_its_score_is_the_mean_average_precision_of_a_search(learner, rows, triplets):
    X, y = rows
    model = clone(learner).set_params(dtype="float64").fit_triplets(triplets, X)
    report = lw.evaluate_retrieval(model.similarity_, X, labels=y, depth=None)
    assert_allclose(model.score(X, y), report["map"], atol=1e-10)
