"""Learner, calibration, thresholds, one-to-one pairs and clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.oracles import match as oracle

from likewise.matching._calibration import (
    Calibration,
    choose_threshold,
    fit_calibration,
    forecast,
)
from likewise.matching._candidates import Candidates
from likewise.matching._decision import clusters, membership, one_to_one
from likewise.matching._guess import fit_guess
from likewise.matching._learner import fit_learner, out_of_fold


def vectors_of(rng, n=120):
    labels = np.arange(n) % 3 == 0
    vectors = rng.normal(size=(n, 5)) + 1.5 * labels[:, None]
    vectors[rng.random(vectors.shape) < 0.1] = np.nan
    return vectors, labels


def test_the_arrays_of_the_learner_predict_as_scikit_learn(rng):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    vectors, labels = vectors_of(rng)
    learner = fit_learner(vectors, labels, "auto", 3)
    filled = np.where(np.isnan(vectors), -1, vectors)
    forest = RandomForestClassifier(100, random_state=3).fit(filled.astype(np.float32), labels)
    assert_allclose(learner.forest(vectors), forest.predict_proba(filled)[:, 1], atol=1e-12)
    mean, scale = np.nanmean(vectors, axis=0), None
    centered = np.nan_to_num(vectors - mean)
    scale = centered.std(axis=0)
    logistic = LogisticRegression(C=0.1, max_iter=1000).fit(centered / scale, labels)
    expected = logistic.predict_proba(centered / scale)[:, 1]
    assert_allclose(learner.logistic(vectors), expected, atol=1e-6)
    both = (learner.logistic(vectors) + learner.forest(vectors)) / 2
    assert_allclose(learner.probabilities(vectors), both)


def test_out_of_fold_probabilities_need_two_of_each_kind(rng):
    vectors, labels = vectors_of(rng, 30)
    assert out_of_fold(vectors, labels, "logistic", 0).shape == (30,)
    one = np.arange(30) == 0
    assert out_of_fold(vectors, one, "logistic", 0) is None


def test_an_intruder_in_a_fold_is_not_predicted_by_itself(rng):
    vectors = np.zeros((40, 1))
    labels = np.arange(40) % 2 == 0
    vectors[0] = 100.0  # unmistakable: a learner of it would be sure
    found = out_of_fold(vectors, labels, "forest", 0)
    assert found[0] < 0.75


def test_platt_recovers_the_scale_of_log_odds(rng):
    odds = rng.normal(scale=3, size=20_000)
    labels = rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * odds - 1)))
    found = fit_calibration(1 / (1 + np.exp(-odds)), labels)
    assert found.slope == pytest.approx(0.5, abs=0.05)
    assert found.intercept == pytest.approx(-1, abs=0.1)
    assert found.share == labels.mean()


def test_em_finds_the_share_of_matches(rng):
    """Scores of two normal distributions: calibrated at equal shares, then one in twenty."""
    y = rng.random(40_000) < 0.05
    odds = 2.0 * (rng.normal(size=len(y)) + np.where(y, 1.0, -1.0))
    p = 1 / (1 + np.exp(-odds))
    calibration = Calibration(1.0, 0.0, 0.5)
    offset = calibration.offset_by_em(p)
    assert calibration.probabilities(p, offset).mean() == pytest.approx(0.05, abs=0.01)
    other = calibration.offset_for_share(p, 0.3)
    assert calibration.probabilities(p, other).mean() == pytest.approx(0.3)


PROBABILITIES = st.lists(st.floats(0.001, 0.999), min_size=1, max_size=12)


@given(PROBABILITIES)
def test_the_threshold_has_the_largest_expected_f1(p):
    p = np.array(p)
    found, best = choose_threshold(p, None), oracle.best_threshold(p.tolist())
    assert forecast(p, found).f1 == pytest.approx(forecast(p, best).f1)


@given(PROBABILITIES, st.floats(0.1, 0.99))
def test_a_precision_is_expected_at_the_lowest_such_threshold(p, precision):
    p = np.array(p)
    found = choose_threshold(p, precision)
    lower = [t for t in p if t < found]
    if found < 1:
        assert forecast(p, found).precision >= precision - 1e-9
    assert all(forecast(p, t).precision < precision + 1e-9 for t in lower)


def test_one_to_one_uses_each_record_once_by_falling_probability():
    pairs = Candidates(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1]))
    p = np.array([0.9, 0.95, 0.8, 0.7, 0.3])
    assert one_to_one(pairs, p, 0.5).tolist() == [False, True, True, False, False]


@given(st.data())
def test_average_clusters_agree_with_the_formula(data):
    n = data.draw(st.integers(1, 8))
    every = [(a, b) for a in range(n) for b in range(a + 1, n)]
    chosen = data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    p = {pair: data.draw(st.integers(1, 99)) / 100 for pair in chosen}
    pairs = Candidates(*np.array(chosen, np.int64).reshape(-1, 2).T)
    found = clusters(n, pairs, np.array(list(p.values())), 0.5, "average")
    listed = sorted(np.flatnonzero(found == c).tolist() for c in set(found.tolist()))
    assert listed == oracle.average_clusters(n, p, 0.5)


def test_a_chain_joins_by_single_link_alone():
    pairs = Candidates(np.array([0, 1]), np.array([1, 2]))
    p = np.array([0.9, 0.8])
    assert clusters(4, pairs, p, 0.6, "single").tolist() == [0, 0, 0, 1]
    assert clusters(4, pairs, p, 0.6, "average").tolist() == [0, 0, 1, 2]
    means = membership(pairs, p, np.array([0, 0, 0, 1]))
    assert_allclose(means[:3], [0.46, 0.85, 0.41])
    assert np.isnan(means[3])


def test_a_guess_finds_two_kinds_of_pairs_without_labels(rng):
    names = [("name", "same"), ("name", "edits"), ("*", "lead by letters")]
    y = rng.random(3000) < 0.1
    similar = np.where(y, rng.uniform(0.7, 1, 3000), rng.uniform(0, 0.7, 3000))
    lead = np.where(y, rng.normal(0.2, 0.2, 3000), rng.normal(-0.3, 0.2, 3000))
    vectors = np.column_stack([similar > 0.95, similar, lead])
    vectors[::7, :2] = np.nan
    guess = fit_guess(vectors, names, {"name": "string"})
    assert guess.share == pytest.approx(0.1, abs=0.02)
    assert ((guess.probabilities(vectors) > 0.5) == y).mean() > 0.95
    assert (np.diff(guess.weights, axis=1) >= 0).all()
    missing = guess.log_odds(vectors[:1])
    assert missing[0, 0] == 0
