"""The verdict of a selection, and that every form of it has the same figures."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.report.selections import selection_of

from likewise.evaluation import corrected_p_value, holm

BASELINE = ("baseline", [0.90, 0.91, 0.92])
LEARNED = ("learned", [0.96, 0.97, 0.985])
PREDICTIONS = (["a", "b", "b"], ["a", "a", "b"])


def verdict(predictions=PREDICTIONS, inner=None, **scores):
    return selection_of(scores, next(iter(scores)), predictions, inner=inner).verdict


def test_a_significant_gain_has_its_p_value():
    text = verdict(LMNN=LEARNED, Euclid=BASELINE)
    assert text.startswith(
        "On 3 held-out rows in 3 splits, the accuracy of the choice made in each split (LMNN) is 97"
    )
    assert "a gain of 6.2 points (p = 0.0" in text


def test_a_gain_within_chance_is_called_that():
    text = verdict(LMNN=("learned", [0.88, 0.95, 0.91]), Euclid=BASELINE)
    assert "not more than chance can explain (p = 0." in text


@pytest.mark.parametrize(("n", "rows"), [(1, "in one split"), (2, "in 2 splits")])
def test_fewer_than_three_splits_give_figures_but_no_verdict(n, rows):
    found = selection_of(
        {"LMNN": ("learned", [0.95] * n), "Euclid": ("baseline", [0.9] * n)}, "LMNN", PREDICTIONS
    )
    made, chosen = ("", "") if n == 1 else (" made in each split", " chosen in each split")
    assert found.verdict == (
        f"Measured on 3 held-out rows {rows}: accuracy of the choice{made} (LMNN) 95.0\u00a0%, of "
        f"the best baseline{chosen} (Euclid) 90.0\u00a0%. "
        "Fewer than 3 splits do not show which is better."
    )
    assert [row["deviation"] for row in found.rows] == [None, None]
    assert [row["p"] for row in found.rows] == [None, None]
    assert "0.0000" not in str(found)


def test_learning_that_does_not_help_is_said():
    text = verdict(LMNN=("learned", [0.88, 0.92, 0.90]), Euclid=BASELINE)
    assert text.startswith("A learned similarity does not help here: on 3 held-out rows")


def test_equal_gaps_are_no_significance():
    text = verdict(LMNN=("learned", [0.95, 0.96, 0.97]), Euclid=BASELINE)
    assert "a gain of 5.0 points, the same in every split, which leaves no test" in text
    assert "0.000" not in text


def test_the_verdict_is_on_the_choice_and_not_on_the_best_outside():
    """OASIS is luckier on the test rows, but the inner scores chose LMNN."""
    scores = {"LMNN": LEARNED, "OASIS": ("learned", [0.99, 0.99, 1.0]), "Euclid": BASELINE}
    found = selection_of(scores, "LMNN", PREDICTIONS)
    assert "the choice made in each split (LMNN) is 97.2" in found.verdict
    assert "OASIS" not in found.verdict


def test_each_side_is_chosen_by_inner_scores_in_each_split():
    """The best of two baselines on the test rows would be .95 in every split."""
    scores = {
        "LMNN": ("learned", [0.96, 0.97, 0.98]),
        "Euclid": ("baseline", [0.95, 0.80, 0.95]),
        "cosine": ("baseline", [0.80, 0.95, 0.80]),
    }
    inner = {"Euclid": [0.8, 0.9, 0.8], "cosine": [0.9, 0.8, 0.7]}
    found = selection_of(scores, "LMNN", PREDICTIONS, inner=inner)
    mean = np.mean([0.80, 0.80, 0.95])
    side = "that of the best baseline chosen in each split (Euclid in 2, cosine in 1)"
    assert f"{side} {100 * mean:.1f}" in found.verdict
    gaps = np.array([0.16, 0.17, 0.03])
    p = corrected_p_value(gaps, 0.5)
    assert f"(p = {p:.3f})" in found.verdict


def test_a_better_reference_is_named_for_those_who_need_predictions_only():
    text = verdict(LMNN=LEARNED, Euclid=BASELINE, SVM=("reference", [0.97, 0.99, 0.99]))
    side = "the best reference chosen in each split (SVM)"
    assert f"If you only need predictions: the accuracy of {side} is 98.3" in text
    assert "If you only need" not in verdict(LMNN=LEARNED, SVM=("reference", [0.5, 0.6, 0.7]))


def test_p_values_are_adjusted_for_the_number_of_families():
    scores = {
        "LMNN": LEARNED,
        "Euclid": BASELINE,
        "cosine": ("baseline", [0.88, 0.93, 0.91]),
        "SVM": ("reference", [0.95, 0.99, 0.96]),
    }
    found = selection_of(scores, "LMNN", PREDICTIONS)
    raw = [corrected_p_value(np.subtract(LEARNED[1], scores[name][1]), 0.5)
           for name in ("Euclid", "cosine", "SVM")]  # fmt: skip
    by_name = {row["name"]: row["p"] for row in found.rows}
    assert by_name["LMNN"] is None
    assert [by_name[name] for name in ("Euclid", "cosine", "SVM")] == pytest.approx(list(holm(raw)))


def test_the_verdict_says_why_it_may_differ_from_the_table():
    scores = {
        "LMNN": LEARNED,
        "Euclid": BASELINE,
        "cosine": ("baseline", [0.88, 0.93, 0.91]),
        "SVM": ("reference", [0.95, 0.99, 0.96]),
    }
    reason = "Choices in each split are made by inner scores, so these figures need not be those"
    assert verdict(**scores).endswith(
        f"{reason} of one row of the table; p-values are adjusted for 2 comparisons here, and for "
        "3 in the table."
    )
    alone = {"LMNN": LEARNED, "Euclid": BASELINE}  # one difference in both
    assert verdict(**alone).endswith(f"{reason} of one row of the table.")


def test_a_family_that_was_given_is_not_called_the_best():
    found = selection_of({"LMNN": LEARNED, "Euclid": BASELINE}, "Euclid", PREDICTIONS)
    found = replace(found, given_by="--learner")
    assert found.reason == (
        "Chosen: Euclid, as given by --learner (scale none); its inner accuracy is 0.9100."
    )


def test_a_choice_of_one_class_is_never_recommended_silently():
    constant = (["a", "b", "a"], ["a", "a", "a"])
    scores = {"LMNN": LEARNED, "majority class": ("baseline", [0.83, 0.84, 0.83])}
    found = selection_of(scores, "LMNN", constant)
    assert found.verdict.startswith(
        "Warning: the choice made in each split (LMNN) predicts a for every held-out row and "
        "recognizes no other class"
    )
    assert found.recall == {"a": 1.0, "b": 0.0}
    assert "Warning" not in selection_of(scores, "LMNN", PREDICTIONS).verdict


def test_nothing_better_than_the_majority_is_said():
    majority = ("baseline", [0.33, 0.34, 0.33])
    poor = ("learned", [0.3, 0.3, 0.31])
    scores = {"LMNN": poor, "majority class": majority}
    found = selection_of(scores, "LMNN", PREDICTIONS, scoring="balanced_accuracy")
    assert found.verdict.startswith(
        "No model was found that improves on the balanced accuracy of the majority class (33.3"
    )
    better = {**scores, "SVM": ("reference", [0.5, 0.6, 0.7])}
    found = selection_of(better, "LMNN", PREDICTIONS, scoring="balanced_accuracy")
    assert found.verdict.startswith("The choice does not improve on the balanced accuracy")


def test_a_lower_loss_is_better():
    scores = {"LMNN": ("learned", [0.2, 0.25, 0.3]), "Euclid": ("baseline", [1.2, 1.5, 1.3])}
    found = selection_of(scores, "LMNN", PREDICTIONS, scoring="log_loss")
    assert [row["name"] for row in found.rows] == ["LMNN", "Euclid"]
    side = "the log loss of the choice made in each split (LMNN)"
    assert f"{side} is 0.250\u00a0±\u00a00.050" in found.verdict
    assert "a gain of 1.083" in found.verdict
    assert found.comparison.best == "LMNN"
    assert found.comparison.scoring == "neg_log_loss"


def test_the_inner_score_that_decided_stands_beside_the_outer():
    found = selection_of(
        {"LMNN": LEARNED, "Euclid": BASELINE}, "LMNN", PREDICTIONS,
        inner={"LMNN": [0.94, 0.95, 0.96]},
    )  # fmt: skip
    assert found.table().heads[2:4] == ["inner", "accuracy"]
    assert found.table().rows[0][2:4] == ["0.9500", "0.9717"]
    assert "; its inner accuracy, 0.9500, is the best" in found.reason


def test_text_and_json_have_the_same_figures():
    found = selection_of({"LMNN": LEARNED, "Euclid": BASELINE}, "LMNN", PREDICTIONS, ["A note."])
    values = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert values["chosen"] == found.chosen == "lmnn"
    assert values["score"] == pytest.approx(np.mean(LEARNED[1]))
    assert values["accuracy"] == pytest.approx(2 / 3)
    assert values["recall"] == {"a": 1.0, "b": 0.5}
    for line in (found.verdict, "A note.", f"accuracy of the choice: {values['score']:.4f}"):
        assert line in str(found)
    assert values["verdict"] == found.verdict
    assert values["notes"] == ["A note."]


def test_recall_is_shown_by_class_and_of_many_classes_the_lowest():
    found = selection_of({"LMNN": LEARNED, "Euclid": BASELINE}, "LMNN", PREDICTIONS)
    assert list(found.recall_table().rows) == [
        ("a", "1", "0.333", "1.000"), ("b", "2", "0.667", "0.500"),
    ]  # fmt: skip
    names = np.repeat([f"c{i:02}" for i in range(20)], 2)
    wrong = np.where(np.arange(40) == 39, "c00", names)
    many = selection_of({"LMNN": LEARNED, "Euclid": BASELINE}, "LMNN", (names, wrong))
    rows = many.recall_table().rows
    assert rows[0] == ("c19", "2", "0.050", "0.500")
    assert rows[-1] == ("8 others", "16", "0.400", "1.000")
    assert len(rows) == 13
