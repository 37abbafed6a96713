"""What an engine is: vectors in slots, and the best of them by a measure it computes itself."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from likewise.index._offsets import ActiveOffsets, Moved
from likewise.similarities import Metric

# Up to here exact search is quick enough, and an approximate engine's recall is a needless risk.
MOST_ITEMS_EXACT = 200_000

NO_SLOT = -1


@dataclass(frozen=True, eq=False)
class Found:
    """The best slots of each query, best first.

    Attributes
    ----------
    slots : ndarray of shape (n_queries, k), int64
        `NO_SLOT` where there was nothing more to find.
    values : ndarray of shape (n_queries, k)
        Inner products, cosines, or Euclidean distances, as the engine's metric has it.
    """

    slots: np.ndarray
    values: np.ndarray


class Engine(Protocol):
    """Vectors in slots 0, 1, 2, ... in this process.

    Slots are never used twice: an item that changes moves to a new slot. What an answer may
    contain is said by `allowed`, so that removing needs nothing of an engine but `remove`, which
    may do nothing.
    """

    metric: Metric
    effort: int | None
    keeps_slots: bool  # whether a file of its own holds slots as they are
    forgets: bool  # whether what was removed is never found again, allowed or not

    def __len__(self) -> int:
        """Return how many slots have been filled."""

    @property
    def width(self) -> int | None:
        """How many numbers a vector has; None before the first."""

    @property
    def is_exact(self) -> bool:
        """Whether the best are found up to rounding, for sure."""

    def efforts(self, k: int) -> list[int]:
        """Return the values of `effort` worth trying, from quick to thorough; none if exact."""

    def add(self, vectors: np.ndarray, dtype: Any = None) -> None:
        """Fill the next slots; `dtype` is the precision that is enough, if that of rows is not."""

    def remove(self, slots: np.ndarray) -> None:
        """Take notice that these slots will never be allowed again."""

    def search(self, queries: np.ndarray, k: int, allowed: np.ndarray | None) -> Found:
        """Find the `k` best slots of each query, among those that `allowed` (a mask) allows."""

    def vectors(self, slots: np.ndarray) -> np.ndarray:
        """Return what was added."""

    def most_off(self, queries: np.ndarray) -> np.ndarray:
        """Return by how much rounding may have moved a query's values: see `most_off`."""

    def for_file(self, slots: np.ndarray) -> dict[str, np.ndarray]:
        """Return arrays that, with the vectors in `slots`, make the engine again."""


class Store(Protocol):
    """Items under ids, wherever they are; each has a number, its slot."""

    effort: int | None

    def reading(self) -> AbstractContextManager["Store"]:
        """Return a context with the store as it is now, whatever is changed meanwhile."""

    def __len__(self) -> int: ...

    @property
    def width(self) -> int | None:
        """How many columns the items have; None where there are none."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to find."""

    def known(self, ids: list[Any]) -> set[Any]:
        """Return those ids that are stored."""

    @property
    def ids(self) -> list[Any]:
        """The ids of all items, in the order in which they came."""

    @property
    def is_exact(self) -> bool:
        """Whether nothing but rounding stands between the answers and the truth."""

    def efforts(self, k: int) -> list[int]:
        """Return the values of `effort` worth trying, from quick to thorough; none if exact."""

    @property
    def offsets(self) -> ActiveOffsets:
        """What new items are to be moved by before they are put here."""

    def put(
        self,
        ids: list[Any],
        items: Any,
        folded: Any,
        fields: Any,
        *,
        new: bool,
        moved: Moved | None = None,
    ) -> None:
        """Store items under unique ids: all of them new, or all of them known.

        `moved` says which of them are not as they were given, but moved by their offsets.
        """

    def remove(self, ids: list[Any]) -> None:
        """Leave stored items out of every later answer, and drop their offsets."""

    def slots_of(self, ids: list[Any]) -> np.ndarray:
        """Return the slots of ids; an id that is not stored is a KeyError."""

    def names(self, slots: np.ndarray) -> np.ndarray:
        """Return the ids in some slots; None where there is no slot."""

    def rows(self, slots: np.ndarray) -> Any:
        """Return the items in some slots as they are searched: moved by their offsets."""

    def given(self, slots: np.ndarray) -> Any:
        """Return the items in some slots as they were given."""

    def fields(self, slots: np.ndarray) -> dict[str, list[Any]]:
        """Return the fields of the items in some slots."""

    def blocks(self, allowed: Any = None) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield the slots and rows of all items, or those allowed, a block at a time."""

    def allowed(self, where: Any) -> Any:
        """Return what limits a search to items that satisfy `where`; None for no limit."""

    def n_allowed(self, allowed: Any) -> int | None:
        """Return how many items a search may find; None where counting would take too long."""

    def search(self, folded: Any, k: int, allowed: Any) -> Found:
        """Find the `k` best slots of each folded query."""

    def most_off(self, folded: Any) -> np.ndarray:
        """Return by how much rounding may have moved the values of each folded query."""


@dataclass(frozen=True)
class Kind:
    """An engine that can be chosen by name."""

    name: str
    metrics: tuple[Metric, ...]
    make: Callable[..., Engine]
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether what it needs is there."""
        return self.package is None or find_spec(self.package) is not None


def most_off(
    metric: Metric, reach: np.ndarray, longest: float, width: int, dtype: Any
) -> np.ndarray:
    """Return by how much a value may be off through rounding: of the square, if a distance.

    A product of n terms is off by at most n units of rounding of its terms' total size; a few more
    cover what is rounded before. `reach` are the lengths of the queries.
    """
    limits = np.finfo(dtype)
    with np.errstate(over="ignore"):  # then it may be off by anything
        terms = (reach + longest) ** 2 if metric == "euclidean" else reach * longest
    return (width + 8) * (limits.eps * terms + limits.tiny)


def as_single(rows: np.ndarray, name: str, engine: str) -> np.ndarray:
    """Return rows in single precision, or refuse numbers that it cannot hold."""
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(rows, dtype=np.float32)
    if not np.isfinite(single.sum()) and not np.isfinite(single).all():
        raise ValueError(
            f"{name} holds numbers beyond the single precision of the engine {engine!r}: scale "
            "them down, or use engine='exact'."
        )
    return single


def optimistic(found: Found, off: np.ndarray, metric: Metric) -> np.ndarray:
    """Return the best value that a slot which was not found could have."""
    last = found.values[:, -1].astype(np.float64)
    if metric == "euclidean":
        return np.sqrt(np.maximum(last**2 - off, 0))
    return last + off
