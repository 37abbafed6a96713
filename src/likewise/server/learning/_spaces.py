"""PLDA from the pairs of a query and a chosen item, in the principal directions of the items.

The items are those up to the last one in the journal: the same journal gives the same space.
A split is left out of them as it is left out of the pairs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise._threads import single_threaded_blas
from likewise._validation import sample_rows
from likewise.learners.plda import PairSpace, discriminants
from likewise.server.learning._gate import split_of
from likewise.server.learning._initial import InitialModel
from likewise.server.learning._pages import Pages
from likewise.server.store import Store
from likewise.similarities import to_unit_length

RANKS = (80, 120)
_MAX_ITEMS, _MIN_ITEMS, _MAX_NUMBERS = 2_000, 500, 8_000_000  # of the sample
_MAX_RANKED = 1_000  # items of the sample that others are ranked among


class Spaces:
    """The principal directions of a store's items, computed once for each split.

    Parameters
    ----------
    store : Store
    initial : InitialModel
    """

    def __init__(self, store: Store, initial: InitialModel) -> None:
        self._store, self._initial = store, initial
        self._last = 0  # the last revision of the sample
        self._rows = np.zeros((0, 0))
        self._splits = np.zeros(0, dtype=np.int64)
        self._spaces: dict[int | None, PairSpace] = {}

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of candidates; none where the initial form has no root."""
        return () if self._initial.root is None else RANKS

    def maps(self, pages: Pages, training: Any, split: int | None, ranks: Sequence[int]) -> Any:
        """Return B with W = BBᵀ for every rank, trained without a split.

        Parameters
        ----------
        pages : Pages
        training : CSR array
            The training pairs, as returned by `Pages.relevance`.
        split : int or None
        ranks : sequence of int
        """
        assert self._initial.root is not None
        queries, items = training.nonzero()
        self._load(pages)
        with single_threaded_blas():
            space = self._space(split)
            differences = (pages.Q[queries] - pages.P[items]) @ self._initial.root
            found = discriminants(space, differences, ranks)
            return [self._initial.root @ B for B in found]

    def sample(self, pages: Pages) -> np.ndarray:
        """Return the rows of the items that others are ranked among."""
        self._load(pages)
        return self._rows[:_MAX_RANKED]

    def _space(self, split: int | None) -> PairSpace:
        if split not in self._spaces:
            kept = self._rows if split is None else self._rows[self._splits != split]
            assert self._initial.root is not None
            kept = kept @ self._initial.root
            self._spaces[split] = (
                PairSpace.of_rows(kept, max(RANKS))
                if len(kept) > 1
                else PairSpace(np.zeros((0, self._initial.W.shape[1])), np.zeros(0))
            )
        return self._spaces[split]

    def _load(self, pages: Pages) -> None:
        """Load a sample of the items up to the last one of the pages."""
        last = int(pages.revisions.max(initial=0))
        if last == self._last:
            return
        width = self._initial.W.shape[1]
        n = int(np.clip(_MAX_NUMBERS // width, _MIN_ITEMS, _MAX_ITEMS))
        revisions = (sample_rows(last, n) + 1).tolist()
        vectors, ids = self._store.vectors(revisions), self._store.item_ids(revisions)
        found = [revision for revision in revisions if revision in vectors]
        rows = np.array([vectors[r] for r in found], dtype=np.float64).reshape(-1, width)
        self._rows = to_unit_length(rows) if self._initial.normalize else rows
        self._splits = np.array([split_of(ids[r]) for r in found], dtype=np.int64)
        self._last, self._spaces = last, {}
