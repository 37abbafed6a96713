"""Encoders of column groups by the kind of their values."""

import warnings
from collections import Counter
from dataclasses import dataclass
from io import BytesIO
from typing import Any, ClassVar

import numpy as np

from likewise._files import fields
from likewise.exceptions import require_extra
from likewise.tables._block import Affine, Block, missing_cells
from likewise.tables._date_block import Date
from likewise.tables._frame import Frame

MAX_CATEGORIES = 50
_IMAGE_SIDE = 16  # pixels of an image that is read from a file
_MAX_LISTED = 6
_OLD_FIELDS = {"centre": "center", "spread": "scale"}  # of files written before 0.1


@dataclass(frozen=True, eq=False)
class Numeric(Block):
    """Numbers, imputed by the median and scaled column by column."""

    kind = "numeric"
    fill: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    _file_fields: ClassVar[fields.Declaration] = {
        name: fields.Array(fields.FLOATS, "columns") for name in ("fill", "center", "scale")
    }

    @classmethod
    def fit(cls, frame: Frame, names: list[str], options: Any) -> tuple[Block | None, list[str]]:
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import MinMaxScaler, StandardScaler

        X = _numbers(frame, names)
        n_missing = int(np.isnan(X).sum())
        empty = np.isnan(X).all(axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of empty columns
            constant = np.nanmax(X, axis=0) == np.nanmin(X, axis=0)
        # Without scaling all columns stay: the vectors may come from another model.
        constant &= options.scale != "none" and len(X) > 1
        sentences = []
        if constant.any():
            sentences.append(f"{_listed(names, constant)}: not used; the same in every row.")
        if empty.any():
            sentences.append(f"{_listed(names, empty)}: not used; every cell is missing.")
        used = ~(constant | empty)
        if not used.any():
            return None, sentences
        columns = [name for name, is_used in zip(names, used, strict=True) if is_used]
        imputer = SimpleImputer(strategy="median")
        X = imputer.fit_transform(X[:, used])
        center, scale = np.zeros(len(columns)), np.ones(len(columns))
        if options.scale == "standard":
            standard = StandardScaler().fit(X)
            center, scale = standard.mean_, standard.scale_
        elif options.scale == "range":
            min_max = MinMaxScaler().fit(X)
            center, scale = min_max.data_min_, min_max.data_range_
            scale[scale == 0] = 1.0
        text = f"{len(columns)} numeric column{'s' * (len(columns) > 1)}: {_listed(columns)}; "
        text += _SCALE_TEXTS[options.scale]
        if n_missing:
            text += f"; {missing_cells(n_missing)} filled with the median"
        block = cls(columns, imputer.statistics_, center, scale)
        return block, [*sentences, f"{text}."]

    def transform(self, frame: Frame) -> np.ndarray:
        X = _numbers(frame, self.columns)
        return (np.where(np.isnan(X), self.fill, X) - self.center) / self.scale

    def affine(self) -> Affine:
        return Affine(self.fill, self.center, self.scale)


@dataclass(frozen=True, eq=False)
class Pixels(Block):
    """An image with a column for each pixel, scaled as one so that dark stays darker than light."""

    kind = "pixels"
    height: int
    width: int
    low: float
    scale: float
    _file_fields: ClassVar[fields.Declaration] = {
        "height": fields.Number(minimum=1, maximum="outputs"),
        "width": fields.Number(minimum=1, maximum="outputs"),
        "low": fields.Number(minimum=None, whole=False),
        "scale": fields.Number(whole=False),
    }

    @classmethod
    def fit(cls, frame: Frame, names: list[str], options: Any) -> tuple[Block | None, list[str]]:
        side = int(len(names) ** 0.5)
        height, width = options.image_shape or (side, side)
        X = _numbers(frame, names)
        low, scale = _joint_scaling(X, options.scale)
        text = f"{len(names)} columns are an image of {height} x {width}; scaled together."
        return cls(names, int(height), int(width), low, scale), [text]

    def transform(self, frame: Frame) -> np.ndarray:
        X = _numbers(frame, self.columns)
        return (np.where(np.isnan(X), self.low, X) - self.low) / self.scale

    def affine(self) -> Affine:
        low, scale = (np.full(len(self.columns), value) for value in (self.low, self.scale))
        return Affine(low, low, scale)

    @property
    def image_shape(self) -> tuple[int, int]:
        return self.height, self.width

    def images(self, frame: Frame) -> np.ndarray:
        X = frame.numbers(self.columns)
        return np.nan_to_num(X).reshape(len(X), self.height, self.width)


@dataclass(frozen=True, eq=False)
class Vector(Block):
    """A column of equally long lists of numbers: an embedding, or an image."""

    kind = "vector"
    length: int
    height: int  # 0 where it is no image
    low: float
    scale: float
    _file_fields: ClassVar[fields.Declaration] = {
        "length": fields.Number(minimum=1, maximum="outputs"),
        "height": fields.Number(maximum="outputs"),
        "low": fields.Number(minimum=None, whole=False),
        "scale": fields.Number(whole=False),
    }

    @classmethod
    def fit(cls, frame: Frame, names: list[str], options: Any) -> tuple[Block | None, list[str]]:
        X = _vectors(frame, names[0], None)
        height = 0
        if options.image_shape is not None and int(np.prod(options.image_shape)) == X.shape[1]:
            height = int(options.image_shape[0])
        low, scale = _joint_scaling(X, options.scale)
        text = f"{names[0]}: vectors of {X.shape[1]} numbers; scaled together."
        return cls(names, X.shape[1], height, low, scale), [text]

    def transform(self, frame: Frame) -> np.ndarray:
        return (_vectors(frame, self.columns[0], self.length) - self.low) / self.scale

    def affine(self) -> Affine:
        low, scale = (np.full(self.length, value) for value in (self.low, self.scale))
        return Affine(np.zeros(self.length), low, scale)

    def feature_names(self) -> list[str]:
        return [f"{self.columns[0]}[{place}]" for place in range(self.length)]

    @property
    def image_shape(self) -> tuple[int, int] | None:
        return (self.height, self.length // self.height) if self.height else None

    def images(self, frame: Frame) -> np.ndarray:
        X = _vectors(frame, self.columns[0], self.length)
        return X.reshape(len(X), self.height, -1)


@dataclass(frozen=True, eq=False)
class Image(Block):
    """Images as files or bytes, reduced to a few gray pixels."""

    kind = "image"
    is_scaled = False
    side: int
    _file_fields: ClassVar[fields.Declaration] = {
        "side": fields.Number(minimum=1, maximum="outputs")
    }

    @classmethod
    def fit(cls, frame: Frame, names: list[str], options: Any) -> tuple[Block | None, list[str]]:
        block = cls(names, _IMAGE_SIDE)
        block.transform(frame)  # refuses files that are no images
        return block, [f"{names[0]}: images, reduced to {_IMAGE_SIDE} x {_IMAGE_SIDE} gray pixels."]

    def transform(self, frame: Frame) -> np.ndarray:
        return self.images(frame).reshape(len(frame), -1)

    def feature_names(self) -> list[str]:
        return [f"{self.columns[0]}[{i},{j}]" for i in range(self.side) for j in range(self.side)]

    @property
    def image_shape(self) -> tuple[int, int]:
        return self.side, self.side

    def images(self, frame: Frame) -> np.ndarray:
        pillow = require_extra("PIL.Image", "plots", "reading images")
        pixels = np.zeros((len(frame), self.side, self.side))
        for row, value in enumerate(frame.values(self.columns[0])):
            if value is None:
                continue
            try:
                with pillow.open(_source(value)) as image:
                    small = image.convert("L").resize((self.side, self.side))
            except (OSError, ValueError, TypeError) as error:
                raise ValueError(
                    f"column {self.columns[0]!r}, row {row}: not a readable image ({error})."
                ) from error
            pixels[row] = np.asarray(small, dtype=np.float64) / 255
        return pixels


@dataclass(frozen=True, eq=False)
class Categorical(Block):
    """A 0/1 column for each category; missing and unknown values have none."""

    kind = "categorical"
    is_scaled = False
    categories: list[str]
    _file_fields: ClassVar[fields.Declaration] = {"categories": fields.ListOf(fields.Text())}

    @classmethod
    def fit(cls, frame: Frame, names: list[str], options: Any) -> tuple[Block | None, list[str]]:
        name = names[0]
        texts = frame.texts(name)
        counts = Counter(text for text in texts if text is not None)
        if len(counts) < 2:
            return None, [f"{name}: not used; the same in every row."]
        frequent = [text for text, _ in counts.most_common(MAX_CATEGORIES)]
        sentence = f"{name}: {len(frequent)} categories, a 0/1 column each"
        if len(counts) > len(frequent):
            sentence += f"; the rarest {len(counts) - len(frequent)} have none"
        n_missing = sum(text is None for text in texts)
        if n_missing:
            sentence += f"; {missing_cells(n_missing)} without any"
        return cls(names, sorted(frequent)), [f"{sentence}."]

    def transform(self, frame: Frame) -> np.ndarray:
        from sklearn.preprocessing import OneHotEncoder

        encoder = OneHotEncoder(
            categories=[np.array(self.categories, dtype=object)],
            handle_unknown="ignore",
            sparse_output=False,
        )
        encoder.fit([[self.categories[0]]])  # its state is the given categories
        texts = np.array(frame.texts(self.columns[0]), dtype=object)
        encoded: np.ndarray = encoder.transform(texts[:, None])
        return encoded

    def feature_names(self) -> list[str]:
        return [f"{self.columns[0]}={category}" for category in self.categories]


@dataclass(frozen=True, eq=False)
class Text(Block):
    """Tf-idf of the most frequent words."""

    kind = "text"
    is_scaled = False
    words: list[str]
    weights: np.ndarray
    _file_fields: ClassVar[fields.Declaration] = {
        "words": fields.ListOf(fields.Text(), "words"),
        "weights": fields.Array(fields.FLOATS, "words"),
    }

    @classmethod
    def fit(cls, frame: Frame, names: list[str], options: Any) -> tuple[Block | None, list[str]]:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(max_features=options.max_words, sublinear_tf=True)
        try:
            vectorizer.fit([text or "" for text in frame.texts(names[0])])
        except ValueError:
            return None, [f"{names[0]}: not used; it has no words."]
        words = vectorizer.get_feature_names_out().tolist()
        sentence = f"{names[0]}: text, tf-idf of {len(words)} words."
        return cls(names, words, vectorizer.idf_), [sentence]

    def transform(self, frame: Frame) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(vocabulary=self.words, sublinear_tf=True)
        vectorizer.idf_ = self.weights
        texts = [text or "" for text in frame.texts(self.columns[0])]
        return vectorizer.transform(texts).tocsr()

    def feature_names(self) -> list[str]:
        return [f"{self.columns[0]}:{word}" for word in self.words]


BLOCKS: dict[str, type[Block]] = {
    block.kind: block for block in (Numeric, Pixels, Vector, Image, Date, Categorical, Text)
}

_SCALE_TEXTS = {
    "standard": "mean 0 and deviation 1",
    "range": "range 0 to 1",
    "none": "not scaled",
}


def block_from(data: dict[str, Any]) -> Block:
    """Return the block that `as_data` described."""
    parts = {_OLD_FIELDS.get(name, name): value for name, value in data.items()}
    return BLOCKS[parts.pop("kind")](**parts)


class BlockData(fields.Field):
    """The data of a block, as `Columns` keeps it."""

    def check(self, value: Any, name: str, sizes: fields.Sizes) -> None:
        """Check the parts by the declaration of the block's class."""
        if not isinstance(value, dict) or value.get("kind") not in (*BLOCKS, "sparse"):
            raise TypeError(f"{name} must be a block of columns, not {value!r:.40}.")
        parts = {_OLD_FIELDS.get(part, part): each for part, each in value.items()}
        kind = BLOCKS.get(parts.pop("kind"))
        if kind is None:
            fields.Parts(peak=fields.Array(fields.FLOATS, "outputs")).check(parts, name, sizes)
            return
        columns = fields.ListOf(fields.Text(), "columns")
        fields.Parts(columns=columns, **kind._file_fields).check(parts, name, sizes)
        if not parts["columns"]:
            raise ValueError(f"{name} has no columns; at least one is needed.")


def _numbers(frame: Frame, names: list[str]) -> np.ndarray:
    """Return columns as numbers; infinity is refused."""
    X = frame.numbers(names)
    rows, columns = np.nonzero(np.isinf(X))
    if len(rows):
        raise ValueError(
            f"column {names[columns[0]]!r} holds infinity in row {rows[0]}; it must be finite."
        )
    return X


def _joint_scaling(X: np.ndarray, scale: str) -> tuple[float, float]:
    """Return the offset and the scale of columns that are scaled together."""
    if scale == "none":
        return 0.0, 1.0
    low = float(np.nanmin(X)) if scale == "range" else 0.0
    size = float(np.nanmax(np.abs(X - low))) if scale == "range" else float(np.nanstd(X))
    return low, size if size > 0 else 1.0


def _vectors(frame: Frame, name: str, length: int | None) -> np.ndarray:
    values = frame.values(name)
    needed = next((np.size(v) for v in values if v is not None), 0) if length is None else length
    rows = np.zeros((len(values), needed))
    for row, value in enumerate(values):
        if value is None:
            continue
        flat = np.asarray(value, dtype=np.float64).ravel()
        if len(flat) != needed:
            raise ValueError(
                f"column {name!r} must hold {needed} numbers in each row, but row {row} has "
                f"{len(flat)}."
            )
        if not np.isfinite(flat).all():
            raise ValueError(f"column {name!r}, row {row}: every number must be finite.")
        rows[row] = flat
    return rows


def _source(value: Any) -> Any:
    """Return a path or a stream of bytes; parquet files hold a dict of either."""
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path")
    return BytesIO(value) if isinstance(value, bytes) else value


def _listed(names: list[str], mask: np.ndarray | None = None) -> str:
    if mask is not None:
        names = [name for name, chosen in zip(names, mask, strict=True) if chosen]
    if len(names) <= _MAX_LISTED:
        return ", ".join(names)
    return f"{', '.join(names[: _MAX_LISTED - 1])} and {len(names) - _MAX_LISTED + 1} more"
