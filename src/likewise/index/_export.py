"""Export of a similarity, its items and the encoding of queries, for other search engines."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from likewise import _files
from likewise._validation import check_choice, n_rows
from likewise.exceptions import NotFoldableError, require_extra
from likewise.index._checks import check_ids, check_items
from likewise.index._export_page import export_page
from likewise.index._fold_plan import FoldPlan, fold_plan
from likewise.index._offsets import ActiveOffsets, check_offsets
from likewise.index._pgvector import PGVECTOR_OPERATORS
from likewise.index.engines import ALL_METRICS, ENGINES, USEARCH_METRICS
from likewise.similarities import Bilinear, ItemOffsets, Mahalanobis, Metric, Similarity, to_dense

_METRICS: dict[str, tuple[Metric, ...]] = {
    "numpy": ALL_METRICS,
    "faiss": ENGINES["faiss"].metrics,
    "usearch": ALL_METRICS,
    "pgvector": ALL_METRICS,
}
EXPORTS = tuple(_METRICS)


_LIST = "export.json"  # names the files of an export, which the next one may replace or remove
_ITEM_FILES = {
    "numpy": ("ids.json", "items.npy"),
    "faiss": ("ids.json", "items.faiss"),
    "usearch": ("ids.json", "items.usearch"),
    "pgvector": ("items.sql",),
}
_ENCODING, _COLUMNS = "encoding.json", "columns.safetensors"
_ALL_FILES = {
    "fold.npy", _ENCODING, _COLUMNS, "README.md", _LIST,
    *(name for names in _ITEM_FILES.values() for name in names),
}  # fmt: skip


def export(
    similarity: Similarity,
    folder: str | os.PathLike[str],
    to: str,
    ids: Any = None,
    items: Any = None,
    offsets: ItemOffsets | None = None,
    columns: Any = None,
    overwrite: bool = True,
) -> list[Path]:
    """Write the files that another program needs to search by a similarity, with instructions.

    Parameters
    ----------
    similarity : Bilinear or Mahalanobis
        A similarity that folds.
    folder : str or path-like
        Created if missing. Files of an earlier export are replaced, or removed if they are not
        written again.
    to : {"numpy", "faiss", "usearch", "pgvector"}
    ids, items : optional
        Without them only the map of queries is written.
    offsets : ItemOffsets, optional
        Offsets that move items before they are written.
    columns : tables.Columns, optional
        Encoding of the rows of queries. Where it only centers and scales numbers, it is written as
        numbers, and a search does not need likewise; otherwise it is written as a file for
        `likewise.load`. Without it queries are rows of numbers.
    overwrite : bool, default=True
        Whether files that are not from an earlier export are replaced, or refused.

    Returns
    -------
    list of Path
        The written files.
    """
    check_choice(to, "to", EXPORTS)
    if not isinstance(similarity, Bilinear | Mahalanobis):
        raise NotFoldableError(
            f"similarity is {similarity!r}, which does not fold into another engine: use an Index."
        )
    plan = fold_plan(similarity, "auto", None, _METRICS[to], to)
    if plan.reranks:
        raise NotFoldableError(
            f"norm {similarity.norm!r} does not fold into another engine: use an Index."  # type: ignore[union-attr]
        )
    check_offsets(offsets, similarity, None)
    encoding = None if columns is None else _affine_encoding(columns, similarity)
    rows = None
    if items is not None:
        names = check_ids(range(n_rows(items)) if ids is None else ids)
        rows = check_items(similarity, items, len(names))
        check_offsets(offsets, similarity, rows.shape[1])
        rows, _ = ActiveOffsets(offsets).apply(names, rows, similarity)
        rows = np.asarray(to_dense(plan.fold_items(rows)), np.float32)
    files = ["fold.npy"]
    if columns is not None:
        files.append(_COLUMNS if encoding is None else _ENCODING)
    if rows is not None:
        files += _ITEM_FILES[to]
    files += ["README.md", _LIST]
    target = Path(folder)
    stale = _stale_files(target, files, overwrite=overwrite)
    target.mkdir(parents=True, exist_ok=True)
    fold = _query_map(plan)
    _save_array(target / "fold.npy", fold)
    if encoding is not None:
        _save_json(target / _ENCODING, encoding)
    elif columns is not None:
        _files.save(columns, target / _COLUMNS)
    if rows is not None:
        _WRITERS[to](target, names, rows, plan)
    page = export_page(plan, to, fold.ndim, columns, encoding, with_items=rows is not None)
    (target / "README.md").write_text(page, encoding="utf8")
    for path in stale:
        path.unlink(missing_ok=True)
    _save_json(target / _LIST, {"to": to, "metric": plan.metric, "files": files})
    return [target / name for name in files]


def _affine_encoding(columns: Any, similarity: Bilinear | Mahalanobis) -> dict[str, Any] | None:
    """Return the encoding of queries as JSON, or None if it is not affine; check its width."""
    if not hasattr(columns, "affine"):
        raise TypeError(f"columns must be tables.Columns, but {columns!r} was given.")
    width = getattr(similarity, "n_query_features", getattr(similarity, "n_features", None))
    n_features = len(columns.feature_names_)
    if width is not None and n_features != width:
        raise ValueError(
            f"columns makes {n_features} features, but the similarity takes queries of {width}."
        )
    affine = columns.affine()
    if affine is None:
        return None
    parts = {name: part.tolist() for name, part in affine._asdict().items()}
    return {"columns": list(columns.columns_), **parts}


def _stale_files(folder: Path, files: list[str], *, overwrite: bool) -> list[Path]:
    """Return files that only an earlier export has; refuse to replace others' files."""
    earlier: set[str] = set()
    try:
        listed = json.loads((folder / _LIST).read_text(encoding="utf8"))["files"]
        earlier = _ALL_FILES.intersection(listed)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not an export
    others = [name for name in files if name not in earlier and (folder / name).exists()]
    if others and not overwrite:
        raise FileExistsError(
            f"folder is {folder}, which holds {', '.join(others)} that no export has written: "
            "overwrite must be True to replace them."
        )
    return [folder / name for name in earlier.difference(files)]


def _query_map(plan: FoldPlan) -> np.ndarray:
    """Return the matrix that a query is multiplied by."""
    similarity = plan.similarity
    if isinstance(similarity, Mahalanobis):
        return similarity.L.T
    assert isinstance(similarity, Bilinear)
    return similarity.W


def _save_array(path: Path, array: np.ndarray) -> None:
    np.save(path, np.ascontiguousarray(array, dtype=np.float32), allow_pickle=False)


def _save_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf8")


def _numpy(folder: Path, ids: list[Any], rows: np.ndarray, plan: FoldPlan) -> None:
    _save_json(folder / "ids.json", ids)
    _save_array(folder / "items.npy", rows)


def _faiss(folder: Path, ids: list[Any], rows: np.ndarray, plan: FoldPlan) -> None:
    faiss = require_extra("faiss", "faiss", "an export to faiss")
    kind = faiss.IndexFlatL2 if plan.metric == "euclidean" else faiss.IndexFlatIP
    index = kind(rows.shape[1])
    index.add(rows)
    _save_json(folder / "ids.json", ids)
    faiss.write_index(index, str(folder / "items.faiss"))


def _usearch(folder: Path, ids: list[Any], rows: np.ndarray, plan: FoldPlan) -> None:
    usearch = require_extra("usearch.index", "usearch", "an export to usearch")
    index = usearch.Index(ndim=rows.shape[1], metric=USEARCH_METRICS[plan.metric], dtype="f32")
    index.add(np.arange(len(rows), dtype=np.uint64), rows)
    _save_json(folder / "ids.json", ids)
    index.save(str(folder / "items.usearch"))


def _pgvector(folder: Path, ids: list[Any], rows: np.ndarray, plan: FoldPlan) -> None:
    kind = "bigint" if all(isinstance(identifier, int) for identifier in ids) else "text"
    with (folder / "items.sql").open("w", encoding="utf8") as file:
        file.write("create extension if not exists vector;\n")
        file.write(
            f"create table items (id {kind} primary key, embedding vector({rows.shape[1]}));\n"
        )
        file.write("copy items (id, embedding) from stdin;\n")
        for identifier, row in zip(ids, rows, strict=True):
            numbers = ",".join(f"{value:.9g}" for value in row.tolist())
            file.write(f"{_copy_escaped(identifier)}\t[{numbers}]\n")
        file.write("\\.\n")
        index_class = PGVECTOR_OPERATORS[plan.metric].index_class
        file.write(f"create index on items using hnsw (embedding {index_class});\n")


def _copy_escaped(identifier: Any) -> str:
    """Return an id with the escapes of PostgreSQL's COPY."""
    text = str(identifier).replace("\\", "\\\\")
    return text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


_WRITERS: dict[str, Callable[..., None]] = {
    "numpy": _numpy,
    "faiss": _faiss,
    "usearch": _usearch,
    "pgvector": _pgvector,
}
