"""The base class of encoders of column groups: fitted once, kept as plain data."""

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from likewise._files import fields
from likewise.tables._frame import Frame


class Affine(NamedTuple):
    """An encoding of numbers x as (x − center) / scale, where `missing` replaces missing ones."""

    missing: np.ndarray
    center: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """A group of columns that is encoded together."""

    kind: ClassVar[str]
    is_scaled: ClassVar[bool] = True
    columns: list[str]
    _file_fields: ClassVar[fields.Declaration]  # in a file, besides the columns

    @classmethod
    @abstractmethod
    def fit(cls, frame: Frame, names: list[str], options: Any) -> tuple["Block | None", list[str]]:
        """Return the block, None where no column is usable, and sentences for the user.

        `options` has the parameters of `Columns`.
        """

    @abstractmethod
    def transform(self, frame: Frame) -> Any:
        """Return the columns as numbers."""

    def feature_names(self) -> list[str]:
        """Return a name for each number, by default that of its column."""
        return list(self.columns)

    def affine(self) -> Affine | None:
        """Return the encoding of each feature, or None where it is not affine."""
        return None

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Height and width, where the features of a row are the pixels of an image."""
        return None

    def images(self, frame: Frame) -> np.ndarray:
        """Return the image of each row, where there is an `image_shape`."""
        raise NotImplementedError

    def as_data(self) -> dict[str, Any]:
        """Return the state that a file stores."""
        return {
            "kind": self.kind,
            **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)},
        }


def missing_cells(n: int) -> str:
    """Return a number of missing cells as text."""
    return f"{n} missing cell{'s' * (n > 1)}"
