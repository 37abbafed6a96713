"""Triplets are row numbers, from an array, a frame or a file; other input is refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import likewise as lw
from likewise.supervision import TripletStream, check_triplet_rows, check_triplets, check_weights

ROWS = np.arange(40.0).reshape(20, 2)
FOUR_ROWS = np.zeros((4, 2))


@pytest.fixture
def table(rng):
    triplets = rng.integers([20, 10, 10], size=(250, 3)) + np.array([0, 0, 10])
    return triplets, rng.random(250)


def as_columns(triplets, weights=None):
    """Return columns in an order of their own, and one that nobody asked for."""
    query, closer, farther = triplets.T
    more = {} if weights is None else {"weight": weights}
    return {"farther": farther, "note": np.arange(len(query)), "query": query, **more,
            "closer": closer}  # fmt: skip


def given_as(kind, columns, folder):
    pandas = pytest.importorskip("pandas")
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(columns)
    frame = pandas.DataFrame(columns)
    if kind == "pandas":
        return frame.set_index("note")
    pytest.importorskip("pyarrow")
    path = folder / f"triplets.{kind}"
    frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False)
    return str(path) if kind == "csv" else path


FORMS = ["pandas", "polars", "parquet", "csv"]


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_frame_or_a_file_is_the_array(table, tmp_path, kind, weighted):
    triplets, weights = table[0], table[1] if weighted else None
    given = given_as(kind, as_columns(triplets, weights), tmp_path)
    stream = TripletStream(given, ROWS, ROWS)
    assert len(stream) == 250
    blocks = list(stream.blocks(64))
    assert [len(block) for block, _ in blocks] == [64, 64, 64, 58]
    assert_array_equal(np.concatenate([block for block, _ in blocks]), triplets)
    found = np.concatenate([part for _, part in blocks])
    assert_array_equal(found, np.ones(250) if weights is None else weights)
    assert next(iter(stream.blocks(300)))[0].dtype == np.int64  # it can be read again


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("door", ["fit_triplets", "partial_fit_triplets"])
def test_a_learner_learns_the_same_from_every_form(table, tmp_path, kind, door):
    triplets, weights = table
    given = given_as(kind, as_columns(triplets, weights), tmp_path)
    rows = np.random.default_rng(1).normal(size=(20, 3))
    wanted = lw.AROMA().fit_triplets(triplets, rows, weights=weights)
    found = getattr(lw.AROMA(), door)(given, rows)
    assert_array_equal(found.similarity_.W, wanted.similarity_.W)
    assert found.n_triplets_seen_ == 250


@pytest.mark.parametrize("kind", FORMS)
def test_a_mistake_is_found_before_the_first_triplet_is_used(table, tmp_path, kind):
    triplets = table[0].copy()
    triplets[200, 2] = 77
    given = given_as(kind, as_columns(triplets), tmp_path)
    model = lw.AROMA()
    with pytest.raises(ValueError, match="points at row 77, but items has 20 rows"):
        model.partial_fit_triplets(given, ROWS)
    assert not hasattr(model, "state_")


@pytest.mark.parametrize("kind", FORMS)
def test_columns_that_are_missing_are_named(table, tmp_path, kind):
    columns = as_columns(table[0])
    del columns["closer"]
    with pytest.raises(ValueError, match=r"needs the columns .* but has no 'closer'"):
        TripletStream(given_as(kind, columns, tmp_path), ROWS, ROWS)


@pytest.mark.parametrize("kind", FORMS)
def test_bad_weights_in_a_column_are_refused(table, tmp_path, kind):
    weights = table[1].copy()
    weights[3] = -1
    with pytest.raises(ValueError, match=r"weights\[3\] is -1"):
        TripletStream(given_as(kind, as_columns(table[0], weights), tmp_path), ROWS, ROWS)


@pytest.mark.parametrize("kind", FORMS)
def test_an_empty_table_is_refused(tmp_path, kind):
    given = given_as(kind, as_columns(np.empty((0, 3), int)), tmp_path)
    with pytest.raises(ValueError, match="triplets has no rows"):
        TripletStream(given, ROWS, ROWS)


@pytest.mark.parametrize("dtype", ["Int64", "uint8", "uint64", "int32"])
def test_columns_of_whole_numbers_of_any_kind_are_taken(table, dtype):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(as_columns(table[0])).astype({"query": dtype})
    assert_array_equal(next(TripletStream(frame, ROWS, ROWS).blocks(250))[0], table[0])


def test_a_gap_in_a_csv_file_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "gap.csv"
    path.write_text("query,closer,farther\n0,1,2\n0,,2\n")
    with pytest.raises(TypeError, match="whole row numbers"):
        TripletStream(path, ROWS, ROWS)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"must be a \.parquet or \.csv file"):
        TripletStream(tmp_path / "triplets.txt", ROWS, ROWS)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        TripletStream(tmp_path / "triplets.csv", ROWS, ROWS)
    (tmp_path / "odd.parquet").write_bytes(b"not a table at all")
    with pytest.raises(ValueError, match=r"odd\.parquet"):
        TripletStream(tmp_path / "odd.parquet", ROWS, ROWS)
    (tmp_path / "t.csv").write_text("query,closer,farther\n0,1,2\n")
    with pytest.raises(ValueError, match="weights must be None with a file"):
        TripletStream(tmp_path / "t.csv", ROWS, ROWS, weights=[1.0])


def test_a_long_file_is_read_a_block_at_a_time(tmp_path, rng):
    pytest.importorskip("pyarrow")
    triplets = rng.integers([20, 10, 10], size=(150_000, 3)) + np.array([0, 0, 10])
    path = given_as("parquet", as_columns(triplets), tmp_path)
    blocks = [block for block, _ in TripletStream(path, ROWS, ROWS).blocks(1000)]
    assert max(map(len, blocks)) == 1000
    assert_array_equal(np.concatenate(blocks), triplets)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1.0], ValueError, "triplets has 2 rows and weights has 1"),
        ([[1.0], [1.0]], ValueError, "weights must be 1-D"),
        ([1.0, -0.5], ValueError, r"weights\[1\] is -0.5"),
        ([np.nan, 1.0], ValueError, r"weights\[0\] is nan"),
        ([1.0, np.inf], ValueError, r"weights\[1\] is inf"),
        (["a", "b"], TypeError, "weights must be numbers"),
    ],
)
def test_weights_that_are_none_are_refused(weights, error, message):
    with pytest.raises(error, match=message):
        check_weights(weights, [[0, 1, 2], [0, 2, 1]])
    with pytest.raises(error, match=message):
        lw.OASIS().fit_triplets([[0, 1, 2], [0, 2, 1]], ROWS, weights=weights)


def test_weights_are_ones_where_none_are_given():
    assert_array_equal(check_weights(None, [[0, 1, 2]] * 3), np.ones(3))
    assert_array_equal(check_weights([True, 2], [[0, 1, 2]] * 2), [1.0, 2.0])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64])
def test_row_numbers_of_any_kind_are_taken(dtype):
    given = np.array([[0, 1, 2], [3, 3, 0]], dtype)
    found = check_triplets(given, FOUR_ROWS, csr_array(FOUR_ROWS))
    assert found.dtype == np.int64
    assert_array_equal(found, given)
    assert not np.shares_memory(found, given)


def test_queries_and_items_are_counted_apart():
    assert len(check_triplets([[0, 8, 2]], FOUR_ROWS[:1], ["a"] * 9)) == 1
    with pytest.raises(ValueError, match="points at row 8, but queries has 4 rows"):
        check_triplets([[8, 0, 2]], FOUR_ROWS, ["a"] * 9)


@pytest.mark.parametrize(
    ("triplets", "error", "message"),
    [
        ([[0, 1]], ValueError, r"three columns .* but has shape \(1, 2\)"),
        ([0, 1, 2], ValueError, r"three columns .* but has shape \(3,\)"),
        ([], ValueError, "three columns"),
        (np.empty((0, 3), int), ValueError, "triplets has no rows"),
        ([[0.0, 1.0, 2.0]], TypeError, "whole row numbers, but float64"),
        ([[True, False, True]], TypeError, "but bool"),
        ([["0", "1", "2"]], TypeError, "whole row numbers"),
        ([[0, 1, 2], [4, 1, 2]], ValueError, "points at row 4, but queries has 4 rows"),
        ([[0, 1, 9]], ValueError, "points at row 9, but items has 4 rows"),
        ([[0, -1, 2]], ValueError, "points at row -1, but items"),
        ([[0, 1, 2], [0, 3, 3]], ValueError, r"triplets\[1\] prefers item 3 to itself"),
    ],
)
def test_what_cannot_be_triplets_is_refused(triplets, error, message):
    with pytest.raises(error, match=message):
        check_triplets(triplets, FOUR_ROWS, FOUR_ROWS)


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_only_rows_that_are_used_must_be_finite(make):
    queries, items = np.eye(2), np.eye(9)
    items[8, 8] = np.nan
    stream = TripletStream([[0, 1, 2], [1, 4, 3]], queries, items)
    check_triplet_rows(stream, make(queries), make(items))
    items[4, 5] = np.inf
    with pytest.raises(ValueError, match="items holds infinity in row 4, column 5"):
        check_triplet_rows(stream, make(queries), make(items))
    queries[1, 0] = np.nan
    with pytest.raises(ValueError, match="queries holds NaN in row 1, column 0"):
        check_triplet_rows(stream, make(queries), make(items))


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_rows_fewer_than_the_row_numbers_are_all_checked(make):
    rows = np.eye(4)
    rows[3, 1] = np.nan
    stream = TripletStream([[0, 1, 2], [1, 2, 0]], rows, rows)
    with pytest.raises(ValueError, match="queries holds NaN in row 3, column 1"):
        check_triplet_rows(stream, make(rows), None)
    with pytest.raises(ValueError, match="items holds NaN in row 3, column 1"):
        check_triplet_rows(stream, make(np.eye(4)), make(rows))


@pytest.mark.parametrize("form", ["read-only", "fortran", "strided"])
def test_kernels_get_triplets_in_one_layout(form):
    """Kernels are compiled anew for arrays that are read-only or laid out in another way."""
    given = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1]])
    if form == "read-only":
        given.flags.writeable = False
    given = {"fortran": np.asfortranarray(given), "strided": given[::2]}.get(form, given)
    rows = np.eye(3)
    found = check_triplets(given, rows, rows)
    assert found.flags.c_contiguous
    assert found.flags.writeable
    assert not np.shares_memory(found, given)
    assert_array_equal(found, given)
