"""Every bad input has its sentence, before any work."""

import numpy as np
import pandas as pd
import pytest
from tests.matching.people import labeled, people

import likewise as lw

LEFT, RIGHT, PAIRS = people(20)
LABELS = labeled(PAIRS)


def changed(frame, **columns):
    return frame.assign(**columns)


@pytest.mark.parametrize(
    ("left", "right", "pairs", "sentence"),
    [
        (LEFT, RIGHT[["id"]].assign(other=1), None,
         r"left has the columns id, name, street, town, born and right has id, other; at least one "
         r"column of the same name besides 'id' is needed"),
        (changed(LEFT, id="x"), RIGHT, None, r"left has the id 'x' in rows 0 and 1; ids must"),
        (LEFT, changed(RIGHT, id=[None, *RIGHT["id"][1:]]), None, r"right has no id in row 0"),
        (LEFT[:0], RIGHT, None, r"left has no rows; at least one is needed"),
        (LEFT, RIGHT[:0], None, r"right has no rows"),
        (np.ones((3, 2)), RIGHT, None, r"left must be a frame with named columns, but ndarray"),
        (LEFT, RIGHT, [("a0", "c9", 1)],
         r"pairs has the right_id 'c9' in row 0, but right has no such id"),
        (LEFT, RIGHT, [("a0", "b0", 1), ("a0", "b0", 0)],
         r"pairs says that 'a0' and 'b0' match and, in row 1, that they do not"),
        (LEFT, RIGHT, LABELS[LABELS["label"] == 1],
         r"pairs has 12 matches, no non-match: both are needed, or none"),
        (LEFT, RIGHT, LABELS[LABELS["label"] == 0],
         r"pairs has 24 non-matches, no match: both are needed, or none"),
        (LEFT, RIGHT, [("a0", "b0", 2)], r"pairs has the label 2 in row 0; 0 or 1 is needed"),
        (LEFT, RIGHT, [("a0", "b0", None)], r"pairs has no label; give labels of both kinds"),
        (LEFT, RIGHT, LABELS[["left_id", "right_id"]], r"pairs needs a label, 0 or 1, for each"),
        (LEFT, RIGHT, LABELS[["left_id", "label"]], r"pairs needs a column 'right_id'"),
        (LEFT, RIGHT, ["a0"], r"pairs must be a frame with left_id, right_id and label"),
        (LEFT, None, [("a0", "a0", 1)], r"pairs pairs the id 'a0' with itself in row 0"),
    ],
)  # fmt: skip
def test_bad_tables_and_labels(left, right, pairs, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        lw.Matcher().fit(left, right, pairs)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"k": 0}, "k must be at least 1, but 0 was given"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"threshold": "best"}, "threshold must be one of 'f1'"),
        ({"threshold": 0.0}, "threshold must be finite and above 0"),
        ({"precision": 1.5}, "precision must be at most 1"),
        ({"precision": 0.9, "threshold": 0.5}, "threshold and precision are both given"),
        ({"link": "complete"}, "link must be one of 'average', 'single'"),
        ({"learner": "boosting"}, "learner must be one of 'auto', 'logistic', 'forest'"),
        ({"fields": "name"}, "fields must be a list of columns"),
        ({"fields": ["nmae"]}, "fields names 'nmae', but left has no such column. Did you mean"),
        ({"fields": ["id"]}, "fields names 'id', the ids"),
        ({"fields": []}, "fields is empty"),
        ({"fields": {"name": "words"}}, "must be one of 'number', 'string', 'text'"),
        ({"one_to_one": "yes"}, "one_to_one must be True or False"),
    ],
)
def test_bad_parameters(parameters, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        lw.Matcher(**parameters).fit(LEFT, RIGHT)


def test_one_to_one_needs_two_tables():
    with pytest.raises(ValueError, match="one_to_one is for two tables, but right is not given"):
        lw.Matcher(one_to_one=True).fit(LEFT)


def test_other_tables_need_the_same_fields():
    matcher = lw.Matcher().fit(LEFT, RIGHT)
    with pytest.raises(ValueError, match="right has no column 'town', which is compared"):
        matcher.match(LEFT, RIGHT.drop(columns="town"))


def test_contradicting_labels_are_named():
    labels = [*LABELS.itertuples(index=False, name=None), ("a1", "b0", 1), ("a0", "b1", 0)]
    labels = [row for row in dict.fromkeys(labels) if row[:2] != ("a0", "b1") or row[2] == 0]
    with pytest.warns(UserWarning, match="Labels contradict each other: .*'a0' and 'b1'"):
        lw.Matcher().fit(LEFT, RIGHT, [tuple(row) for row in labels])


def test_a_field_that_names_the_answer_is_named():
    order = {name: number for number, (name, _) in enumerate(PAIRS)}
    order |= {name: number for number, (_, name) in enumerate(PAIRS)}
    left, right = (t.assign(key=[f"k{order[i]}x" for i in t["id"]]) for t in (LEFT, RIGHT))
    with pytest.warns(UserWarning, match="key is equal in all labeled matches and in no"):
        lw.Matcher().fit(left, right, LABELS)


def test_labels_may_be_text_or_truth_values():
    for values in (LABELS["label"].astype(str), LABELS["label"].astype(bool)):
        labels = LABELS.assign(label=values)
        found = lw.Matcher().fit(LEFT, RIGHT, labels)
        assert found.sentences_[1].startswith("Learned from 12 matches and 24 non-matches")


def test_ids_may_differ_in_type():
    numbered = LEFT.assign(id=range(20))
    labels = LABELS.assign(left_id=[name[1:] for name in LABELS["left_id"]])
    matcher = lw.Matcher().fit(numbered, RIGHT, labels)
    assert matcher.match(numbered, RIGHT).pairs["left_id"].dtype.kind == "i"


def test_a_table_without_ids_has_row_numbers():
    matcher = lw.Matcher().fit(LEFT.drop(columns="id"), RIGHT)
    assert set(matcher.ask(5)["left_id"]) <= set(range(20))
    assert pd.api.types.is_integer_dtype(matcher.ask(5)["left_id"])


@pytest.mark.parametrize(
    ("a", "b", "error", "sentence"),
    [
        ("zz", "b0", ValueError, r"^a is 'zz', but left has no such id\.$"),
        ("a0", "zz", ValueError, r"^b is 'zz', but right has no such id\.$"),
        (LEFT.iloc[0], "b0", TypeError, r"^a must be an id of left, but a Series was given\.$"),
        ("a0", None, TypeError, r"^b must be an id of right, but a NoneType was given\.$"),
    ],
)
def test_explain_names_the_record_that_is_not_there(a, b, error, sentence):
    matcher = lw.Matcher().fit(LEFT, RIGHT)
    with pytest.raises(error, match=sentence):
        matcher.explain(a, b)


def test_explain_needs_two_records_of_one_table():
    matcher = lw.Matcher().fit(LEFT)
    with pytest.raises(ValueError, match=r"^a and b are both 'a0', but two different records are"):
        matcher.explain("a0", "a0")
    assert matcher.explain("a3", "a0").probability == matcher.explain("a0", "a3").probability
