"""Records, words, candidates, leads and comparison vectors."""

import numpy as np
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


def test_vectors_agree_with_the_formulas():
    left, right, _ = people(12)
    comparison = compared(left, right)
    pairs = comparison.candidates(4)
    vectors = comparison.vectors(pairs)
    column = {name: vectors[:, place] for place, name in enumerate(comparison.names)}
    for field, analyzer, title in (
        ("*", oracle.words, "words"), ("*", oracle.pieces, "letters"),
        ("name", oracle.pieces, "letters"),
    ):  # fmt: skip
        values = [
            side.whole if field == "*" else side.values[field]
            for side in (comparison.left, comparison.right)
        ]
        rows = oracle.tfidf([analyzer(t) for t in values[0] + values[1]])
        for p, (i, j) in enumerate(zip(*pairs, strict=True)):
            expected = oracle.cosine(rows[i], rows[12 + j])
            assert column[field, title][p] == pytest.approx(expected, abs=1e-9)
            leads = oracle.leads(rows[:12], rows[12:], i, j)
            if field == "*":
                assert column["*", f"lead of left by {title}"][p] == pytest.approx(leads[0])
                assert column["*", f"lead of right by {title}"][p] == pytest.approx(leads[1])
                assert column["*", f"lead by {title}"][p] == pytest.approx(min(leads))
            else:
                assert column["name", "lead"][p] == pytest.approx(min(leads))
    born = comparison.left.values["born"], comparison.right.values["born"]
    a, b = (np.array(v, float)[rows] for v, rows in zip(born, pairs, strict=True))
    assert_allclose(column["born", "difference"], np.abs(a - b) / np.maximum(a, b))
    for p, (i, j) in enumerate(zip(*pairs, strict=True)):
        one, other = comparison.left.values["name"][i], comparison.right.values["name"][j]
        shared, both = set(oracle.words(one)) & set(oracle.words(other)), set(oracle.words(one))
        joined = both | set(oracle.words(other))
        assert column["name", "Jaccard"][p] == pytest.approx(len(shared) / len(joined))
        assert column["name", "edits"][p] == pytest.approx(oracle.edit_similarity(one, other))
        assert column["name", "same"][p] == (one == other)


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
    import pandas as pd

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
