"""Why a score is what it is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import likewise as lw


def test_a_bilinear_score_is_made_of_feature_pairs():
    s = lw.Bilinear([[1.0, 0.0], [10.0, 100.0]])
    told = s.explain([2.0, 3.0], [5.0, 7.0])
    assert told.score == 2 * 5 + 30 * 5 + 300 * 7
    assert told.terms == (
        ("x1", "x1", 2100.0),
        ("x1", "x0", 150.0),
        ("x0", "x0", 10.0),
        ("x0", "x1", 0.0),
    )


def test_each_term_is_divided_by_the_norm():
    told = lw.Bilinear(1.0, norm="cosine").explain([3.0, 4.0], [3.0, 4.0])
    assert [term.contribution for term in told] == pytest.approx([16 / 25, 9 / 25])


def test_a_distance_is_made_of_pairs_of_differences():
    """−(a + 2b)² = −a² − 4ab − 4b², and both orders of a pair are one term."""
    told = lw.Mahalanobis([[1.0, 2.0]]).explain([1.0, 1.0], [0.0, 0.0])
    assert told.terms == (("x0", "x1", -4.0), ("x1", "x1", -4.0), ("x0", "x0", -1.0))
    assert told.score == -9.0


def test_features_that_are_equal_do_not_show_in_a_distance():
    told = lw.Mahalanobis(np.eye(3)).explain([1.0, 5.0, 2.0], [1.0, 4.0, 2.0])
    assert told.terms == (("x1", "x1", -1.0),)


def test_only_the_features_that_a_sparse_row_has_show():
    q, p = csr_array(np.array([[0.0, 2.0, 0.0]])), csr_array(np.array([[1.0, 0.0, 3.0]]))
    told = lw.Bilinear(np.ones((3, 3))).explain(q, p)
    assert {term[:2] for term in told} == {("x1", "x0"), ("x1", "x2")}


def test_names_are_used_and_counted():
    s = lw.Bilinear(np.ones((2, 3)))
    told = s.explain([1.0, 0.0], [0.0, 2.0, 0.0], ["colour", "size"], ["hue", "shade", "tone"])
    assert told.terms == (("colour", "shade", 2.0),)
    for names in ({"query_names": ["one"]}, {"item_names": ["one"]}):
        argument = next(iter(names))
        with pytest.raises(ValueError, match=f"{argument} has 1 names, but there are"):
            s.explain([1.0, 0.0], [0.0, 2.0, 0.0], **names)


def test_the_strongest_are_named_whatever_their_sign_and_the_rest_is_summed():
    told = lw.Bilinear(1.0).explain([1.0, 1.0, 1.0], [1.0, -5.0, 2.0], top=1)
    assert told.terms == (("x1", "x1", -5.0),)
    assert (told.rest, told.score, len(told)) == (3.0, -2.0, 1)


def test_text_and_html_show_the_terms_and_the_rest():
    told = lw.Bilinear(1.0).explain([1.0, 1.0], [2.0, 3.0], ["<b>", "size"], ["<b>", "weight"], 1)
    assert repr(told) == "Explanation(score=5, 1 terms, rest=2)"
    assert [line.split() for line in str(told).splitlines()] == [
        ["score", "5"], ["size", "×", "weight", "+3"], ["the", "rest", "+2"],
    ]  # fmt: skip
    html = lw.Bilinear(1.0).explain([1.0, 1.0], [2.0, 3.0], ["<b>", "size"])._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


@pytest.mark.parametrize("s", [lw.Bilinear(1.0), lw.Mahalanobis(1.0)], ids=repr)
def test_an_explanation_takes_one_row_each(s):
    for row in ([1.0, 2.0], [[1.0, 2.0]], np.array([1.0, 2.0]), csr_array([[1.0, 2.0]])):
        assert_allclose(s.explain(row, row).score, s.score_pairs([[1.0, 2.0]], [[1.0, 2.0]])[0])
    with pytest.raises(ValueError, match="q must be one row, but 2 rows were given"):
        s.explain(np.eye(2), [1.0, 2.0])
    with pytest.raises(ValueError, match="p must be one row, but 3 rows were given"):
        s.explain([1.0, 2.0], np.ones((3, 2)))


@pytest.mark.parametrize(("top", "error"), [(0, ValueError), (2.5, TypeError), (True, TypeError)])
def test_top_is_a_whole_number_or_none(top, error):
    for s in (lw.Bilinear(1.0), lw.Mahalanobis(1.0)):
        with pytest.raises(error, match="top must be"):
            s.explain([1.0], [1.0], top=top)


@pytest.mark.parametrize("similarity", [lw.Mahalanobis(np.eye(2)), lw.Bilinear(np.eye(2))])
def test_rows_of_frames_keep_the_names_of_their_columns(similarity):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    columns = {"colour": [1.0, 4.0], "size": [2.0, 7.0]}
    frame = pd.DataFrame(columns)
    for library in (pd.DataFrame, pl.DataFrame, pa.table):
        told = similarity.explain(library(columns)[:1], library(columns)[1:])
        assert {name for term in told for name in term[:2]} == {"colour", "size"}
    told = similarity.explain(frame.iloc[0], frame.iloc[1])
    assert {name for term in told for name in term[:2]} == {"colour", "size"}
    told = similarity.explain(frame[:1], frame[1:], ["a", "b"], ["a", "b"])
    assert {name for term in told for name in term[:2]} == {"a", "b"}
    unnamed = pd.DataFrame(frame.to_numpy())
    told = similarity.explain(unnamed[:1], unnamed[1:])
    assert {name for term in told for name in term[:2]} == {"x0", "x1"}
