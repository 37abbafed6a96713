"""SimilarityClassifier: learners, neighbours, and its place among scikit-learn's tools."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from tests.oracles import similarities as similarity_oracle
from tests.oracles import topk

import likewise as lw

WINE = lw.datasets.load("wine")
RULES = ("majority", "symmetric", "energy")


class Stretch(BaseEstimator):
    """A learner that has nothing but `similarity_`."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y):
        self.similarity_ = lw.Mahalanobis(np.array([self.factor, *[1.0] * (X.shape[1] - 1)]))
        return self


@pytest.fixture
def rows(rng):
    """Return three overlapping blobs of 20 rows each, in order."""
    return np.repeat([[0.0, 0], [2, 0], [0, 2]], 20, axis=0) + rng.normal(size=(60, 2))


LABELS = np.repeat(["a", "b", "c"], 20)


def test_euclidean_majority_is_scikit_learns_when_votes_cannot_tie():
    ours = lw.SimilarityClassifier(n_neighbors=1).fit(WINE.X[::2], WINE.y[::2])
    theirs = KNeighborsClassifier(n_neighbors=1).fit(WINE.X[::2], WINE.y[::2])
    assert_array_equal(ours.predict(WINE.X[1::2]), theirs.predict(WINE.X[1::2]))


def test_the_given_learner_stays_unfitted():
    learner = NeighborhoodComponentsAnalysis(max_iter=3, random_state=0)
    fitted = lw.SimilarityClassifier(learner=learner).fit(WINE.X, WINE.y)
    with pytest.raises(NotFittedError):
        check_is_fitted(learner)
    check_is_fitted(fitted.learner_)
    assert fitted.learner is learner


def test_a_linear_learner_is_used_by_its_map():
    learner = make_pipeline(StandardScaler(), PCA(n_components=3))
    fitted = lw.SimilarityClassifier(learner=learner, n_neighbors=1).fit(WINE.X[::2], WINE.y[::2])
    assert fitted.similarity_.L.shape == (3, WINE.X.shape[1])
    mapped = clone(learner).fit(WINE.X[::2])
    theirs = KNeighborsClassifier(1).fit(mapped.transform(WINE.X[::2]), WINE.y[::2])
    expected = theirs.predict(mapped.transform(WINE.X[1::2]))
    assert_array_equal(fitted.predict(WINE.X[1::2]), expected)


def test_a_learner_is_used_by_its_similarity(rows):
    fitted = lw.SimilarityClassifier(learner=Stretch(50.0)).fit(rows, LABELS)
    assert fitted.similarity_ is fitted.learner_.similarity_
    same = lw.SimilarityClassifier(similarity=lw.Mahalanobis([50.0, 1.0])).fit(rows, LABELS)
    assert_array_equal(fitted.predict(rows + 0.1), same.predict(rows + 0.1))


def test_a_learner_sees_the_labels_as_they_were_given(rows):
    class Recorder(Stretch):
        def fit(self, X, y):
            self.seen_ = y
            return super().fit(X, y)

    fitted = lw.SimilarityClassifier(learner=Recorder()).fit(rows, LABELS)
    assert_array_equal(fitted.learner_.seen_, LABELS)


def test_a_similarity_is_used_as_it_is(rows):
    similarity = lw.Mahalanobis(2.0)
    fitted = lw.SimilarityClassifier(similarity=similarity).fit(rows, LABELS)
    assert fitted.similarity_ is similarity
    assert fitted.learner_ is None


@pytest.mark.parametrize("rule", RULES)
def test_the_score_is_the_share_of_right_predictions(rule, rows):
    fitted = lw.SimilarityClassifier(rule=rule).fit(rows[::2], LABELS[::2])
    share = np.mean(fitted.predict(rows[1::2]) == LABELS[1::2])
    assert fitted.score(rows[1::2], LABELS[1::2]) == share
    assert 0.4 < share < 1


def test_predictions_are_the_labels_that_were_given(rows):
    fitted = lw.SimilarityClassifier().fit(rows, LABELS)
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    assert set(fitted.predict(rows)) <= {"a", "b", "c"}
    assert fitted.predict_proba(rows).shape == (60, 3)
    assert_array_equal(fitted.classes_[fitted.labels_], LABELS)


KINDS = [np.array([-3, 7], dtype=np.int8), np.array([False, True]), np.array(["no", "yes"], object)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.dtype))
def test_labels_keep_their_kind(kind, rows):
    y = kind[(LABELS == "a").astype(int)]
    predicted = lw.SimilarityClassifier().fit(rows, y).predict(rows)
    assert predicted.dtype == y.dtype
    assert np.mean(predicted == y) > 0.8


def test_neighbours_are_the_most_alike_training_rows(rows):
    fitted = lw.SimilarityClassifier(n_neighbors=4).fit(rows, LABELS)
    queries = rows[:7] + 0.5
    scores, ids = topk.best(similarity_oracle.mahalanobis(1.0, queries, rows), 4)
    found = fitted.kneighbors(queries)
    assert_array_equal(found.ids, ids)
    assert_allclose(found.scores, scores)
    assert_array_equal(fitted.kneighbors(queries, n_neighbors=2).ids, ids[:, :2])


def test_no_training_row_is_its_own_neighbour(rows):
    rows[7] = rows[8]  # a duplicate is a neighbour nevertheless
    fitted = lw.SimilarityClassifier().fit(rows, LABELS)
    _, ids = topk.best(similarity_oracle.mahalanobis(1.0, rows, rows), 3, skip=np.arange(60))
    assert_array_equal(fitted.kneighbors().ids, ids)
    assert fitted.kneighbors().ids[7, 0] == 8


def test_neighbours_beyond_the_training_rows_are_none():
    fitted = lw.SimilarityClassifier(n_neighbors=1).fit([[0.0], [1.0]], [0, 1])
    found = fitted.kneighbors(n_neighbors=2)
    assert found.ids.tolist() == [[1, None], [0, None]]
    assert found.scores.tolist() == [[-1, -np.inf], [-1, -np.inf]]


def test_a_pipeline_scales_first():
    scaled = make_pipeline(StandardScaler(), lw.SimilarityClassifier(n_neighbors=5))
    theirs = make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=5))
    ours = cross_val_score(scaled, WINE.X, WINE.y)
    assert ours.mean() == pytest.approx(cross_val_score(theirs, WINE.X, WINE.y).mean(), abs=0.012)


def test_a_grid_reaches_into_the_learner(rows):
    """The first feature is the only one that tells a from b: the largest factor wins."""
    X, y = rows[:40] * [1.0, 30.0], LABELS[:40]
    grid = GridSearchCV(
        lw.SimilarityClassifier(learner=Stretch()), {"learner__factor": [0.01, 1.0, 1000.0]}
    ).fit(X, y)
    assert grid.best_params_ == {"learner__factor": 1000.0}
    assert grid.best_estimator_.learner_.factor == 1000.0


def test_a_grid_chooses_among_similarities(rng):
    """Classes are directions, and lengths vary: only the cosine sees that."""
    angles = np.repeat([0.1, 0.5, 0.9], 30) + rng.normal(scale=0.05, size=90)
    X = np.stack([np.cos(angles), np.sin(angles)], axis=1) * rng.lognormal(3, 2, size=(90, 1))
    choices = ["euclidean", "cosine", lw.Mahalanobis(2.0)]
    grid = GridSearchCV(lw.SimilarityClassifier(), {"similarity": choices})
    assert grid.fit(X, np.repeat([0, 1, 2], 30)).best_params_ == {"similarity": "cosine"}


@pytest.mark.parametrize("rule", RULES)
def test_a_grid_cuts_a_precomputed_matrix_on_both_sides(rule, rows):
    distances = -similarity_oracle.mahalanobis(1.0, rows, rows)
    grid = {"n_neighbors": [1, 7]}
    by_rows = GridSearchCV(lw.SimilarityClassifier(rule=rule), grid).fit(rows, LABELS)
    by_matrix = GridSearchCV(
        lw.SimilarityClassifier(similarity="precomputed_distance", rule=rule), grid
    ).fit(distances, LABELS)
    assert_array_equal(
        by_matrix.cv_results_["mean_test_score"], by_rows.cv_results_["mean_test_score"]
    )


def test_a_clone_has_the_parameters_and_nothing_learned(rows):
    similarity = lw.Mahalanobis([1.0, 2.0])
    fitted = lw.SimilarityClassifier(
        similarity=similarity, n_neighbors=2, rule="energy", c=0.5
    ).fit(rows, LABELS)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert copy.similarity is similarity
    with pytest.raises(NotFittedError):
        copy.predict(rows)


@pytest.mark.parametrize("rule", RULES)
def test_a_pickle_predicts_the_same(rule, rows):
    fitted = lw.SimilarityClassifier(learner=Stretch(3.0), rule=rule).fit(rows, LABELS)
    copy = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copy.predict_proba(rows + 0.1), fitted.predict_proba(rows + 0.1))
