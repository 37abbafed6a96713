"""Export of a similarity and its items, for search engines without likewise."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from likewise._validation import check_choice, n_rows
from likewise.exceptions import NotFoldableError, require_extra
from likewise.index._checks import check_ids, check_items
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


def export(
    similarity: Similarity,
    folder: str | os.PathLike[str],
    to: str,
    ids: Any = None,
    items: Any = None,
    offsets: ItemOffsets | None = None,
) -> list[Path]:
    """Write the files that another program needs to search by a similarity, with instructions.

    Parameters
    ----------
    similarity : Bilinear or Mahalanobis
        A similarity that folds.
    folder : str or path-like
        Created if missing; files of the same names are replaced.
    to : {"numpy", "faiss", "usearch", "pgvector"}
    ids, items : optional
        Without them only the map of queries is written.
    offsets : ItemOffsets, optional
        Offsets that move items before they are written.

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
    rows = None
    if items is not None:
        names = check_ids(range(n_rows(items)) if ids is None else ids)
        rows = check_items(similarity, items, len(names))
        check_offsets(offsets, similarity, rows.shape[1])
        rows, _ = ActiveOffsets(offsets).apply(names, rows, similarity)
        rows = np.asarray(to_dense(plan.fold_items(rows)), np.float32)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = [_save_array(target / "fold.npy", _query_map(plan))]
    if rows is not None:
        written += _WRITERS[to](target, names, rows, plan)
    page = target / "README.md"
    page.write_text(_page(plan, to, with_items=rows is not None), encoding="utf8")
    return [*written, page]


def _query_map(plan: FoldPlan) -> np.ndarray:
    """Return the matrix that a query is multiplied by."""
    similarity = plan.similarity
    if isinstance(similarity, Mahalanobis):
        return similarity.L.T
    assert isinstance(similarity, Bilinear)
    return similarity.W


def _save_array(path: Path, array: np.ndarray) -> Path:
    np.save(path, np.ascontiguousarray(array, dtype=np.float32), allow_pickle=False)
    return path


def _save_ids(folder: Path, ids: list[Any]) -> Path:
    path = folder / "ids.json"
    path.write_text(json.dumps(ids), encoding="utf8")
    return path


def _numpy(folder: Path, ids: list[Any], rows: np.ndarray, plan: FoldPlan) -> list[Path]:
    return [_save_ids(folder, ids), _save_array(folder / "items.npy", rows)]


def _faiss(folder: Path, ids: list[Any], rows: np.ndarray, plan: FoldPlan) -> list[Path]:
    faiss = require_extra("faiss", "faiss", "an export to faiss")
    kind = faiss.IndexFlatL2 if plan.metric == "euclidean" else faiss.IndexFlatIP
    index = kind(rows.shape[1])
    index.add(rows)
    path = folder / "items.faiss"
    faiss.write_index(index, str(path))
    return [_save_ids(folder, ids), path]


def _usearch(folder: Path, ids: list[Any], rows: np.ndarray, plan: FoldPlan) -> list[Path]:
    usearch = require_extra("usearch.index", "usearch", "an export to usearch")
    index = usearch.Index(ndim=rows.shape[1], metric=USEARCH_METRICS[plan.metric], dtype="f32")
    index.add(np.arange(len(rows), dtype=np.uint64), rows)
    path = folder / "items.usearch"
    index.save(str(path))
    return [_save_ids(folder, ids), path]


def _pgvector(folder: Path, ids: list[Any], rows: np.ndarray, plan: FoldPlan) -> list[Path]:
    kind = "bigint" if all(isinstance(identifier, int) for identifier in ids) else "text"
    path = folder / "items.sql"
    with path.open("w", encoding="utf8") as file:
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
    return [path]


def _copy_escaped(identifier: Any) -> str:
    """Return an id with the escapes of PostgreSQL's COPY."""
    text = str(identifier).replace("\\", "\\\\")
    return text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


_WRITERS: dict[str, Callable[..., list[Path]]] = {
    "numpy": _numpy,
    "faiss": _faiss,
    "usearch": _usearch,
    "pgvector": _pgvector,
}


def _page(plan: FoldPlan, to: str, *, with_items: bool) -> str:
    search = _SEARCHES[to].format(
        scores=_SCORES[plan.metric], operator=PGVECTOR_OPERATORS[plan.metric].symbol
    )
    return _PAGE.format(
        similarity=plan.similarity,
        to=to,
        metric=plan.metric.replace("_", " "),
        times="@" if _query_map(plan).ndim == 2 else "*",
        search=search if with_items else "",
        stored=_STORED[plan.stored],
    )


_PAGE = """# {similarity!r}, for {to}

Metric of the engine: {metric}. Multiply each query before a search:

```python
import json
import numpy as np

fold = np.load("fold.npy")
query = ...  # one row of numbers
folded = (query {times} fold).astype(np.float32)
{search}```

{stored}
"""

_STORED = {
    "given": "Items are stored as given. A new similarity changes only `fold.npy`.",
    "unit": "Items are stored at unit length. A new similarity changes only `fold.npy`.",
    "folded": "Items are stored mapped by the similarity. For a new one, export them again.",
}

_SCORES: dict[Metric, str] = {
    "inner_product": "items @ folded",
    "cosine": "items @ folded / np.maximum(np.linalg.norm(items, axis=1), 1e-30)",
    "euclidean": "-np.linalg.norm(items - folded, axis=1)",
}

_SEARCHES = {
    "numpy": """items, ids = np.load("items.npy"), json.load(open("ids.json"))
scores = {scores}
print([ids[i] for i in np.argsort(-scores)[:10]])
""",
    "faiss": """import faiss

index, ids = faiss.read_index("items.faiss"), json.load(open("ids.json"))
values, rows = index.search(folded[None], 10)
print([ids[i] for i in rows[0]])
""",
    "usearch": """from usearch.index import Index

index, ids = Index.restore("items.usearch", view=True), json.load(open("ids.json"))
print([ids[i] for i in index.search(folded, 10).keys])
""",
    "pgvector": """# once: psql -f items.sql
import psycopg
from pgvector.psycopg import register_vector

db = psycopg.connect("postgresql://...")
register_vector(db)
query = "select id from items order by embedding {operator} %s limit 10"
print(db.execute(query, (folded,)).fetchall())
""",
}
