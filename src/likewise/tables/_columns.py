"""Columns of any kind as rows of numbers; the encoding is described, and stored as data."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import hstack
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from likewise._files import fields
from likewise._validation import (
    FLOATS,
    check_choice,
    check_rows,
    check_whole_number,
    is_sparse,
    validate_data,
)
from likewise.tables._block import Affine, Block
from likewise.tables._blocks import BLOCKS, BlockData, block_from
from likewise.tables._frame import CompletedFrame, Frame, as_frame, is_frame
from likewise.tables._kinds import day_first_of
from likewise.tables._roles import KINDS, groups_of, missing_cells, refuse_missing, roles_of

_SCALES = ("standard", "range", "none")
_MISSING = ("impute", "refuse")
_MAX_DENSE = 256  # columns up to which tf-idf becomes an array, which every learner takes


class Columns(TransformerMixin, BaseEstimator):
    r"""Encode the columns of a table as rows of numbers.

    Numbers are scaled; few different words are categories, with a 0/1 column each; dates become
    days and positions in the week, the year and the day; longer texts become tf-idf; vectors and
    images become their numbers. The kind of a column is inferred from its values, unless a
    parameter names it.

    Parameters
    ----------
    scale : {"standard", "range", "none"}, default="standard"
        Scaling of numbers: mean 0 and deviation 1, the range 0 to 1, or none.
    missing : {"impute", "refuse"}, default="impute"
        A missing number or date becomes the median of its column, a missing category has no
        column, a missing text is empty; or a table with missing cells is refused.
    id : str, optional
        The column of row ids, which is not used as a feature. By default the one called ``id``,
        ``uuid`` or ``index``; otherwise one with a name such as ``customer_id``, in which all
        values differ except in copies of a row.
    numeric, categorical, date, text, image, ignore : sequences of str
        Columns of these kinds, whatever their values.
    day_first : bool, optional
        Whether 3/4/2024 is the third of April, in columns whose other cells do not decide. By
        default other columns decide; if none does, the day comes first.
    image_shape : (int, int), optional
        Height and width, where the numbers are the pixels of an image, row by row. They are then
        scaled together.
    max_words : int, default=1000
        Maximum number of words of a text column; the most frequent are kept.

    Attributes
    ----------
    sentences_ : list of str
        Description of the encoding.
    id_ : str or None
        The column of row ids.
    feature_names_ : list of str
        Names of the output columns.
    columns_ : list of str
        The columns that a table must have.
    blocks_ : list of dict
        The encoding of each group of columns, as data.
    day_first_ : bool
        How ambiguous dates are read.
    n_features_in_ : int

    Examples
    --------
    >>> import pyarrow as pa
    >>> shoes = pa.table({"price": [20.0, 60.0, None], "kind": ["boot", "boot", "sandal"]})
    >>> columns = Columns(scale="range").fit(shoes)
    >>> columns.transform(shoes)
    array([[0. , 1. , 0. ],
           [1. , 1. , 0. ],
           [0.5, 0. , 1. ]])
    >>> print(*columns.sentences_, sep="\n")
    1 numeric column: price; range 0 to 1; 1 missing cell filled with the median.
    kind: 2 categories, a 0/1 column each.
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "feature_names_": fields.ListOf(fields.Text(), "outputs"),
        "blocks_": fields.ListOf(BlockData()),
        "sentences_": fields.ListOf(fields.Text()),
        "columns_": fields.ListOf(fields.Text()),
        "id_": fields.OrNone(fields.Text()),
        "day_first_": fields.Optional(fields.Choice(False, True)),
    }

    def __init__(
        self,
        *,
        scale: str = "standard",
        missing: str = "impute",
        id: str | None = None,
        numeric: Iterable[str] = (),
        categorical: Iterable[str] = (),
        date: Iterable[str] = (),
        text: Iterable[str] = (),
        image: Iterable[str] = (),
        ignore: Iterable[str] = (),
        day_first: bool | None = None,
        image_shape: tuple[int, int] | None = None,
        max_words: int = 1000,
    ) -> None:
        self.scale = scale
        self.missing = missing
        self.id = id
        self.numeric = numeric
        self.categorical = categorical
        self.date = date
        self.text = text
        self.image = image
        self.ignore = ignore
        self.day_first = day_first
        self.image_shape = image_shape
        self.max_words = max_words

    def fit(self, X: Any, y: Any = None) -> Self:
        """Infer the kinds of the columns, and fit their encoders.

        Parameters
        ----------
        X : frame of pandas, polars or pyarrow, array or CSR
        y : ignored
        """
        self._check_parameters()
        _fit_all([self], self._checked(X, reset=True))
        return self

    def fit_scales(self, X: Any, scales: Iterable[str]) -> dict[str, "Columns"]:
        """Fit once and return a fitted copy for each scale.

        Kinds of columns are inferred, and blocks without a scale fitted, only once.

        Parameters
        ----------
        X : as in `fit`
        scales : names of scales
        """
        copies = {scale: clone(self).set_params(scale=scale) for scale in scales}
        for columns in copies.values():
            columns._check_parameters()
            checked = columns._checked(X, reset=True)
        _fit_all(list(copies.values()), checked)
        return copies

    def transform(self, X: Any, *, absent: str = "refuse") -> Any:
        """Return the rows as numbers: an array, or CSR where texts have many words.

        Parameters
        ----------
        X : as in `fit`
            Additional columns are ignored.
        absent : {"refuse", "impute"}, default="refuse"
            A column that a frame does not have is refused, because it may be renamed; or its cells
            are imputed like missing cells. At least one column is needed.
        """
        check_choice(absent, "absent", _MISSING[::-1])
        check_is_fitted(self)
        if is_sparse(X) or self.columns_ == []:
            return self._transform_sparse(X)
        frame = as_frame(self._checked(X, reset=False))
        if absent == "impute" and any(name in frame.names for name in self.columns_):
            frame = CompletedFrame(frame, self.columns_)
        self._refuse_absent(frame)
        if self.missing == "refuse":
            refuse_missing(frame, dict.fromkeys(self.columns_, "numeric"))
        parts = [block.transform(frame) for block in self._blocks()]
        if any(is_sparse(part) for part in parts):
            joined = hstack(parts, format="csr")
            return joined.toarray() if len(self.feature_names_) <= _MAX_DENSE else joined
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the output columns."""
        check_is_fitted(self)
        return np.array(self.feature_names_, dtype=object)

    def display(self, X: Any) -> Any:
        """Return rows for people to see: images, texts, or None for plain rows.

        Returns
        -------
        array of shape (n_rows, height, width), list of str, or None
        """
        images = self.images(X)
        texts = [name for name, kind in self.sources() if kind == "text"]
        if images is not None or is_sparse(X) or not texts:
            return images
        return [text or "" for text in as_frame(X).texts(texts[0])]

    def images(self, X: Any) -> np.ndarray | None:
        """Return an image of each row, of shape (n_rows, height, width), or None."""
        check_is_fitted(self)
        if is_sparse(X) or not self.columns_:
            return None
        blocks = [block for block in self._blocks() if block.image_shape is not None]
        return blocks[0].images(as_frame(X)) if blocks else None

    def image_features(self) -> list[tuple[int, tuple[int, int]]]:
        """Return the first feature, and height and width, of each image."""
        check_is_fitted(self)
        found, first = [], 0
        for block in self._blocks() if self.columns_ else []:
            if block.image_shape is not None:
                found.append((first, block.image_shape))
            first += len(block.feature_names())
        return found

    def sources(self) -> list[tuple[str, str]]:
        """Return the column and the kind of the column that each feature comes from."""
        check_is_fitted(self)
        if not self.columns_:
            return [(name, "numeric") for name in self.feature_names_]
        found: list[tuple[str, str]] = []
        for block in self._blocks():
            names = block.feature_names()
            columns = block.columns if len(block.columns) > 1 else block.columns * len(names)
            found += [(name, block.kind) for name in columns]
        return found

    def affine(self) -> Affine | None:
        """Return the encoding as numbers, where it only centers and scales numbers.

        Returns
        -------
        (missing, center, scale) or None
            Arrays with a number for each feature: the encoding of x is (x − center) / scale, and
            `missing` replaces missing cells. None where the columns have categories, dates, texts
            or images, where rows are sparse, and where missing cells are refused.
        """
        check_is_fitted(self)
        parts = [block.affine() for block in self._blocks()] if self.columns_ else [None]
        affine = [part for part in parts if part is not None]
        if len(affine) < len(parts) or self.missing == "refuse":
            return None
        return Affine(*(np.concatenate(arrays) for arrays in zip(*affine, strict=True)))

    @property
    def text_column(self) -> str | None:
        """The text column, if no other column is used."""
        texts = [block["columns"][0] for block in self.blocks_ if block["kind"] == "text"]
        return texts[0] if self.columns_ == texts and len(texts) == 1 else None

    def missing_columns(self, X: Any) -> list[str]:
        """Return the columns that are used and that `X` does not have, or not in every row."""
        check_is_fitted(self)
        if is_sparse(X) or not self.columns_:
            return []
        frame = as_frame(X)
        return [
            name for name in self.columns_ if name not in frame.names or missing_cells(frame, name)
        ]

    def n_missing(self, X: Any) -> int:
        """Return the number of missing cells in the columns that are used."""
        check_is_fitted(self)
        if is_sparse(X) or not self.columns_:
            return 0
        frame = as_frame(X)
        self._refuse_absent(frame)
        return sum(missing_cells(frame, name) for name in self.columns_)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return validated arrays and CSR; frames are checked column by column."""
        if is_frame(X):
            return X
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=FLOATS,
            ensure_all_finite="allow-nan",
        )

    def _check_parameters(self) -> None:
        check_choice(self.scale, "scale", _SCALES)
        check_choice(self.missing, "missing", _MISSING)
        check_whole_number(self.max_words, "max_words")
        for name in KINDS:
            if isinstance(given := getattr(self, name), str):
                raise TypeError(f"{name} must be a list of column names, but {given!r} was given.")

    def _claimed(self) -> dict[str, str]:
        """Return the kinds of the columns that parameters name."""
        claimed = {name: role for role in KINDS for name in getattr(self, role)}
        return claimed if self.id is None else {**claimed, self.id: "id"}

    def _fit_sparse(self, X: Any) -> None:
        from sklearn.preprocessing import MaxAbsScaler

        peak, text = np.ones(X.shape[1]), "not scaled"
        if self.scale != "none":  # scalers that move zeros would fill the matrix
            peak = MaxAbsScaler().fit(X).scale_.astype(np.float64)
            text = "divided by the largest absolute value of each"
        self.blocks_: list[dict[str, Any]] = [{"kind": "sparse", "peak": peak}]
        self.sentences_: list[str] = [f"{X.shape[1]} sparse columns; {text}."]
        self.id_: str | None = None
        self.day_first_ = True
        self.columns_: list[str] = []
        self.feature_names_ = [f"x{column}" for column in range(X.shape[1])]
        self.n_features_in_ = X.shape[1]

    def _fit_frame(
        self, frame: Frame, roles: dict[str, str], sentences: list[str], shared: dict[Any, Any]
    ) -> None:
        """Fit the blocks; those without a scale are taken from `shared`, or left there."""
        blocks: list[Block] = []
        sentences = list(sentences)
        for kind, names in groups_of(roles, frame.names):
            fitted = shared.get((kind, *names)) or BLOCKS[kind].fit(frame, names, self)
            if not BLOCKS[kind].is_scaled:
                shared[kind, *names] = fitted
            sentences += fitted[1]
            if fitted[0] is not None:
                blocks.append(fitted[0])
        if not blocks:
            raise ValueError(
                "no column is left to learn from: " + " ".join(sentences or ["there are none."])
            )
        self.blocks_ = [block.as_data() for block in blocks]
        self.sentences_ = sentences
        self.id_ = next((name for name, role in roles.items() if role == "id"), None)
        self.columns_ = [name for block in blocks for name in block.columns]
        self.feature_names_ = [name for block in blocks for name in block.feature_names()]
        self.n_features_in_ = len(frame.names)

    def _transform_sparse(self, X: Any) -> Any:
        if self.columns_ or not is_sparse(X):
            fitted, given = ("a table", "sparse") if self.columns_ else ("sparse rows", "other")
            raise TypeError(f"columns were fitted on {fitted}, but {given} rows were given.")
        X = check_rows(self._checked(X, reset=False), "X")
        scaled = X.copy()
        scaled.data = X.data / self.blocks_[0]["peak"][X.indices].astype(X.dtype)
        return scaled

    def _blocks(self) -> list[Block]:
        return [block_from(data) for data in self.blocks_]

    def _refuse_absent(self, frame: Frame) -> None:
        absent = [name for name in self.columns_ if name not in frame.names]
        if absent:
            spare = [name for name in frame.names if name not in self.columns_]
            near = get_close_matches(absent[0], spare, n=1)
            hint = f" Was it renamed to {near[0]!r}?" if near else ""
            more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
            raise ValueError(f"the table has no column {absent[0]!r}{more}, which is needed.{hint}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags


def _fit_all(columns: list[Columns], X: Any) -> None:
    """Fit columns that differ in their scale alone."""
    if is_sparse(X):
        for one in columns:
            one._fit_sparse(X)
        return
    frame = as_frame(X)
    if len(frame) == 0:
        raise ValueError("the table has no rows; at least one is needed.")
    roles, sentences = roles_of(frame, columns[0]._claimed(), columns[0].image_shape)
    if columns[0].missing == "refuse":
        refuse_missing(frame, roles)
    shared: dict[Any, Any] = {}
    day_first = day_first_of(frame, roles, columns[0].day_first)
    for one in columns:
        one.day_first_ = day_first
        one._fit_frame(frame, roles, sentences, shared)
