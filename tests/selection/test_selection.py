"""The verdict of a selection, and that every form of it has the same figures."""

import json

import numpy as np
import pytest
from tests.report.selections import selection_of

BASELINE = ("baseline", [0.90, 0.91, 0.92])
LEARNED = ("learned", [0.96, 0.97, 0.985])
PREDICTIONS = (["a", "b"], ["a", "a"])


def verdict(**scores):
    return selection_of(scores, next(iter(scores)), PREDICTIONS).verdict


def test_a_significant_gain_has_its_p_value():
    text = verdict(LMNN=LEARNED, Euclid=BASELINE)
    assert text.startswith("LMNN classifies 97.2")
    assert "a gain of 6.2 percentage points (p = 0.0" in text


def test_a_gain_within_chance_is_called_that():
    text = verdict(LMNN=("learned", [0.88, 0.95, 0.91]), Euclid=BASELINE)
    assert "not more than chance can explain (p = 0." in text


def test_one_split_tells_nothing_about_chance():
    text = verdict(LMNN=("learned", [0.95]), Euclid=("baseline", [0.9]))
    assert "which one split cannot tell from chance" in text


def test_learning_that_does_not_help_is_said():
    text = verdict(LMNN=("learned", [0.88, 0.92, 0.90]), Euclid=BASELINE)
    assert text.startswith("A learned similarity does not help here")


def test_a_better_reference_is_named_for_those_who_need_classes_only():
    text = verdict(LMNN=LEARNED, Euclid=BASELINE, SVM=("reference", [0.97, 0.99, 0.99]))
    assert "If you only need classes, SVM is better: 98.3" in text
    assert "If you only need" not in verdict(LMNN=LEARNED, SVM=("reference", [0.5, 0.6, 0.7]))


def test_significance_is_that_of_the_comparison():
    found = selection_of({"LMNN": LEARNED, "Euclid": BASELINE}, "LMNN", PREDICTIONS)
    p = found.comparison.p_value_between("LMNN", "Euclid")
    assert f"(p = {p:.3f})" in found.verdict
    assert f"{p:.3f}" in str(found.table())


def test_text_and_json_have_the_same_figures():
    found = selection_of({"LMNN": LEARNED, "Euclid": BASELINE}, "LMNN", PREDICTIONS, ["A note."])
    values = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert values["chosen"] == found.chosen == "lmnn"
    assert values["accuracy"] == pytest.approx(np.mean(LEARNED[1]))
    for line in (found.verdict, "A note.", f"accuracy of the choice: {values['accuracy']:.4f}"):
        assert line in str(found)
    assert values["verdict"] == found.verdict
    assert values["notes"] == ["A note."]
