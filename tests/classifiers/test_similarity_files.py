"""A saved SimilarityClassifier predicts as before."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import likewise as lw

RULES = ("majority", "symmetric", "energy")
LABELS = np.array(["left", "right", "über"] * 10)


@pytest.fixture
def rows(rng):
    return rng.normal(size=(30, 4)) + 2 * np.eye(4)[np.arange(30) % 3]


@pytest.fixture
def round_trip(tmp_path):
    def save_and_load(model):
        lw.save(model, tmp_path / "model.safetensors")
        return lw.load(tmp_path / "model.safetensors")

    return save_and_load


def assert_same(loaded, fitted, rows):
    assert_array_equal(loaded.predict_proba(rows), fitted.predict_proba(rows), strict=True)
    assert_array_equal(loaded.predict(rows), fitted.predict(rows))
    assert_array_equal(loaded.kneighbors(rows).ids, fitted.kneighbors(rows).ids)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", [np.array, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_survive(rule, form, dtype, rows, round_trip):
    clf = lw.SimilarityClassifier(n_neighbors=4, rule=rule, c=0.3)
    fitted = clf.fit(form(rows.astype(dtype)), LABELS)
    loaded = round_trip(fitted)
    assert_same(loaded, fitted, form(rows + 0.3))
    assert issparse(loaded.items_) == issparse(fitted.items_)
    assert loaded.items_.dtype == dtype
    assert loaded.get_params() == fitted.get_params()


@pytest.mark.filterwarnings("ignore:fewer than")
def test_a_class_without_targets_survives(rows, round_trip):
    labels = np.array(["most"] * 29 + ["single"])
    fitted = lw.SimilarityClassifier(rule="energy").fit(rows, labels)
    assert_same(round_trip(fitted), fitted, rows)


def test_names_of_features_and_classes_survive(rows, round_trip):
    frame = pd.DataFrame(rows, columns=["länge", "b", "c", "d"])
    loaded = round_trip(lw.SimilarityClassifier().fit(frame, pd.Series(LABELS)))
    assert loaded.feature_names_in_.tolist() == ["länge", "b", "c", "d"]
    assert loaded.classes_.tolist() == ["left", "right", "über"]
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"b": "breite"}))


@pytest.mark.parametrize("labels", [np.arange(30) % 2 == 0, np.arange(30) % 3 - 1], ids=str)
def test_labels_that_are_no_text_survive(labels, rows, round_trip):
    fitted = lw.SimilarityClassifier().fit(rows, labels)
    loaded = round_trip(fitted)
    assert loaded.predict(rows).dtype == labels.dtype
    assert_same(loaded, fitted, rows)


@pytest.mark.parametrize(
    "similarity",
    ["cosine", "precomputed", "precomputed_distance", lw.Mahalanobis([1.0, 2, 3, 4])],
    ids=str,
)
def test_every_similarity_that_is_data_survives(similarity, rows, round_trip):
    X = np.abs(rows @ rows.T) if str(similarity).startswith("precomputed") else rows
    fitted = lw.SimilarityClassifier(similarity=similarity).fit(X, LABELS)
    assert_same(round_trip(fitted), fitted, X)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "learner", [NeighborhoodComponentsAnalysis(max_iter=3, random_state=0), PCA(2)], ids=str
)
def test_what_a_foreign_learner_has_learned_survives(rule, learner, rows, round_trip):
    fitted = lw.SimilarityClassifier(learner=learner, rule=rule).fit(rows, LABELS)
    with pytest.warns(UserWarning, match=f"learner is a {type(learner).__name__}, which") as caught:
        loaded = round_trip(fitted)
    assert len(caught) == 1
    assert_same(loaded, fitted, rows)
    assert loaded.learner is None
    assert fitted.learner is learner
    assert_same(clone(loaded).fit(rows, LABELS), fitted, rows)


def test_a_foreign_learner_that_has_learned_nothing_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        lw.save(lw.SimilarityClassifier(learner=PCA()), tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_a_classifier_that_has_learned_nothing_survives(round_trip):
    clf = lw.SimilarityClassifier(similarity="dice", n_neighbors=7, rule="symmetric", c=0.1)
    loaded = round_trip(clf)
    assert loaded.get_params() == clf.get_params()
    with pytest.raises(NotFittedError):
        loaded.predict([[1.0]])


@pytest.mark.parametrize("rule", RULES)
def test_a_function_is_refused(rule, tmp_path):
    by_length = lw.from_distance(lambda a, b: abs(len(a) - len(b)))
    clf = lw.SimilarityClassifier(similarity=by_length, n_neighbors=1, rule=rule)
    clf.fit(["a", "bb", "ccc", "dddd"], [0, 0, 1, 1])
    with pytest.raises(TypeError, match=r"^similarity is a .*Function, which cannot be stored"):
        lw.save(clf, tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []
