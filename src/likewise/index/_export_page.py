"""The page of an export: code that encodes a query, folds it and searches."""

import json
from typing import Any

from likewise.index._fold_plan import FoldPlan
from likewise.index._pgvector import PGVECTOR_OPERATORS
from likewise.similarities import Metric

_MAX_LISTED = 20  # columns


def export_page(
    plan: FoldPlan, to: str, fold_ndim: int, columns: Any, encoding: Any, *, with_items: bool
) -> str:
    """Return the page of an export.

    Parameters
    ----------
    plan : FoldPlan
    to : str
        The engine.
    fold_ndim : int
        Number of dimensions of the map of queries.
    columns : tables.Columns or None
        The encoding of queries.
    encoding : dict or None
        The encoding as numbers, if it is affine.
    with_items : bool
        Whether items were exported.
    """
    if columns is None:
        intro, code = _NUMBERS
    elif encoding is not None:
        intro, code = _AFFINE
    else:
        intro, code = _OTHER if columns.columns_ else _SPARSE
    code += _FOLD.format(times="@" if fold_ndim == 2 else "*")
    if with_items:
        code += _SEARCHES[to].format(
            scores=_SCORES[plan.metric], operator=PGVECTOR_OPERATORS[plan.metric].symbol
        )
    return (
        _PAGE.format(
            similarity=plan.similarity,
            to=to,
            metric=plan.metric.replace("_", " "),
            intro=intro.format(columns=_listed(columns)),
            code=_with_imports(code),
            stored=_STORED[plan.stored] if with_items else "",
        ).rstrip()
        + "\n"
    )


def _listed(columns: Any) -> str:
    names = [] if columns is None else [json.dumps(name) for name in columns.columns_]
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more


def _with_imports(code: str) -> str:
    """Return code after the imports of the modules that it uses."""
    imports = [line for module, line in _IMPORTS.items() if module in code]
    return "\n".join([*imports, "", code])


_IMPORTS = {
    "json.": "import json",
    "faiss.": "import faiss",
    "lw.": "import likewise as lw",
    "np.": "import numpy as np",
    "psycopg.connect": "import psycopg",
    "pyarrow.": "import pyarrow",
    "register_vector(": "from pgvector.psycopg import register_vector",
    "Index.restore": "from usearch.index import Index",
}

_PAGE = """# {similarity!r}, for {to}

Metric of the engine: {metric}. {intro}

```python
{code}```

{stored}
"""

_NUMBERS = (
    "A query is a row of the numbers that the similarity takes. Multiply it before a search:",
    """query = np.asarray(...)  # one row of numbers
""",
)

_AFFINE = (
    "A query is a row of the columns {columns}. Encode it, and multiply it before a search; "
    "likewise is not needed:",
    """row = ...  # a dict with the number of each column; None is missing
encoding = json.load(open("encoding.json"))
numbers = np.hstack([row[name] for name in encoding["columns"]]).astype(float)
numbers = np.where(np.isnan(numbers), encoding["missing"], numbers)
query = (numbers - encoding["center"]) / encoding["scale"]
""",
)

_OTHER = (
    "A query is a row of the columns {columns}. The items are encoded rows, and their encoding is "
    "more than a scale of numbers: **encode each query with likewise**, and multiply it before a "
    "search:",
    """row = ...  # a dict with the value of each column; None is missing
columns = lw.load("columns.safetensors")
encoded = columns.transform(pyarrow.table({name: [row[name]] for name in columns.columns_}))
query = encoded.toarray()[0] if hasattr(encoded, "toarray") else encoded[0]
""",
)

_SPARSE = (
    "A query is a sparse row. The items are encoded rows: **encode each query with likewise**, and "
    "multiply it before a search:",
    """row = ...  # a scipy.sparse.csr_array of one row
query = lw.load("columns.safetensors").transform(row).toarray()[0]
""",
)

_FOLD = """folded = (query {times} np.load("fold.npy")).astype(np.float32)
"""

_STORED = {
    "given": "Items do not depend on the similarity: a new one changes only `fold.npy`.",
    "unit": "Items are stored at unit length. A new similarity changes only `fold.npy`.",
    "folded": "Items are stored mapped by the similarity. For a new similarity, export the items "
    "again.",
}

_SCORES: dict[Metric, str] = {
    "inner_product": "items @ folded",
    "cosine": "items @ folded / np.maximum(np.linalg.norm(items, axis=1), 1e-30)",
    "euclidean": "-np.linalg.norm(items - folded, axis=1)",
}

_SEARCHES = {
    "numpy": """
items, ids = np.load("items.npy"), json.load(open("ids.json"))
scores = {scores}
print([ids[i] for i in np.argsort(-scores)[:10]])
""",
    "faiss": """
index, ids = faiss.read_index("items.faiss"), json.load(open("ids.json"))
values, rows = index.search(folded[None], min(10, len(ids)))
print([ids[i] for i in rows[0]])
""",
    "usearch": """
index, ids = Index.restore("items.usearch", view=True), json.load(open("ids.json"))
print([ids[i] for i in index.search(folded, 10).keys])
""",
    "pgvector": """
# once: psql -f items.sql
db = psycopg.connect("postgresql://...")
register_vector(db)
statement = "select id from items order by embedding {operator} %s limit 10"
print(db.execute(statement, (folded,)).fetchall())
""",
}
