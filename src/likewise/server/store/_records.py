"""What a store holds, as plain values; and what it refuses."""

from dataclasses import dataclass
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np

ItemId = int | str


class KeyTakenError(ValueError):
    """A key or an id that is there already, for something else."""


class NotThereError(LookupError):
    """A key, an id or a version that is not there."""


class WrongRequestError(ValueError):
    """A request that says what does not fit the model."""


class StoreAwayError(OSError):
    """A store that cannot be reached just now."""


class NotPossibleError(ValueError):
    """What cannot be done with things as they are."""


@dataclass(frozen=True, eq=False)
class StoredItem:
    """One state of an item; it never changes, and stays when the item is replaced or removed."""

    revision: int
    id: ItemId
    vector: np.ndarray
    row: dict[str, Any]


@dataclass(frozen=True)
class Page:
    """What was shown for a query, in order, and what of it was chosen.

    The query is a revision of an item or a vector; `shown` and `chosen` are revisions. A comparison
    that was given as such is a page of two.
    """

    query: Any
    shown: tuple[int, ...]
    chosen: tuple[int, ...]

    @classmethod
    def of_two(cls, query: Any, closer: int, farther: int) -> "Page":
        """Return a comparison as a page."""
        return cls(query, (closer, farther), (closer,))

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons: every chosen item with every other that was shown."""
        return len(self.chosen) * (len(self.shown) - len(self.chosen))


@dataclass(frozen=True)
class Entry:
    """One line of the journal: pages, or that those of another line are taken back.

    `first` is the position of its first comparison; positions count comparisons.
    """

    number: int
    first: int
    pages: tuple[Page, ...]
    undoes: int | None
    key: str
    at: float

    @property
    def end(self) -> int:
        """Position after its last comparison."""
        return self.first + sum(page.n_comparisons for page in self.pages)


@dataclass(frozen=True)
class Checkpoint:
    """A learner's state after the entries up to `entry`, and `position` comparisons.

    Number of comparisons `predicted` before training on them, and how many of those were `correct`.
    `twin` is the state without what is held out, for learners that keep one.
    """

    entry: int
    position: int
    predicted: int
    correct: int
    state: bytes
    twin: bytes | None = None


class Judged(NamedTuple):
    """Means over held-out queries; None where there are too few.

    Attributes
    ----------
    live, candidate : float or None
    error : float or None
        Standard error of candidate − live, paired by query.
    n : int
        Queries.
    """

    live: float | None
    candidate: float | None
    error: float | None
    n: int


@dataclass(frozen=True)
class Verdict:
    """A candidate beside the version that was live, on pages of queries held out.

    Attributes
    ----------
    live : int
        The version it was compared with.
    overall, seen, new : Judged
        Over all chosen items, over those that training had, and over those it had not.
    test : int
        Number of the test since the last automatic promotion, from 1.
    threshold : float
        Standard errors that the overall gain must exceed.
    passes : bool
    """

    live: int
    overall: Judged
    seen: Judged
    new: Judged
    test: int
    threshold: float
    passes: bool


@dataclass(frozen=True)
class Recipe:
    """How a version is learned from the pages up to its position.

    Attributes
    ----------
    learner : {"ridge", "aroma"}
    alpha : float
        Weight of the start in queries; infinity keeps the start.
    gamma : float
        Step of the offsets; 0 is none.
    share : float
        Share of what AROMA learned.
    """

    learner: Literal["ridge", "aroma"]
    alpha: float = inf
    gamma: float = 0.0
    share: float = 1.0


@dataclass(frozen=True)
class Candidate:
    """A version to be written: how it was learned, what that gave, and the verdict on it.

    `similarity`, `offsets` and `twin` are model files; offsets have revisions of items as ids. The
    twin is the same without what is held out.
    """

    recipe: Recipe
    verdict: Verdict
    similarity: bytes
    offsets: bytes | None = None
    twin: bytes | None = None


@dataclass(frozen=True)
class VersionInfo:
    """A version, without its numbers."""

    number: int
    origin: str
    position: int
    created: float
    promoted: float | None
    held: bool
    recipe: Recipe | None
    verdict: Verdict | None
    available: bool


@dataclass(frozen=True)
class Pulse:
    """What whoever follows a store needs to look at, all read at one moment."""

    live: int
    gate_held: bool
    change: int
    acknowledged: int
    applied: int
