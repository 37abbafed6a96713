"""Fitting again, failing to, and changing a classifier that is fitted."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

import likewise as lw

ROWS = np.random.default_rng(0).normal(size=(12, 3))
LABELS = np.array(["a", "b", "c"] * 4)
RULES = ("majority", "symmetric", "energy")


def test_fitting_again_forgets_the_first_time():
    clf = lw.SimilarityClassifier(learner=PCA(1), rule="energy").fit(ROWS, LABELS)
    clf.set_params(learner=None, rule="majority").fit(ROWS[LABELS != "c"], LABELS[LABELS != "c"])
    assert clf.learner_ is None
    assert clf.classes_.tolist() == ["a", "b"]
    fresh = lw.SimilarityClassifier().fit(ROWS[LABELS != "c"], LABELS[LABELS != "c"])
    assert_array_equal(clf.predict_proba(ROWS), fresh.predict_proba(ROWS))


@pytest.mark.parametrize("rule", RULES)
def test_a_fit_that_fails_leaves_what_was_learned(rule):
    clf = lw.SimilarityClassifier(rule=rule).fit(ROWS, LABELS)
    before = clf.predict_proba(ROWS + 0.1)
    with pytest.raises(ValueError, match="one class"):
        clf.fit(ROWS[::3], LABELS[::3])
    assert_array_equal(clf.predict_proba(ROWS + 0.1), before)


def test_a_fit_that_fails_is_no_fit():
    clf = lw.SimilarityClassifier()
    with pytest.raises(ValueError, match="one class"):
        clf.fit(ROWS[::3], LABELS[::3])
    with pytest.raises(NotFittedError):
        clf.predict(ROWS)
    with pytest.raises(NotFittedError):
        clf.kneighbors()


def test_energy_asks_for_another_fit_when_the_neighbourhood_was_changed():
    """A compiled loop would read beyond the end of what fit left."""
    clf = lw.SimilarityClassifier(rule="energy", n_neighbors=2).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="fit again"):
        clf.set_params(n_neighbors=3).predict(ROWS)
    clf = lw.SimilarityClassifier(rule="majority", n_neighbors=2).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="fit again"):
        clf.set_params(rule="energy").predict(ROWS)


@pytest.mark.parametrize("spoil", [lambda y: y + 10**6, lambda y: -1 - y, lambda y: y[:-1]])
def test_energy_refuses_labels_that_do_not_belong(spoil):
    """A damaged file could bring them, and the loop writes where they point."""
    clf = lw.SimilarityClassifier(rule="energy", n_neighbors=2).fit(ROWS, LABELS)
    clf.labels_ = spoil(clf.labels_)
    with pytest.raises(ValueError, match="fit again"):
        clf.predict(ROWS)


def test_more_neighbours_than_rows_are_refused_after_fit_too():
    clf = lw.SimilarityClassifier().fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="n_neighbors is 13, but X has only 12 rows"):
        clf.set_params(n_neighbors=13).predict(ROWS)
