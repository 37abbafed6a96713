"""Weights of neighbors and of training rows in SimilarityClassifier."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from tests.oracles import energy as energy_oracle
from tests.oracles import similarities as similarity_oracle
from tests.oracles import voting as oracle

import likewise as lw

RULES = ("majority", "symmetric", "energy", "softmax")
every_rule = pytest.mark.parametrize("rule", RULES)


@pytest.fixture
def problem(rng):
    """Return test rows, training rows, labels and weights."""
    labels = rng.permutation(np.repeat([0, 1, 2], [20, 15, 5]))
    rows = rng.normal(size=(40, 3)) + 0.5 * labels[:, None]
    return rng.normal(size=(25, 3)), rows, labels, rng.integers(1, 5, size=40) / 2


def test_votes_by_distance_are_weighted_by_its_inverse(problem):
    tests, rows, labels, _ = problem
    scores = similarity_oracle.mahalanobis(1.0, tests, rows)
    weights = oracle.inverse_distances(np.sqrt(-scores), 6)
    clf = lw.SimilarityClassifier(n_neighbors=6, weights="distance").fit(rows, labels)
    expected = oracle.majority(scores, labels, 6, 3, weights)
    assert_allclose(clf.predict_proba(tests), expected, rtol=1e-9)
    assert (expected != oracle.majority(scores, labels, 6, 3)).any()


@pytest.mark.parametrize("similarity", ["cityblock", "precomputed_distance"])
def test_every_distance_is_the_one_that_is_named(similarity, problem):
    tests, rows, labels, _ = problem
    D = np.abs(tests[:, None] - rows[None]).sum(axis=2)
    is_matrix = similarity.startswith("precomputed")
    training = np.abs(rows[:, None] - rows[None]).sum(axis=2) if is_matrix else rows
    clf = lw.SimilarityClassifier(similarity=similarity, n_neighbors=5, weights="distance")
    found = clf.fit(training, labels).predict_proba(D if is_matrix else tests)
    expected = oracle.majority(-D, labels, 5, 3, oracle.inverse_distances(D, 5))
    assert_allclose(found, expected, rtol=1e-9)


def test_rows_at_distance_zero_vote_alone():
    rows, labels = [[0.0], [0.0], [0.0], [1e-9], [1.0]], ["a", "b", "a", "b", "b"]
    clf = lw.SimilarityClassifier(n_neighbors=5, weights="distance").fit(rows, labels)
    assert_allclose(clf.predict_proba([[0.0]]), [[2 / 3, 1 / 3]])


def test_a_tie_of_weighted_votes_drops_the_farthest():
    """1/1 for b against 1/2 + 1/2 for a: without the farther a, b leads."""
    rows, labels = [[1.0], [2.0], [-2.0]], ["b", "a", "a"]
    clf = lw.SimilarityClassifier(weights="distance").fit(rows, labels)
    assert_allclose(clf.predict_proba([[0.0]]), [[1 / 3, 2 / 3]])


@pytest.mark.parametrize("rule", ["symmetric", "energy", "softmax"])
def test_weights_by_distance_are_refused_by_other_rules(rule, problem):
    _, rows, labels, _ = problem
    clf = lw.SimilarityClassifier(rule=rule, weights="distance")
    with pytest.raises(ValueError, match=f"'distance' needs rule 'majority', but rule is '{rule}'"):
        clf.fit(rows, labels)


def test_weights_by_distance_are_refused_without_a_distance(problem):
    _, rows, labels, _ = problem
    clf = lw.SimilarityClassifier(similarity="cosine", weights="distance")
    with pytest.raises(ValueError, match=r"weights 'distance' needs .* has none: use 'uniform'"):
        clf.fit(rows, labels)


@pytest.mark.parametrize(("weights", "kind"), [("kernel", ValueError), (None, TypeError)])
def test_unknown_weights_are_refused(weights, kind, problem):
    _, rows, labels, _ = problem
    with pytest.raises(kind, match="weights must be one of 'uniform', 'distance', but"):
        lw.SimilarityClassifier(weights=weights).fit(rows, labels)


@every_rule
@pytest.mark.filterwarnings("ignore:fewer than")
def test_weights_of_rows_enter_every_rule(rule, problem):
    tests, rows, labels, weights = problem
    scores = similarity_oracle.mahalanobis(1.0, tests, rows)
    clf = lw.SimilarityClassifier(n_neighbors=5, rule=rule, c=0.3)
    found = clf.fit(rows, labels, sample_weight=weights).predict_proba(tests)
    if rule == "majority":
        expected = oracle.majority(scores, labels, 5, 3, np.broadcast_to(weights, scores.shape))
    elif rule == "symmetric":
        expected = oracle.shares_of(oracle.symmetric(scores, labels, 5, 3, weights) / 5)
    elif rule == "energy":
        expected = oracle.shares_of(
            -energy_oracle.energies(tests, rows, labels, 5, 0.3, weights=weights)
        )
    else:
        expected = oracle.kernel(scores, clf.bandwidth_, weights) @ np.eye(3)[labels]
    assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    assert np.abs(clf.fit(rows, labels).predict_proba(tests) - found).max() > 1e-3


@every_rule
def test_equal_weights_change_nothing(rule, problem):
    tests, rows, labels, _ = problem
    clf = lw.SimilarityClassifier(n_neighbors=4, rule=rule, c=0.3)
    expected = clf.fit(rows, labels).predict_proba(tests)
    found = clf.fit(rows, labels, sample_weight=np.ones(40)).predict_proba(tests)
    assert_allclose(found, expected, rtol=1e-12)


@every_rule
@pytest.mark.parametrize("form", ["rows", "matrix", "objects"])
def test_a_row_of_weight_zero_leaves_no_trace(rule, form, problem):
    """The intruders lie on the test rows and have a class of their own."""
    tests, rows, labels, weights = problem
    X = np.vstack([tests, rows])
    y = np.concatenate([np.full(len(tests), 7), labels])
    weights = np.concatenate([np.zeros(len(tests)), weights])
    similarity, queries = "cityblock", tests
    if form == "matrix":
        similarity = "precomputed_distance"
        distance = lw.from_distance("cityblock").distance
        queries = distance(tests, X)
        expected_queries, expected_rows = queries[:, len(tests) :], distance(rows, rows)
        X = distance(X, X)
    elif form == "objects":
        similarity = lw.from_distance(lambda a, b: float(np.abs(a - b).sum()))
    clf = lw.SimilarityClassifier(similarity=similarity, rule=rule)
    found = clf.fit(X, y, sample_weight=weights).predict_proba(queries)
    assert clf.classes_.tolist() == [0, 1, 2]
    if form == "matrix":
        clf.fit(expected_rows, labels, weights[len(tests) :])
        assert_allclose(found, clf.predict_proba(expected_queries), rtol=1e-12)
    else:
        clf.fit(rows, labels, weights[len(tests) :])
        assert_allclose(found, clf.predict_proba(tests), rtol=1e-12)


def test_neighbors_are_numbered_among_the_rows_that_have_a_weight():
    rows, labels = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    clf = lw.SimilarityClassifier(n_neighbors=1).fit(rows, labels, sample_weight=[0, 1, 1, 1])
    assert_array_equal(clf.kneighbors([[0.0]]).ids, [[0]])
    assert_array_equal(clf.items_, rows[1:])


class Weighed(PCA):
    """A learner that records the weights it was fitted with."""

    seen = None

    def fit(self, X, y=None, sample_weight=None):
        type(self).seen = sample_weight
        return super().fit(X)


@pytest.mark.parametrize("kind", [lw.SimilarityClassifier, lw.SimilarityRegressor])
def test_a_learner_that_takes_weights_gets_those_above_zero(kind, problem):
    _, rows, labels, weights = problem
    weights[:3] = 0
    kind(learner=Weighed(2)).fit(rows, labels, sample_weight=weights)
    assert_array_equal(Weighed.seen, weights[3:])
    kind(learner=Weighed(2)).fit(rows, labels)
    assert Weighed.seen is None
    kind(learner=PCA(2)).fit(rows, labels, sample_weight=weights)


def test_nca_learns_with_the_weights(problem):
    _, rows, labels, weights = problem
    clf = lw.SimilarityClassifier(learner=lw.NCA(random_state=0)).fit(rows, labels, weights)
    expected = lw.NCA(random_state=0).fit(rows, labels, weights).components_
    assert_array_equal(clf.learner_.components_, expected)


@pytest.mark.parametrize("kind", [lw.SimilarityClassifier, lw.SimilarityRegressor])
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.ones(3), ValueError, "y has 40 rows and sample_weight has 3"),
        (np.full(40, -1.0), ValueError, r"sample_weight\[0\] is -1"),
        (np.full(40, np.nan), ValueError, "sample_weight must be finite and not negative"),
        (np.zeros(40), ValueError, "sample_weight must be above zero for at least one row"),
        (np.ones((40, 2)), ValueError, "sample_weight must be 1-D, one for each row of y"),
        (["heavy"] * 40, TypeError, "sample_weight must be numbers"),
        (np.arange(40) < 2, ValueError, "n_neighbors is [35], but X has only 2 rows"),
    ],
)
def test_weights_that_cannot_be_are_refused(kind, weights, error, message, problem):
    _, rows, labels, _ = problem
    with pytest.raises(error, match=message):
        kind().fit(rows, labels, sample_weight=weights)


def test_classes_without_a_weight_are_none(problem):
    _, rows, labels, _ = problem
    with pytest.raises(ValueError, match="y has one class, 1; at least two"):
        lw.SimilarityClassifier().fit(rows, labels, sample_weight=labels == 1)
