"""Tables from every kind of file, and a sentence for what is none."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, ipc
from scipy.sparse import csr_matrix, save_npz
from sklearn.datasets import dump_svmlight_file

from likewise.tables import read_table

FRAME = pd.DataFrame({"a": [1.5, None, 3.0], "b": ["x", "y", "x"], "class": ["u", "v", "u"]})


def write_ipc_stream(path):
    with ipc.new_stream(path, pa.Schema.from_pandas(FRAME)) as stream:
        stream.write_table(pa.Table.from_pandas(FRAME))


WRITERS = {
    ".csv": lambda path: FRAME.to_csv(path, index=False),
    ".tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda path: FRAME.to_parquet(path, index=False),
    ".feather": lambda path: feather.write_feather(FRAME, path),
    ".arrow": write_ipc_stream,
}


@pytest.mark.parametrize("ending", WRITERS)
def test_tables_are_read_with_their_labels(tmp_path, ending):
    path = tmp_path / f"shoes{ending}"
    WRITERS[ending](path)
    table = read_table(path, target="class")
    assert (table.name, len(table), table.target) == ("shoes", 3, "class")
    assert table.rows.column_names[:2] == ["a", "b"]
    assert table.rows.column("a").to_pylist() == [1.5, None, 3.0]
    assert table.labels.tolist() == ["u", "v", "u"]


def test_arrays_are_read_without_pickle(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "x.npy", X)
    assert read_table(tmp_path / "x.npy").rows.column("x1").to_pylist() == [1, 3, 5]
    np.savez(tmp_path / "x.npz", X=X, y=np.array([0, 1, 0]))
    table = read_table(tmp_path / "x.npz")
    assert table.labels.tolist() == [0, 1, 0]
    np.savez(tmp_path / "only.npz", rows=X)
    assert len(read_table(tmp_path / "only.npz")) == 3
    np.save(tmp_path / "bad.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"bad\.npy cannot be read as \.npy"):
        read_table(tmp_path / "bad.npy")


def test_sparse_files_are_read_sparse(tmp_path):
    X = csr_matrix([[0, 1.0], [2, 0], [0, 3]])
    dump_svmlight_file(X, [1, -1, 1], str(tmp_path / "x.svmlight"))
    table = read_table(tmp_path / "x.svmlight", n_features=2)
    assert table.labels.tolist() == [1, -1, 1]
    save_npz(tmp_path / "x.npz", X)
    for read in (table, read_table(tmp_path / "x.npz")):
        np.testing.assert_array_equal(read.rows.toarray()[:, -2:], X.toarray())


def test_data_sets_are_read_by_name():
    table = read_table("digits")
    assert table.image_shape == (8, 8)
    assert table.labels[:3].tolist() == ["0", "1", "2"]
    with pytest.raises(ValueError, match="digits has no test part"):
        read_table("digits/test")


def test_question_marks_are_missing_cells(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,?\n?,2\n")
    rows = read_table(tmp_path / "x.csv").rows
    assert rows.column("a").to_pylist() == [1, None]
    assert rows.column("b").to_pylist() == [None, 2]


def test_rows_without_a_label_are_left_out_and_that_is_said(tmp_path):
    (tmp_path / "x.csv").write_text("a,c\n1,u\n2,\n3,v\n")
    table = read_table(tmp_path / "x.csv", target="c")
    assert table.rows.column("a").to_pylist() == [1, 3]
    assert table.notes == ("1 row has no c and is left out.",)


def test_pictures_beside_the_table_are_found(tmp_path):
    (tmp_path / "x.csv").write_text("photo\nred.png\n")
    assert read_table(tmp_path / "x.csv").rows.column("photo")[0].as_py() == str(
        tmp_path / "red.png"
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "", "is empty"),
        ("x.csv", "a,b\n", "has column names but no rows"),
        ("x.csv", "a,b\n1,2\n1,2,3\n", r"cannot be read as \.csv"),
        ("x.parquet", "not parquet", r"cannot be read as \.parquet"),
        ("x.feather", "not feather", r"cannot be read as \.feather"),
        ("x.npz", "not npz", "x.npz"),
        ("x.svm", "not svmlight", "cannot be read as svmlight"),
        ("x.xlsx", "anything", r"cannot be read as \.xlsx"),
        ("x.doc", "anything", r"ends in '.doc'; one of \.csv"),
    ],
)
def test_what_is_no_table_gets_a_sentence(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)


def test_what_is_not_there_gets_the_nearest_name(tmp_path):
    (tmp_path / "shoes.csv").write_text("a\n1\n")
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'shoes\.csv'\?"):
        read_table(tmp_path / "shoe.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(ValueError, match=r"target must be one of 'a', but 'aa' was given"):
        read_table(tmp_path / "shoes.csv", target="aa")


def test_measurements_are_numbers_and_no_classes(tmp_path, rng):
    path = tmp_path / "x.csv"
    pd.DataFrame({"a": range(50), "y": rng.normal(size=50)}).to_csv(path, index=False)
    assert read_table(path, target="y").labels.dtype == np.float64
    pd.DataFrame({"a": [1, 2], "y": [1.0, 2.0]}).to_csv(path, index=False)
    assert read_table(path, target="y").labels.dtype.kind == "i"
