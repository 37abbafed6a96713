"""The interface of an engine: vectors in numbered slots, searched by one metric."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from likewise.similarities import Metric

# Up to here exact search is fast enough, and approximate search would only lose recall.
MAX_ITEMS_EXACT = 200_000

NO_SLOT = -1


@dataclass(frozen=True, eq=False)
class Hits:
    """The best slots of each query, best first.

    Attributes
    ----------
    slots : ndarray of shape (n_queries, k), int64
        `NO_SLOT` where there are fewer than `k`.
    values : ndarray of shape (n_queries, k)
        Inner products, cosines or Euclidean distances, by the engine's metric.
    """

    slots: np.ndarray
    values: np.ndarray


class Engine(Protocol):
    """Vectors in slots 0, 1, 2, ... in this process.

    A slot is never reused: an updated item gets a new one. `allowed` limits a search, so an engine
    may ignore `remove`.
    """

    metric: Metric
    effort: int | None
    keeps_slots: bool  # whether `for_file` stores vectors under their slots
    forgets: bool  # whether removed slots are never returned, even if they are allowed

    def __len__(self) -> int:
        """Return the number of slots filled so far."""

    @property
    def width(self) -> int | None:
        """Number of columns of a vector; None before the first."""

    @property
    def is_exact(self) -> bool:
        """Whether a search returns the best slots, up to rounding."""

    def efforts(self, k: int) -> list[int]:
        """Return values of `effort` to try, from fast to thorough; none if exact."""

    def add(self, vectors: np.ndarray, dtype: Any = None) -> None:
        """Fill the next slots, stored in `dtype` where the engine has a choice."""

    def remove(self, slots: np.ndarray) -> None:
        """Drop these slots, which no later search allows."""

    def search(self, queries: np.ndarray, k: int, allowed: np.ndarray | None) -> Hits:
        """Find the `k` best slots of each query among those in the mask `allowed`."""

    def vectors(self, slots: np.ndarray) -> np.ndarray:
        """Return the vectors in some slots."""

    def error_bounds(self, queries: np.ndarray) -> np.ndarray:
        """Return the maximum rounding error of each query's values; of d² for a distance."""

    def for_file(self, slots: np.ndarray) -> dict[str, np.ndarray]:
        """Return the arrays that restore the engine, given the vectors in `slots`."""


@dataclass(frozen=True)
class EngineKind:
    """An engine that can be chosen by name."""

    name: str
    metrics: tuple[Metric, ...]
    make: Callable[..., Engine]
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether the package that the engine needs is installed."""
        return self.package is None or find_spec(self.package) is not None


def as_float32(rows: np.ndarray, name: str, engine: str) -> np.ndarray:
    """Return rows in single precision; numbers beyond its range are refused."""
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(rows, dtype=np.float32)
    if not np.isfinite(single.sum()) and not np.isfinite(single).all():
        raise ValueError(
            f"{name} holds numbers beyond the single precision of the engine {engine!r}: scale "
            "them down, or use engine='exact'."
        )
    return single


def squared_lengths(rows: np.ndarray) -> np.ndarray:
    """Return the squared length of each row, in double precision."""
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def best_unseen_value(hits: Hits, errors: np.ndarray, metric: Metric) -> np.ndarray:
    """Return the best value that a slot outside the hits can have, given rounding errors."""
    last = hits.values[:, -1].astype(np.float64)
    if metric == "euclidean":
        return np.sqrt(np.maximum(last**2 - errors, 0))
    return last + errors
