"""Weights of rows in DBoost and SimilarityFeatureClassifier."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid
from tests.oracles import dboost as oracle

import likewise as lw
from likewise.classifiers import _boosting
from likewise.classifiers._boosting import draw_pairs


@pytest.fixture
def problem(rng):
    """Return rows of three overlapping classes, labels and weights."""
    y = np.arange(60) % 3
    return rng.normal(size=(60, 2)) + 1.5 * np.eye(3, 2)[y], y, rng.integers(1, 5, size=60) / 2


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("search", ["exact", "histogram"])
def test_the_weighted_mean_of_exponential_losses_is_the_product_of_normalisers(
    n_classes, search, problem
):
    X, y, v = (part[problem[1] < n_classes] for part in problem)
    fitted = lw.DBoost(n_rounds=20, search=search, random_state=0).fit(X, y, sample_weight=v)
    Y = oracle.signs(y, n_classes)
    F = fitted.decision_function(X).reshape(Y.shape)
    losses = (v / v.sum()) @ np.exp(-Y * F).mean(axis=1)
    assert_allclose(fitted.history_[-1]["bound"], losses, rtol=1e-10)
    wrong = v @ (fitted.predict(X) != y) / v.sum()
    assert_allclose(fitted.history_[-1]["training_error"], wrong, rtol=1e-12)


def test_a_weighted_round_is_the_printed_algorithm(problem, monkeypatch):
    X, y, v = problem
    drawn = []

    def remember(labels, weights, n_pairs, rng):
        places = draw_pairs(labels, weights, n_pairs, rng)
        by_class = np.argsort(y, kind="stable")
        assert_allclose(weights, v[by_class] / v.sum())
        drawn.append(by_class[places].T)
        return places

    monkeypatch.setattr(_boosting, "draw_pairs", remember)
    D = lw.from_distance("euclidean").distance(X, X)
    boost = lw.DBoost("precomputed", n_rounds=1, n_pairs=4, search="exact", random_state=0)
    fitted = boost.fit(D, y, sample_weight=v)
    _, normalisers = oracle.boosted(D, y, 3, drawn, importances=v)
    assert_allclose(fitted.history_[0]["normaliser"], normalisers[0], rtol=1e-9)


def test_equal_weights_change_nothing(problem):
    X, y, _ = problem
    boost = lw.DBoost(n_rounds=15, early_stopping=3, random_state=0)
    expected = boost.fit(X, y).decision_function(X)
    assert_allclose(boost.fit(X, y, np.full(60, 4.0)).decision_function(X), expected)


@pytest.mark.parametrize("early_stopping", [False, 3])
@pytest.mark.parametrize("form", ["rows", "matrix", "objects"])
def test_a_row_of_weight_zero_leaves_no_trace(form, early_stopping, problem):
    """The intruders have a class of their own, and lie between the rows."""
    X, y, v = problem
    kept = np.arange(len(X)) % 4 != 1
    labels, weights = np.where(kept, y, 7), np.where(kept, v, 0.0)
    rows, few = list(X), list(X[kept])
    dissimilarity = lw.from_distance(lambda a, b: float(np.abs(a - b).sum()))
    queries, queries_few = rows, rows
    if form != "objects":
        rows, few, queries, queries_few, dissimilarity = X, X[kept], X, X, "cityblock"
    if form == "matrix":
        D = lw.from_distance("cityblock").distance(X, X)
        rows, few, queries, queries_few = D, D[np.ix_(kept, kept)], D, D[:, kept]
        dissimilarity = "precomputed"
    boost = lw.DBoost(dissimilarity, n_rounds=9, early_stopping=early_stopping, random_state=0)
    found = boost.fit(rows, labels, sample_weight=weights).decision_function(queries)
    prototypes, shares = boost.prototypes_, boost.validation_shares_
    assert boost.classes_.tolist() == [0, 1, 2]
    assert kept[prototypes].all()
    boost.fit(few, y[kept], sample_weight=v[kept])
    assert_array_equal(found, boost.decision_function(queries_few))
    assert_array_equal(prototypes, np.flatnonzero(kept)[boost.prototypes_])
    if early_stopping:
        assert_array_equal(shares[kept], boost.validation_shares_)
        assert np.isnan(shares[~kept]).all()


def test_heavy_rows_are_classified_at_the_cost_of_others(problem):
    X, y, _ = problem
    boost = lw.DBoost(n_rounds=3, random_state=0)

    def recalls(weights):
        hits = boost.fit(X, y, weights).predict(X) == y
        return np.array([hits[y == label].mean() for label in range(3)])

    plain = recalls(None)
    worst = plain.argmin()
    others = np.arange(3) != worst
    heavy = recalls(np.where(y == worst, 50.0, 1.0))
    assert heavy[worst] > plain[worst]
    assert heavy[others].mean() < plain[others].mean()


@pytest.mark.parametrize("classifier", [None, LogisticRegression()], ids=["winnow", "logistic"])
def test_rows_of_weight_zero_count_as_unlabeled(classifier, problem):
    X, y, v = problem
    hidden = np.arange(60) % 4 == 1
    model = lw.SimilarityFeatureClassifier(
        n_landmarks=8, boolean=0.2, classifier=classifier, random_state=0
    )
    unlabeled = model.fit(X, np.where(hidden, -1, y), np.where(hidden, 9.0, v))
    expected, choice = unlabeled.decision_function(X), unlabeled.cv_scores_
    weightless = model.fit(X, np.where(hidden, 0, y), np.where(hidden, 0.0, v))
    assert_array_equal(weightless.decision_function(X), expected)
    assert weightless.cv_scores_ == choice


def test_features_are_classified_with_the_weights(problem):
    X, y, v = problem
    fixed = {"n_landmarks": 8, "use": "native", "random_state": 0}
    model = lw.SimilarityFeatureClassifier(classifier=LogisticRegression(), **fixed)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = LogisticRegression().fit(scaled, y, sample_weight=v)
    assert_allclose(model.fit(X, y, v).coef_, expected.coef_)


def test_cross_validated_accuracy_is_weighted(problem):
    """Only rows of class 2 have much weight, and a classifier of these has all of it right."""
    X, y, _ = problem
    model = lw.SimilarityFeatureClassifier(n_landmarks=8, random_state=0, cv=3)
    scores = model.fit(X, y, np.where(y == 2, 1e6, 1e-6)).cv_scores_
    assert set(scores) == {"native", "similarity", "both"}
    assert max(scores.values()) > 0.95


@pytest.mark.parametrize(
    "estimator",
    [
        lw.DBoost(n_rounds=2),
        lw.BalancedWinnow(),
        lw.Winnow(),
        lw.SimilarityFeatureClassifier(n_landmarks=3),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "y has 60 rows and sample_weight has 3"),
        (np.full(60, -1.0), r"sample_weight\[0\] is -1"),
        (np.zeros(60), "sample_weight must be above zero for at least one row"),
        (np.arange(60) % 3 == 1, "y has one class, 1"),
    ],
)
def test_weights_that_cannot_be_are_refused(estimator, weights, message, problem):
    X, y, _ = problem
    with pytest.raises(ValueError, match=message):
        estimator.fit(np.abs(X), y, sample_weight=weights)


def test_a_classifier_without_weights_is_refused(problem):
    X, y, v = problem
    model = lw.SimilarityFeatureClassifier(classifier=NearestCentroid())
    with pytest.raises(ValueError, match=r"fit of classifier NearestCentroid\(\) takes no weights"):
        model.fit(X, y, sample_weight=v)
