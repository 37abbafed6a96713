"""Columns of the matrix of dissimilarities, computed when they are first needed and kept."""

from typing import Any

import numpy as np

from likewise._validation import n_rows, take
from likewise.similarities.distances._base import Dissimilarity

_MOST_NUMBERS = 2**27  # 1 GiB


class Columns:
    """d(x, p) of all rows x to those items p that were asked for.

    Each column lies in a row of `values`, where compiled loops read it fastest. When there is no
    room for the next ones, the old ones are forgotten.

    Parameters
    ----------
    dissimilarity : Dissimilarity
    X : checked rows, objects, or square matrix
    """

    def __init__(
        self, dissimilarity: Dissimilarity, X: Any, most_numbers: int = _MOST_NUMBERS
    ) -> None:
        self._dissimilarity = dissimilarity
        self._rows = dissimilarity.prepare(X)
        self.n_rows = n_rows(X)
        if dissimilarity.takes == "matrix":
            self._items = dissimilarity.prepare_items(np.arange(self.n_rows))
        else:
            self._items = dissimilarity.prepare_items(X)
        self._room = min(self.n_rows, max(1, most_numbers // self.n_rows))
        self.values = np.empty((self._room, self.n_rows))  # memory is taken when it is written
        self._place = np.full(self.n_rows, -1)
        self._used = 0
        self.n_computed = 0

    def places(self, items: np.ndarray) -> np.ndarray:
        """Return in which rows of `values` the columns of `items` lie, after computing new ones."""
        places = self._place[items]
        if (places >= 0).all():
            return places
        wanted = np.unique(items)
        new = wanted[self._place[wanted] < 0]
        if self._used + len(new) > self._room:
            self._forget(len(wanted))
            new = wanted
        if len(new):
            found = self._dissimilarity.between(self._rows, take(self._items, new), items=new)
            stop = self._used + len(new)
            self.values[self._used : stop] = found.T
            self._place[new] = np.arange(self._used, stop)
            self._used = stop
            self.n_computed += len(new)
        return self._place[items]

    def _forget(self, n_wanted: int) -> None:
        self._place[:] = -1
        self._used = 0
        if n_wanted > self._room:
            self._room = n_wanted
            self.values = np.empty((self._room, self.n_rows))
