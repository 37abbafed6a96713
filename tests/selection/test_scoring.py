"""Measures of predictions, and the default for the shares of classes."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from likewise.selection import SCORINGS
from likewise.selection._scoring import choose_scoring, predict, recalls


@pytest.fixture
def problem(rng):
    labels = rng.choice(["a", "b", "c"], size=150, p=[0.6, 0.3, 0.1])
    X = rng.normal(size=(150, 3)) + (labels == "b")[:, None]
    return X, labels


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "f1_macro", "log_loss"])
def test_measures_are_those_of_scikit_learn(name, problem):
    X, labels = problem
    fitted = LogisticRegression().fit(X[:100], labels[:100])
    found = SCORINGS[name]
    value = found.measure(predict(fitted, X[100:], found, fitted.classes_), labels[100:])
    scorer = metrics.get_scorer("neg_log_loss" if name == "log_loss" else name)
    assert found.sign * value == pytest.approx(scorer(fitted, X[100:], labels[100:]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_roc_auc_is_the_mean_over_classes_against_the_others(n_classes, problem):
    X, labels = problem
    kept = np.isin(labels, ["a", "b", "c"][:n_classes])
    X, labels = X[kept], labels[kept]
    fitted, found = LogisticRegression().fit(X, labels), SCORINGS["roc_auc"]
    value = found.measure(predict(fitted, X, found, fitted.classes_), labels)
    shares = fitted.predict_proba(X)
    expected = metrics.roc_auc_score(
        labels, shares[:, 1] if n_classes == 2 else shares, multi_class="ovr"
    )
    assert value == pytest.approx(expected)


def test_roc_auc_takes_decisions_without_probabilities(problem):
    X, labels = problem
    binary, found = np.where(labels == "a", "a", "z"), SCORINGS["roc_auc"]
    fitted = SVC().fit(X, binary)
    value = found.measure(predict(fitted, X, found, fitted.classes_), binary)
    assert value == pytest.approx(metrics.roc_auc_score(binary == "z", fitted.decision_function(X)))


def test_a_class_without_a_training_row_has_the_lowest_score(problem):
    X, labels = problem
    fitted = LogisticRegression().fit(X[labels != "c"], labels[labels != "c"])
    found = predict(fitted, X, SCORINGS["roc_auc"], np.array(["a", "b", "c"]))
    np.testing.assert_array_equal(found.scores[:, 2], 0)
    np.testing.assert_array_equal(found.scores[:, :2], fitted.predict_proba(X))


def test_recall_is_of_classes_that_occur():
    truth, predicted = np.array(["a", "a", "b"]), np.array(["a", "c", "a"])
    assert recalls(predicted, truth) == {"a": 0.5, "b": 0.0}


@pytest.mark.parametrize(
    ("counts", "name"),
    [
        ((83, 12, 5), "balanced_accuracy"),
        ((60, 30, 10), "balanced_accuracy"),
        ((75, 25), "balanced_accuracy"),
        ((63, 37), "accuracy"),
        ((70, 30), "accuracy"),
        ((40, 35, 5), "accuracy"),  # no majority to hide behind
        ((10, 10, 10), "accuracy"),
    ],
)
def test_the_default_follows_the_shares_of_the_classes_and_says_so(counts, name):
    found, why = choose_scoring(np.repeat(np.arange(len(counts)), counts), None)
    assert found.name == name
    assert found.title in why
    assert f"{100 * max(counts) / sum(counts):.0f}\u00a0%" in why


def test_a_named_scoring_is_taken_and_an_unknown_one_refused():
    assert choose_scoring(np.array([0, 1]), "f1_macro") == (SCORINGS["f1_macro"], "")
    with pytest.raises(ValueError, match=r"scoring must be one of .* Did you mean 'roc_auc'\?"):
        choose_scoring(np.array([0, 1]), "roc_au")
