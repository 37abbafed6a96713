"""Offsets of judged items: they move stored vectors, and do not change the similarity."""

import numbers
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from likewise._validation import Rows, check_number, check_rows, is_sparse
from likewise.similarities._rows import frozen_rows, lengths, ratio, to_dense, to_unit_length

ItemId = int | str


@dataclass(frozen=True, eq=False, repr=False)
class ItemOffsets:
    """Directions in which judged items move, toward the queries that they are relevant to.

    A judged item p with direction c becomes ‖p‖ · unit(unit(p) + γ c), which has the same length.
    Only stored items change, so that offsets are exact in every index; other items stay the same.

    Parameters
    ----------
    ids : sequence of int or str
        The judged items; unique.
    directions : array or CSR of shape (n_judged, n_item_features)
        c of each item: n^(−1/2) Σ (t − t̄) over the queries that it is relevant to, where t is the
        initial query, scaled to unit length, and t̄ their mean or a mean near the item.
    counts : array of shape (n_judged,)
        n of each item: the sum of its grades.
    gamma : float
        γ, the step length.
    center : array of shape (n_item_features,)
        t̄, the mean of t over all judged queries.

    Examples
    --------
    >>> import numpy as np, likewise as lw
    >>> offsets = lw.ItemOffsets(["b"], [[0.0, 1.0]], [1.0], 1.0, [0.0, 0.0])
    >>> offsets
    ItemOffsets(1 items, gamma=1.0)
    >>> offsets.apply(["a", "b"], [[1.0, 0.0], [2.0, 0.0]]).round(3)
    array([[1.   , 0.   ],
           [1.414, 1.414]])
    """

    ids: tuple[ItemId, ...]
    directions: Rows
    counts: np.ndarray
    gamma: float
    center: np.ndarray

    def __post_init__(self) -> None:
        ids = check_item_ids(self.ids, "ids")
        directions = check_rows(self.directions, "directions")
        counts, center = np.asarray(self.counts), np.asarray(self.center)
        for name, array, shape in (
            ("counts", counts, (len(ids),)),
            ("center", center, (directions.shape[1],)),
        ):
            if array.dtype.kind not in "fiu" or array.shape != shape:
                raise ValueError(
                    f"{name} must be numbers of shape {shape}, but {array.dtype} of shape "
                    f"{array.shape} was given."
                )
            if not np.isfinite(array).all():
                raise ValueError(f"{name} holds NaN or infinity; it must be finite.")
        if directions.shape[0] != len(ids):
            raise ValueError(
                f"directions has {directions.shape[0]} rows, but there are {len(ids)} ids."
            )
        if (counts <= 0).any():
            raise ValueError("counts must be above 0: an item that was not judged has no offset.")
        gamma = check_number(self.gamma, "gamma", minimum=0)
        arrays = (frozen_rows(array) for array in (directions, counts, center))
        for name, value in zip(("directions", "counts", "center"), arrays, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "gamma", gamma)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"ItemOffsets({len(self)} items, gamma={self.gamma})"

    def __deepcopy__(self, memo: Any) -> "ItemOffsets":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_item_features(self) -> int:
        """Width of the items."""
        return int(self.directions.shape[1])

    def __contains__(self, identifier: object) -> bool:
        return identifier in self._positions

    def apply(self, ids: Sequence[ItemId], items: Any) -> Rows:
        """Return the items to store: judged ones moved, the others unchanged.

        Parameters
        ----------
        ids : sequence of int or str, one for each item
        items : array or CSR of shape (n_items, n_item_features)
        """
        items = check_rows(items, "items", n_features=self.n_item_features)
        listed = check_item_ids(ids, "ids", unique=False)
        if len(listed) != items.shape[0]:
            raise ValueError(f"ids has {len(listed)} entries, but items has {items.shape[0]} rows.")
        known = [(row, self._positions[i]) for row, i in enumerate(listed) if i in self._positions]
        if not known or self.gamma == 0:
            return items
        rows, positions = np.array(known).T
        moved = moved_items(items[rows], self.directions[positions], self.gamma)
        return with_rows(items, rows, moved)

    @cached_property
    def _positions(self) -> dict[ItemId, int]:
        return {identifier: position for position, identifier in enumerate(self.ids)}


def moved_items(items: Rows, directions: Rows, gamma: float) -> Rows:
    """Return ‖p‖ · unit(unit(p) + γ c), row by row, in the format and precision of the items."""
    exact, steps = items.astype(np.float64), directions.astype(np.float64) * gamma
    length = lengths(exact)[:, None]
    if is_sparse(items):
        from scipy.sparse import csr_array

        moved = to_unit_length(to_unit_length(exact) + csr_array(steps))
        return moved.multiply(length).tocsr().astype(items.dtype)
    shifted = to_unit_length(exact) + to_dense(steps)
    return (shifted * ratio(length, lengths(shifted)[:, None])).astype(items.dtype)


def with_rows(items: Rows, rows: np.ndarray, moved: Rows) -> Rows:
    """Return a copy of the items with some rows replaced, in their common precision."""
    if not is_sparse(items):
        out = items.astype(np.result_type(items, moved))
        out[rows] = moved
        return out
    from scipy.sparse import csr_array, vstack

    n = items.shape[0]
    order = np.arange(n)
    order[rows] = n + np.arange(len(rows))
    return csr_array(vstack([items, moved], format="csr")[order])


def check_item_ids(ids: Any, name: str, *, unique: bool = True) -> tuple[ItemId, ...]:
    """Return ids as ints and strings; refuse repeated ids unless `unique` is false."""
    if isinstance(ids, str | bytes) or not hasattr(ids, "__len__"):
        raise TypeError(f"{name} must be a list, one for each item, but {ids!r} was given.")
    listed = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    for identifier in listed:
        if isinstance(identifier, bool) or not isinstance(identifier, numbers.Integral | str):
            raise TypeError(f"{name} must be whole numbers or text, but {identifier!r} was given.")
    checked = tuple(str(i) if isinstance(i, str) else int(i) for i in listed)
    if unique and len(set(checked)) < len(checked):
        repeated = Counter(checked).most_common(1)[0][0]
        raise ValueError(f"{name} must be unique, but {repeated!r} is given twice.")
    return checked
