"""Tables and their labels, read from files or named data sets."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from likewise._validation import did_you_mean, is_sparse, n_rows, unknown_name
from likewise.datasets import Dataset, dataset_from_arrays, load, names, read_arrays
from likewise.exceptions import require_extra
from likewise.tables._delimited import Format, read_delimited, uncompressed_ending
from likewise.tables._frame import is_image_file
from likewise.tables._target import target_values
from likewise.tables._workbook import read_workbook

_TEST = "/test"
_COMPRESSED = (".gz", ".zip")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file or data set, and their labels.

    Attributes
    ----------
    name : str
        Name of the data set, or of the file without its ending.
    rows : pyarrow.Table or CSR matrix
        Without the target.
    labels : ndarray or None
        Classes as integers or text; numbers to predict as floats.
    target : str or None
        Name of the column of the labels.
    image_shape : (int, int) or None
        Where the numbers are pixels.
    notes : tuple of str
        Rows that were left out, in sentences.
    reading : tuple of str
        Encoding, separators and codes that were found in a text file, or the sheet of a workbook,
        in sentences.
    """

    name: str
    rows: Any
    labels: np.ndarray | None = None
    target: str | None = None
    image_shape: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()

    def __len__(self) -> int:
        return n_rows(self.rows)

    def with_target(self, target: str, task: str = "auto") -> "Table":
        """Return the table with a column as labels; rows without a label are left out.

        Parameters
        ----------
        target : str
            The column, or the present target.
        task : {"auto", "classification", "regression"}, default="auto"
            Whether the labels are classes, or numbers to predict; inferred by default.
        """
        if self.target == target and self.labels is not None:
            return replace(self, labels=target_values(self.labels, target, task))
        columns = [] if is_sparse(self.rows) else list(self.rows.column_names)
        if target not in columns:
            raise unknown_name(target, "target", columns or [self.target or "label"])
        values = self.rows.column(target).to_pylist()
        labeled = np.array([value is not None and value == value for value in values])
        if not labeled.any():
            raise ValueError(f"target {target!r} is missing in every row.")
        rows, notes = self.rows.drop_columns([target]), self.notes
        if not labeled.all():
            rows = rows.filter(labeled)
            n = int((~labeled).sum())
            what = (
                f"1 row has no {target} and is" if n == 1 else f"{n} rows have no {target} and are"
            )
            notes = (*notes, f"{what} left out.")
        labels = target_values(
            [value for value, kept in zip(values, labeled, strict=True) if kept], target, task
        )
        return Table(self.name, rows, labels, target, self.image_shape, notes, self.reading)


def read_table(
    source: str | os.PathLike[str],
    *,
    target: str | None = None,
    n_features: int | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Read a table from a file, or a data set by name.

    Parameters
    ----------
    source : str or path-like
        A file that ends in .csv, .tsv or .txt (also compressed, .csv.gz or .csv.zip), .xlsx,
        .parquet, .arrow, .feather, .npy, .npz or .svmlight (.svm, .libsvm); or one of
        `likewise.datasets.names()`, with ``/test`` appended for its test part.
    target : str, optional
        The column of the labels. Data sets, .npz files with y and svmlight files need none.
    n_features : int, optional
        The number of features of an svmlight file, which does not store it.
    sep : str, optional
        The separator of a text file: one character, or ``tab``. Detected by default among comma,
        semicolon, tab and vertical bar.
    decimal : {",", "."}, optional
        The decimal separator of a text file; detected by default. The other one, spaces and
        apostrophes may separate thousands.
    encoding : str, optional
        The encoding of a text file, such as ``cp1252``. By default a byte-order mark decides, then
        UTF-8 is tried, then cp1252.

    Returns
    -------
    Table

    Examples
    --------
    >>> table = read_table("wine")
    >>> table.name, len(table), table.target
    ('wine', 178, 'target')
    """
    require_extra("pyarrow", "cli", "reading a table")
    given = Format(sep, decimal, encoding)
    check_source(source)
    path = Path(source)
    if path.is_file():
        if path.stat().st_size == 0:
            raise ValueError(f"{path} is empty.")
        table = _read_file(path, n_features, given)
    else:
        table = _from_dataset(load(str(source).removesuffix(_TEST)), str(source).endswith(_TEST))
    if len(table) == 0:
        raise ValueError(f"{source} has column names but no rows.")
    return table if target is None else table.with_target(target)


def check_source(source: str | os.PathLike[str]) -> None:
    """Refuse a source that is neither a file nor the name of a data set, without reading it."""
    path = Path(source)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; a file is needed.")
    if path.is_file() or str(source).removesuffix(_TEST) in names():
        return
    folder = path.parent
    files = [p.name for p in folder.iterdir()] if folder.is_dir() else []
    hint = did_you_mean(path.name, files + names())
    raise FileNotFoundError(f"there is no file {source}, nor a data set of that name.{hint}")


def _read_file(path: Path, n_features: int | None, given: Format) -> Table:
    import pyarrow

    ending = path.suffix.lower()
    if ending in _COMPRESSED:
        inner = uncompressed_ending(path)
        ending = inner if inner in _TEXT else inner + ending
    if ending not in _ENDINGS:
        known = f"{', '.join(_ENDINGS)}, or {_TEXT[0]} with {' or '.join(_COMPRESSED)}"
        raise ValueError(f"{path} ends in {ending or 'nothing'!r}; one of {known} is needed.")
    try:
        if ending in _TEXT:
            rows, reading = read_delimited(path, ending, given)
            table = Table(_stem(path), rows, reading=reading)
        elif ending in _SVMLIGHT:
            return _svmlight(path, n_features)
        else:
            table = _READERS[ending](path)
    except (pyarrow.ArrowException, UnicodeDecodeError, EOFError) as error:
        what = str(error).splitlines()[0][:200]
        raise ValueError(f"{path} cannot be read as {ending}: {what}") from error
    if is_sparse(table.rows):
        return table
    return replace(table, rows=_with_image_paths(table.rows, path.parent))


def _stem(path: Path) -> str:
    """Return the name of a file without its endings."""
    if path.suffix.lower() in _COMPRESSED:
        path = path.with_suffix("")
    return path.stem if path.suffix.lower() in _TEXT else path.name


def _with_image_paths(rows: Any, folder: Path) -> Any:
    """Return the table with names of images as paths relative to its folder."""
    import pyarrow

    for place, name in enumerate(rows.column_names):
        column = rows.column(place)
        if column.type != pyarrow.string():
            continue
        values = column.to_pylist()
        first = next((value for value in values if value), "")
        if is_image_file(first):
            paths = [value and str(folder / value) for value in values]
            rows = rows.set_column(place, name, pyarrow.array(paths, pyarrow.string()))
    return rows


def _parquet(path: Path) -> Table:
    from pyarrow import parquet

    return Table(path.stem, parquet.read_table(path))


def _arrow(path: Path) -> Table:
    from pyarrow import ArrowInvalid, feather, ipc

    try:
        return Table(path.stem, feather.read_table(path))
    except ArrowInvalid:  # Arrow's streaming format
        with ipc.open_stream(path) as stream:
            return Table(path.stem, stream.read_all())


def _npy(path: Path) -> Table:
    try:
        array = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as .npy: {error}") from error
    return Table(path.stem, _array_rows(array, str(path)))


def _npz(path: Path) -> Table:
    arrays = read_arrays(path)
    if "y" in arrays:
        return _from_dataset(dataset_from_arrays(path.stem, arrays), False)
    if {"data", "indices", "indptr", "shape"} <= set(arrays):  # of scipy.sparse.save_npz
        from scipy.sparse import load_npz

        return Table(path.stem, load_npz(path).tocsr())
    tables = [name for name, array in arrays.items() if array.ndim == 2]
    if "X" not in arrays and len(tables) != 1:
        raise ValueError(f"{path} holds {', '.join(arrays) or 'nothing'}; an X is needed.")
    return Table(path.stem, _array_rows(arrays["X" if "X" in arrays else tables[0]], str(path)))


def _svmlight(path: Path, n_features: int | None = None) -> Table:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(os.fspath(path), n_features=n_features)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as svmlight: {error}") from error
    return Table(path.stem, X, target_values(y, "label"), "label")


def _xlsx(path: Path) -> Table:
    rows, reading = read_workbook(path)
    return Table(path.stem, rows, reading=reading)


_TEXT = (".csv", ".tsv", ".txt")
_SVMLIGHT = (".svmlight", ".svm", ".libsvm")
_READERS: dict[str, Callable[[Path], Table]] = {
    ".xlsx": _xlsx,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".npy": _npy,
    ".npz": _npz,
}
_ENDINGS = (*_TEXT, *_READERS, *_SVMLIGHT)


def _array_rows(array: np.ndarray, source: str, columns: Any = None) -> Any:
    import pyarrow

    if array.ndim > 2:  # images
        array = array.reshape(len(array), -1)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"{source} holds a {array.ndim}-D array of {array.dtype}; rows of numbers are needed."
        )
    columns = columns or [f"x{column}" for column in range(array.shape[1])]
    return pyarrow.table({name: array[:, place] for place, name in enumerate(columns)})


def _from_dataset(data: Dataset, test: bool) -> Table:
    import pyarrow

    X, y = (data.X_test, data.y_test) if test else (data.X, data.y)
    if X is None or y is None:
        raise ValueError(f"{data.name} has no test part.")
    if isinstance(X, list):
        if not all(isinstance(row, str) for row in X):
            raise ValueError(f"{data.name} holds series; a table is needed.")
        rows = pyarrow.table({"text": X})
    else:
        rows = X if is_sparse(X) else _array_rows(np.asarray(X), data.name, data.feature_names)
    labels = y if data.target_names is None else np.array(data.target_names)[y]
    shape = data.extra.get("image_shape")
    return Table(
        data.name, rows, labels, "target", None if shape is None else (int(shape[0]), int(shape[1]))
    )
