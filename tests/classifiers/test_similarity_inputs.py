"""What SimilarityClassifier takes: frames, sparse rows, matrices and lists of objects."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_val_score
from tests.oracles import similarities as similarity_oracle

import likewise as lw

IRIS = lw.datasets.load("iris")
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
TRAIN, TEST = slice(0, None, 2), slice(1, None, 2)
FRAMES = {
    "pandas": lambda X, names=NAMES: pd.DataFrame(np.asarray(X), columns=names),
    "polars": lambda X, names=NAMES: pl.DataFrame(np.asarray(X), schema=names),
}
SERIES = {"pandas": pd.Series, "polars": pl.Series}
both_frames = pytest.mark.parametrize("kind", FRAMES)
WORDS = ["ear", "east", "earn", "eastern", "moon", "moor", "moose", "mood"]
WORD_LABELS = ["e"] * 4 + ["m"] * 4


def edits(a, b):
    """Return Levenshtein's distance of two words."""
    best = range(len(b) + 1)
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(best[j] + 1, row[-1] + 1, best[j - 1] + (x != y)))
        best = row
    return best[-1]


def letters_in_common(a, b):
    return len(set(a) & set(b))


@both_frames
def test_frames_keep_their_feature_names(kind):
    labels = SERIES[kind](np.array(["setosa", "versicolor", "virginica"])[IRIS.y[TRAIN]])
    fitted = lw.SimilarityClassifier().fit(FRAMES[kind](IRIS.X[TRAIN]), labels)
    assert fitted.feature_names_in_.tolist() == NAMES
    assert fitted.n_features_in_ == 4
    expected = lw.SimilarityClassifier().fit(IRIS.X[TRAIN], np.asarray(labels))
    assert_array_equal(fitted.predict(FRAMES[kind](IRIS.X[TEST])), expected.predict(IRIS.X[TEST]))


@both_frames
@pytest.mark.parametrize("names", [["width", *NAMES[1:]], NAMES[::-1]], ids=["renamed", "moved"])
def test_columns_that_are_named_otherwise_are_refused(kind, names):
    fitted = lw.SimilarityClassifier().fit(FRAMES[kind](IRIS.X), IRIS.y)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(FRAMES[kind](IRIS.X, names))


@pytest.mark.parametrize("rule", ["majority", "symmetric", "energy"])
def test_frames_pass_through_a_grid_with_their_names(rule):
    grid = GridSearchCV(lw.SimilarityClassifier(rule=rule), {"n_neighbors": [1, 5]}, cv=2)
    grid.fit(FRAMES["pandas"](IRIS.X), IRIS.y)
    assert grid.best_estimator_.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize(
    "form", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_matrix]
)
@pytest.mark.parametrize("name", ["euclidean", "cosine", "dice"])
def test_any_sparse_form_answers_as_dense_rows(form, name, rng):
    rows = rng.integers(0, 3, size=(40, 12)) * (rng.random(size=(40, 12)) < 0.4)
    labels = rng.integers(2, size=40)
    clf = lw.SimilarityClassifier(similarity=name, n_neighbors=1, rule="symmetric")
    expected = clf.fit(rows, labels).predict_proba(rows[::-1])
    fitted = clf.fit(form(rows), labels)
    assert sparse.issparse(fitted.items_)
    assert_allclose(fitted.predict_proba(form(rows[::-1])), expected, rtol=1e-12)
    assert_allclose(fitted.predict_proba(rows[::-1]), expected, rtol=1e-12)


def test_single_precision_stays_single():
    fitted = lw.SimilarityClassifier().fit(IRIS.X.astype(np.float32), IRIS.y)
    assert fitted.items_.dtype == np.float32
    assert fitted.kneighbors().scores.dtype == np.float32


def test_whole_numbers_are_rows_too():
    rows = np.array([[0, 250], [0, 5], [250, 0]], dtype=np.uint8)
    fitted = lw.SimilarityClassifier(n_neighbors=1).fit(rows, [0, 1, 2])
    assert fitted.predict(np.array([[3, 255], [255, 3]], dtype=np.uint8)).tolist() == [0, 2]


@pytest.mark.parametrize("rule", ["majority", "symmetric"])
def test_precomputed_means_similarities(rule):
    similarities = similarity_oracle.bilinear(1.0, "cosine", IRIS.X, IRIS.X)
    fitted = lw.SimilarityClassifier(similarity="precomputed", rule=rule).fit(
        similarities[TRAIN, TRAIN], IRIS.y[TRAIN]
    )
    expected = lw.SimilarityClassifier(similarity="cosine", rule=rule).fit(
        IRIS.X[TRAIN], IRIS.y[TRAIN]
    )
    assert_allclose(
        fitted.predict_proba(similarities[TEST, TRAIN]),
        expected.predict_proba(IRIS.X[TEST]),
        rtol=1e-6,
    )


@pytest.mark.parametrize("rule", ["majority", "symmetric", "energy"])
def test_precomputed_distance_means_distances(rule):
    distances = -similarity_oracle.mahalanobis(1.0, IRIS.X, IRIS.X)
    fitted = lw.SimilarityClassifier(similarity="precomputed_distance", rule=rule).fit(
        distances[TRAIN, TRAIN], IRIS.y[TRAIN]
    )
    expected = lw.SimilarityClassifier(rule=rule).fit(IRIS.X[TRAIN], IRIS.y[TRAIN])
    found = fitted.predict(distances[TEST, TRAIN])
    assert np.mean(found == expected.predict(IRIS.X[TEST])) > 0.98  # but for ties by rounding


def test_rows_of_a_precomputed_matrix_are_required_for_neighbors():
    fitted = lw.SimilarityClassifier(similarity="precomputed", n_neighbors=1).fit(
        [[2.0, 1.0], [1.0, 2.0]], [0, 1]
    )
    assert fitted.kneighbors([[0.5, 0.7]]).ids.tolist() == [[1]]
    with pytest.raises(ValueError, match="X is required"):
        fitted.kneighbors()


@pytest.mark.parametrize("rule", ["majority", "symmetric", "energy"])
def test_words_are_classified_by_a_distance(rule):
    clf = lw.SimilarityClassifier(similarity=lw.from_distance(edits), n_neighbors=2, rule=rule)
    fitted = clf.fit(WORDS, WORD_LABELS)
    assert fitted.predict(["eart", "mooo"]).tolist() == ["e", "m"]
    assert fitted.kneighbors(["eart"], n_neighbors=1).ids.tolist() == [[0]]
    assert fitted.kneighbors(n_neighbors=1).ids[5:7].tolist() == [[4], [4]]


def test_words_are_classified_by_a_similarity():
    clf = lw.SimilarityClassifier(similarity=lw.from_callable(letters_in_common), n_neighbors=2)
    assert clf.fit(WORDS, WORD_LABELS).predict(["seat", "room"]).tolist() == ["e", "m"]


@pytest.mark.parametrize("form", [tuple, np.array, lambda words: np.array(words, dtype=object)])
def test_words_may_come_in_any_sequence(form):
    clf = lw.SimilarityClassifier(similarity=lw.from_distance(edits), n_neighbors=2, rule="energy")
    assert clf.fit(form(WORDS), WORD_LABELS).predict(form(["eart"])).tolist() == ["e"]


def test_series_of_unequal_length_are_objects_too():
    def gap(a, b):
        return abs(a.mean() - b.mean())

    series = [np.arange(n) + 10 * (n % 2) for n in (3, 4, 5, 6)]
    clf = lw.SimilarityClassifier(similarity=lw.from_distance(gap), n_neighbors=1)
    assert clf.fit(series, series_labels := [1, 0, 1, 0]).predict(series).tolist() == series_labels


def test_objects_are_cross_validated_as_a_list():
    clf = lw.SimilarityClassifier(similarity=lw.from_distance(edits), n_neighbors=1)
    assert cross_val_score(clf, WORDS, WORD_LABELS, cv=2).tolist() == [1.0, 1.0]
