"""The softmax rule of SimilarityClassifier is the probability of NCA."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import log_loss
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from tests.oracles import nca as nca_oracle
from tests.oracles import similarities as similarity_oracle
from tests.oracles import voting as oracle

import likewise as lw


@pytest.fixture
def problem(rng):
    """Return test rows, training rows, and labels that only the first two columns know of."""
    labels = np.arange(60) % 3
    rows = rng.normal(size=(60, 4)) + 2.0 * np.eye(3, 4)[labels] * [1, 1, 0, 0]
    return rng.normal(size=(20, 4)), rows, labels


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
def test_with_nca_it_is_the_printed_probability(form, problem):
    """One more row of each class in turn: p of its class is p_i of the formula."""
    tests, rows, labels = problem
    weights = 0.5 + np.arange(60) % 4
    clf = lw.SimilarityClassifier(learner=lw.NCA(random_state=0), rule="softmax")
    clf.fit(form(rows), labels, sample_weight=weights)
    found = clf.predict_proba(form(tests))
    L = clf.learner_.components_
    assert clf.bandwidth_ == 1.0
    for t in (0, 7, 19):
        for label in range(3):
            X = np.vstack([tests[t], rows])
            terms = nca_oracle.class_terms(L, X, np.append(label, labels), np.append(1.0, weights))
            assert_allclose(found[t, label], np.exp(terms[0]), rtol=1e-6, atol=1e-12)


def test_a_fitted_nca_brings_its_kernel(problem):
    tests, rows, labels = problem
    nca = lw.NCA(random_state=0).fit(rows, labels)
    whole = lw.SimilarityClassifier(similarity=nca, rule="softmax").fit(rows, labels)
    apart = lw.SimilarityClassifier(learner=lw.NCA(random_state=0), rule="softmax")
    assert whole.bandwidth_ == 1.0
    expected = apart.fit(rows, labels).predict_proba(tests)
    assert_allclose(whole.predict_proba(tests), expected, rtol=1e-12)


@pytest.mark.parametrize("similarity", ["euclidean", "cityblock", "cosine"])
def test_other_similarities_get_the_bandwidth_of_the_highest_likelihood(similarity, problem):
    tests, rows, labels = problem
    clf = lw.SimilarityClassifier(similarity=similarity, rule="softmax").fit(rows, labels)
    scores = lw.as_similarity(similarity).score(tests, rows)
    expected = oracle.kernel(scores, clf.bandwidth_, np.ones(60)) @ np.eye(3)[labels]
    assert_allclose(clf.predict_proba(tests), expected, rtol=1e-9)

    def mean_log_probability(bandwidth):
        among = lw.as_similarity(similarity).score(rows, rows).astype(float)
        np.fill_diagonal(among, -np.inf)
        shares = oracle.kernel(among, bandwidth, np.ones(60)) @ np.eye(3)[labels]
        return np.log(shares[np.arange(60), labels]).mean()

    best = mean_log_probability(clf.bandwidth_)
    for factor in (0.3, 0.6, 1.6, 3.0):
        assert mean_log_probability(factor * clf.bandwidth_) < best


def test_the_units_of_the_rows_are_irrelevant(problem):
    tests, rows, labels = problem
    clf = lw.SimilarityClassifier(rule="softmax")
    expected = clf.fit(rows, labels).predict_proba(tests)
    found = clf.fit(1000 * rows, labels).predict_proba(1000 * tests)
    assert_allclose(found, expected, rtol=1e-6)


def test_probabilities_are_better_than_shares_of_votes(problem):
    _, rows, labels = problem
    train, test = np.arange(0, 60, 2), np.arange(1, 60, 2)
    losses = {}
    for rule in ("majority", "softmax"):
        clf = lw.SimilarityClassifier(rule=rule).fit(rows[train], labels[train])
        losses[rule] = log_loss(labels[test], clf.predict_proba(rows[test]))
    assert losses["softmax"] < losses["majority"]


def test_the_most_probable_class_is_predicted(problem):
    tests, rows, labels = problem
    names = np.array(["ash", "elm", "yew"])
    clf = lw.SimilarityClassifier(rule="softmax", n_neighbors=1000).fit(rows, names[labels])
    assert_array_equal(clf.predict(tests), names[clf.predict_proba(tests).argmax(axis=1)])


def test_distances_far_beyond_the_bandwidth_do_not_underflow(problem):
    tests, rows, labels = problem
    clf = lw.SimilarityClassifier(similarity=lw.Mahalanobis(1.0), rule="softmax").fit(rows, labels)
    shares = clf.predict_proba(1e4 * tests)
    assert_allclose(shares.sum(axis=1), 1)
    scores = similarity_oracle.mahalanobis(1.0, 1e4 * tests, rows)
    assert_array_equal(shares.argmax(axis=1), labels[scores.argmax(axis=1)])


def test_rows_without_a_mate_need_no_likelihood():
    clf = lw.SimilarityClassifier(rule="softmax").fit([[0.0], [1.0]], ["a", "b"])
    assert clf.bandwidth_ == 1.0
    assert_array_equal(clf.predict([[0.1], [0.9]]), ["a", "b"])


def test_a_bandwidth_that_was_not_fitted_is_missed(problem):
    _, rows, labels = problem
    clf = lw.SimilarityClassifier().fit(rows, labels).set_params(rule="softmax")
    with pytest.raises(ValueError, match="fit again"):
        clf.predict(rows)


def test_a_similarity_for_each_class_is_refused(problem):
    _, rows, labels = problem
    learner = lw.SiLA(protocol="one_vs_rest", n_epochs=1)
    with pytest.raises(ValueError, match="'softmax' needs one similarity, but the learner has one"):
        lw.SimilarityClassifier(learner=learner, rule="softmax").fit(rows, labels)


def test_another_packages_nca_gets_a_fitted_bandwidth(problem):
    _, rows, labels = problem
    learner = NeighborhoodComponentsAnalysis(random_state=0, max_iter=5)
    clf = lw.SimilarityClassifier(learner=learner, rule="softmax").fit(rows, labels)
    assert clf.bandwidth_ > 0
    assert clf.score(rows, labels) > 0.6
