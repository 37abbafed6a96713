"""A model file as the server uses it: vectors from rows and texts, a learner, images."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from likewise import _files
from likewise._threads import slices
from likewise._validation import is_sparse
from likewise.learners import AROMA
from likewise.report import gray_image
from likewise.server.api._schemas import MAX_NUMBER
from likewise.server.store import InvalidRequest, NotSupported
from likewise.similarities import Bilinear, Similarity
from likewise.tables import Columns, TableModel

Kind = Literal["image", "text", "row"]
_BATCH_SIZE = 1_000
_MAX_TEXT = 2_000
_MAX_CELLS = 100
_SCALARS = (str, int, float, bool, type(None))


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model as the server uses it.

    Attributes
    ----------
    name : str
    similarity : Similarity
    learner : AROMA or None
        The initial learner; None where the model cannot learn.
    no_learning_reason : str or None
        Why the model cannot learn.
    columns, query_columns : Columns or None
        The preprocessing of rows of items and of queries; None where rows are vectors already.
    image_shape : (int, int) or None
        The shape of vectors that are images.
    label : str or None
        A column that is shown and not compared.
    """

    name: str
    similarity: Similarity
    learner: AROMA | None
    no_learning_reason: str | None
    columns: Columns | None = None
    query_columns: Columns | None = None
    image_shape: tuple[int, int] | None = None
    label: str | None = None
    _numeric_columns: list[str] = field(default_factory=list)

    @property
    def n_item_features(self) -> int | None:
        """Width of the items; None where the similarity takes any width."""
        if self.columns is not None:
            return len(self.columns.feature_names_)
        width = getattr(self.similarity, "n_item_features", None)
        return width if width is not None else getattr(self.similarity, "n_features", None)

    @property
    def n_query_features(self) -> int | None:
        """Width of the queries; None where the similarity takes any width."""
        width = getattr(self.similarity, "n_query_features", None)
        return self.n_item_features if width is None else width

    @property
    def text_column(self) -> str | None:
        """The text column, if queries have no other column."""
        columns = self.query_columns or self.columns
        return None if columns is None else columns.text_column

    def feature_names(self, width: int, *, of_queries: bool) -> list[str] | None:
        """Return the feature names of queries or items, if they are known."""
        columns = (self.query_columns or self.columns) if of_queries else self.columns
        names = columns.feature_names_ if columns else self._numeric_columns
        return names if len(names) == width else None

    def vectorize_text(self, text: str) -> np.ndarray:
        """Return the vector of a text query."""
        import pyarrow

        if self.text_column is None:
            raise NotSupported("the model does not take texts: give an id or a vector instead.")
        columns = self.query_columns or self.columns
        assert columns is not None
        return _dense(columns.transform(pyarrow.table({self.text_column: [text]})))[0]

    def vectorize(self, rows: Any) -> np.ndarray:
        """Return the vectors of a table's rows."""
        if self.columns is not None:
            return _dense(self.columns.transform(rows))
        if is_sparse(rows):
            return _dense(rows)
        vectors, names = _numeric_features(rows, self.label)
        if not self._numeric_columns:
            self._numeric_columns.extend(names)
        return vectors

    def convert_table(self, table: Any, id_column: str = "id") -> Iterator[tuple[Any, Any, Any]]:
        """Yield (id, vector, row) of every item of a table."""
        ids, rows = _split_ids(table, id_column)
        vectors = self.check_vectors(self.vectorize(rows))
        for batch in slices(len(ids), _BATCH_SIZE):
            yield from zip(ids[batch], vectors[batch], self._shown_rows(rows, batch), strict=True)

    def convert_item(
        self, name: Any, vector: Any, row: dict[str, Any] | None
    ) -> tuple[Any, Any, Any]:
        """Return (id, vector, row) of an item that a request gives by its vector or its row."""
        import pyarrow

        try:
            if vector is None:
                table = pyarrow.table({key: [value] for key, value in (row or {}).items()})
                return next(self.convert_table(table.append_column("id", [[name]])))
            vector = self.check_vectors(np.asarray([vector], dtype=np.float32))[0]
        except (ValueError, TypeError, pyarrow.ArrowException) as error:
            raise InvalidRequest(f"item {name!r}: {error}") from error
        return name, vector, row or {}

    def check_vectors(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors of items as float32; raise an error if the similarity rejects them."""
        width = self.n_item_features
        if width is not None and vectors.shape[1] != width:
            raise ValueError(
                f"items have {vectors.shape[1]} features, but the model takes {width}."
            )
        if not np.isfinite(vectors).all() or np.abs(vectors).max(initial=0) > MAX_NUMBER:
            raise ValueError(
                f"items contain a number that is missing or larger than {MAX_NUMBER:g}."
            )
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        self.similarity.check_items(vectors, "items")
        return vectors

    def display(
        self, row: dict[str, Any], vector: np.ndarray
    ) -> tuple[Kind, str | None, str | None]:
        """Return the kind of an item, its image and its text."""
        image = row.get("image")
        if isinstance(image, str) and image.startswith("data:image/png;base64,"):
            return "image", image, None
        if self.image_shape is not None and vector.size == np.prod(self.image_shape):
            return "image", _png(vector.reshape(self.image_shape)), None
        text = row.get(self._item_text_column() or "text")
        if isinstance(text, str):
            return "text", None, text[:_MAX_TEXT]
        return "row", None, None

    def _item_text_column(self) -> str | None:
        blocks = self.columns.blocks_ if self.columns else []
        return next((b["columns"][0] for b in blocks if b["kind"] == "text"), None)

    def _shown_rows(self, rows: Any, batch: slice) -> list[dict[str, Any]]:
        """Return rows for display: scalar cells, and an image where there is one."""
        if is_sparse(rows):
            return [{}] * (batch.stop - batch.start)
        part = rows.slice(batch.start, batch.stop - batch.start)
        if len(rows.column_names) > _MAX_CELLS:  # numbers are not readable then
            words = [
                n
                for n, t in zip(rows.schema.names, rows.schema.types, strict=True)
                if n == self.label or str(t) in ("string", "large_string", "bool")
            ]
            part = part.select(words[:_MAX_CELLS])
        cells = [
            {key: value for key, value in row.items() if isinstance(value, _SCALARS)}
            for row in part.to_pylist()
        ]
        shown = self.columns.display(part) if self.columns is not None else None
        if isinstance(shown, np.ndarray):
            pixels = _image_columns(self.columns)
            cells = [
                {**{k: v for k, v in row.items() if k not in pixels}, "image": _png(image)}
                for row, image in zip(cells, shown, strict=True)
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
) -> ServedModel:
    """Open the file of a similarity, of a learner, or of a table model.

    Parameters
    ----------
    path : path-like
    r : float
        Parameter of a new AROMA.
    image_shape, label : as in `ServedModel`
    """
    model = _files.load(path)
    columns = query_columns = None
    estimator = model
    if isinstance(model, TableModel):
        estimator, columns, query_columns = model.estimator, model.columns, model.query_columns
        label = label or model.target
    similarity = getattr(estimator, "similarity_", estimator)
    if not isinstance(similarity, Similarity):
        raise ValueError(
            f"{path} contains a {type(model).__name__}, which has no similarity to serve."
        )
    if similarity.takes != "rows":
        raise ValueError(
            f"{path} contains a similarity of {similarity.takes}, but one of rows is needed."
        )
    learner, reason = _initial_learner(estimator, similarity, r)
    return ServedModel(
        path.stem,
        similarity,
        learner,
        reason,
        columns,
        query_columns,
        image_shape,
        label,
    )


def _initial_learner(
    estimator: Any, similarity: Similarity, r: float
) -> tuple[AROMA | None, str | None]:
    """Return a learner that continues from the model, or the reason why there is none."""
    if isinstance(estimator, AROMA):
        return _files.from_bytes(_files.to_bytes(estimator)), None
    if not isinstance(similarity, Bilinear):
        return None, (
            f"the model is a {type(similarity).__name__}, which does not learn from feedback: "
            "only a Bilinear does."
        )
    if similarity.norm not in ("none", "cosine"):
        return None, (
            f"the model is a Bilinear with norm {similarity.norm!r}, which does not learn from "
            "feedback: only norm 'none' or 'cosine' does."
        )
    return AROMA(init=similarity, normalize=similarity.norm == "cosine", r=r), None


def initialize_learner(learner: AROMA, n_query: int, n_item: int) -> AROMA:
    """Return a learner with a state, its initial one if it has not learned yet."""
    if not hasattr(learner, "state_"):
        learner.initialize(n_query, n_item)
        learner.init = "auto"  # the state contains the start; the file need not repeat it
    return learner


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows)


def _split_ids(table: Any, id_column: str) -> tuple[list[Any], Any]:
    """Return the ids of a table and its other columns; without an id column rows are numbered."""
    if is_sparse(table) or id_column not in table.column_names:
        return list(range(table.shape[0])), table
    ids = table.column(id_column).to_pylist()
    invalid = next((n for n in ids if not isinstance(n, str | int) or isinstance(n, bool)), 0)
    if invalid != 0 or None in ids:
        raise ValueError(
            f"column {id_column!r} must hold whole numbers or texts, but contains {invalid!r}."
        )
    seen: set[str] = set()
    for name in ids:
        if str(name) in seen:
            raise ValueError(f"column {id_column!r} contains {name!r} twice; ids must be unique.")
        seen.add(str(name))
    return ids, table.drop_columns([id_column])


def _numeric_features(rows: Any, label: str | None) -> tuple[np.ndarray, list[str]]:
    """Return the numeric and vector columns of a table as one matrix, and its feature names."""
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
                raise ValueError(f"column {name!r} must hold vectors of equal length.") from error
            parts.append(vectors)
            names += [f"{name}[{place}]" for place in range(vectors.shape[1])]
    if not parts:
        raise ValueError("items must have at least one column of numbers or of vectors.")
    return np.hstack(parts), names


def _image_columns(columns: Columns | None) -> set[str]:
    """Return the columns that the image shows."""
    blocks: Sequence[dict[str, Any]] = columns.blocks_ if columns is not None else []
    kinds = ("pixels", "vector", "image")
    return {name for block in blocks if block["kind"] in kinds for name in block["columns"]}


def _png(pixels: np.ndarray) -> str:
    return gray_image(pixels, float(pixels.min()), float(pixels.max()))
