"""SiLA's epochs: one problem on its way through them, and the choice where to stop."""

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal

import numpy as np

from likewise import kernels
from likewise._threads import slices
from likewise._validation import Rows
from likewise.learners.sila._averaging import VotedSum
from likewise.learners.sila._perceptron import Visits
from likewise.metrics import majority_votes
from likewise.similarities import Bilinear, to_unit_length

_SCORES_AT_A_TIME = 4_000_000


@dataclass(eq=False)
class Run:
    """One problem on its way through the epochs."""

    visits: Visits
    choice: "Choice | None"
    n_epochs: int
    history: list[dict[str, Any]] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)

    @property
    def voted(self) -> VotedSum:
        return self.visits.voted

    def go_on(self, epochs: range, order: Any) -> None:
        for epoch in epochs:
            mistakes, scored = self.visits.epoch(order(epoch))
            self.n_epochs = epoch + 1
            entry: dict[str, Any] = {"epoch": epoch + 1, "mistakes": mistakes, "scored": scored}
            if self.choice is not None:
                self.choice.look(self.voted, epoch + 1)
                entry["accuracy"] = self.choice.accuracy
            self.history.append({**entry, "seconds": perf_counter() - self.started})

    def result(self) -> tuple[np.ndarray, int, int | None]:
        """Return the matrix, and the epochs and the tail it was made of."""
        if self.choice is not None:
            return self.choice.W, self.choice.n_epochs, self.choice.tail
        return self.voted.total(), self.n_epochs, self.voted.tail

    def state(self) -> dict[str, Any]:
        voted = self.voted
        return {
            "A": voted.A,
            "weighted": voted.weighted,
            "n_visits": voted.n_visits,
            "n_updates": voted.n_updates,
            "n_epochs": self.n_epochs,
            "tail": voted.tail,
            **vars(voted.recent),
        }


class Choice:
    """The best matrix so far, by nearest neighbours of the rows that are not learned from.

    Tried are every epoch up to the 16th and 8 in each doubling from there; in each the sum of all
    matrices and, unless a tail is given, of those since an epoch that is a power of two. Of equal
    ones the later, which has seen more, is kept, and of these the longer tail.

    Parameters
    ----------
    norm, n_neighbors
        As in `SiLA`.
    X : array or CSR of shape (n_rows, n_features)
    labels : (n_rows,) int64
    held_out : (n_rows,) bool
        Which rows are not learned from.
    binary : int or None
        The class that is told from the rest, if it is one.
    """

    def __init__(
        self,
        norm: Literal["cosine", "dice", "jaccard", "none"],
        n_neighbors: int,
        X: Rows,
        labels: np.ndarray,
        held_out: np.ndarray,
        binary: int | None,
    ) -> None:
        if binary is not None:
            labels = (labels == binary).astype(np.int64)
        if norm == "cosine":  # once, not for every matrix: the order is the same
            X, norm = to_unit_length(X), "none"
        self._norm, self._k = norm, n_neighbors
        self._items, self._queries = X[np.flatnonzero(~held_out)], X[np.flatnonzero(held_out)]
        self._labels, self._truth = labels[~held_out], labels[held_out]
        self.accuracy = -1.0

    def look(self, voted: VotedSum, epoch: int) -> None:
        """Try the epoch that has just ended."""
        power = epoch.bit_length() - 1
        if epoch % max(1, 2 ** (power - 3)):
            return
        self._try(voted.total(), epoch, voted.tail, at_least=True)
        if voted.tail is not None:
            return
        for start in voted.starts:
            if start.next_visits is not None:
                n_elements = voted.n_updates - start.n_updates
                self._try(voted.total_since(start), epoch, n_elements, at_least=False)
        if epoch == 2**power:
            voted.mark()

    def _try(self, W: np.ndarray, epoch: int, tail: int | None, *, at_least: bool) -> None:
        similarity = Bilinear(W, norm=self._norm)
        n_right = 0
        for part in slices(len(self._truth), max(1, _SCORES_AT_A_TIME // len(self._labels))):
            scores = similarity.score(self._queries[part], self._items)
            votes = majority_votes(self._nearest_labels(scores), int(self._labels.max()) + 1)
            n_right += int(np.count_nonzero(votes.argmax(axis=1) == self._truth[part]))
        accuracy = n_right / len(self._truth)
        if accuracy > self.accuracy or (at_least and accuracy == self.accuracy):
            self.accuracy, self.W, self.n_epochs, self.tail = accuracy, W, epoch, tail

    def _nearest_labels(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels of each row's nearest, without what a search does for many rows."""
        shape = len(scores), min(self._k, len(self._labels))
        best, ids = np.full(shape, -np.inf), np.zeros(shape, dtype=np.int64)
        kernels.scan_scores(scores, 0, np.full(len(scores), -1), best, ids)
        return self._labels[np.take_along_axis(ids, np.lexsort((ids, -best)), axis=1)]


def hold_out(y: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Return which rows are not learned from: that share of every class, rounded down."""
    rng = np.random.default_rng(seed)
    held_out = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        held_out[members[: int(fraction * len(members))]] = True
    if not held_out.any():
        raise ValueError(
            f"validation_fraction is {fraction}, which leaves no row of any class to validate "
            "with: raise it, or set early_stopping to False."
        )
    return held_out
