"""What a model file offers a server: numbers from rows and texts, a start, pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from likewise import _files
from likewise._validation import is_sparse
from likewise.learners import AROMA
from likewise.report import png_address
from likewise.server.api._schemas import MOST
from likewise.server.store._records import NotPossibleError, WrongRequestError
from likewise.similarities import Bilinear, Similarity
from likewise.tables import Columns, TableModel

Kind = Literal["image", "text", "row"]
_ROWS_AT_A_TIME = 1_000
_SHOWN_LETTERS = 2_000
_MOST_CELLS = 100
_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True, eq=False)
class Served:
    """A model as a server uses it.

    Attributes
    ----------
    name : str
    similarity : Similarity
    learner : AROMA or None
        Where learning starts; None where there is a reason `why_not`.
    columns, query_columns : Columns or None
        What is done to rows of items and of queries; None where their numbers are taken as they
        are.
    image_shape : (int, int) or None
        Where the numbers are pixels.
    label : str or None
        A column that is shown and not compared.
    """

    name: str
    similarity: Similarity
    learner: AROMA | None
    why_not: str | None
    columns: Columns | None = None
    query_columns: Columns | None = None
    image_shape: tuple[int, int] | None = None
    label: str | None = None
    _found: dict[str, Any] = field(default_factory=dict)

    @property
    def n_item_features(self) -> int | None:
        """Width of the items; None where any will do."""
        if self.columns is not None:
            return len(self.columns.feature_names_)
        width = getattr(self.similarity, "n_item_features", None)
        return width if width is not None else getattr(self.similarity, "n_features", None)

    @property
    def n_query_features(self) -> int | None:
        """Width of the queries; None where any will do."""
        width = getattr(self.similarity, "n_query_features", None)
        return self.n_item_features if width is None else width

    @property
    def text_column(self) -> str | None:
        """The one column of a query, where that is a text."""
        columns = self.query_columns or self.columns
        texts = [b["columns"][0] for b in columns.blocks_ if b["kind"] == "text"] if columns else []
        return texts[0] if columns and columns.columns_ == texts and len(texts) == 1 else None

    def names_of_features(self, width: int, *, of_queries: bool) -> list[str] | None:
        """Return names of the features of one side, where they are known."""
        columns = (self.query_columns or self.columns) if of_queries else self.columns
        names = columns.feature_names_ if columns else self._found.get("features")
        return names if names is not None and len(names) == width else None

    def query_of_text(self, text: str) -> np.ndarray:
        """Return a text as the numbers of a query."""
        import pyarrow

        if self.text_column is None:
            raise NotPossibleError(
                "the model has no text to compare: ask with an id or a vector instead."
            )
        columns = self.query_columns or self.columns
        assert columns is not None
        return _dense(columns.transform(pyarrow.table({self.text_column: [text]})))[0]

    def vectors(self, rows: Any) -> np.ndarray:
        """Return the numbers of a table's rows: those that are compared."""
        if self.columns is not None:
            return _dense(self.columns.transform(rows))
        if is_sparse(rows):
            return _dense(rows)
        vectors, names = _numbers(rows, self.label)
        self._found.setdefault("features", names)
        return vectors

    def new_items(self, table: Any, id_column: str = "id") -> Iterator[tuple[Any, Any, Any]]:
        """Yield id, numbers and row of all items of a table."""
        names, rows = _ids(table, id_column)
        vectors = self.checked(self.vectors(rows))
        for start in range(0, len(names), _ROWS_AT_A_TIME):
            part = slice(start, start + _ROWS_AT_A_TIME)
            shown = self._shown_rows(rows, part)
            yield from zip(names[part], vectors[part], shown, strict=True)

    def new_item(self, name: Any, vector: Any, row: dict[str, Any] | None) -> tuple[Any, Any, Any]:
        """Return one item from a request: what is not given is made of what is."""
        import pyarrow

        try:
            if vector is None:
                table = pyarrow.table({key: [value] for key, value in (row or {}).items()})
                return next(self.new_items(table.append_column("id", [[name]])))
            vector = self.checked(np.asarray([vector], dtype=np.float32))[0]
        except (ValueError, TypeError, pyarrow.ArrowException) as error:
            raise WrongRequestError(f"item {name!r}: {error}") from error
        return name, vector, row or {}

    def checked(self, vectors: np.ndarray) -> np.ndarray:
        """Return rows of items as float32, or refuse those that the similarity cannot take."""
        width = self.n_item_features
        if width is not None and vectors.shape[1] != width:
            raise ValueError(
                f"the items have {vectors.shape[1]} features, but the model compares {width}."
            )
        if not np.isfinite(vectors).all() or np.abs(vectors).max(initial=0) > MOST:
            raise ValueError("the items hold a number that is missing or beyond measure.")
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        self.similarity.check_items(vectors, "items")
        return vectors

    def shown(self, row: dict[str, Any], vector: np.ndarray) -> tuple[Kind, str | None, str | None]:
        """Return how a person sees an item: its kind, a picture and a text."""
        picture = row.get("image")
        if isinstance(picture, str) and picture.startswith("data:image/png;base64,"):
            return "image", picture, None
        if self.image_shape is not None and vector.size == np.prod(self.image_shape):
            return "image", _picture(vector.reshape(self.image_shape)), None
        text = row.get(self._text_of_items() or "text")
        if isinstance(text, str):
            return "text", None, text[:_SHOWN_LETTERS]
        return "row", None, None

    def _text_of_items(self) -> str | None:
        blocks = self.columns.blocks_ if self.columns else []
        return next((b["columns"][0] for b in blocks if b["kind"] == "text"), None)

    def _shown_rows(self, rows: Any, part: slice) -> list[dict[str, Any]]:
        """Return rows as they are shown: plain cells, and a picture where there is one."""
        if is_sparse(rows):
            return [{}] * len(range(*part.indices(rows.shape[0])))
        piece = rows.slice(part.start, part.stop - part.start)
        if len(rows.column_names) > _MOST_CELLS:  # of which only the words tell a person something
            words = [
                n
                for n, t in zip(rows.schema.names, rows.schema.types, strict=True)
                if n == self.label or str(t) in ("string", "large_string", "bool")
            ]
            piece = piece.select(words[:_MOST_CELLS])
        cells = [
            {key: value for key, value in row.items() if isinstance(value, _PLAIN)}
            for row in piece.to_pylist()
        ]
        seen = self.columns.display(piece) if self.columns is not None else None
        if isinstance(seen, np.ndarray):
            pixels = _pixels(self.columns)
            cells = [
                {**{k: v for k, v in row.items() if k not in pixels}, "image": _picture(image)}
                for row, image in zip(cells, seen, strict=True)
            ]
        elif self.image_shape is not None:
            cells = [
                {k: v for k, v in row.items() if isinstance(v, str) or k == self.label}
                for row in cells
            ]
        return cells


def open_model(
    path: Path,
    *,
    r: float,
    image_shape: tuple[int, int] | None = None,
    label: str | None = None,
) -> Served:
    """Open a model file: a similarity, an estimator that has learned one, or a model of tables.

    Parameters
    ----------
    path : path-like
    r : float
        AROMA's, where learning starts afresh.
    image_shape, label : as in `Served`
    """
    model = _files.load(path)
    table = model if isinstance(model, TableModel) else None
    estimator = table.estimator if table is not None else model
    similarity = getattr(estimator, "similarity_", estimator)
    if not isinstance(similarity, Similarity):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which has no similarity to serve."
        )
    if similarity.takes != "rows":
        raise ValueError(f"{path} holds a similarity of {similarity.takes}, and rows are needed.")
    learner, why_not = _start_of(estimator, similarity, r)
    return Served(
        path.stem,
        similarity,
        learner,
        why_not,
        table.columns if table is not None else None,
        table.query_columns if table is not None else None,
        image_shape,
        label or (table.target if table is not None else None),
    )


def _start_of(estimator: Any, similarity: Similarity, r: float) -> tuple[AROMA | None, str | None]:
    """Return a learner that goes on from what was learned, or why there is none."""
    if isinstance(estimator, AROMA):
        return _files.from_bytes(_files.to_bytes(estimator)), None
    if not isinstance(similarity, Bilinear):
        return None, (
            f"the model is a {type(similarity).__name__}: it is served as it is, and feedback "
            "teaches a Bilinear only."
        )
    if similarity.norm not in ("none", "cosine"):
        return None, (
            f"the model is a Bilinear with norm {similarity.norm!r}: it is served as it is, and "
            "feedback teaches one with norm 'none' or 'cosine'."
        )
    return AROMA(init=similarity, normalize=similarity.norm == "cosine", r=r), None


def begun(learner: AROMA, n_query: int, n_item: int) -> AROMA:
    """Return a learner that has a state, if only its start."""
    if not hasattr(learner, "state_"):
        learner.initialize(n_query, n_item)
        learner.init = "auto"  # a start is made once; the file need not hold it twice
    return learner


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows)


def _ids(table: Any, id_column: str) -> tuple[list[Any], Any]:
    """Return the ids of a table and the rest of it; rows without an id column are counted."""
    if is_sparse(table) or id_column not in table.column_names:
        n_rows = table.shape[0]
        return list(range(n_rows)), table
    names = table.column(id_column).to_pylist()
    odd = next((n for n in names if not isinstance(n, str | int) or isinstance(n, bool)), 0)
    if odd != 0 or None in names:
        raise ValueError(
            f"column {id_column!r} must hold whole numbers or texts, but holds {odd!r}."
        )
    if len({str(name) for name in names}) < len(names):
        seen: set[str] = set()
        twice = next(n for n in names if str(n) in seen or seen.add(str(n)))  # type: ignore[func-returns-value]
        raise ValueError(f"column {id_column!r} holds {twice!r} twice; ids must differ.")
    return names, table.drop_columns([id_column])


def _numbers(rows: Any, label: str | None) -> tuple[np.ndarray, list[str]]:
    """Return the numeric and vector columns of a table side by side, and names of the features."""
    from likewise.tables import as_frame

    frame = as_frame(rows)
    parts: list[np.ndarray] = []
    names: list[str] = []
    for name in frame.names:
        kind = frame.kind(name)
        if name == label:
            continue
        if kind == "numbers":
            parts.append(frame.numbers([name]))
            names.append(name)
        elif kind == "vectors":
            try:
                vectors = np.array(frame.values(name), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"column {name!r} must hold vectors of one length.") from error
            parts.append(vectors)
            names += [f"{name}[{place}]" for place in range(vectors.shape[1])]
    if not parts:
        raise ValueError("the items have no column of numbers to compare.")
    return np.hstack(parts), names


def _pixels(columns: Columns | None) -> set[str]:
    """Return the columns that a picture shows by itself."""
    blocks: Sequence[dict[str, Any]] = columns.blocks_ if columns is not None else []
    kinds = ("pixels", "vector", "image")
    return {name for block in blocks if block["kind"] in kinds for name in block["columns"]}


def _picture(pixels: np.ndarray) -> str:
    low, high = float(pixels.min()), float(pixels.max())
    grey = (pixels - low) / (high - low) if high > low else np.zeros(pixels.shape)
    return png_address(np.round(255 * grey).astype(np.uint8))
