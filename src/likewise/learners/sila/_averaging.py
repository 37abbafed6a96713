"""The sum of a sequence of matrices, each by its weight, without keeping the sequence."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from likewise._threads import slices
from likewise._validation import Rows, is_sparse
from likewise.similarities import to_dense

Form = Literal["diagonal", "symmetric", "square"]

_UPDATES_AT_A_TIME = 256


@dataclass(eq=False)
class Updates:
    """Mistakes, oldest first: row numbers and weights, from which what they add is computed.

    Attributes
    ----------
    rows : (m,) int64
    partners : (m, 2k) int64
        Targets and nearest others of each.
    weights : (m, 2k) float64
        What each partner counts: 1/N of a target, −1/N of an other, 0 for none.
    visits : (m,) int64
        How many visits there had been before.
    """

    rows: np.ndarray
    partners: np.ndarray
    weights: np.ndarray
    visits: np.ndarray

    @classmethod
    def none(cls, k: int) -> "Updates":
        """Return no updates."""
        whole = np.int64
        return cls(np.empty(0, whole), np.empty((0, 2 * k), whole), np.empty((0, 2 * k)),
                   np.empty(0, whole))  # fmt: skip

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> "Updates":
        return Updates(*(getattr(self, name)[part] for name in self.__dataclass_fields__))

    def then(self, later: "Updates") -> "Updates":
        """Return these and later ones."""
        names = self.__dataclass_fields__
        pairs = ((getattr(self, name), getattr(later, name)) for name in names)
        return Updates(*(np.concatenate(pair) for pair in pairs))

    def differences(self, X: Rows) -> Rows:
        """Return d = Σ y/N − Σ z/N of each mistake."""
        if not is_sparse(X):
            return np.einsum("mk,mkp->mp", self.weights, X[self.partners])
        from scipy.sparse import csr_array

        ends = np.arange(0, self.partners.size + 1, self.partners.shape[1])
        shape = (len(self), X.shape[0])
        return csr_array((self.weights.ravel(), self.partners.ravel(), ends), shape=shape) @ X

    def totals(self, X: Rows, form: Form, *factors: np.ndarray) -> list[Any]:
        """Return the sum of what they add to A, each times its factor, for each list of factors."""
        found: list[Any] = [0.0] * len(factors)
        for part in slices(len(self), _UPDATES_AT_A_TIME):
            some = self[part]
            rows, D = X[some.rows], some.differences(X)
            for number, given in enumerate(factors):
                found[number] = found[number] + _products(rows, D, form, given[part])
        return found


def _products(rows: Rows, D: Rows, form: Form, factors: np.ndarray) -> np.ndarray:
    D = D.multiply(factors[:, None]).tocsr() if is_sparse(D) else D * factors[:, None]
    if form == "diagonal":
        if is_sparse(D):
            return np.asarray(rows.multiply(D).sum(axis=0)).ravel()
        return np.einsum("mp,mp->p", rows, D)
    found = to_dense(rows.T @ D)
    return found + found.T if form == "symmetric" else found


@dataclass(eq=False)
class Start:
    """A place in the sequence: what had been summed when it had so many updates."""

    A: np.ndarray
    weighted: np.ndarray
    n_updates: int
    next_visits: int | None = None  # visits before the next update, once there is one


@dataclass(eq=False)
class VotedSum:
    """Σ w_l A_l of a perceptron's sequence, from its last matrix and one sum.

    Each visit adds one to the weight of the matrix that is current after it. With V visits and
    updates δ_u made after v_u of them, Σ w_l A_l = V A − Σ v_u δ_u.

    Attributes
    ----------
    A : (p, p) or, for the diagonal form, (p,) array
        The last matrix.
    weighted : array like A
        Σ v_u δ_u.
    n_visits, n_updates : int
    tail : int or None
        How many of the last elements will be asked for.
    recent : Updates
        As many of the last updates as that needs; none without a tail.
    """

    X: Rows
    form: Form
    A: np.ndarray
    weighted: np.ndarray
    n_visits: int
    n_updates: int
    tail: int | None
    recent: Updates
    starts: list[Start] = field(default_factory=list)

    def add(self, updates: Updates) -> None:
        """Take in updates."""
        once = np.ones(len(updates))
        added, weighted = updates.totals(self.X, self.form, once, updates.visits)
        self.A += added
        self.weighted += weighted
        self.note(len(updates), int(updates.visits[0]), updates if self.tail else None)

    def note(self, n_updates: int, first: int, updates: Updates | None) -> None:
        """Take note of updates that are in A and its sum already.

        Parameters
        ----------
        n_updates, first : int
            How many, and the visits before the first of them.
        updates : Updates or None
            Asked for where there is a tail.
        """
        self.n_updates += n_updates
        for start in self.starts:
            if start.next_visits is None:
                start.next_visits = first
        if updates is not None and self.tail is not None:
            self.recent = self.recent.then(updates)[-self.tail :]

    def mark(self) -> None:
        """Let a tail begin with the next update."""
        if not self.starts or self.starts[-1].n_updates < self.n_updates:
            self.starts.append(Start(self.A.copy(), self.weighted.copy(), self.n_updates))

    def total(self) -> np.ndarray:
        """Return the sum over the last `tail` elements, or over all."""
        if self.tail is None or self.n_updates < self.tail:
            return self.n_visits * self.A - self.weighted
        first = self.recent.visits[0]
        factors = (self.recent.visits - first).astype(np.float64)
        (late,) = self.recent.totals(self.X, self.form, factors)
        return (self.n_visits - first) * self.A - late

    def total_since(self, start: Start) -> np.ndarray:
        """Return the sum over the elements that came after a mark."""
        assert start.next_visits is not None
        before = start.next_visits * start.A - start.weighted
        return self.n_visits * self.A - self.weighted - before
