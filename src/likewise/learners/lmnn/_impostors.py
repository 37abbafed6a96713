"""Who comes too close: rows of another label within the margin of a row's targets."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.optimize import minimize_scalar

from likewise import kernels
from likewise._threads import ScratchArray, for_each, slices
from likewise.learners.lmnn._objective import Margins
from likewise.similarities import Best, as_similarity

Lists: TypeAlias = tuple[np.ndarray, np.ndarray]  # CSR: where each row's begin, and the rows

_CAUTION = 1.1  # impostors are looked for this much farther than they matter now
_ROWS_FOR_SCALE, IMPOSTORS_FOR_SCALE = 500, 300
_ROWS_AT_ONCE = 50  # of those, each beside all rows
_ROWS_IN_BLOCK = 1024
_ROOM_FOR_PAIRS = 4096


class ImpostorSearch:
    """Keeps the impostors of a `Margins` up to date as the map moves.

    Parameters
    ----------
    margins : Margins
    labels : (n_rows,) int64 array, or None
        None where the impostors are given and stay.
    given : CSR list of impostors, or None
    """

    def __init__(
        self,
        margins: Margins,
        labels: np.ndarray | None,
        given: tuple[np.ndarray, np.ndarray] | None,
    ) -> None:
        self._margins = margins
        self._labels = labels
        if given is not None:
            margins.set_impostors(*given)

    def renew(self, L: np.ndarray, *, most: int | None = None) -> float:
        """Find the impostors under `L`; return the plain objective, over all rows.

        Where there are more than `most`, the list stays as it was and infinity is returned.
        """
        Z = self._margins.mapped(L)
        if self._labels is not None:
            reach = reach_of(self._margins.target_distances(Z))
            found = find_impostors(Z, self._labels, reach, most)
            if found is None:
                return np.inf
            self._margins.set_impostors(*found)
        return self._margins.cost(Z, 0.0)[0]

    def best_scale(self, L: np.ndarray) -> float:
        """Return the factor on squared distances under which `L` costs least.

        From too small a scale everything is an impostor of everything. Some rows and their nearest
        impostors tell enough.
        """
        Z = self._margins.mapped(L)
        some = self._margins if self._labels is None else self._sample(Z, self._labels)
        return scale_of(some, Z, typical_distance(self._margins.target_distances(Z)))

    def _sample(self, Z: np.ndarray, labels: np.ndarray) -> Margins:
        rows = rows_for_scale(len(Z))
        parts = [
            lists_of(nearest_others(Z[block], labels[block], Z, labels))
            for block in np.array_split(rows, -(-len(rows) // _ROWS_AT_ONCE))
        ]
        some = self._margins.of_anchors(rows)
        some.set_impostors(*joined_lists(parts))
        return some


def reach_of(near: np.ndarray) -> np.ndarray:
    """Return how far from each row impostors are looked for, from the distances of its targets."""
    farthest = np.where(np.isnan(near), -np.inf, near).max(axis=1)
    return (_CAUTION * (1 + farthest)).astype(near.dtype)  # −inf: no targets, no margin


def typical_distance(near: np.ndarray) -> float:
    """Return the median distance of targets that are not at the same place; 0 where all are."""
    return float(np.median(near[near > 0])) if (near > 0).any() else 0.0


def rows_for_scale(n_rows: int) -> np.ndarray:
    """Return some rows, evenly spread."""
    return np.unique(np.linspace(0, n_rows - 1, _ROWS_FOR_SCALE).astype(np.int64))


def scale_of(some: Margins, Z: np.ndarray, typical: float) -> float:
    """Return the factor on squared distances under which margins cost least."""
    if typical == 0:
        return 1.0
    cost = some.cost_by_scale(Z)
    found = minimize_scalar(
        lambda log: cost(np.exp(log) / typical), bounds=(-7, 9), options={"xatol": 0.05}
    )
    return float(np.exp(found.x) / typical)


def nearest_others(
    queries: np.ndarray, of_queries: np.ndarray, Z: np.ndarray, labels: np.ndarray
) -> Best:
    """Return the score (−squared distance) and row of the nearest rows of other labels, unordered.

    −inf where a row of the same label fills the place.
    """
    scores = as_similarity("euclidean").score(queries, Z)
    scores[of_queries[:, None] == labels] = -np.inf
    k = min(IMPOSTORS_FOR_SCALE, len(Z) - 1)
    nearest = np.argpartition(-scores, k, axis=1)[:, :k]
    return np.take_along_axis(scores, nearest, axis=1), nearest


def lists_of(best: Best) -> Lists:
    """Return, as CSR, the rows of other labels that were found."""
    scores, rows = best
    others = np.isfinite(scores)
    indptr = np.concatenate([[0], np.cumsum(others.sum(axis=1))]).astype(np.int64)
    return indptr, rows[others].astype(np.int32)


def joined_lists(parts: Sequence[Lists]) -> Lists:
    """Return CSR lists below each other."""
    counts = [np.diff(indptr) for indptr, _ in parts]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    return indptr, np.concatenate([heads for _, heads in parts])


def find_impostors(
    Z: np.ndarray, labels: np.ndarray, reach: np.ndarray, most: int | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """List, for every row, the rows of another label nearer than its reach, as CSR.

    Half of one pass over all pairs: a block of distances serves both directions. None where there
    are more than `most`.

    Parameters
    ----------
    Z : (n_rows, n_components)
    labels : (n_rows,) int64
    reach : (n_rows,) squared distances
    most : int, optional
    """
    pairs = impostor_pairs(Z, Z, 0, 0, labels, reach, most)
    return None if pairs is None else impostor_lists([pairs], slice(0, len(Z)))


def impostor_pairs(
    Z: np.ndarray,
    others: np.ndarray,
    first: int,
    first_other: int,
    labels: np.ndarray,
    reach: np.ndarray,
    most: int | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """List pairs of a row and an impostor among two blocks of rows, in both directions.

    Blocks are the same, or the second lies behind the first. None where there are more than `most`.

    Parameters
    ----------
    Z, others : (n, n_components) and (m, n_components)
    first, first_other : int, which rows they begin with
    labels, reach : of all rows
    most : int, optional

    Returns
    -------
    tails, heads : int32 arrays, a row and its impostor
    """
    # |a − b|² as one product, of (−2a, |a|², 1) with (b, 1, |b|²)
    left = np.concatenate([-2 * Z, _squares(Z), np.ones((len(Z), 1), Z.dtype)], axis=1)
    right = np.concatenate([others, np.ones((len(others), 1), Z.dtype), _squares(others)], axis=1)
    pairs = [
        (rows, columns)
        for rows in slices(len(Z), _ROWS_IN_BLOCK)
        for columns in slices(len(others), _ROWS_IN_BLOCK)
        if first_other + columns.stop > first + rows.start + 1  # above the diagonal
    ]
    found: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0, np.int32),) * 2] * len(pairs)
    counts = np.zeros(len(pairs), np.int64)
    for_distances = ScratchArray()

    def work(number: int) -> None:
        if most is not None and counts.sum() > most:
            return
        rows, columns = pairs[number]
        shape = rows.stop - rows.start, columns.stop - columns.start
        distances = for_distances.get(shape, Z.dtype)
        np.matmul(left[rows], right[columns].T, out=distances)
        begins = first + rows.start, first_other + columns.start
        room, count = 0, _ROOM_FOR_PAIRS
        while count > room:  # once more with enough room, where there was too little
            room = count
            tails, heads = np.empty(room, np.int32), np.empty(room, np.int32)
            count = kernels.scan_impostors(distances, *begins, labels, reach, tails, heads)
        counts[number] = count
        found[number] = tails[:count].copy(), heads[:count].copy()

    for_each(work, range(len(pairs)))
    if most is not None and counts.sum() > most:
        return None
    tails, heads = (np.concatenate(part) for part in zip(*found, strict=True))
    return tails, heads


def impostor_lists(pairs: Sequence[tuple[np.ndarray, np.ndarray]], rows: slice) -> Lists:
    """Return the impostors of some rows, as CSR, from pairs of these and of others."""
    tails, heads = (np.concatenate(part) for part in zip(*pairs, strict=True))
    own = (tails >= rows.start) & (tails < rows.stop)
    tails, heads = tails[own].astype(np.int64) - rows.start, heads[own]
    # By row, and within a row ascending: the order in which blocks were done must not matter.
    order = np.lexsort((heads, tails))
    indptr = np.zeros(rows.stop - rows.start + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=len(indptr) - 1), out=indptr[1:])
    return indptr, heads[order]


def _squares(Z: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", Z, Z)[:, None]
