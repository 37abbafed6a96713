"""Rows that judge a choice of DBoost or of landmark features leave no trace in what they judge."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression

import likewise as lw
from likewise._progress import LongWork
from likewise.classifiers._boosting import BoostingOptions
from likewise.classifiers._dboost_input import validation_splits
from likewise.classifiers._stopping import validate_rounds
from likewise.similarities import DissimilarityColumns


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


def trees(clf, split, n_splits, n_rounds):
    """Return the first trees of one split, in terms of training rows."""
    at = slice(split, n_rounds * n_splits, n_splits)
    prototypes = clf.prototypes_[clf.firsts_[at]], clf.prototypes_[clf.seconds_[at]]
    return [*prototypes, clf.thresholds_[at], clf.outputs_[at]]


@pytest.mark.parametrize("max_depth", [1, 2])
@pytest.mark.parametrize("early_stopping", [True, 3])
def test_intruders_in_the_validation_rows_leave_the_trees_as_they_were(
    rng, early_stopping, max_depth
):
    """Rows far from all others change the trees of the splits that train on them, and no others."""
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 3)) + 1.5 * np.eye(3)[y]
    options = {"n_rounds": 15, "refit": False, "random_state": 0, "max_depth": max_depth}
    model = lw.DBoost(early_stopping=early_stopping, **options)
    splits = validation_splits(model, y)
    clf = model.fit(X, y)
    assert_array_equal(
        np.flatnonzero(~np.isnan(clf.validation_shares_[:, 0])),
        np.sort(np.concatenate([held_out for _, held_out in splits])),
    )
    for own, (train, held_out) in enumerate(splits):
        changed = X.copy()
        changed[held_out] = 1e3 * rng.normal(size=(len(held_out), 3))
        after = lw.DBoost(early_stopping=early_stopping, **options).fit(changed, y)
        n_rounds = min(clf.n_rounds_, after.n_rounds_)
        for split in range(len(splits)):
            pairs = zip(
                trees(clf, split, len(splits), n_rounds),
                trees(after, split, len(splits), n_rounds),
                strict=True,
            )
            assert all(np.array_equal(*pair) for pair in pairs) == (split == own)
        changed = X.copy()
        changed[train] = 1e3 * rng.normal(size=(len(train), 3))
        after = lw.DBoost(early_stopping=early_stopping, **options).fit(changed, y)
        assert not np.array_equal(after.thresholds_[own], clf.thresholds_[own])


def test_labels_and_weights_of_validation_rows_leave_no_trace(rng):
    X = rng.normal(size=(60, 2))
    labels, weights = (X[:, 0] > 0).astype(np.int64), rng.integers(1, 4, size=60).astype(float)
    held_out = np.arange(0, 60, 4)
    train = np.setdiff1d(np.arange(60), held_out)
    options = BoostingOptions(5, None, "free", "exact", 1)

    def boosted(labels, weights):
        columns = DissimilarityColumns(lw.as_similarity("euclidean", is_distance=True), X)
        splits, seeds = [(train, held_out)], np.array([7])
        with LongWork("boosting") as work:
            return validate_rounds(columns, labels, weights, splits, seeds, 20, options, work)

    (expected,), before = boosted(labels, weights)
    flipped, heavy = labels.copy(), weights.copy()
    flipped[held_out], heavy[held_out] = 1 - labels[held_out], 1000.0
    for given in ((flipped, weights), (labels, heavy)):
        (found,), _ = boosted(*given)
        for name in ("prototypes", "firsts", "seconds", "thresholds", "outputs"):
            assert_array_equal(getattr(found, name), getattr(expected, name))
    _, after = boosted(flipped, weights)
    assert before.errors.min() < 0.2  # but they are what is measured
    assert after.errors.min() > 0.8


def test_calibration_is_of_scores_of_rows_while_they_were_held_out(memorable):
    X, y = memorable
    clf = lw.DBoost(n_rounds=60, calibrate="isotonic", random_state=0).fit(X, y)
    leads = clf.calibration_["leads"]
    assert len(leads) == len(y)
    assert np.mean(leads > 0) < 0.7  # in training all are


class Listener(lw.RCA):
    """A learner that notes the rows it is fitted to, by their bytes."""

    fits: list = []  # noqa: RUF012 (shared by clones on purpose)

    def fit(self, X, y, sample_weight=None):
        self.fits.append({row.tobytes() for row in X})
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("calibrate", ["none", "sigmoid"])
def test_the_learner_of_a_calibrated_classifier_does_not_learn_held_out_rows(memorable, calibrate):
    """Each row is held out once: from the items, and from what the similarity is learned from."""
    X, y = memorable
    Listener.fits.clear()
    clf = lw.SimilarityClassifier(Listener(), calibrate=calibrate).fit(X, y)
    sets = clf.predict_set(X, 0.5)
    fits = [rows for rows in Listener.fits if len(rows) < 160]
    assert [len(rows) for rows in fits] == [128] * 5
    everything = {row.tobytes() for row in X}
    held_out = [row for rows in fits for row in everything - rows]
    assert len(held_out) == len(set(held_out)) == 160
    assert len(Listener.fits) == 6  # and once to all rows, for the predictions
    assert sets.shape == (160, 2)


class Recorder(LogisticRegression):
    """A linear classifier that records the rows it is fitted to and asked about, by their bytes."""

    calls: list = []  # noqa: RUF012 (shared by clones on purpose)

    def fit(self, X, y, sample_weight=None):
        self.calls.append(("fit", [row.tobytes() for row in X], list(y), X))
        return super().fit(X, y, sample_weight)

    def predict(self, X):
        self.calls.append(("predict", [row.tobytes() for row in X], None, X))
        return super().predict(X)


@pytest.mark.parametrize("select", ["random", "per_class"])
def test_features_are_chosen_by_rows_that_the_classifier_did_not_learn(rng, select):
    X = rng.normal(size=(90, 5))
    y = np.where(np.arange(90) < 60, np.arange(90) % 2, -1)
    Recorder.calls.clear()
    lw.SimilarityFeatureClassifier(
        n_landmarks=20, boolean=None, select=select, classifier=Recorder(), cv=4, random_state=0
    ).fit(X, y)
    *chosen, last = Recorder.calls
    assert last[0] == "fit"
    assert len(last[1]) == 60  # the labeled rows, and no other
    asked = {5: [], 20: [], 25: []}  # native, similarities, both
    for (_, learned, labels, fitted), (kind, held_out, _, rows) in zip(
        chosen[::2], chosen[1::2], strict=True
    ):
        assert kind == "predict"
        assert len(learned) == 45
        assert len(labels) == 45
        assert not set(learned) & set(held_out)
        assert len(set(learned) | set(held_out)) == 60
        width = rows.shape[1]
        asked[width].extend(held_out if width == 5 else rows[:, :1].ravel())
        # K of a row with itself is 1: a landmark drawn by its label must be a training row
        if width > 5 and select == "per_class":
            assert rows[:, -20:].max() < 1
            assert fitted[:, -20:].max() == 1
    assert [len(found) for found in asked.values()] == [180, 180, 180]  # three times each row
    assert all(asked[5].count(row) == 3 for row in set(asked[5]))


def test_a_row_of_weight_zero_has_no_label_for_landmarks(rng):
    X, y = rng.normal(size=(40, 3)), np.array(["a", "b"])[np.arange(40) % 2]
    weights = (np.arange(40) < 20).astype(float)
    clf = lw.SimilarityFeatureClassifier(
        n_landmarks=10, select="per_class", use="similarity", random_state=0
    ).fit(X, y, weights)
    assert clf.features_.landmark_rows_.max() < 20
