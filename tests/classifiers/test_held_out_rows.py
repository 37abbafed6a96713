"""Rows that judge a choice of DBoost or of landmark features are not learned from."""

import numpy as np
import pytest

import likewise as lw


@pytest.fixture
def memorable(rng):
    """Return random wide rows with random classes, which can only be memorized."""
    return rng.normal(size=(160, 40)), rng.permutation(np.arange(160) % 2)


@pytest.mark.parametrize("early_stopping", [True, 4])
def test_boosting_does_not_learn_the_rows_that_stop_it(memorable, early_stopping):
    X, y = memorable
    clf = lw.DBoost(
        n_rounds=60, early_stopping=early_stopping, validation_fraction=0.4, random_state=0
    ).fit(X, y)
    assert clf.validation_errors_.min() > 0.25
    held = ~np.isnan(clf.validation_shares_[:, 0])
    assert np.mean(clf.validation_shares_[held].argmax(axis=1) == y[held]) < 0.7
    learned = lw.DBoost(n_rounds=60, random_state=0).fit(X, y)
    assert learned.score(X, y) > 0.95  # a row that is learned from is memorized


def test_validation_rows_are_never_prototypes_of_the_ensembles_they_judge(memorable):
    X, y = memorable
    clf = lw.DBoost(n_rounds=20, early_stopping=True, refit=False, random_state=0).fit(X, y)
    held = np.flatnonzero(~np.isnan(clf.validation_shares_[:, 0]))
    assert len(held) == 32
    assert not np.isin(clf.prototypes_, held).any()


def test_features_are_chosen_by_rows_that_the_classifier_did_not_learn(rng):
    X, y = rng.normal(size=(160, 600)), rng.permutation(np.arange(160) % 2)
    clf = lw.SimilarityFeatureClassifier(n_landmarks=100, random_state=0).fit(X, y)
    assert max(clf.cv_scores_.values()) < 0.7
    learned = lw.SimilarityFeatureClassifier(n_landmarks=100, use="both", random_state=0).fit(X, y)
    assert learned.score(X, y) > 0.8
