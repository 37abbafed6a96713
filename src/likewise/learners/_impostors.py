"""Who comes too close: rows of another label within the margin of a row's targets."""

import numpy as np
from scipy.optimize import minimize_scalar

from likewise import kernels
from likewise._threads import for_each, slices
from likewise.learners._margins import Margins
from likewise.similarities import as_similarity

_CAUTION = 1.1  # impostors are looked for this much farther than they matter now
_ROWS_FOR_SCALE, _IMPOSTORS_FOR_SCALE = 500, 300
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
            near = self._margins.target_distances(Z)
            farthest = np.where(np.isnan(near), -np.inf, near).max(axis=1)
            reach = (_CAUTION * (1 + farthest)).astype(Z.dtype)  # −inf: no targets, no margin
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
        some = self._margins if self._labels is None else self._sample(Z)
        near = self._margins.target_distances(Z)
        typical = np.median(near[near > 0]) if (near > 0).any() else 0.0
        if typical == 0:
            return 1.0
        cost = some.cost_by_scale(Z)
        found = minimize_scalar(
            lambda log: cost(np.exp(log) / typical), bounds=(-7, 9), options={"xatol": 0.05}
        )
        return float(np.exp(found.x) / typical)

    def _sample(self, Z: np.ndarray) -> Margins:
        rows = np.unique(np.linspace(0, len(Z) - 1, _ROWS_FOR_SCALE).astype(np.int64))
        some = self._margins.of_anchors(rows)
        parts = [self._nearest_others(Z, rows[block]) for block in slices(len(rows), _ROWS_AT_ONCE)]
        counts, others = (np.concatenate(part) for part in zip(*parts, strict=True))
        some.set_impostors(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), others)
        return some

    def _nearest_others(self, Z: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how many rows of other labels are listed for each row, and which."""
        distances = -as_similarity("euclidean").score(Z[rows], Z)
        labels = np.asarray(self._labels)
        distances[labels[rows][:, None] == labels] = np.inf
        k = min(_IMPOSTORS_FOR_SCALE, len(Z) - 1)
        nearest = np.argpartition(distances, k, axis=1)[:, :k]
        others = np.isfinite(np.take_along_axis(distances, nearest, axis=1))
        return others.sum(axis=1), nearest[others].astype(np.int32)


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
    # |a − b|² as one product, of (−2a, |a|², 1) with (b, 1, |b|²)
    squares, ones = np.einsum("ij,ij->i", Z, Z)[:, None], np.ones((len(Z), 1), Z.dtype)
    left = np.concatenate([-2 * Z, squares, ones], axis=1)
    right = np.concatenate([Z, ones, squares], axis=1)
    blocks = list(slices(len(Z), _ROWS_IN_BLOCK))
    pairs = [(a, b) for number, a in enumerate(blocks) for b in blocks[number:]]
    found: list[tuple[np.ndarray, np.ndarray]] = [(np.empty(0), np.empty(0))] * len(pairs)
    counts = np.zeros(len(pairs), np.int64)

    def work(number: int) -> None:
        if most is not None and counts.sum() > most:
            return
        rows, columns = pairs[number]
        distances = left[rows] @ right[columns].T
        room, count = 0, _ROOM_FOR_PAIRS
        while count > room:  # once more with enough room, where there was too little
            room = count
            tails, heads = np.empty(room, np.int32), np.empty(room, np.int32)
            count = kernels.scan_impostors(
                distances, rows.start, columns.start, labels, reach, tails, heads
            )
        counts[number] = count
        found[number] = tails[:count].copy(), heads[:count].copy()

    for_each(work, range(len(pairs)))
    if most is not None and counts.sum() > most:
        return None
    tails, heads = (np.concatenate(part) for part in zip(*found, strict=True))
    # By row, and within a row ascending: the order in which blocks were done must not matter.
    order = np.argsort(tails.astype(np.int64) * len(Z) + heads)
    indptr = np.zeros(len(Z) + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=len(Z)), out=indptr[1:])
    return indptr, heads[order]
