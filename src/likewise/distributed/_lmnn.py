"""LMNN on a cluster: margins and impostors over rows in blocks.

Anchors are split into groups; each group has its own `Margins` on a worker, over the rows that its
edges point at. Costs and gradients of the groups are summed. Where the rows are few enough, every
worker keeps all of them, and a share of the rows is compared with all later ones in one task.
"""

from itertools import combinations_with_replacement, pairwise
from typing import Any, NamedTuple

import numpy as np

from likewise.distributed._blocks import even_blocks
from likewise.distributed._executor import FAN_IN, Executor, Handle, map_tasks, tree_reduce
from likewise.distributed._rows import RowBlocks, stack_selected
from likewise.distributed._sources import MemoryRows, load_rows
from likewise.learners.linear_map import (
    ColumnMoments,
    column_moments,
    combined_moments,
    starting_map,
)
from likewise.learners.lmnn import (
    IMPOSTORS_FOR_SCALE,
    LargeMarginProblem,
    Lists,
    Margins,
    column_scale,
    impostor_lists,
    impostor_pairs,
    joined_lists,
    lists_of,
    nearest_others,
    reach_of,
    rows_for_scale,
    sampled_impostors,
    scale_of,
    standardize,
    typical_distance,
)
from likewise.similarities import Best, merge_best

# Every group reads the rows of its impostors: few large groups read fewer rows twice than many.
_ANCHORS_IN_GROUP = 32_768
_ANCHORS_IN_COUNT = 256  # whose impostors are counted together
_BYTES_IN_COPY = 128_000_000  # of the rows that every worker keeps; a search takes four times that


def large_margin_problem(
    executor: Executor, problem: LargeMarginProblem
) -> tuple["DistributedMargins", "DistributedImpostorSearch", np.ndarray]:
    """Return the margins, the search for impostors, and the scale of each column."""
    X = problem.X  # detached where the duality gap is computed later
    rows = X if isinstance(X, RowBlocks) else RowBlocks(X, "X", executor)
    columns = describe_columns(executor, rows)
    if rows.random_access:
        problem, order = problem.in_label_order()
        rows = rows if order is None else rows.reordered(order)
    margins = DistributedMargins(
        executor, rows, columns, problem.anchors, problem.targets, problem.c, problem.weights
    )
    search = DistributedImpostorSearch(margins, columns, problem.labels, problem.impostors)
    return margins, search, columns.scale


def initial_map(
    executor: Executor,
    rows: RowBlocks,
    labels: np.ndarray | None,
    init: Any,
    n_components: int | None,
) -> np.ndarray:
    """Return the map to start from; see `learners.linear_map.starting_map`."""
    if isinstance(rows.source, MemoryRows):
        return np.asarray(starting_map(rows.source.rows, labels, init, n_components))
    if isinstance(init, str) and init == "lda":
        raise ValueError("init 'lda' needs rows in memory: use 'identity', 'pca' or an array.")
    if not (isinstance(init, str) and init == "pca"):
        return np.asarray(starting_map(rows, labels, init, n_components))  # type: ignore[arg-type]
    mean = executor.share(describe_columns(executor, rows).mean)
    scatter = sum(map_tasks(executor, scatter_part, ((part, mean) for part in rows.parts())))
    size = rows.shape[1] if n_components is None else n_components
    return np.linalg.eigh(scatter)[1][:, ::-1][:, :size].T.copy()


def scatter_part(part: Any, mean: np.ndarray) -> np.ndarray:
    """Return the scatter matrix of a block of rows around a mean."""
    centered = load_rows(part, "X") - mean
    return np.asarray(centered.T @ centered)


class Columns(NamedTuple):
    """Mean and scale of each column, and the type of the rows."""

    mean: np.ndarray
    scale: np.ndarray
    dtype: Any


def describe_columns(executor: Executor, rows: RowBlocks) -> Columns:
    """Return the mean and the scale of every column."""
    if isinstance(rows.source, MemoryRows):  # nothing to send
        moments = column_moments(rows.source.rows)
    else:
        parts = [executor.submit(moments_of_part, part, rows.name) for part in rows.parts()]
        moments = executor.result(tree_reduce(executor, combined_moments, parts))
    scale = column_scale(moments.deviation, moments.largest, moments.n_rows)
    return Columns(moments.mean, scale, moments.dtype)


def moments_of_part(part: Any, name: str) -> ColumnMoments:
    """Return the moments of a block of rows."""
    return column_moments(load_rows(part, name))


class DistributedMargins:
    """`Margins` in groups of anchors on workers.

    Parameters
    ----------
    executor : Executor
    rows : RowBlocks
    columns : Columns
    anchors, targets, c, weights : as in `Margins`

    Attributes
    ----------
    groups : list of slice
        Anchors, cut into groups of about the same size.
    copies : list of Handle
        For each thread of a worker the `Margins` of all anchors, which stay there; empty where the
        rows are too many or cannot be opened at any row.
    without_impostors : list of Handle
        The `Margins` of all anchors in turn, without impostors.
    n_impostors : int
    """

    def __init__(
        self,
        executor: Executor,
        rows: RowBlocks,
        columns: Columns,
        anchors: np.ndarray,
        targets: np.ndarray,
        c: float,
        weights: np.ndarray | None = None,
    ) -> None:
        self.executor, self.rows = executor, rows
        self.n_rows, self.dtype = len(rows), np.dtype(columns.dtype)
        self.groups = even_blocks(len(anchors), _ANCHORS_IN_GROUP)
        self._columns, self._c = columns, c
        self._anchors, self._targets, self._weights = anchors, targets, executor.share(weights)
        self.n_impostors = 0
        # Few groups need nearly all rows each: every worker reads them once, and keeps them.
        self.copies: list[Handle] = []
        n_bytes = rows.shape[0] * rows.shape[1] * np.dtype(columns.dtype).itemsize
        few = len(self.groups) <= FAN_IN and n_bytes <= _BYTES_IN_COPY
        if few and rows.random_access:
            self.copies = executor.submit_to_all(
                all_margins, rows.all(), columns, anchors, targets, c, self._weights
            )
            self.without_impostors = self.copies[:1]
        else:
            self.without_impostors = [self._build(0, group, None) for group in self.groups]
        self._parts = self.without_impostors

    def set_impostors(self, groups: list[slice], lists: list[Handle], n_impostors: int) -> None:
        """Set the groups of anchors, and the possible impostors of the anchors of each group."""
        self.n_impostors = n_impostors
        self._parts = [
            self._build(number, group, part)
            for number, (group, part) in enumerate(zip(groups, lists, strict=True))
        ]

    def balanced_groups(self, n_edges: np.ndarray) -> list[slice]:
        """Cut the anchors into groups of about as many edges.

        `n_edges` holds the number of impostors of each `_ANCHORS_IN_COUNT` anchors in turn.
        """
        n_anchors, n_targets = self._targets.shape
        n_edges = n_edges + n_targets * _ANCHORS_IN_COUNT
        shares = np.cumsum(n_edges) / n_edges.sum()
        cuts = np.searchsorted(shares, np.arange(1, len(self.groups)) / len(self.groups)) + 1
        bounds = np.unique([0, *np.minimum(cuts * _ANCHORS_IN_COUNT, n_anchors), n_anchors])
        return [slice(*pair) for pair in pairwise(bounds.tolist())]

    def _build(
        self, number: int, which: slice | np.ndarray, lists: Lists | Handle | None
    ) -> Handle:
        """Return a task that builds the `Margins` of some anchors, over the rows they need."""
        if self.copies:
            copy = self.copies[number % len(self.copies)]
            return self.executor.submit(margins_of_anchors, copy, which, lists)
        anchors, targets = self._anchors[which], self._targets[which]
        needed = self.executor.submit(needed_by, anchors, targets, lists)
        selected = self.rows.select(needed, 0)
        return self.executor.submit(
            margins_of_selected, selected, needed, anchors, targets, lists, self._c, self._columns,
            self._weights,
        )  # fmt: skip

    def of_anchors(self, which: np.ndarray, lists: Lists) -> Handle:
        """Return a task that builds the `Margins` of some anchors with these impostors."""
        return self._build(0, which, lists)

    def cost(self, L: np.ndarray) -> float:
        """Return the plain cost."""
        return float(self._sum(cost_part, L)[0])

    def cost_and_gradient(self, L: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        """Return the smoothed cost and its gradient in L."""
        value, gradient = self._sum(Margins.cost_and_gradient, L, width)
        return value, gradient

    def pull(self) -> np.ndarray:
        """Return the pull of all directions."""
        parts = [self.executor.submit(pull_part, part) for part in self._parts]
        return np.asarray(self.executor.result(tree_reduce(self.executor, add_tuples, parts))[0])

    def dual(self, L: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the terms of the dual bound."""
        pull, push, total = self._sum(Margins.dual, L, width)
        return pull, push, total

    def _sum(self, function: Any, L: np.ndarray, *args: Any) -> Any:
        """Return the sum of the results of all groups; those of a few are added in this process."""
        few = len(self._parts) <= FAN_IN
        sent = L if few else self.executor.share(L)  # another task to wait for
        parts = [self.executor.submit(function, part, sent, *args) for part in self._parts]
        if few:
            return add_tuples([self.executor.result(part) for part in parts])
        return self.executor.result(tree_reduce(self.executor, add_tuples, parts))


def needed_by(
    anchors: np.ndarray, targets: np.ndarray, lists: Lists | None
) -> tuple[np.ndarray, ...]:
    """Return the row numbers that the edges of some anchors point at, ascending."""
    parts = [anchors, targets[targets >= 0]]
    if lists is not None:
        parts.append(lists[1])
    needed = np.zeros(1 + max(part.max(initial=-1) for part in parts), dtype=bool)
    for part in parts:
        needed[part] = True
    return (np.flatnonzero(needed),)


def standardized_part(rows: Any, columns: Columns) -> np.ndarray:
    """Return some rows, standardized."""
    X = load_rows(rows, "X").astype(columns.dtype, copy=False)
    return standardize(X, columns.mean, columns.scale)


def all_margins(
    rows: Any,
    columns: Columns,
    anchors: np.ndarray,
    targets: np.ndarray,
    c: float,
    weights: np.ndarray | None,
) -> Margins:
    """Return the margins of all anchors over all rows, without impostors."""
    return Margins(standardized_part(rows, columns), anchors, targets, c, weights)


def margins_of_anchors(margins: Margins, which: slice | np.ndarray, lists: Lists) -> Margins:
    """Return the margins of some anchors with these impostors, over the same rows."""
    some = margins.of_anchors(which)
    some.set_impostors(*lists)
    return some


def margins_of_selected(
    selected: list[Any],
    needed: tuple[np.ndarray, ...],
    anchors: np.ndarray,
    targets: np.ndarray,
    lists: Lists | None,
    c: float,
    columns: Columns,
    weights: np.ndarray | None,
) -> Margins:
    """Return the margins of some anchors over the rows that are needed."""
    X = standardized_part(stack_selected(selected), columns)
    distinct = needed[0]
    positions = np.full(2 + distinct.max(initial=-1), -1, np.int32)  # the last one: of no target
    positions[distinct] = np.arange(len(distinct))
    own_weights = None if weights is None else weights[distinct]
    margins = Margins(X, positions[anchors], positions[targets], c, own_weights)
    if lists is not None:
        margins.set_impostors(lists[0], positions[lists[1]])
    return margins


def cost_part(margins: Margins, L: np.ndarray) -> tuple[float]:
    """Return the plain cost of a group."""
    return (margins.cost(margins.mapped(L), 0.0)[0],)


def pull_part(margins: Margins) -> tuple[np.ndarray]:
    """Return the pull of a group."""
    return (margins.pull(),)


def add_tuples(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the sum of each entry."""
    return tuple(sum(part) for part in zip(*parts, strict=True))


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
            return self._executor.result(submit(scale_part, self._margins._parts[0], sent, typical))
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


def mapped_part(rows: Any, L: np.ndarray, columns: Columns) -> np.ndarray:
    """Return a block of rows, standardized and mapped."""
    return standardized_part(rows, columns) @ L.T.astype(columns.dtype)


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


def count_pairs(pairs: tuple[np.ndarray, np.ndarray] | None, n_rows: int) -> np.ndarray:
    """Return the number of pairs of each `_ANCHORS_IN_COUNT` rows; infinite if not listed."""
    n_counts = -(-n_rows // _ANCHORS_IN_COUNT)
    if pairs is None:
        return np.full(n_counts, np.inf)
    return np.bincount(pairs[0] // _ANCHORS_IN_COUNT, minlength=n_counts).astype(np.float64)


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
