"""Bad input gets one sentence that names the argument, what was given and what is needed."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from tests.versions import needs_1d_sparse_arrays

import likewise as lw
from likewise import _validation as validation

TABLE = np.array([[1.0, 2.0], [0.0, 3.0]])


def holding(value, where=(1, 0)):
    bad = TABLE.copy()
    bad[where] = value
    return bad


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_as_they_should_be_are_not_copied(dtype):
    for rows in (TABLE.astype(dtype), sparse.csr_array(TABLE.astype(dtype))):
        assert validation.check_rows(rows, "Q") is rows


@pytest.mark.parametrize(
    ("rows", "dtype"),
    [
        (TABLE.tolist(), np.float64),
        (TABLE.astype(np.int32), np.float64),
        (TABLE.astype(bool), np.float64),
        (TABLE.astype(np.float16), np.float64),
        (TABLE.astype(">f4"), np.float64),
        (TABLE.astype(object), np.float64),
        (TABLE.T.astype(np.float32), np.float32),
        (TABLE[::-1], np.float64),
        (pd.DataFrame(TABLE), np.float64),
        (pd.DataFrame(TABLE).convert_dtypes(), np.float64),
        (pd.DataFrame(TABLE.astype(np.float32)), np.float32),
        (pl.DataFrame(TABLE), np.float64),
    ],
)
def test_other_tables_of_numbers_become_contiguous_floats(rows, dtype):
    checked = validation.check_rows(rows, "Q")
    assert type(checked) is np.ndarray
    assert checked.dtype == dtype
    assert checked.flags.c_contiguous
    assert_array_equal(checked, np.asarray(rows, dtype=dtype))


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr", "dia", "csr"])
def test_every_sparse_container_becomes_csr(form):
    for make in (sparse.csr_array, sparse.csr_matrix):
        checked = validation.check_rows(make(TABLE.astype(int)).asformat(form), "Q")
        assert checked.format == "csr"
        assert checked.dtype == np.float64
        assert_array_equal(checked.toarray(), TABLE)


def test_duplicate_entries_are_summed_and_the_caller_s_are_left():
    rows = sparse.csr_array((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    checked = validation.check_rows(rows, "Q")
    assert_array_equal(checked.toarray(), [[1.0, 2.0]])
    assert checked.has_canonical_format
    assert rows.nnz == 3


def test_large_numbers_are_finite():
    for rows in (np.full((2, 2), 3e38, dtype=np.float32), np.full((2, 2), 1.7e308)):
        assert validation.check_rows(rows, "Q") is rows


@pytest.mark.parametrize("row", [0, 655, 656, 999])
def test_a_value_in_any_block_is_found(row):
    rows = np.zeros((1000, 100))
    rows[row, 99] = np.inf
    with pytest.raises(ValueError, match=f"Q holds infinity in row {row}, column 99"):
        validation.check_rows(rows, "Q")


@pytest.mark.parametrize(
    ("value", "named"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array, pd.DataFrame])
def test_what_is_not_finite_is_named_with_its_row_and_column(value, named, form):
    with pytest.raises(ValueError, match=f"rows holds {named} in row 1, column 0; it must be fin"):
        validation.check_rows(form(holding(value)), "rows")


def test_the_row_is_right_behind_rows_without_entries():
    rows = np.zeros((5, 3))
    rows[3, 2] = np.nan
    with pytest.raises(ValueError, match="Q holds NaN in row 3, column 2"):
        validation.check_rows(sparse.csr_array(rows), "Q")


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (np.ones(3), ValueError, r"Q must be 2-D.*1-D was given; one row is written Q\.reshape"),
        (3.0, ValueError, "Q must be 2-D, a row for each sample, but 0-D was given"),
        (np.ones((1, 1, 1)), ValueError, "Q must be 2-D, a row for each sample, but 3-D was"),
        pytest.param(
            sparse.coo_array(np.ones(3)),
            ValueError,
            "Q must be 2-D.*1-D was given",
            marks=needs_1d_sparse_arrays,
        ),
        (np.ones((0, 2)), ValueError, "Q has no rows; at least one is needed"),
        (sparse.csr_array((0, 2)), ValueError, "Q has no rows"),
        (np.ones((2, 0)), ValueError, "Q has no columns"),
        ([[1.0], [1.0, 2.0]], TypeError, "Q must be rows of numbers"),
        ([["a", "b"]], TypeError, "Q must be rows of numbers"),
        ([["1", "2"]], TypeError, "Q must be rows of numbers"),
        ([[b"1"]], TypeError, "Q must be rows of numbers"),
        ([[None]], ValueError, "Q holds NaN in row 0, column 0"),
        ([[{}]], TypeError, "Q must be rows of numbers"),
        (None, ValueError, "Q must be 2-D, a row for each sample, but 0-D was given"),
        ([[1j]], TypeError, "Q must be rows of numbers, but complex128 was given"),
        (sparse.csr_array([[1j]]), TypeError, "Q must be rows of numbers, but complex128"),
        (np.array([["2020-01-01"]], "M8[D]"), TypeError, "Q must be rows of numbers"),
        (pd.DataFrame({"a": ["x"]}), TypeError, "Q must be rows of numbers"),
        (pl.DataFrame({"a": ["x"]}), TypeError, "Q must be rows of numbers"),
    ],
)
def test_what_are_no_rows_of_numbers_is_refused(rows, error, message):
    with pytest.raises(error, match=message):
        validation.check_rows(rows, "Q")


def test_another_width_is_refused():
    for rows in (TABLE, sparse.csr_array(TABLE)):
        with pytest.raises(ValueError, match="Q has 2 columns, but 3 are needed"):
            validation.check_rows(rows, "Q", n_features=3)


USES = {
    "score": lambda s, Q, P: s.score(Q, P),
    "score_pairs": lambda s, Q, P: s.score_pairs(Q, P),
    "neighbors": lambda s, Q, P: s.neighbors(Q, P, 1),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("s", [lw.Mahalanobis(1.0), lw.Bilinear(np.eye(2))], ids=repr)
def test_every_door_of_a_similarity_checks_both_sides(use, s):
    for bad in (holding(np.nan), sparse.csr_array(holding(np.nan))):
        with pytest.raises(ValueError, match="Q holds NaN in row 1, column 0"):
            use(s, bad, TABLE)
        with pytest.raises(ValueError, match="P holds NaN in row 1, column 0"):
            use(s, TABLE, bad)
    with pytest.raises(ValueError, match="P has 1 columns, but 2 are needed"):
        use(s, TABLE, TABLE[:, :1])
    with pytest.raises(ValueError, match="P has no rows"):
        use(s, TABLE, TABLE[:0])
    with pytest.raises(TypeError, match="P must be rows of numbers"):
        use(s, TABLE, [["a", "b"], ["c", "d"]])


@pytest.mark.parametrize("s", [lw.Mahalanobis(1.0), lw.Bilinear(1.0, norm="cosine")], ids=repr)
def test_every_fold_checks_its_rows(s):
    with pytest.raises(ValueError, match="Q holds NaN"):
        s.fold_queries(holding(np.nan))
    with pytest.raises(ValueError, match="P holds NaN"):
        s.fold_items(holding(np.nan))


def test_check_queries_and_check_items_say_the_name_they_are_told():
    for s in (lw.Mahalanobis(1.0), lw.Bilinear(1.0), lw.Precomputed()):
        with pytest.raises(ValueError, match="X holds NaN"):
            s.check_queries(holding(np.nan), "X")
    for s in (lw.Mahalanobis(1.0), lw.Bilinear(1.0), lw.Precomputed(), lw.from_callable(max)):
        with pytest.raises((TypeError, ValueError), match=r"^X "):
            s.check_items([], "X")


def test_labels_are_one_for_each_row():
    assert_array_equal(validation.check_labels(["a", "b"], "y", TABLE, "X"), ["a", "b"])
    with pytest.raises(ValueError, match="X has 2 rows and y has 3, but they pair row by row"):
        validation.check_labels([1, 2, 3], "y", TABLE, "X")
    with pytest.raises(ValueError, match="y must be 1-D, one label per row, but 2-D was given"):
        validation.check_labels(TABLE, "y", TABLE, "X")


def test_rows_are_taken_from_whatever_holds_them():
    which = np.array([1, 0])
    for rows in (TABLE, pd.DataFrame(TABLE), pl.DataFrame(TABLE), sparse.csr_array(TABLE)):
        assert validation.n_rows(rows) == 2
        taken = validation.check_rows(validation.take(rows, which), "Q")
        assert_array_equal(taken if isinstance(taken, np.ndarray) else taken.toarray(), TABLE[::-1])
    assert validation.n_rows(["a", "b"]) == 2
    assert validation.take(["a", "b"], which) == ["b", "a"]


@pytest.mark.parametrize("value", [1, np.int8(3), np.uint64(7)])
def test_a_whole_number_becomes_an_int(value):
    assert type(validation.check_whole_number(value, "k")) is int


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "k must be at least 1, but 0 was given"),
        (True, TypeError, "k must be a whole number, but True was given"),
        (np.True_, TypeError, "k must be a whole number"),
        (2.5, TypeError, r"k must be a whole number, but 2\.5 was given"),
        (2.0, TypeError, "k must be a whole number"),
        ("3", TypeError, "k must be a whole number, but '3' was given"),
    ],
)
def test_what_is_no_whole_number_is_refused(value, error, message):
    with pytest.raises(error, match=message):
        validation.check_whole_number(value, "k")


@pytest.mark.parametrize(
    ("value", "exclusive", "error", "message"),
    [
        (-0.1, False, ValueError, r"c must be finite and at least 0, but -0\.1 was given"),
        (0.0, True, ValueError, "c must be finite and above 0, but 0.0 was given"),
        (np.nan, False, ValueError, "c must be finite"),
        (np.inf, False, ValueError, "c must be finite"),
        (True, False, TypeError, "c must be a number, but True was given"),
        ("1", False, TypeError, "c must be a number, but '1' was given"),
        (1j, False, TypeError, "c must be a number"),
    ],
)
def test_what_is_no_number_in_range_is_refused(value, exclusive, error, message):
    with pytest.raises(error, match=message):
        validation.check_number(value, "c", minimum=0, exclusive=exclusive)


def test_a_number_in_range_becomes_a_float():
    for value in (0, 0.0, np.float32(0.5), 3):
        assert type(validation.check_number(value, "c", minimum=0)) is float


def test_a_choice_is_one_of_the_known():
    assert validation.check_choice("cosine", "norm", ["dice", "cosine"]) == "cosine"
    with pytest.raises(ValueError, match=r"norm must be one of 'dice', 'cosine', but 'cosin' was g"
                                         r"iven\. Did you mean 'cosine'\?"):  # fmt: skip
        validation.check_choice("cosin", "norm", ["dice", "cosine"])
    with pytest.raises(TypeError, match="norm must be one of 'dice', but 3 was given"):
        validation.check_choice(3, "norm", ["dice"])


def test_values_that_are_no_names_are_listed_after_the_names():
    message = r"^init must be one of 'zero', 'one', an array or a form, but 'x' was given\.$"
    with pytest.raises(ValueError, match=message):
        validation.check_choice("x", "init", ["zero", "one"], ["an array", "a form"])
    with pytest.raises(ValueError, match="'zero' or an array, but 'x' was given"):
        validation.check_choice("x", "init", ["zero"], ["an array"])


def test_one_class_is_refused_by_name():
    with pytest.raises(ValueError, match="y has one class, 7; at least two classes are needed"):
        validation.check_classes(np.array([7, 7]))
    classes, numbers = validation.check_classes(np.array(["b", "a", "b"]))
    assert classes.tolist() == ["a", "b"]
    assert numbers.tolist() == [1, 0, 1]


def test_samples_are_the_same_each_time():
    np.testing.assert_array_equal(validation.sample_rows(5, 10), np.arange(5))
    drawn = validation.sample_rows(1000, 10)
    assert len(np.unique(drawn)) == 10
    np.testing.assert_array_equal(drawn, validation.sample_rows(1000, 10))


def test_a_sample_keeps_the_share_of_each_class_and_two_rows_of_the_rare():
    labels = np.repeat([0, 1, 2], [700, 297, 3])
    drawn = validation.sample_rows(1000, 100, labels=labels)
    assert np.bincount(labels[drawn]).tolist() == [70, 30, 2]
    assert (np.diff(drawn) > 0).all()
