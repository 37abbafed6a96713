"""A model file as the server uses it: vectors from rows and texts, a learner, images."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from likewise import _files
from likewise._threads import slices
from likewise._validation import is_sparse
from likewise.learners import AROMA
from likewise.report import gray_image
from likewise.server._encoder import Encoder
from likewise.server.api._schemas import MAX_ID, MAX_NAME, MAX_NUMBER, is_id
from likewise.server.store import InvalidRequest, NotSupported
from likewise.similarities import Bilinear, Similarity
from likewise.tables import Columns, TableModel

_BATCH_SIZE = 1_000
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
    encoder : Encoder or None
        Makes vectors of texts.
    encoded_column : str
        The column of the items that the encoder encodes, and whose words count in hybrid search.
    numeric_columns : list of str
        The features of items without preprocessing, once items were read.
    """

    name: str
    similarity: Similarity
    learner: AROMA | None
    no_learning_reason: str | None
    columns: Columns | None = None
    query_columns: Columns | None = None
    image_shape: tuple[int, int] | None = None
    label: str | None = None
    encoder: Encoder | None = None
    encoded_column: str = "text"
    numeric_columns: list[str] = field(default_factory=list)

    @property
    def n_item_features(self) -> int | None:
        """Width of the items; None where the similarity takes any width."""
        if self.columns is not None:
            return len(self.columns.feature_names_)
        for name in ("n_item_features", "n_features"):
            if (width := getattr(self.similarity, name, None)) is not None:
                return int(width)
        return None if self.encoder is None else self.encoder.width

    @property
    def n_query_features(self) -> int | None:
        """Width of the queries; None where the similarity takes any width."""
        width = getattr(self.similarity, "n_query_features", None)
        return self.n_item_features if width is None else width

    @property
    def text_column(self) -> str | None:
        """The text column, if queries have no other column."""
        if self.encoder is not None:
            return self.encoded_column
        columns = self.query_columns or self.columns
        return None if columns is None else columns.text_column

    def feature_names(self, width: int, *, of_queries: bool) -> list[str] | None:
        """Return the feature names of queries or items, if they are known."""
        columns = (self.query_columns or self.columns) if of_queries else self.columns
        names = columns.feature_names_ if columns else self.numeric_columns
        return names if len(names) == width else None

    def vectorize_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of text queries."""
        import pyarrow

        if self.encoder is not None:
            return self.encoder.queries(texts)
        if self.text_column is None:
            raise NotSupported("the model does not take texts: give an id or a vector instead.")
        columns = self.query_columns or self.columns
        assert columns is not None
        return _dense(columns.transform(pyarrow.table({self.text_column: list(texts)})))

    def vectorize(self, rows: Any) -> np.ndarray:
        """Return the vectors of a table's rows."""
        if self.encoder is not None:
            return self.encoder.rows(_texts(rows, self.encoded_column))
        if self.columns is not None:
            return _dense(self.columns.transform(rows))
        if is_sparse(rows):
            return _dense(rows)
        vectors, names = _numeric_features(rows, self.label)
        if not self.numeric_columns:
            self.numeric_columns.extend(names)
        return vectors

    def convert_table(self, table: Any, id_column: str = "id") -> Iterator[tuple[Any, Any, Any]]:
        """Yield (id, vector, row) of every item of a table."""
        ids, rows = _split_ids(table, id_column)
        vectors = self.check_vectors(self.vectorize(rows))
        for batch in slices(len(ids), _BATCH_SIZE):
            yield from zip(ids[batch], vectors[batch], self._shown_rows(rows, batch), strict=True)

    def convert_items(self, items: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
        """Return (id, vector, row) of items that a request gives by their vectors or rows."""
        if self.encoder is not None:
            items = self._encoded(items, self.encoder)
        return [self._convert_item(item.id, item.vector, item.row) for item in items]

    def _encoded(self, items: Sequence[Any], encoder: Encoder) -> list[Any]:
        """Return items with the vectors of their texts, encoded together."""
        rows = [item.row for item in items if item.vector is None]
        for row in rows:
            if not isinstance(row.get(self.encoded_column), str):
                raise InvalidRequest(
                    f"an item needs a text in its column {self.encoded_column!r}, or a vector."
                )
        vectors = iter(encoder.rows([row[self.encoded_column] for row in rows]))
        return [
            item if item.vector is not None else item.model_copy(update={"vector": next(vectors)})
            for item in items
        ]

    def _convert_item(
        self, name: Any, vector: Any, row: dict[str, Any] | None
    ) -> tuple[Any, Any, Any]:
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

    def image(self, row: dict[str, Any], vector: np.ndarray) -> str | None:
        """Return the image of an item as a data URL; None if it has none."""
        image = row.get("image")
        if isinstance(image, str) and image.startswith("data:image/png;base64,"):
            return image
        if self.image_shape is not None and vector.size == np.prod(self.image_shape):
            return _png(vector.reshape(self.image_shape))
        return None

    def item_text(self, row: dict[str, Any]) -> str | None:
        """Return the text of an item whose words count in hybrid search."""
        text = row.get(self.encoded_column)
        return text if isinstance(text, str) else None

    @property
    def item_text_columns(self) -> list[str]:
        """The columns of items that the model reads as texts."""
        if self.encoder is not None:
            return [self.encoded_column]
        blocks = self.columns.blocks_ if self.columns else []
        return [name for b in blocks if b["kind"] == "text" for name in b["columns"]]

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
            {key: _finite(value) for key, value in row.items() if isinstance(value, _SCALARS)}
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
    encoder: Encoder | None = None,
    encoded_column: str = "text",
) -> ServedModel:
    """Open the file of a similarity, of a learner, or of a table model.

    Parameters
    ----------
    path : path-like
    r : float
        Parameter of a new AROMA.
    image_shape, label, encoder, encoded_column : as in `ServedModel`
    """
    from likewise.matching import Matcher

    model = _files.load(path)
    columns = query_columns = None
    estimator = model
    if isinstance(model, TableModel):
        estimator, columns, query_columns = model.estimator, model.columns, model.query_columns
        label = label or model.target
    if isinstance(model, Matcher):
        raise ValueError(
            f"{path} contains a Matcher, which needs --left, and --right if it has two tables."
        )
    similarity = getattr(estimator, "similarity_", estimator)
    if not isinstance(similarity, Similarity):
        raise ValueError(
            f"{path} contains a {type(model).__name__}, which has no similarity to serve."
        )
    if similarity.takes != "rows":
        raise ValueError(
            f"{path} contains a similarity of {similarity.takes}, but one of rows is needed."
        )
    if encoder is not None and columns is not None:
        raise ValueError(
            f"encoder is not for {path}, which makes vectors of its own columns: it needs a model "
            "file that holds only a similarity."
        )
    learner, reason = _initial_learner(estimator, similarity, r)
    served = ServedModel(
        path.stem,
        similarity,
        learner,
        reason,
        columns,
        query_columns,
        image_shape,
        label,
        encoder,
        encoded_column,
    )
    if encoder is not None:
        for kind, width in (
            ("items", served.n_item_features),
            ("queries", served.n_query_features),
        ):
            if width != encoder.width:
                raise ValueError(
                    f"the encoder returns vectors of {encoder.width} features, but the model takes "
                    f"{kind} of {width}."
                )
    return served


def _initial_learner(
    estimator: Any, similarity: Similarity, r: float
) -> tuple[AROMA | None, str | None]:
    """Return a learner that continues from the model, or the reason why there is none."""
    if isinstance(estimator, AROMA):
        return _files.from_bytes(_files.to_bytes(estimator)), None
    if not isinstance(similarity, Bilinear):
        return None, (
            f"the model is a {type(similarity).__name__}, which does not learn from feedback: "
            "only a Bilinear does, such as that of likewise fit --learner aroma."
        )
    if similarity.norm not in ("none", "cosine"):
        return None, (
            f"the model is a Bilinear with norm {similarity.norm!r}, which does not learn from "
            "feedback: only norm 'none' or 'cosine' does, such as that of likewise fit --learner "
            "aroma."
        )
    return AROMA(init=similarity, normalize=similarity.norm == "cosine", r=r), None


def initialize_learner(learner: AROMA, n_query: int, n_item: int) -> AROMA:
    """Return a learner with a state, its initial one if it has not learned yet."""
    if not hasattr(learner, "state_"):
        learner.initialize(n_query, n_item)
        learner.init = "auto"  # the state contains the start; the file need not repeat it
    return learner


def _texts(rows: Any, column: str) -> list[str]:
    """Return the texts of a column."""
    if is_sparse(rows) or column not in rows.column_names:
        raise ValueError(f"items need the column {column!r} of texts, which the encoder encodes.")
    texts: list[str] = rows.column(column).to_pylist()
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"column {column!r} must hold texts, but contains {text!r}.")
    return texts


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows)


def _finite(cell: Any) -> Any:
    """Return a cell; None for a number that is not finite, which JSON does not have."""
    return None if isinstance(cell, float) and not isfinite(cell) else cell


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
    for row, name in enumerate(ids, start=1):
        if not is_id(name):
            raise ValueError(
                f"column {id_column!r} contains {_shorten(repr(name))} in row {row}, but an id "
                f"must be a whole number from -{MAX_ID} to {MAX_ID}, or a text of 1 to {MAX_NAME} "
                "characters without a null byte."
            )
        if str(name) in seen:
            raise ValueError(f"column {id_column!r} contains {name!r} twice; ids must be unique.")
        seen.add(str(name))
    return ids, table.drop_columns([id_column])


def _shorten(text: str, width: int = 60) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


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
