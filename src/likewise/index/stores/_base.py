"""The interface of a store: items under ids, searched and changed in the same way everywhere."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

import numpy as np

from likewise.index._fold_plan import FoldPlan
from likewise.index._offsets import ActiveOffsets
from likewise.index.engines import Hits
from likewise.similarities import ItemOffsets, Similarity


class OutdatedSnapshotError(ValueError):
    """The items of a shared table were mapped for another similarity since the snapshot."""


class Reader(Protocol):
    """One state of the stored items, each in a numbered slot."""

    @property
    def plan(self) -> FoldPlan:
        """The plan that items are searched by."""

    def check_searchable(self) -> None:
        """Refuse a search if the items are not stored for the plan."""

    def __len__(self) -> int: ...

    @property
    def is_empty(self) -> bool:
        """Whether there are no items."""

    @property
    def width(self) -> int | None:
        """Number of columns of the items; None if there are none."""

    @property
    def ids(self) -> list[Any]:
        """All ids, in insertion order."""

    @property
    def is_exact(self) -> bool:
        """Whether a search returns the best slots, up to rounding."""

    def efforts(self, k: int) -> list[int]:
        """Return values of `effort` to try, from fast to thorough; none if exact."""

    def known(self, ids: list[Any]) -> set[Any]:
        """Return the ids that are stored."""

    def slots_of(self, ids: list[Any]) -> np.ndarray:
        """Return the slots of stored ids."""

    def ids_of(self, slots: np.ndarray) -> np.ndarray:
        """Return the ids in some slots; None for `NO_SLOT`."""

    def rows(self, slots: np.ndarray) -> Any:
        """Return items as they are searched, moved by their offsets."""

    def originals(self, slots: np.ndarray) -> Any:
        """Return items as they were given."""

    def blocks(self, allowed: Any = None) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield slots and rows of all items, or of the allowed ones, in blocks."""

    def whole(self) -> Any:
        """Return the rows of all slots without a copy, or None if that is impossible."""

    def allowed(self, where: Any) -> Any:
        """Return a filter for the items that satisfy `where`; None for no filter."""

    def n_allowed(self, allowed: Any) -> int | None:
        """Return the number of items that a filter allows; None if counting is too slow."""

    def search(self, folded: Any, k: int, allowed: Any) -> Hits:
        """Find the `k` best slots of each folded query."""

    def error_bounds(self, folded: Any) -> np.ndarray:
        """Return the maximum rounding error of the values of each folded query."""


class Store(Protocol):
    """Items stored for a fold plan.

    A store does not change: every change returns the store that replaces this one. Changes to the
    stores of one index must be made one at a time, to the latest store. Arguments other than ids
    are checked by the index.
    """

    @property
    def plan(self) -> FoldPlan:
        """The plan that items are stored for."""

    @property
    def engine_name(self) -> str:
        """Name of the engine."""

    @property
    def reason(self) -> str:
        """Why that engine was chosen."""

    @property
    def effort(self) -> int | None:
        """How thorough a search is; None if it is exact."""

    def set_effort(self, effort: int | None) -> None:
        """Set how thorough searches are, also those of earlier stores with the same engine."""

    @property
    def offsets(self) -> ActiveOffsets:
        """The offsets that new items are moved by."""

    def reading(self) -> AbstractContextManager[Reader]:
        """Return a context with one state of the items."""

    def add(self, ids: list[Any], items: Any, fields: Mapping[str, list[Any]]) -> Self:
        """Store new items, moved by their offsets."""

    def update(self, ids: list[Any], items: Any, fields: Mapping[str, list[Any]] | None) -> Self:
        """Replace stored items; with None their fields stay."""

    def remove(self, ids: list[Any]) -> Self:
        """Remove stored items and drop their offsets."""

    def swap(self, similarity: Similarity) -> Self:
        """Store the items for another similarity."""

    def set_offsets(self, offsets: ItemOffsets | None) -> Self:
        """Move the items by other offsets, from their originals."""

    def release(self, previous: Any) -> None:
        """Free what only the previous store used, once this one has replaced it."""

    def for_file(self) -> dict[str, Any]:
        """Return the contents of an index file, except for the options of the index."""

    def restored(self, parts: dict[str, Any]) -> Self:
        """Return this store, which is empty, with the contents of a file."""
