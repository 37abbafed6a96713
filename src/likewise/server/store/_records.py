"""The records of a store as plain values, and the errors that a store raises."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np

ItemId = int | str


class AlreadyExists(ValueError):
    """A key or an id is already in use for something else."""


class NotFound(LookupError):
    """A key, an id or a version does not exist."""


class InvalidRequest(ValueError):
    """A request does not fit the model."""


class StoreUnavailable(OSError):
    """The store cannot be reached at the moment."""


class NotSupported(ValueError):
    """The operation is not possible in the present state."""


@dataclass(frozen=True, eq=False, slots=True)
class StoredItem:
    """An immutable revision of an item; it is kept when the item is replaced or removed."""

    revision: int
    id: ItemId
    vector: np.ndarray
    row: dict[str, Any]


@dataclass(frozen=True)
class TextQuery:
    """The vector of a text, to be stored under the digest of the text.

    An encoder may return slightly different vectors for one text. The first one is stored, so that
    a text is one query of one split. Pages that are read have the vector instead.
    """

    digest: str
    vector: list[float]


@dataclass(frozen=True)
class Page:
    """The results shown for a query, in order, and those that were chosen.

    The query is the revision of an item, a vector, or a `TextQuery`; `shown` and `chosen` are
    revisions. A triplet is a page of two. A pair is a page of one, chosen if query and item are the
    same; pages of several items of which all or none are chosen are as many pairs. `model` is the
    version that ranked the page, if known; `lexical` has the lexical scores of the items shown,
    where the server computes them.
    """

    query: Any
    shown: tuple[int, ...]
    chosen: tuple[int, ...]
    model: int | None = None
    lexical: tuple[float, ...] | None = None

    @classmethod
    def from_triplet(cls, query: Any, closer: int, farther: int) -> "Page":
        """Return a triplet as a page."""
        return cls(query, (closer, farther), (closer,))

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons: every chosen item with every other item shown."""
        return len(self.chosen) * (len(self.shown) - len(self.chosen))

    @property
    def n_judgments(self) -> int:
        """Number of comparisons, or 1 for a page of pairs."""
        return self.n_comparisons or 1


@dataclass(frozen=True)
class Entry:
    """An entry of the journal: pages, or the number of an earlier entry that it undoes.

    Positions count judgments; `first` is the position of the entry's first one, and `size` their
    number, also where an undone entry was erased and has no pages.
    """

    number: int
    first: int
    size: int
    pages: tuple[Page, ...]
    undoes: int | None
    key: str
    at: float

    @property
    def end(self) -> int:
        """Position after its last comparison."""
        return self.first + self.size


@dataclass(frozen=True)
class Checkpoint:
    """The learner's state after the entries up to `entry`, which hold `position` comparisons.

    `predicted` comparisons were predicted before training on them, `correct` of them correctly.
    `twin` is the state trained without the held-out split, for learners that keep one.
    """

    entry: int
    position: int
    predicted: int
    correct: int
    state: bytes
    twin: bytes | None = None


@dataclass(frozen=True)
class SavedStates:
    """Changes of the states from which an undo resumes, written with a checkpoint.

    Attributes
    ----------
    dropped_from : int or None
        States after this entry and later are deleted.
    added : dict of int to (state, twin)
        By the number of the last entry.
    kept : callable
        Tells whether the state after an entry is still kept.
    """

    dropped_from: int | None
    added: dict[int, tuple[bytes, bytes]]
    kept: Callable[[int], bool]


class Evaluation(NamedTuple):
    """Means over held-out queries; None where there are too few.

    Attributes
    ----------
    live, candidate : float or None
    error : float or None
        Standard error of candidate − live, paired by query.
    n : int
        Number of queries.
    """

    live: float | None
    candidate: float | None
    error: float | None
    n: int


@dataclass(frozen=True)
class Verdict:
    """A candidate compared with another version on pages of held-out queries.

    Attributes
    ----------
    live : int
        Number of the live version.
    overall, seen, new : Evaluation
        Over all chosen items, over those in the training set, and over the others.
    test : int
        Number of the test since the last automatic promotion, from 1.
    threshold : float
        Standard errors that the overall gain must exceed.
    passes : bool
    against : int or None
        Number of the version that it was compared with; None for the live one.
    """

    live: int
    overall: Evaluation
    seen: Evaluation
    new: Evaluation
    test: int
    threshold: float
    passes: bool
    against: int | None = None


@dataclass(frozen=True)
class Recipe:
    """The settings by which a version is learned from the pages up to its position.

    Attributes
    ----------
    learner : {"ridge", "plda", "aroma"}
    alpha : float
        Penalty on the change of W, in queries; infinity keeps the initial W.
    gamma : float
        Step of the offsets; 0 disables them.
    share : float
        Fraction of AROMA's change of W.
    lexical : float or None
        Weight of the lexical score as a multiple of the scale of similarities; None is the initial
        weight.
    weight : float
        Weight of the lexical score.
    rank : int
        Number of principal directions in which PLDA learns.
    """

    learner: Literal["ridge", "plda", "aroma"]
    alpha: float = inf
    gamma: float = 0.0
    share: float = 1.0
    lexical: float | None = None
    weight: float = 0.0
    rank: int = 0


@dataclass(frozen=True)
class Candidate:
    """A version to be written: its recipe, its verdict and its model files.

    The ids of the offsets are revisions of items. The twin is the same similarity trained without
    the held-out split.
    """

    recipe: Recipe
    verdict: Verdict
    similarity: bytes
    offsets: bytes | None = None
    twin: bytes | None = None


class VersionFiles(NamedTuple):
    """The model files of a version: see `Candidate`; and the weight of the lexical score."""

    similarity: bytes
    offsets: bytes | None
    twin: bytes | None
    weight: float = 0.0


@dataclass(frozen=True)
class VersionInfo:
    """A version without its model files."""

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
class StoreStatus:
    """The counters of a store, read in one transaction.

    Attributes
    ----------
    live : int
        Number of the live version.
    gate_held : bool
        Whether automatic promotion is suspended.
    change : int
        Number of the last change of the items.
    acknowledged, applied : int
        Judgments in the journal, and those that the learner has consumed.
    last_version : int
        Number of the newest version.
    """

    live: int
    gate_held: bool
    change: int
    acknowledged: int
    applied: int
    last_version: int
