"""The search for the impostors of LMNN on a cluster, blocks of rows against blocks.

Where every worker keeps all rows, a share of them is compared with all later ones in one task.
"""

from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from likewise.distributed._blocks import even_blocks
from likewise.distributed._columns import Columns, mapped_part
from likewise.distributed._executor import Handle, tree_reduce
from likewise.distributed._margins import DistributedMargins, count_pairs
from likewise.learners.lmnn import (
    IMPOSTORS_FOR_SCALE,
    Lists,
    Margins,
    impostor_lists,
    impostor_pairs,
    joined_lists,
    lists_of,
    nearest_others,
    reach_of,
    rows_for_scale,
    sampled_impostors,
    scale_of,
    typical_distance,
)
from likewise.similarities import Best, merge_best


class DistributedImpostorSearch:
    """Keeps the impostors of `DistributedMargins` up to date, blocks of rows against blocks.

    Parameters
    ----------
    margins : DistributedMargins
    columns : Columns
    labels : (n_rows,) int64 array, or None where the impostors are given and stay
    given : CSR list of impostors of the anchors, or None
    """

    def __init__(
        self,
        margins: DistributedMargins,
        columns: Columns,
        labels: np.ndarray | None,
        given: Lists | None,
    ) -> None:
        self._margins, self._columns, self._labels = margins, columns, labels
        self._executor, self._rows = margins.executor, margins.rows
        self._sent = self._executor.share(labels)
        if given is not None:
            parts = [_cut(given, group) for group in margins.groups]
            lists = [self._executor.share(part) for part in parts]
            margins.set_impostors(margins.groups, lists, len(given[1]))

    def renew(self, L: np.ndarray, *, max_pairs: int | None = None) -> float:
        """Find the impostors under `L`; return the plain objective, over all rows.

        Where there are more than `max_pairs`, the list stays as it was and infinity is returned.
        """
        if self._labels is not None:
            pairs = self._pairs(L, self._labels, max_pairs)
            counts = [
                self._executor.submit(count_pairs, found, len(self._rows))
                for found in pairs.values()
            ]
            n_edges = sum(self._executor.result(count) for count in counts)
            if max_pairs is not None and n_edges.sum() > max_pairs:
                return np.inf
            groups = self._margins.balanced_groups(n_edges)
            lists = [
                self._executor.submit(
                    impostor_lists, [found for at, found in pairs.items() if _meets(at, g)], g
                )
                for g in groups
            ]
            self._margins.set_impostors(groups, lists, int(n_edges.sum()))
        return self._margins.cost(L)

    def _pairs(
        self, L: np.ndarray, labels: np.ndarray, max_pairs: int | None
    ) -> dict[tuple[int, ...], Handle]:
        """Return the tasks that compare two blocks of rows, by the bounds of the blocks."""
        submit, sent = self._executor.submit, self._executor.share(L)
        if self._margins.copies:
            shares = search_shares(labels, len(self._margins.copies))
            return {
                (rows.start, rows.stop, rows.start, len(self._rows)): submit(
                    pairs_of_share, copy, sent, self._sent, rows, max_pairs
                )
                for copy, rows in zip(self._margins.copies, shares, strict=False)
            }
        # all blocks are mapped before any are compared: no worker waits for one of them
        near = [
            submit(reach_part, part, sent, priority=1) for part in self._margins.without_impostors
        ]
        reach = submit(np.concatenate, near, priority=1)
        mapped = [
            submit(mapped_part, part, sent, self._columns, priority=1)
            for part in self._rows.parts()
        ]
        blocks = list(zip(self._rows.blocks, mapped, strict=True))
        found: dict[tuple[int, ...], Handle] = {}
        for (block, Z), (other, Z_other) in combinations_with_replacement(blocks, 2):
            found[block.start, block.stop, other.start, other.stop] = submit(
                impostor_pairs,
                Z,
                Z_other,
                block.start,
                other.start,
                self._sent,
                reach,
                max_pairs,
                # a block with itself is half the work: last, so that workers finish together
                priority=-int(block == other),
            )
        return found

    def best_scale(self, L: np.ndarray) -> float:
        """Return the factor on squared distances under which `L` costs least.

        By some rows and their nearest impostors; where impostors are given, by the first group.
        """
        submit, sent = self._executor.submit, self._executor.share(L)
        copies = self._margins.copies
        if copies and self._labels is not None:
            which = rows_for_scale(self._labels)
            shares = [
                which[rows] for rows in even_blocks(len(which), -(-len(which) // len(copies)))
            ]
            lists = [
                submit(sampled_part, copy, sent, self._sent, share)
                for copy, share in zip(copies, shares, strict=False)
            ]
            return float(self._executor.result(submit(scale_by, copies[0], sent, which, lists)))
        near = [submit(near_part, part, sent) for part in self._margins.without_impostors]
        typical = submit(typical_part, near)
        if self._labels is None:
            return self._executor.result(submit(scale_part, self._margins.parts[0], sent, typical))
        which = rows_for_scale(self._labels)
        some = self._executor.share(self._rows[which])
        parts = [
            submit(others_part, some, which, part, block, sent, self._columns, self._sent)
            for part, block in zip(self._rows.parts(), self._rows.blocks, strict=True)
        ]
        best = self._executor.result(
            tree_reduce(self._executor, merge_best, parts, IMPOSTORS_FOR_SCALE)
        )
        sample = self._margins.of_anchors(which, lists_of(best))
        return float(self._executor.result(submit(scale_part, sample, sent, typical)))


def _cut(lists: Lists, rows: slice) -> Lists:
    indptr = lists[0][rows.start : rows.stop + 1]
    return indptr - indptr[0], lists[1][indptr[0] : indptr[-1]]


def _meets(at: tuple[int, ...], group: slice) -> bool:
    return any(a < group.stop and b > group.start for a, b in (at[:2], at[2:]))


def sampled_part(margins: Margins, L: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> Lists:
    """Return the nearest rows of other labels for some rows, by the margins of all anchors."""
    return sampled_impostors(margins.mapped(L), labels, rows)


def scale_by(margins: Margins, L: np.ndarray, rows: np.ndarray, lists: list[Lists]) -> float:
    """Return the scale under which some anchors, with impostors in several lists, cost least."""
    sample = margins.of_anchors(rows)
    sample.set_impostors(*joined_lists(lists))
    Z = margins.mapped(L)
    return scale_of(sample, Z, typical_distance(margins.target_distances(Z)))


def near_part(margins: Margins, L: np.ndarray) -> np.ndarray:
    """Return the distances of the targets of a group."""
    return margins.target_distances(margins.mapped(L))


def typical_part(near: list[np.ndarray]) -> float:
    """Return the typical distance of the targets of all groups."""
    return typical_distance(np.concatenate(near))


def reach_part(margins: Margins, L: np.ndarray) -> np.ndarray:
    """Return the radius within which impostors of a group are searched for."""
    return reach_of(near_part(margins, L))


def search_shares(labels: np.ndarray, n_shares: int) -> list[slice]:
    """Cut rows in the order of their labels so that each share has as many pairs with later rows.

    Pairs of one label are not counted: they are not compared.
    """
    n_later = len(labels) - np.searchsorted(labels, labels, side="right")
    done = np.cumsum(n_later, dtype=np.float64) / max(1, n_later.sum())
    cuts = np.searchsorted(done, np.arange(1, n_shares) / n_shares) + 1
    bounds = np.unique([0, *np.minimum(cuts, len(labels)), len(labels)])
    return [slice(*pair) for pair in pairwise(bounds.tolist())]


def pairs_of_share(
    margins: Margins, L: np.ndarray, labels: np.ndarray, rows: slice, max_pairs: int | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the pairs of impostors of some rows and all later ones."""
    Z = margins.mapped(L)
    reach = reach_of(margins.target_distances(Z))
    first = rows.start
    return impostor_pairs(Z[rows], Z[first:], first, first, labels, reach, max_pairs)


def others_part(
    some: np.ndarray,
    which: np.ndarray,
    rows: Any,
    block: slice,
    L: np.ndarray,
    columns: Columns,
    labels: np.ndarray,
) -> Best:
    """Return the nearest rows of other labels for some rows, among a block."""
    Z, Z_some = mapped_part(rows, L, columns), mapped_part(some, L, columns)
    scores, ids = nearest_others(Z_some, labels[which], Z, labels[block])
    return scores, ids + block.start


def scale_part(margins: Margins, L: np.ndarray, typical: float) -> float:
    """Return the scale under which some margins cost least."""
    return scale_of(margins, margins.mapped(L), typical)
