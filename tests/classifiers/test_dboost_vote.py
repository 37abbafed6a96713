"""The voting classifier of DBoost's theorem, and the margins of ensembles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import dboost as oracle

import likewise as lw


def problem(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = (4 * (rng.normal(size=(n, 2)) + 1.5 * np.eye(n_classes)[y, :2])).round() / 4
    return np.linalg.norm(X[:, None] - X, axis=2).round(1), y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_the_mean_votes_of_the_pairs(n_classes):
    """As printed: sgn(d(x, x″) − d(x, x′)) for the class of x′, with ties."""
    D, y = problem(60, n_classes, seed=0)
    clf = lw.DBoost("precomputed", 50, rule="vote", random_state=0).fit(D, y)
    firsts, seconds = clf.prototypes_[clf.firsts_[::2, 0]], clf.prototypes_[clf.seconds_[::2, 0]]
    assert len(firsts) == clf.n_rounds_ == 50
    assert (y[firsts] != y[seconds]).all()
    assert (D[:, seconds] == D[:, firsts]).any()
    expected = oracle.vote(D, y, n_classes, firsts, seconds)
    scores = clf.decision_function(D)
    assert_allclose(scores, expected[:, 1] if n_classes == 2 else expected, atol=1e-12)
    shares = clf.predict_proba(D)
    assert_allclose(shares, (1 + expected) / (1 + expected).sum(axis=1, keepdims=True))
    stages = list(clf.staged_predict(D))
    assert len(stages) == 50
    assert_array_equal(stages[-1], clf.predict(D))


def test_the_vote_errs_no_more_than_the_theorem_says():
    D, y = problem(400, 2, seed=1)
    report = lw.goodness("precomputed_distance", D, y)
    gamma, delta = 0.3, 0.1
    n_pairs = int(np.ceil(4 / gamma**2 * np.log(1 / delta)))
    errors = []
    for seed in range(20):
        clf = lw.DBoost("precomputed", n_pairs, rule="vote", random_state=seed).fit(D, y)
        errors.append(1 - clf.score(D, y))
    assert np.mean(np.array(errors) <= report.epsilon(gamma) + delta) >= 1 - delta


def test_pairs_are_drawn_by_weight():
    D, y = problem(60, 2, seed=2)
    weights = np.where(np.arange(60) < 10, 1.0, 0.0)
    clf = lw.DBoost("precomputed", 100, rule="vote", random_state=0).fit(D, y, weights)
    assert clf.prototypes_.max() < 10


@pytest.mark.parametrize("rule", ["boost", "vote"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins_are_normalized_leads(rule, n_classes):
    D, y = problem(60, n_classes, seed=3)
    clf = lw.DBoost("precomputed", 30, rule=rule, random_state=0).fit(D, y)
    margins = clf.margins(D, y)
    expected = oracle.margins(clf.decision_function(D), y, clf.outputs_)
    assert_allclose(margins, expected, atol=1e-12)
    assert np.abs(margins).max() <= 1
    wrong = clf.predict(D) != y
    assert (margins[wrong] <= 1e-12).all()
    assert (margins[~wrong] >= -1e-12).all()


def test_boosting_raises_the_margins_above_those_of_the_vote():
    D, y = problem(200, 2, seed=4)
    boost, vote = (
        lw.DBoost("precomputed", 100, rule=rule, random_state=0).fit(D, y).margins(D, y)
        for rule in ("boost", "vote")
    )
    assert np.quantile(boost, 0.05) > np.quantile(vote, 0.05)


def test_a_file_holds_the_votes(tmp_path):
    D, y = problem(40, 3, seed=5)
    clf = lw.DBoost("precomputed", 20, rule="vote", random_state=0).fit(D, y)
    lw.save(clf, tmp_path / "vote.safetensors")
    loaded = lw.load(tmp_path / "vote.safetensors")
    assert_array_equal(loaded.decision_function(D), clf.decision_function(D))
    assert_array_equal(loaded.margins(D, y), clf.margins(D, y))


def test_bad_input_is_refused():
    D, y = problem(20, 2, seed=6)
    for options, message in (
        ({"rule": "bag"}, "rule must be one of 'boost', 'vote', but 'bag'"),
        ({"rule": "vote", "early_stopping": 3}, "rule 'vote' needs early_stopping=False, but 3"),
        ({"rule": "vote", "calibrate": "sigmoid"}, "rule 'vote' needs calibrate='none'"),
        ({"rule": "vote", "n_prototypes": 5}, "rule 'vote' needs n_prototypes=None, but 5"),
    ):
        with pytest.raises(ValueError, match=message):
            lw.DBoost("precomputed", **options).fit(D, y)
    clf = lw.DBoost("precomputed", 5, rule="vote", random_state=0).fit(D, y)
    with pytest.raises(ValueError, match="y has the class 7, which was not in y at fit"):
        clf.margins(D, np.full(20, 7))
