"""What every dissimilarity is and does: compare all of these with all of those, block by block."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from likewise._progress import LongWork
from likewise._threads import for_each, slices
from likewise._validation import n_rows

# A block should keep a thread busy for milliseconds and stay in its cache.
_ROWS_IN_BLOCK, _ITEMS_IN_BLOCK = 128, 256

NamePair: TypeAlias = Callable[[int, int], str]  # which pair a place in a block is, for errors


class Dissimilarity(ABC):
    """A measure of how unlike two things are: a number that is not negative, and no more than that.

    It need not be symmetric, nor zero between equals, nor keep to the triangle inequality. A
    dissimilarity is an immutable value; a subclass says what it takes and how a block is compared.
    """

    @property
    def takes(self) -> Literal["rows", "objects", "matrix"]:
        """What it compares: rows of numbers, any objects, or rows of a matrix with its columns."""
        return "objects"

    @property
    def parallel(self) -> bool:
        """Whether blocks may be compared in several threads."""
        return True

    @abstractmethod
    def check(self, X: Any, name: str = "X") -> Any:
        """Return `X` in the form in which it is compared, or refuse it; `name` is for the error."""

    def check_items(self, X: Any, name: str = "X") -> Any:
        """Return the right side of a comparison, likewise; of a matrix its column numbers."""
        return self.check(X, name)

    def fitted(self, X: Any) -> "Dissimilarity":
        """Return this dissimilarity with what it learns from training objects: most learn nothing.

        Parameters
        ----------
        X : rows, objects, or a square matrix
        """
        return self

    def prepare(self, X: Any) -> Any:
        """Return checked rows or objects with whatever is better computed once than in each block.

        What is returned can be cut by slices and by arrays of row numbers.
        """
        return X

    def prepare_items(self, X: Any) -> Any:
        """Return the right side of a comparison, likewise."""
        return self.prepare(X)

    @abstractmethod
    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Return d(l, r) of every two prepared things, as an (n_left, n_right) array."""

    def between(self, left: Any, right: Any, *, rows: Any = None, items: Any = None) -> np.ndarray:
        """Compare what is prepared, in blocks and on several threads; refuse what is no distance.

        Parameters
        ----------
        left, right : what `prepare` and `prepare_items` gave
        rows, items : sequences of int, optional
            Numbers of the things on either side, for errors; 0, 1, ... by default.
        """
        found = np.empty((n_rows(left), n_rows(right)))
        row_numbers = range(found.shape[0]) if rows is None else rows
        item_numbers = range(found.shape[1]) if items is None else items
        cells = [
            (part, columns)
            for part in slices(found.shape[0], _ROWS_IN_BLOCK)
            for columns in slices(found.shape[1], _ITEMS_IN_BLOCK)
        ]

        def compare(cell: tuple[slice, slice]) -> None:
            part, columns = cell

            def name_pair(i: int, j: int) -> str:
                return f"row {row_numbers[part][i]} and item {item_numbers[columns][j]}"

            values = self.block(left[part], right[columns], name_pair)
            bad = ~((values >= 0) & (values < np.inf))
            if bad.any():
                i, j = np.argwhere(bad)[0]
                raise ValueError(
                    "a dissimilarity must be a finite number that is not negative, but "
                    f"{self!r} gave {values[i, j]} on {name_pair(i, j)}."
                )
            found[part, columns] = values

        with LongWork("comparing", total=len(cells), unit="blocks") as work:
            for_each(compare, cells, on_done=work.advance, parallel=self.parallel)
        return found

    def pairwise(self, A: Any, B: Any = None) -> np.ndarray:
        """Return the dissimilarity of every one of `A` to every one of `B`.

        Parameters
        ----------
        A : rows, objects, or a matrix
        B : rows, objects, or column numbers of the matrix, optional
            `A` itself, or all columns, by default.

        Returns
        -------
        ndarray of shape (n_A, n_B)
        """
        left = self.check(A, "A")
        if B is None:
            right = np.arange(left.shape[1]) if self.takes == "matrix" else left
        else:
            right = self.check_items(B, "B")
        return self.between(self.prepare(left), self.prepare_items(right))

    def __copy__(self) -> "Dissimilarity":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Dissimilarity":
        return self
