"""How each kind of column becomes numbers: learned once, kept as plain data, used for ever."""

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, fields
from io import BytesIO
from typing import Any, ClassVar

import numpy as np

from likewise.exceptions import require_extra
from likewise.tables._frame import Frame

_MOST_CATEGORIES = 50
_SIDE = 16  # pixels of a picture that is read from a file
_LISTED = 6


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """A group of columns that become numbers together."""

    kind: ClassVar[str]
    columns: list[str]

    @classmethod
    @abstractmethod
    def learn(cls, frame: Frame, names: list[str], how: Any) -> tuple["Block | None", list[str]]:
        """Return the block, None where nothing is left of it, and sentences about what was done."""

    @abstractmethod
    def transform(self, frame: Frame) -> Any:
        """Return the columns as numbers."""

    @abstractmethod
    def feature_names(self) -> list[str]:
        """Return a name for each number."""

    def shown(self, frame: Frame) -> Any:
        """Return pictures or texts, where that is what a person sees; else None."""
        return None

    def as_data(self) -> dict[str, Any]:
        """Return what a file can hold."""
        return {"kind": self.kind, **{f.name: getattr(self, f.name) for f in fields(self)}}


@dataclass(frozen=True, eq=False)
class Numeric(Block):
    """Numbers, scaled column by column."""

    kind = "numeric"
    fill: np.ndarray
    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def learn(cls, frame: Frame, names: list[str], how: Any) -> tuple[Block | None, list[str]]:
        X = frame.numbers(names)
        _refuse_infinite(X, names)
        n_missing = int(np.isnan(X).sum())
        empty = np.isnan(X).all(axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of columns that are empty
            constant = np.nanmax(X, axis=0) == np.nanmin(X, axis=0)
        # As they are means all of them: another model may have made these vectors.
        constant &= how.scale != "none" and len(X) > 1
        sentences = []
        if constant.any():
            sentences.append(f"{_some(names, constant)}: not used; the same in every row.")
        if empty.any():
            sentences.append(f"{_some(names, empty)}: not used; every cell is missing.")
        kept = ~(constant | empty)
        if not kept.any():
            return None, sentences
        X, left = X[:, kept], [name for name, keep in zip(names, kept, strict=True) if keep]
        fill = np.nanmedian(X, axis=0)
        X = np.where(np.isnan(X), fill, X)
        centre, spread = _scaling(X, how.scale)
        said = f"{len(left)} numeric column{'s' * (len(left) > 1)}: {_listed(left)}; "
        said += _SCALE_WORDS[how.scale]
        if n_missing:
            said += f"; {n_missing} missing cell{'s' * (n_missing > 1)} filled with the median"
        return cls(left, fill, centre, spread), [*sentences, said + "."]

    def transform(self, frame: Frame) -> np.ndarray:
        X = frame.numbers(self.columns)
        _refuse_infinite(X, self.columns)
        return (np.where(np.isnan(X), self.fill, X) - self.centre) / self.spread

    def feature_names(self) -> list[str]:
        return list(self.columns)


@dataclass(frozen=True, eq=False)
class Pixels(Block):
    """A picture, a pixel a column: scaled as one, so that dark stays darker than light."""

    kind = "pixels"
    height: int
    width: int
    low: float
    spread: float

    @classmethod
    def learn(cls, frame: Frame, names: list[str], how: Any) -> tuple[Block | None, list[str]]:
        side = int(len(names) ** 0.5)
        height, width = how.image_shape or (side, side)
        X = frame.numbers(names)
        _refuse_infinite(X, names)
        low, spread = _joint_scaling(X, how.scale)
        said = f"{len(names)} columns are a picture of {height} x {width}; scaled together."
        return cls(names, int(height), int(width), low, spread), [said]

    def transform(self, frame: Frame) -> np.ndarray:
        X = frame.numbers(self.columns)
        _refuse_infinite(X, self.columns)
        return (np.where(np.isnan(X), self.low, X) - self.low) / self.spread

    def feature_names(self) -> list[str]:
        return list(self.columns)

    def shown(self, frame: Frame) -> np.ndarray:
        X = frame.numbers(self.columns)
        return np.nan_to_num(X).reshape(len(X), self.height, self.width)


@dataclass(frozen=True, eq=False)
class Vector(Block):
    """A column of lists of numbers, all of one length: an embedding, or a picture."""

    kind = "vector"
    length: int
    height: int  # 0 where it is no picture
    low: float
    spread: float

    @classmethod
    def learn(cls, frame: Frame, names: list[str], how: Any) -> tuple[Block | None, list[str]]:
        X = _vectors(frame, names[0], None)
        height = 0
        if how.image_shape is not None and int(np.prod(how.image_shape)) == X.shape[1]:
            height = int(how.image_shape[0])
        low, spread = _joint_scaling(X, how.scale)
        said = f"{names[0]}: vectors of {X.shape[1]} numbers; scaled together."
        return cls(names, X.shape[1], height, low, spread), [said]

    def transform(self, frame: Frame) -> np.ndarray:
        return (_vectors(frame, self.columns[0], self.length) - self.low) / self.spread

    def feature_names(self) -> list[str]:
        return [f"{self.columns[0]}[{place}]" for place in range(self.length)]

    def shown(self, frame: Frame) -> np.ndarray | None:
        if not self.height:
            return None
        X = _vectors(frame, self.columns[0], self.length)
        return X.reshape(len(X), self.height, -1)


@dataclass(frozen=True, eq=False)
class Image(Block):
    """Pictures, as files or as bytes: grey, and small."""

    kind = "image"
    side: int

    @classmethod
    def learn(cls, frame: Frame, names: list[str], how: Any) -> tuple[Block | None, list[str]]:
        block = cls(names, _SIDE)
        block.transform(frame)  # refuses what is no picture
        return block, [f"{names[0]}: pictures, made grey and {_SIDE} x {_SIDE}."]

    def transform(self, frame: Frame) -> np.ndarray:
        return self.shown(frame).reshape(len(frame), -1)

    def feature_names(self) -> list[str]:
        return [f"{self.columns[0]}[{i},{j}]" for i in range(self.side) for j in range(self.side)]

    def shown(self, frame: Frame) -> np.ndarray:
        pictures = require_extra("PIL.Image", "plots", "reading pictures")
        grids = np.zeros((len(frame), self.side, self.side))
        for row, value in enumerate(frame.values(self.columns[0])):
            if value is None:
                continue
            try:
                with pictures.open(_source(value)) as picture:
                    small = picture.convert("L").resize((self.side, self.side))
            except (OSError, ValueError, TypeError) as error:
                raise ValueError(
                    f"column {self.columns[0]!r}, row {row}: not a picture that can be read "
                    f"({error})."
                ) from error
            grids[row] = np.asarray(small, dtype=np.float64) / 255
        return grids


@dataclass(frozen=True, eq=False)
class Categorical(Block):
    """A 0/1 column for each category; one that was never seen, or is missing, is in none."""

    kind = "categorical"
    categories: list[str]

    @classmethod
    def learn(cls, frame: Frame, names: list[str], how: Any) -> tuple[Block | None, list[str]]:
        name = names[0]
        texts = frame.texts(name)
        counts = Counter(text for text in texts if text is not None)
        if len(counts) < 2:
            return None, [f"{name}: not used; the same in every row."]
        commonest = [text for text, _ in counts.most_common(_MOST_CATEGORIES)]
        said = f"{name}: {len(commonest)} categories, a 0/1 column each"
        if len(counts) > len(commonest):
            said += f"; the rarest {len(counts) - len(commonest)} have none"
        n_missing = sum(text is None for text in texts)
        if n_missing:
            said += f"; {n_missing} missing cell{'s' * (n_missing > 1)} in none of them"
        return cls(names, sorted(commonest)), [said + "."]

    def transform(self, frame: Frame) -> np.ndarray:
        places = {category: place for place, category in enumerate(self.categories)}
        X = np.zeros((len(frame), len(places)))
        for row, text in enumerate(frame.texts(self.columns[0])):
            if text in places:
                X[row, places[text]] = 1.0
        return X

    def feature_names(self) -> list[str]:
        return [f"{self.columns[0]}={category}" for category in self.categories]


@dataclass(frozen=True, eq=False)
class Text(Block):
    """Tf-idf of the commonest words."""

    kind = "text"
    words: list[str]
    weights: np.ndarray

    @classmethod
    def learn(cls, frame: Frame, names: list[str], how: Any) -> tuple[Block | None, list[str]]:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(max_features=how.max_words, sublinear_tf=True)
        try:
            vectorizer.fit([text or "" for text in frame.texts(names[0])])
        except ValueError:
            return None, [f"{names[0]}: not used; it has no words."]
        words = vectorizer.get_feature_names_out().tolist()
        return cls(names, words, vectorizer.idf_), [
            f"{names[0]}: text, tf-idf of {len(words)} words."
        ]

    def transform(self, frame: Frame) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(vocabulary=self.words, sublinear_tf=True)
        vectorizer.idf_ = self.weights
        return vectorizer.transform([text or "" for text in frame.texts(self.columns[0])]).tocsr()

    def feature_names(self) -> list[str]:
        return [f"{self.columns[0]}:{word}" for word in self.words]

    def shown(self, frame: Frame) -> list[str]:
        return [text or "" for text in frame.texts(self.columns[0])]


BLOCKS: dict[str, type[Block]] = {
    block.kind: block for block in (Numeric, Pixels, Vector, Image, Categorical, Text)
}

_SCALE_WORDS = {
    "standard": "mean 0 and deviation 1",
    "range": "range 0 to 1",
    "none": "as they are",
}


def block_from(data: dict[str, Any]) -> Block:
    """Return the block that `as_data` described."""
    parts = dict(data)
    try:
        return BLOCKS[parts.pop("kind")](**parts)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"the columns that the model holds are not as they should be: {error}."
        ) from error


def _refuse_infinite(X: np.ndarray, names: list[str]) -> None:
    rows, columns = np.nonzero(np.isinf(X))
    if len(rows):
        raise ValueError(f"column {names[columns[0]]!r} holds infinity in row {rows[0]}.")


def _scaling(X: np.ndarray, scale: str) -> tuple[np.ndarray, np.ndarray]:
    centre, spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if scale == "standard":
        centre, spread = X.mean(axis=0), X.std(axis=0)
    elif scale == "range":
        centre, spread = X.min(axis=0), np.ptp(X, axis=0)
    return centre, np.where(spread > 0, spread, 1.0)


def _joint_scaling(X: np.ndarray, scale: str) -> tuple[float, float]:
    if scale == "none":
        return 0.0, 1.0
    low = float(np.nanmin(X)) if scale == "range" else 0.0
    spread = float(np.nanmax(np.abs(X - low))) if scale == "range" else float(np.nanstd(X))
    return low, spread if spread > 0 else 1.0


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
                f"column {name!r} must hold {needed} numbers a row, but row {row} has {len(flat)}."
            )
        if not np.isfinite(flat).all():
            raise ValueError(f"column {name!r}, row {row}: every number must be finite.")
        rows[row] = flat
    return rows


def _source(value: Any) -> Any:
    """Return what a picture is opened from: a path, or bytes, also as parquet files hold them."""
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path")
    return BytesIO(value) if isinstance(value, bytes) else value


def _some(names: list[str], which: np.ndarray) -> str:
    return _listed([name for name, chosen in zip(names, which, strict=True) if chosen])


def _listed(names: list[str]) -> str:
    if len(names) <= _LISTED:
        return ", ".join(names)
    return f"{', '.join(names[: _LISTED - 1])} and {len(names) - _LISTED + 1} more"
