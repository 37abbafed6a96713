"""What a store holds, as plain values; and what it refuses."""

from dataclasses import dataclass
from typing import Any

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
class Entry:
    """One line of the journal: comparisons, or that those of another line are taken back.

    `triplets` are (query, closer, farther, weight): revisions of items, the query maybe a vector.
    """

    number: int
    first: int
    triplets: tuple[tuple[Any, int, int, float], ...]
    undoes: int | None
    key: str
    at: float


@dataclass(frozen=True)
class Checkpoint:
    """A learner's state after the entries up to `entry`, and `position` comparisons.

    `asked` of those it was asked about before it learned from them, and `foretold` so many rightly.
    """

    entry: int
    position: int
    asked: int
    foretold: int
    state: bytes


@dataclass(frozen=True)
class Verdict:
    """A candidate on what was held out, beside the version that was live."""

    held_out: int
    right: int
    live_right: int
    won: int
    lost: int
    live: int

    @property
    def beats(self) -> bool:
        """Whether it wins by more than one and a half standard errors of chance.

        Candidates come again and again, and with less luck would be let through before long.
        """
        return self.won - self.lost > 1.5 * (self.won + self.lost) ** 0.5


@dataclass(frozen=True)
class VersionInfo:
    """A version, without its numbers."""

    number: int
    origin: str
    position: int
    created: float
    promoted: float | None
    held: bool
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
