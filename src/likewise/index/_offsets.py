"""Offsets in an index: the items that they move, and the originals of those."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from likewise._validation import is_sparse
from likewise.similarities import ItemOffsets, Similarity, with_rows


@dataclass(frozen=True, eq=False)
class ActiveOffsets:
    """The offsets that new items are moved by.

    Attributes
    ----------
    offsets : ItemOffsets or None
    dropped : frozenset of ids
        Items removed since the offsets were set, which are not moved if they are added again. An
        update needs no entry: a stored item must be removed before it can be added again.
    """

    offsets: ItemOffsets | None = None
    dropped: frozenset[Any] = frozenset()

    def apply(self, ids: list[Any], items: Any, similarity: Similarity) -> tuple[Any, "Moved"]:
        """Return the items to store, and the originals of those that were moved."""
        offsets = self.offsets
        if offsets is None or offsets.gamma == 0:
            return items, Moved(self)
        listed = [at for at, i in enumerate(ids) if i in offsets and i not in self.dropped]
        if not listed:
            return items, Moved(self)
        places = np.array(listed)
        originals = items[places]
        moved = offsets.apply([ids[at] for at in listed], originals)
        try:
            similarity.check_items(moved, "items")
        except ValueError as error:
            raise ValueError(
                f"offsets must move items to vectors that the similarity can score: {error}"
            ) from error
        return with_rows(items, places, moved), Moved(self, places, originals)

    def without(self, ids: Sequence[Any]) -> "ActiveOffsets":
        """Return the offsets without those of some items."""
        known = set() if self.offsets is None else {i for i in ids if i in self.offsets}
        return replace(self, dropped=self.dropped | known) if known - self.dropped else self


@dataclass(frozen=True, eq=False)
class Moved:
    """The moved items of a batch.

    Attributes
    ----------
    by : ActiveOffsets
    places : array of int
        Positions in the batch.
    originals : rows or None
        The items at these positions as they were given; None if there are none.
    """

    by: ActiveOffsets
    places: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    originals: Any = None


def check_offsets(offsets: Any, similarity: Similarity, width: int | None) -> None:
    """Refuse offsets that cannot move items of `width` columns."""
    if offsets is None:
        return
    if not isinstance(offsets, ItemOffsets):
        raise TypeError(
            "offsets must be ItemOffsets, such as a learner's offsets_, or None, but a "
            f"{type(offsets).__name__} was given."
        )
    if similarity.takes != "rows":
        raise ValueError(
            f"offsets needs a similarity that takes rows of numbers, but {similarity!r} takes "
            f"{'objects' if similarity.takes == 'objects' else 'a matrix'}."
        )
    n_columns = offsets.n_item_features
    if width not in (None, n_columns):
        raise ValueError(f"offsets moves items of {n_columns} columns, but the items have {width}.")
    try:
        similarity.check_items(np.ones((1, n_columns), np.float32), "items")
    except ValueError as error:
        raise ValueError(
            f"offsets moves items of {n_columns} columns, which {similarity!r} cannot score: "
            f"{error}"
        ) from error


def fingerprint(offsets: ItemOffsets | None) -> str | None:
    """Return a digest of the offsets; None without any."""
    if offsets is None:
        return None
    directions: Any = offsets.directions
    arrays = [directions, offsets.counts, offsets.center]
    if is_sparse(directions):
        arrays[:1] = [directions.data, directions.indices, directions.indptr]
    digest = sha256(json.dumps([list(offsets.ids), offsets.gamma]).encode())
    for array in arrays:
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
