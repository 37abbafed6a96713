"""Search for impostors: rows of another class within the margin of a row's targets."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.optimize import minimize_scalar

from likewise import kernels
from likewise._threads import ScratchArray, for_each, slices
from likewise.learners.lmnn._objective import Margins
from likewise.similarities import Best

Lists: TypeAlias = tuple[np.ndarray, np.ndarray]  # CSR: indptr, and row numbers of impostors

_SEARCH_MARGIN = 1.1  # search this much farther than the current margins
_ROWS_FOR_SCALE, IMPOSTORS_FOR_SCALE = 200, 300
_ROWS_PER_SCALE_BLOCK = 50  # each scored with all rows
_ROWS_IN_BLOCK, _COLUMNS_IN_BLOCK = 768, 384  # a block of distances and its columns stay cached
_SMALL_ERROR = 0.01  # share of the reach


class ImpostorSearch:
    """Updates the impostors of a `Margins` for the current map.

    Parameters
    ----------
    margins : Margins
    labels : (n_rows,) int64 array, or None
        None where the impostors are given and fixed.
    given : CSR list of impostors, or None
    """

    def __init__(
        self,
        margins: Margins,
        labels: np.ndarray | None,
        given: Lists | None,
    ) -> None:
        self._margins = margins
        self._labels = labels
        if given is not None:
            margins.set_impostors(*given)

    def renew(self, L: np.ndarray, *, max_pairs: int | None = None) -> float:
        """Find the impostors under `L`; return the unsmoothed objective over all rows.

        With more than `max_pairs` impostors, the list stays unchanged and infinity is returned.
        """
        Z = self._margins.mapped(L)
        if self._labels is not None:
            reach = reach_of(self._margins.target_distances(Z))
            impostors = find_impostors(Z, self._labels, reach, max_pairs)
            if impostors is None:
                return np.inf
            self._margins.set_impostors(*impostors)
        return self._margins.cost(Z, 0.0)[0]

    def best_scale(self, L: np.ndarray) -> float:
        """Return the factor on squared distances that minimizes the cost of `L`.

        With too small a scale every row is an impostor of every other. The factor is estimated
        from a sample of rows and their nearest impostors.
        """
        Z = self._margins.mapped(L)
        sample = self._margins
        if self._labels is not None:
            rows = rows_for_scale(self._labels)
            sample = self._margins.of_anchors(rows)
            sample.set_impostors(*sampled_impostors(Z, self._labels, rows))
        return scale_of(sample, Z, typical_distance(self._margins.target_distances(Z)))


def reach_of(near: np.ndarray) -> np.ndarray:
    """Return the search radius of each row (squared) from the distances of its targets."""
    farthest = np.where(np.isnan(near), -np.inf, near).max(axis=1)
    return np.asarray(_SEARCH_MARGIN * (1 + farthest))  # −inf: no targets, no margin


def typical_distance(near: np.ndarray) -> float:
    """Return the median nonzero distance of targets; 0 if all distances are zero."""
    return float(np.median(near[near > 0])) if (near > 0).any() else 0.0


def rows_for_scale(labels: np.ndarray) -> np.ndarray:
    """Return the numbers of some rows, evenly spaced in the order of their labels."""
    spaced = np.unique(np.linspace(0, len(labels) - 1, _ROWS_FOR_SCALE).astype(np.int64))
    return np.sort(np.argsort(labels, kind="stable")[spaced])


def scale_of(sample: Margins, Z: np.ndarray, typical: float) -> float:
    """Return the factor on squared distances that minimizes the cost."""
    if typical == 0:
        return 1.0
    cost = sample.cost_by_scale(Z)
    minimum = minimize_scalar(
        lambda log: cost(np.exp(log) / typical), bounds=(-7, 9), options={"xatol": 0.05}
    )
    return float(np.exp(minimum.x) / typical)


def sampled_impostors(Z: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> Lists:
    """Return the nearest rows of other classes for some rows, as CSR lists."""
    blocks = list(slices(len(rows), _ROWS_PER_SCALE_BLOCK))
    parts: list[Lists] = [(np.zeros(1, np.int64), np.empty(0, np.int32))] * len(blocks)

    def work(number: int) -> None:
        some = rows[blocks[number]]
        parts[number] = lists_of(nearest_others(Z[some], labels[some], Z, labels))

    for_each(work, range(len(blocks)))
    return joined_lists(parts)


def nearest_others(
    queries: np.ndarray, of_queries: np.ndarray, Z: np.ndarray, labels: np.ndarray
) -> Best:
    """Return scores and row numbers of the nearest rows of other classes, unordered.

    The score is 2 q·z − |z|², that is |q|² minus the squared distance; −inf where there are fewer
    rows of other classes.
    """
    scores = queries @ Z.T
    scores *= 2
    scores -= np.einsum("ij,ij->i", Z, Z)
    scores[of_queries[:, None] == labels] = -np.inf
    k = min(IMPOSTORS_FOR_SCALE, len(Z) - 1)
    nearest = np.argpartition(-scores, k, axis=1)[:, :k]
    return np.take_along_axis(scores, nearest, axis=1), nearest


def lists_of(best: Best) -> Lists:
    """Return the rows with a finite score as CSR lists."""
    scores, rows = best
    others = np.isfinite(scores)
    indptr = np.concatenate([[0], np.cumsum(others.sum(axis=1))]).astype(np.int64)
    return indptr, rows[others].astype(np.int32)


def joined_lists(parts: Sequence[Lists]) -> Lists:
    """Concatenate CSR lists."""
    counts = [np.diff(indptr) for indptr, _ in parts]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    return indptr, np.concatenate([heads for _, heads in parts])


def find_impostors(
    Z: np.ndarray, labels: np.ndarray, reach: np.ndarray, max_pairs: int | None = None
) -> Lists | None:
    """List, for every row, the rows of another class closer than its reach, as CSR.

    Each pair is computed once for both directions. None if there are more than `max_pairs`. Pairs
    that are farther by less than the rounding error of their distance may be listed too.

    Parameters
    ----------
    Z : (n_rows, n_components)
    labels : (n_rows,) int64
    reach : (n_rows,) squared distances
    max_pairs : int, optional
    """
    pairs = impostor_pairs(Z, Z, 0, 0, labels, reach, max_pairs)
    return None if pairs is None else impostor_lists([pairs], slice(0, len(Z)))


def impostor_pairs(
    Z: np.ndarray,
    others: np.ndarray,
    first: int,
    first_other: int,
    labels: np.ndarray,
    reach: np.ndarray,
    max_pairs: int | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """List pairs of a row and an impostor between two blocks of rows, in both directions.

    The blocks are equal, or the second follows the first. None if there are more than `max_pairs`.
    Parts of the blocks that have one label are skipped: the search is faster if rows of a label
    follow each other.

    Parameters
    ----------
    Z, others : (n, n_components) and (m, n_components)
    first, first_other : int, number of their first row
    labels, reach : of all rows
    max_pairs : int, optional

    Returns
    -------
    tails, heads : int32 arrays, a row and its impostor; the impostors of each row are ascending
    """
    left, right, reach = _factors(Z, others, reach)
    pairs = [
        (rows, columns)
        for rows in slices(len(Z), _ROWS_IN_BLOCK)
        for columns in slices(len(others), _COLUMNS_IN_BLOCK)
        if first_other + columns.stop > first + rows.start + 1  # above the diagonal
        and not _have_one_label(labels[first:][rows], labels[first_other:][columns])
    ]
    empty = (np.empty(0, np.int32),) * 2
    blocks: list[tuple[np.ndarray, np.ndarray]] = [empty] * len(pairs)
    counts = np.zeros(len(pairs), np.int64)
    scratch, listed = ScratchArray(), ScratchArray()

    def work(number: int) -> None:
        if max_pairs is not None and counts.sum() > max_pairs:
            return
        rows, columns = pairs[number]
        shape = rows.stop - rows.start, columns.stop - columns.start
        distances = scratch.get(shape, left.dtype)
        np.matmul(left[rows], right[columns].T, out=distances)
        start, other_start = first + rows.start, first_other + columns.start
        own, other = slice(start, start + shape[0]), slice(other_start, other_start + shape[1])
        tails, heads = listed.get((2, 2 * distances.size), np.int32)
        count = kernels.scan_impostors(
            distances,
            start,
            other_start,
            labels[own],
            labels[other],
            reach[own],
            reach[other],
            np.empty(shape[1], np.int32),
            tails,
            heads,
        )
        counts[number] = count
        blocks[number] = tails[:count].copy(), heads[:count].copy()

    for_each(work, range(len(pairs)))
    if max_pairs is not None and counts.sum() > max_pairs:
        return None
    tails, heads = (np.concatenate(part) for part in zip(empty, *blocks, strict=True))
    return tails, heads


def _have_one_label(labels: np.ndarray, others: np.ndarray) -> bool:
    label = labels[0]
    return bool(others[0] == label and (labels == label).all() and (others == label).all())


def _factors(
    Z: np.ndarray, others: np.ndarray, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return matrices whose product holds squared distances, and the reach, in one precision.

    |a − b|² is the product of (−2a, |a|², 1) with (b, 1, |b|²). Its rounding error, of at most
    `rounding` (|a|² + |b|²), is subtracted in advance, so that no impostor is missed. Single
    precision is used if that error is small beside the reach.
    """
    squares, other_squares = _squares(Z), _squares(others)
    typical = np.median(squares) + np.median(other_squares)
    within = reach[np.isfinite(reach)]
    for dtype in (np.float32, np.float64):
        # d + 2 products and sums, of terms that add up to at most 2 (|a|² + |b|²), of rounded rows
        rounding = 2 * (Z.shape[1] + 8) * np.finfo(dtype).eps / 2
        if len(within) == 0 or rounding * typical <= _SMALL_ERROR * np.median(within):
            break
    ones = np.ones((len(Z), 1)), np.ones((len(others), 1))
    left = np.concatenate([-2 * Z, (1 - rounding) * squares, ones[0]], axis=1, dtype=dtype)
    right = np.concatenate([others, ones[1], (1 - rounding) * other_squares], axis=1, dtype=dtype)
    return left, right, (reach * (1 + rounding)).astype(dtype)


def _squares(Z: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", Z, Z, dtype=np.float64)[:, None]


def impostor_lists(pairs: Sequence[tuple[np.ndarray, np.ndarray]], rows: slice) -> Lists:
    """Return the impostors of a range of rows as CSR, from pairs that may include other rows.

    Pairs are given block by block, in ascending order of blocks, so that the impostors of each row
    are ascending.
    """
    tails, heads = (np.concatenate(part) for part in zip(*pairs, strict=True))
    own = (tails >= rows.start) & (tails < rows.stop)
    tails, heads = tails[own] - np.int32(rows.start), heads[own]
    indptr = np.zeros(rows.stop - rows.start + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=len(indptr) - 1), out=indptr[1:])
    grouped = np.empty_like(heads)
    kernels.group_edges(tails, heads, indptr[:-1].copy(), grouped)
    return indptr, grouped
