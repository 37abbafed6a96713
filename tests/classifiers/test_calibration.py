"""Calibrated probabilities and prediction sets of held-out scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from tests.oracles import calibration as oracle

import likewise as lw
from likewise.classifiers._calibration import (
    HeldOutScores,
    calibrated,
    class_leads,
    prediction_sets,
)


def held_out(rng, n=80, n_classes=3):
    labels = rng.permutation(np.arange(n) % n_classes)
    scores = rng.normal(size=(n, n_classes)).round(1)
    scores[np.arange(n), labels] += 1
    return HeldOutScores(scores, labels, 1.0 + np.arange(n) % 3)


def overlapping(n, seed):
    """Return rows of three classes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 3)) + 1.2 * np.eye(3)[y], y


CLASSIFIERS = {
    "majority": lambda **options: lw.SimilarityClassifier(n_neighbors=5, **options),
    "symmetric": lambda **options: lw.SimilarityClassifier(rule="symmetric", **options),
    "energy": lambda **options: lw.SimilarityClassifier(rule="energy", **options),
    "dboost": lambda **options: lw.DBoost(n_rounds=60, random_state=0, **options),
    "stopped": lambda **options: lw.DBoost(
        n_rounds=60, early_stopping=3, random_state=0, **options
    ),
}
each_classifier = pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_lead_is_over_the_best_other_class(n_classes, rng):
    scores = rng.normal(size=(30, n_classes)).round(1)
    assert_allclose(class_leads(scores), oracle.leads(scores), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_sigmoid_has_the_smallest_loss(n_classes, rng):
    held = held_out(rng, n_classes=n_classes)
    found = held.calibration("sigmoid")
    leads = oracle.leads(held.scores)
    for label in range(n_classes):
        slope, intercept = found["x"][label][0], found["y"][label][0]
        given = leads[:, label], (held.labels == label).astype(float), held.weights
        best = oracle.platt_loss(slope, intercept, *given)
        for step in (-1e-3, 1e-3):
            assert best <= oracle.platt_loss(slope + step, intercept, *given) + 1e-12
            assert best <= oracle.platt_loss(slope, intercept + step, *given) + 1e-12


def test_the_isotonic_map_pools_adjacent_violators(rng):
    held = held_out(rng)
    found = held.calibration("isotonic")
    leads = oracle.leads(held.scores)
    for label in range(3):
        is_own = (held.labels == label).astype(float)
        x, y = oracle.isotonic(leads[:, label].round(12), is_own, held.weights)
        y = np.clip(y, 1 / 82, 81 / 82)
        assert_allclose(np.interp(x, found["x"][label], found["y"][label]), y, atol=1e-9)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_probabilities_are_positive_and_sum_to_one(kind, rng):
    found = held_out(rng).calibration(kind)
    shares = calibrated(rng.normal(size=(50, 3), scale=10), found)
    assert (shares > 0).all()
    assert_allclose(shares.sum(axis=1), 1)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_prediction_sets_are_those_of_the_formula(alpha, rng):
    held = held_out(rng)
    found = held.calibration("none")
    own = oracle.leads(held.scores)[np.arange(80), held.labels]
    rows = rng.normal(size=(20, 3))
    expected = [oracle.prediction_set(row, own, alpha) for row in rows]
    assert_array_equal(prediction_sets(rows, found, alpha), expected)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_sets_cover_exchangeable_rows(rng, alpha):
    """The mean coverage over many draws is at least 1 − α: here within three standard errors.

    The draws are always the same: of random seeds, one in some hundreds would miss three errors.
    """
    covered = []
    for _ in range(2_000):
        scores = rng.normal(size=(31, 3))
        labels = np.array([rng.choice(3, p=np.exp(s) / np.exp(s).sum()) for s in scores])
        found = HeldOutScores(scores[:30], labels[:30], np.ones(30)).calibration("none")
        covered.append(prediction_sets(scores[30:], found, alpha)[0, labels[30]])
    assert np.mean(covered) >= 1 - alpha - 3 * np.sqrt(alpha * (1 - alpha) / len(covered))


@each_classifier
def test_sets_of_a_classifier_cover_new_rows(make):
    X, y = overlapping(1500, seed=1)
    clf = make(calibrate="sigmoid").fit(X[:300], y[:300])
    for alpha in (0.1, 0.3):
        sets = clf.predict_set(X[300:], alpha)
        assert sets.shape == (1200, 3)
        assert sets.dtype == bool
        assert sets[np.arange(1200), y[300:]].mean() > 1 - alpha - 0.06
    assert clf.predict_set(X[300:], 0.3).sum() < clf.predict_set(X[300:], 0.1).sum() < 3 * 1200


@each_classifier
@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_the_calibrated_loss_of_new_rows_is_below_that_of_a_guess(make, kind):
    X, y = overlapping(900, seed=2)
    plain = make().fit(X[:300], y[:300])
    clf = make(calibrate=kind).fit(X[:300], y[:300])
    before, after = (log_loss(y[300:], c.predict_proba(X[300:])) for c in (plain, clf))
    assert after < min(0.9, before + 0.1)  # log 3 is a guess
    assert_array_equal(clf.predict(X), clf.classes_[clf.predict_proba(X).argmax(axis=1)])


@each_classifier
def test_held_out_rows_are_not_learned_from(make, rng):
    """Random classes can only be memorized: the calibrated probabilities are those of a guess."""
    X, y = rng.normal(size=(240, 30)), np.arange(240) % 2
    shares = make(calibrate="sigmoid").fit(X, y).predict_proba(X)
    assert log_loss(y, shares) > 0.5  # log 2 is a guess; a memorized row has almost no loss


@each_classifier
@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_a_file_holds_the_calibration(make, kind, tmp_path):
    X, y = overlapping(90, seed=3)
    clf = make(calibrate=kind).fit(X, y)
    lw.save(clf, tmp_path / "model.safetensors")
    loaded = lw.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert_array_equal(loaded.predict_set(X), clf.predict_set(X))


def test_a_matrix_is_split_in_rows_and_columns():
    X, y = overlapping(90, seed=4)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    rows = lw.SimilarityClassifier(calibrate="isotonic").fit(X, y)
    matrix = lw.SimilarityClassifier(similarity="precomputed_distance", calibrate="isotonic")
    assert_allclose(matrix.fit(D, y).predict_proba(D), rows.predict_proba(X))


def test_sets_without_calibration_are_the_same():
    X, y = overlapping(90, seed=5)
    plain = lw.SimilarityClassifier().fit(X, y)
    clf = lw.SimilarityClassifier(calibrate="sigmoid").fit(X, y)
    assert_array_equal(plain.predict_set(X), clf.predict_set(X))


@pytest.mark.parametrize("rule", ["majority", "energy", "softmax"])
@pytest.mark.parametrize("kind", ["none", "isotonic"])
def test_a_fitted_learner_is_calibrated_like_its_similarity(rule, kind):
    X, y = overlapping(90, seed=8)
    lmnn = lw.LMNN().fit(*overlapping(90, seed=9))
    given, fitted = (
        lw.SimilarityClassifier(similarity=source, rule=rule, calibrate=kind).fit(X, y)
        for source in (lmnn.similarity_, lmnn)
    )
    assert_array_equal(fitted.predict_proba(X), given.predict_proba(X))
    assert_array_equal(fitted.predict_set(X), given.predict_set(X))


def test_boosting_is_the_same_with_calibration():
    X, y = overlapping(90, seed=6)
    plain, clf = (
        lw.DBoost(n_rounds=20, random_state=0, calibrate=kind).fit(X, y)
        for kind in ("none", "isotonic")
    )
    assert_array_equal(plain.decision_function(X), clf.decision_function(X))
    assert clf.validation_errors_ is None


def test_bad_input_is_refused():
    X, y = overlapping(30, seed=7)
    for make in (lw.SimilarityClassifier, lw.DBoost):
        with pytest.raises(ValueError, match="calibrate must be one of"):
            make(calibrate="platt").fit(X, y)
        with pytest.raises(ValueError, match="calibrate needs more rows: one class of y"):
            make(calibrate="sigmoid").fit(X, np.r_[y[:-1], 7])
    boost = lw.DBoost(n_rounds=5, random_state=0, calibrate="sigmoid").fit(X, y)
    for clf in (lw.SimilarityClassifier().fit(X, y), boost):
        for alpha in (0, 1, np.nan):
            with pytest.raises(ValueError, match="alpha must be"):
                clf.predict_set(None, alpha)  # before the rows are looked at
    with pytest.raises(ValueError, match="predict_set needs held-out scores, but calibrate is"):
        lw.DBoost(n_rounds=5, random_state=0).fit(X, y).predict_set(X)
    with pytest.raises(ValueError, match="several labels for each row, but calibrate needs one"):
        lw.SimilarityClassifier(calibrate="sigmoid").fit(X, np.eye(3, dtype=int)[y])
    with pytest.raises(ValueError, match="several labels for each row, but predict_set needs one"):
        lw.SimilarityClassifier().fit(X, np.eye(3, dtype=int)[y]).predict_set(X)
    with pytest.raises(ValueError, match="predict_set needs more rows: one class of y"):
        lw.SimilarityClassifier().fit(X, np.r_[y[:-1], 7]).predict_set(X)
    matrix = lw.SimilarityClassifier(similarity="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="a precomputed matrix is not kept"):
        matrix.predict_set(X @ X.T)
