"""The margins of LMNN on a cluster, over rows in blocks.

Anchors are split into groups; each group has its own `Margins` on a worker, over the rows that its
edges point at. Costs and gradients of the groups are summed. Where the rows are few enough, every
worker keeps all of them.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from likewise.distributed._blocks import even_blocks
from likewise.distributed._columns import Columns, standardized_part
from likewise.distributed._executor import FAN_IN, Executor, Handle, tree_reduce
from likewise.distributed._rows import RowBlocks, stack_selected
from likewise.learners.lmnn import Lists, Margins

# Every group reads the rows of its impostors: few large groups read fewer rows twice than many.
_ANCHORS_IN_GROUP = 32_768
_ANCHORS_IN_COUNT = 256  # whose impostors are counted together
_BYTES_IN_COPY = 128_000_000  # of the rows that every worker keeps; a search takes four times that


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
    parts : list of Handle
        The `Margins` of all anchors in turn, with the current impostors.
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
        self.parts = self.without_impostors

    def set_impostors(self, groups: list[slice], lists: list[Handle], n_impostors: int) -> None:
        """Set the groups of anchors, and the possible impostors of the anchors of each group."""
        self.n_impostors = n_impostors
        self.parts = [
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
        parts = [self.executor.submit(pull_part, part) for part in self.parts]
        return np.asarray(self.executor.result(tree_reduce(self.executor, add_tuples, parts))[0])

    def dual(self, L: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the terms of the dual bound."""
        pull, push, total = self._sum(Margins.dual, L, width)
        return pull, push, total

    def _sum(self, function: Any, L: np.ndarray, *args: Any) -> Any:
        """Return the sum of the results of all groups; those of a few are added in this process."""
        few = len(self.parts) <= FAN_IN
        sent = L if few else self.executor.share(L)  # another task to wait for
        parts = [self.executor.submit(function, part, sent, *args) for part in self.parts]
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


def count_pairs(pairs: tuple[np.ndarray, np.ndarray] | None, n_rows: int) -> np.ndarray:
    """Return the number of pairs of each `_ANCHORS_IN_COUNT` rows; infinite if not listed."""
    n_counts = -(-n_rows // _ANCHORS_IN_COUNT)
    if pairs is None:
        return np.full(n_counts, np.inf)
    return np.bincount(pairs[0] // _ANCHORS_IN_COUNT, minlength=n_counts).astype(np.float64)
