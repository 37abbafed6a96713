"""Records, words, candidates, leads and comparison vectors."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.matching.people import people
from tests.oracles import match as oracle

from likewise.matching._candidates import Candidates
from likewise.matching._records import common_fields, kinds_of, normalized, number, read_records
from likewise.matching._vectors import Comparison
from likewise.matching._words import codes, words


def compared(left, right=None, kinds=None):
    fields = common_fields(left, left if right is None else right, None)
    sides = (
        read_records(left, fields, "left"),
        None if right is None else read_records(right, fields, "right"),
    )
    kinds = kinds or kinds_of(sides[0], sides[1] or sides[0], None)
    return Comparison(*sides, kinds)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("  Café\tCrème ", "cafe creme"),
        ("N/A", ""),
        ("Unknown", ""),
        (None, ""),
        ("-", ""),
        ("Ärger™", "argertm"),
        ("Москва", "москва"),
    ],
)
def test_values_are_normalized(value, expected):
    assert normalized(value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("$ 1,234.50", 1234.5), ("-3", -3.0), (".5", 0.5), ("1,23", None), ("a1", None), ("", None),
     ("1_000", None), ("inf", None)],
)  # fmt: skip
def test_numbers_are_recognized(text, expected):
    assert number(text) == expected


def test_codes_are_words_with_a_digit():
    assert codes("sony ps-lx350h 12345 1234 ab1 abc1 x") == ["12345", "abc1", "pslx350h"]
    assert words("a.b-c d") == ["a", "bc", "d"]


def test_kinds_follow_the_values():
    left, right, _ = people()
    left["note"] = "more than three words here"
    right["note"] = "as many words as there"
    kinds = compared(left, right).kinds
    assert kinds == {"name": "string", "street": "string", "town": "string", "born": "number",
                     "note": "text"}  # fmt: skip


@pytest.mark.parametrize("k", [1, 3, 100])
def test_candidates_are_the_nearest_of_both_directions(k):
    left, right, _ = people(12)
    comparison = compared(left, right)
    rows = oracle.tfidf([oracle.pieces(t) for t in comparison.left.whole + comparison.right.whole])
    found = comparison.candidates(k)
    assert list(zip(*found, strict=True)) == oracle.candidates(rows[:12], rows[12:], k)


def test_candidates_of_one_table_pair_different_records_once():
    left, _, _ = people(12)
    pairs = compared(left).candidates(3)
    assert (pairs.left < pairs.right).all()
    assert len(set(zip(*pairs, strict=True))) == len(pairs) > 12


def records_of(records):
    """Return records as dicts of normalized values."""
    names = list(records.columns)
    return [dict(zip(names, row, strict=True))
            for row in zip(*(records.columns[name] for name in names), strict=True)]  # fmt: skip


def mixed_tables():
    """Return tables with all kinds of fields, repeated and missing values."""
    left, right, _ = people(9)
    notes = ["red box no. 12ab5", "a large box of pens", "", "box", "two pens and 12ab5"]
    for table, shift in ((left, 0), (right, 2)):
        table["note"] = [notes[(row + shift) % 5] for row in range(9)]
        table["paid"] = ["12.5", "x", "", "13", "13", "0", "-7", "12.5", "1"]
    right.loc[3, "name"] = left["name"][0]
    right.loc[4, ["name", "street"]] = left.loc[0, ["name", "street"]].to_numpy()
    kinds = {"name": "string", "street": "string", "town": "string", "born": "number",
             "note": "text", "paid": "number"}  # fmt: skip
    return left, right, kinds


@pytest.mark.parametrize("one_table", [False, True])
def test_vectors_agree_with_the_formulas(one_table):
    left, right, kinds = mixed_tables()
    if one_table:
        left, right = pd.concat([left, right[:4]], ignore_index=True), None
        left["id"] = range(len(left))
    comparison = compared(left, right, kinds)
    pairs = comparison.candidates(4)
    vectors = comparison.vectors(pairs)
    tables = records_of(comparison.left), None if one_table else records_of(comparison.right)
    for vector, i, j in zip(vectors, *pairs, strict=True):
        expected = oracle.compare(*tables, kinds, i, j)
        assert list(expected) == comparison.names
        values = [np.nan if value is None else value for value in expected.values()]
        assert_allclose(vector, values, atol=1e-9)
        levels = comparison.level_columns.levels(vector[None])[0]
        assert levels.tolist() == oracle.levels(expected, kinds)


def test_missing_values_have_no_similarity():
    left, right, _ = people(6)
    left.loc[0, "name"] = None
    right.loc[0, "name"] = "n/a"
    comparison = compared(left, right)
    vectors = comparison.vectors(Candidates(np.array([0, 0, 1]), np.array([0, 1, 1])))
    titles = [title for field, title in comparison.names if field == "name"]
    of_name = vectors[:, [field == "name" for field, _ in comparison.names]]
    assert_array_equal(of_name[:, titles.index("missing in both")], [1, 0, 0])
    assert_array_equal(of_name[:, titles.index("missing in one")], [0, 1, 0])
    rest = [p for p, title in enumerate(titles) if not title.startswith("missing")]
    assert np.isnan(of_name[:2, rest]).all()
    assert not np.isnan(of_name[2, rest]).any()


def test_a_code_inside_another_word_is_found():
    left = pd.DataFrame({"name": ["turntable ps-lx350h", "tv kdl40"]})
    right = pd.DataFrame({"name": ["sony pslx 350h player", "tv kdl46"]})
    comparison = compared(left, right, {"name": "text"})
    vectors = comparison.vectors(Candidates(np.array([0, 1]), np.array([0, 1])))
    column = {name: vectors[:, place] for place, name in enumerate(comparison.names)}
    assert_array_equal(column["*", "code inside"], [1, 0])
    assert_array_equal(column["*", "length of code inside"], [8, 0])
    assert_array_equal(column["name", "codes differ"], [1, 1])  # 350h is a code too


def test_a_vector_depends_on_the_tables_and_not_on_the_other_pairs():
    left, right, _ = people(12)
    comparison = compared(left, right)
    pairs = comparison.candidates(4)
    some = Candidates(pairs.left[5:7], pairs.right[5:7])
    assert_array_equal(comparison.vectors(some), comparison.vectors(pairs)[5:7])
