"""Learner, calibration, thresholds, one-to-one pairs and clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.oracles import match as oracle

from likewise.matching._agreement import Agreement
from likewise.matching._calibration import (
    Calibration,
    choose_threshold,
    fit_calibration,
    forecast,
    offset_by_em,
    offset_for_share,
    probability,
)
from likewise.matching._candidates import Candidates
from likewise.matching._decision import clusters, membership, one_to_one
from likewise.matching._guess import Guess, fit_guess
from likewise.matching._learner import LabeledVectors, fit_learner, out_of_fold

NO_PRIOR = LabeledVectors(np.empty((0, 5)), np.empty(0, dtype=bool), np.empty(0))


def vectors_of(rng, n=120):
    labels = np.arange(n) % 3 == 0
    vectors = rng.normal(size=(n, 5)) + 1.5 * labels[:, None]
    vectors[rng.random(vectors.shape) < 0.1] = np.nan
    return vectors, labels


def test_the_arrays_of_the_learner_predict_as_scikit_learn(rng):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    vectors, labels = vectors_of(rng)
    weights = rng.uniform(0.2, 1, len(labels))
    learner = fit_learner(vectors, labels, weights, "auto", 3)
    filled = np.where(np.isnan(vectors), -1, vectors).astype(np.float32)
    forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=3)
    forest.fit(filled, labels, weights)
    assert_allclose(learner.forest(vectors), forest.predict_proba(filled)[:, 1], atol=1e-12)
    centered = np.nan_to_num(vectors - np.nanmean(vectors, axis=0))
    scaled = centered / centered.std(axis=0)
    logistic = LogisticRegression(C=0.1, max_iter=1000).fit(scaled, labels, weights)
    assert_allclose(learner.logistic(vectors), logistic.predict_proba(scaled)[:, 1], atol=1e-6)
    both = (learner.logistic(vectors) + learner.forest(vectors)) / 2
    assert_allclose(learner.probabilities(vectors), both)


def test_out_of_fold_probabilities_need_two_of_each_kind(rng):
    vectors, labels = vectors_of(rng, 30)
    assert out_of_fold(vectors, labels, NO_PRIOR, "logistic", 0).shape == (30,)
    one = np.arange(30) == 0
    assert out_of_fold(vectors, one, NO_PRIOR, "logistic", 0) is None


@pytest.mark.parametrize("kind", ["forest", "logistic"])
def test_no_pair_is_predicted_by_a_learner_of_it(kind):
    """Random labels of wide vectors can only be memorized, which a learner of all pairs does."""
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(60, 30)), rng.permutation(np.arange(60) % 2 == 0)
    none = LabeledVectors(np.empty((0, 30)), np.empty(0, dtype=bool), np.empty(0))
    learned = fit_learner(*none.after(vectors, labels), kind, 0).probabilities(vectors)
    assert np.mean((learned > 0.5) == labels) > 0.75
    found = out_of_fold(vectors, labels, none, kind, 0)
    assert np.mean((found > 0.5) == labels) < 0.65


def test_a_prior_counts_as_its_weight(rng):
    vectors, labels = vectors_of(rng)
    prior = LabeledVectors(vectors[:20], ~labels[:20], np.full(20, 1e-9))
    plain, light = (fit_learner(*p.after(vectors, labels), "logistic", 0)
                    for p in (NO_PRIOR, prior))  # fmt: skip
    heavy = prior._replace(weights=np.full(20, 50.0)).after(vectors, labels)
    right = labels[:20] == (plain.logistic(vectors[:20]) > 0.5)
    wrong = labels[:20] == (fit_learner(*heavy, "logistic", 0).logistic(vectors[:20]) > 0.5)
    assert_allclose(plain.logistic(vectors), light.logistic(vectors), atol=0.05)
    assert right.mean() > 0.8 > 0.2 > wrong.mean()


def test_calibration_recovers_the_weights_of_log_odds(rng):
    odds = rng.normal(scale=2, size=20_000)
    labels = rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * odds - 1)))
    p = 1 / (1 + np.exp(-odds))
    found = fit_calibration(p, labels)
    assert_allclose([found.learned, found.intercept], [0.5, -1], atol=0.06)
    assert found.share == labels.mean()
    assert_allclose(
        np.sort(np.append(found.matches, found.others)),
        np.sort(found.learned * np.clip(odds, -5.2933, 5.2933) + found.intercept),
        atol=1e-4,
    )


def test_a_few_uncertain_labels_leave_the_slope_alone(rng):
    """Chance alone decides labels near one half: they say little about the others."""
    p, labels = rng.uniform(0.4, 0.6, 30), rng.random(30) < 0.5
    assert fit_calibration(p, labels).learned == pytest.approx(1, abs=0.05)


def test_the_share_is_corrected_by_labeled_pairs(rng):
    """A learner that is too sure: EM alone misses the share, and the labeled pairs correct it."""

    def scores(y):
        return 3.0 * (rng.normal(size=len(y)) + np.where(y, 1.0, -1.0))

    labels, y = np.arange(40_000) % 4 == 0, rng.random(40_000) < 0.1
    labeled, odds = scores(labels), scores(y)
    calibration = Calibration(1.0, 0.0, 0.0, 0.25, labeled[labels], labeled[~labels])
    alone = Calibration(1.0, 0.0, 0.0, 0.25).share_among(odds)
    assert calibration.share_among(odds) == pytest.approx(0.1, abs=0.006)
    assert abs(alone - 0.1) > 0.012
    same = Calibration(1.0, 0.0, 0.0, 0.25, np.zeros(5), np.zeros(5))
    assert same.share_among(odds) == alone  # labeled pairs that do not differ correct nothing


@pytest.mark.parametrize(
    "odds",
    [(None, np.ones(2)), (np.ones(2), "1"), (np.ones(0), np.ones(2)), (np.full(2, np.nan),) * 2],
)
def test_a_calibration_refuses_log_odds_that_are_none(odds):
    with pytest.raises(ValueError, match="log odds of"):
        Calibration(1.0, 0.0, 0.0, 0.25, *odds)


def test_em_finds_the_share_of_matches(rng):
    """Scores of two normal distributions: calibrated at equal shares, then one in twenty."""
    y = rng.random(40_000) < 0.05
    odds = 2.0 * (rng.normal(size=len(y)) + np.where(y, 1.0, -1.0))
    assert probability(odds + offset_by_em(odds, 0.5)).mean() == pytest.approx(0.05, abs=0.01)
    assert probability(odds + offset_for_share(odds, 0.3)).mean() == pytest.approx(0.3)


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


def levels_of(rng, n):
    """Return levels of two fields and a lead, and which pairs match."""
    y = rng.random(n) < 0.1
    levels = np.where(y[:, None], rng.choice(4, (n, 3), p=[0.05, 0.1, 0.25, 0.6]),
                      rng.choice(4, (n, 3), p=[0.6, 0.25, 0.1, 0.05])).astype(np.int8)  # fmt: skip
    levels[::7, 0] = -1
    return levels, y


def test_a_guess_finds_two_kinds_of_pairs_without_labels(rng):
    levels, y = levels_of(rng, 5000)
    guess = fit_guess(levels)
    assert guess.share == pytest.approx(0.1, abs=0.03)
    assert ((guess.probabilities(levels) > 0.5) == y).mean() > 0.93
    assert (np.diff(guess.weights, axis=1) >= 0).all()
    assert guess.field_weights(levels[:1])[0, 0] == 0
    assert_allclose(guess.agreement(levels), guess.field_weights(levels).sum(axis=1))


def test_a_guess_follows_the_formulas_of_em(rng, monkeypatch):
    levels, _ = levels_of(rng, 60)
    for n_iterations in (1, 2, 7):
        monkeypatch.setattr("likewise.matching._guess._ITERATIONS", n_iterations)
        guess = fit_guess(levels)
        weights, share = oracle.fellegi_sunter(levels.tolist(), n_iterations)
        assert_allclose(guess.weights, weights, atol=1e-9)
        assert guess.share == pytest.approx(share)


@pytest.mark.parametrize("one_table", [False, True])
def test_leads_by_agreement_are_over_other_candidates(rng, one_table):
    rows = [(i, j) for i in range(6) for j in range(i + 1, 8) if (i + 2 * j) % 3]
    candidates = Candidates(*np.array(rows).T)
    levels = rng.integers(-1, 4, (len(rows), 3)).astype(np.int8)
    guess = Guess(np.sort(rng.normal(size=(3, 4)), axis=1), 0.1)
    agreement = Agreement(guess, candidates, levels, 9, 9, one_table=one_table)
    asked = [*rows[::2], (0, 8), (8, 8)]  # the last two are no candidates
    own = np.concatenate([levels[::2], levels[:2]])
    found = agreement.features(Candidates(*np.array(asked).T), own)
    known = guess.agreement(levels)
    for (i, j), row, value in zip(asked, found, guess.agreement(own), strict=True):
        leads = oracle.agreement_leads(rows, known, guess.lowest, i, j, value, one_table)
        assert_allclose(row, [value, *leads, min(leads)], atol=1e-12)
