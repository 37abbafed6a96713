"""Several labels for each row: SimilarityClassifier decides on each by itself."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags

import likewise as lw

RULES = ("majority", "symmetric", "softmax")
every_rule = pytest.mark.parametrize("rule", RULES)


@pytest.fixture(scope="module")
def problem():
    """Return training and test rows with labels."""
    X, Y = make_multilabel_classification(150, 6, n_classes=4, random_state=0)
    X = X / 10 + np.random.default_rng(0).uniform(size=X.shape) / 100  # whole numbers tie
    return X[:100], Y[:100], X[100:], Y[100:]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_an_odd_number_of_votes_is_counted_as_in_scikit_learn(weights, problem):
    X, Y, tests, _ = problem
    ours = lw.SimilarityClassifier(n_neighbors=5, weights=weights).fit(X, Y)
    theirs = KNeighborsClassifier(5, weights=weights).fit(X, Y)
    assert_array_equal(ours.predict(tests), theirs.predict(tests))
    found, expected = ours.predict_proba(tests), theirs.predict_proba(tests)
    assert len(found) == len(ours.classes_) == 4
    for label in range(4):
        assert_allclose(found[label], expected[label], rtol=1e-9, atol=1e-12)
        assert_array_equal(ours.classes_[label], theirs.classes_[label])


@every_rule
def test_each_label_is_a_problem_of_two_classes(rule, problem):
    X, Y, tests, _ = problem
    weights = 1.0 + np.arange(100) % 3
    both = lw.SimilarityClassifier(n_neighbors=4, rule=rule).fit(X, Y, weights)
    shares, predicted = both.predict_proba(tests), both.predict(tests)
    for label in range(4):
        alone = lw.SimilarityClassifier(n_neighbors=4, rule=rule).fit(X, Y[:, label], weights)
        alone.bandwidth_ = both.bandwidth_
        assert_allclose(shares[label], alone.predict_proba(tests), rtol=1e-9, atol=1e-12)
        assert_array_equal(predicted[:, label], alone.predict(tests))


@every_rule
@pytest.mark.parametrize(
    "form", [csr_array, pd.DataFrame, np.ndarray.tolist, lambda Y: Y > 0, lambda Y: Y.astype(float)]
)
def test_labels_may_have_any_form(rule, form, problem):
    X, Y, tests, _ = problem
    clf = lw.SimilarityClassifier(rule=rule)
    expected = clf.fit(X, Y).predict(tests)
    found = clf.fit(X, form(Y)).predict(tests)
    assert_array_equal(found, expected, strict=True)
    assert found.dtype == np.int64


@every_rule
def test_a_label_that_no_row_or_every_row_has_is_predicted_so(rule, problem):
    X, Y, tests, _ = problem
    constant = np.column_stack([Y, np.zeros(100, int), np.ones(100, int)])
    clf = lw.SimilarityClassifier(rule=rule).fit(X, constant)
    assert (clf.predict(tests)[:, 4:] == [0, 1]).all()
    assert_allclose(clf.predict_proba(tests)[4], np.tile([1.0, 0.0], (50, 1)), atol=1e-12)
    assert_allclose(clf.predict_proba(tests)[5], np.tile([0.0, 1.0], (50, 1)), atol=1e-12)


def test_mlkr_learns_for_several_labels(problem):
    X, Y, tests, true = problem
    learner = lw.MLKR(random_state=0)
    clf = lw.SimilarityClassifier(learner=learner, rule="softmax").fit(X, Y)
    expected = clf.learner_.predict(tests)
    found = np.stack([share[:, 1] for share in clf.predict_proba(tests)], axis=1)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert clf.score(tests, true) > 0.3


def test_scorers_and_searches_take_it(problem):
    X, Y, tests, true = problem
    search = GridSearchCV(
        lw.SimilarityClassifier(), {"n_neighbors": [1, 5]}, scoring="f1_macro", cv=3
    ).fit(X, Y)
    assert search.score(tests, true) > 0.5
    assert get_scorer("roc_auc")(search.best_estimator_, tests, true) > 0.6


def test_a_file_keeps_the_labels(problem, tmp_path):
    X, Y, tests, _ = problem
    clf = lw.SimilarityClassifier(rule="softmax").fit(X, Y, np.arange(1, 101))
    lw.save(clf, tmp_path / "labels.safetensors")
    loaded = lw.load(tmp_path / "labels.safetensors")
    assert_array_equal(loaded.predict(tests), clf.predict(tests), strict=True)
    for found, expected in zip(loaded.predict_proba(tests), clf.predict_proba(tests), strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("parameters", "several"),
    [
        ({}, True),
        ({"rule": "energy"}, False),
        ({"learner": lw.LMNN()}, False),
        ({"learner": lw.MLKR()}, True),
    ],
    ids=str,
)
def test_tags_say_whether_several_labels_are_taken(parameters, several):
    clf = lw.SimilarityClassifier(**parameters)
    assert get_tags(clf).classifier_tags.multi_label == several


@pytest.mark.parametrize(
    ("parameters", "change", "message"),
    [
        ({}, lambda Y: 2 * Y, "y has 4 columns, one for each label, and must hold 0 and 1, but"),
        ({}, lambda Y: np.where(Y, "a", "b"), "must hold 0 and 1, but holds [ab]"),
        ({}, lambda Y: Y + 0.5, "y is continuous, .* SimilarityRegressor predicts numbers"),
        ({}, lambda Y: np.where(Y, np.nan, 0.0), "Input y contains NaN"),
        ({}, lambda Y: Y[:-1], "X has 100 rows and y has 99"),
        ({"rule": "energy"}, lambda Y: Y, "rule 'energy' compares classes, but y has several"),
        ({"learner": lw.LMNN()}, lambda Y: Y, r"several labels .* learner LMNN\(\) needs one"),
    ],
)
def test_labels_that_cannot_be_are_refused(parameters, change, message, problem):
    X, Y, _, _ = problem
    with pytest.raises(ValueError, match=message):
        lw.SimilarityClassifier(**parameters).fit(X, change(Y))
