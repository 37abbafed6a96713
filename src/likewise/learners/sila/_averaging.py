"""The voted sum of a perceptron's matrices, and the choice of the best one by validation."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from likewise import kernels
from likewise._threads import slices
from likewise._validation import Rows, is_sparse
from likewise.metrics import majority_votes
from likewise.similarities import Bilinear, to_dense, to_unit_length

Form = Literal["diagonal", "symmetric", "square"]
Norm = Literal["cosine", "dice", "jaccard", "none"]

_UPDATES_PER_BLOCK = 256
_SCORES_PER_BLOCK = 4_000_000
_CHECKPOINT_BYTES = 2**28


@dataclass(eq=False)
class Updates:
    """Mistakes, oldest first, as row numbers and weights from which the updates are computed.

    Attributes
    ----------
    rows : (m,) int64
    partners : (m, 2k) int64
        Targets and nearest rows of other classes.
    weights : (m, 2k) float64
        Weight of each partner: w/N of a target, −w/N of another class, 0 for none, with w the
        weight of the row.
    visits : (m,) int64
        Number of visits before each mistake.
    """

    rows: np.ndarray
    partners: np.ndarray
    weights: np.ndarray
    visits: np.ndarray

    @classmethod
    def empty(cls, k: int) -> "Updates":
        """Return no updates."""
        return cls(
            np.empty(0, np.int64),
            np.empty((0, 2 * k), np.int64),
            np.empty((0, 2 * k)),
            np.empty(0, np.int64),
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> "Updates":
        return Updates(*(getattr(self, name)[part] for name in self.__dataclass_fields__))

    def concatenate(self, later: "Updates") -> "Updates":
        """Return these updates followed by later ones."""
        names = self.__dataclass_fields__
        pairs = ((getattr(self, name), getattr(later, name)) for name in names)
        return Updates(*(np.concatenate(pair) for pair in pairs))

    def differences(self, X: Rows) -> Rows:
        """Return d = Σ y/N − Σ z/N of each mistake."""
        if not is_sparse(X):
            return np.einsum("mk,mkp->mp", self.weights, X[self.partners])
        from scipy.sparse import csr_array

        indptr = np.arange(0, self.partners.size + 1, self.partners.shape[1])
        shape = (len(self), X.shape[0])
        return csr_array((self.weights.ravel(), self.partners.ravel(), indptr), shape=shape) @ X

    def totals(self, X: Rows, form: Form, *factors: np.ndarray) -> list[Any]:
        """Return the sum of the updates of A times their factors, for each array of factors."""
        sums: list[Any] = [0.0] * len(factors)
        for block in slices(len(self), _UPDATES_PER_BLOCK):
            updates = self[block]
            rows, D = X[updates.rows], updates.differences(X)
            for number, values in enumerate(factors):
                sums[number] = sums[number] + _sum_of_products(rows, D, form, values[block])
        return sums


def _sum_of_products(rows: Rows, D: Rows, form: Form, factors: np.ndarray) -> np.ndarray:
    D = D.multiply(factors[:, None]).tocsr() if is_sparse(D) else D * factors[:, None]
    if form == "diagonal":
        if is_sparse(D):
            return np.asarray(rows.multiply(D).sum(axis=0)).ravel()
        return np.einsum("mp,mp->p", rows, D)
    total = to_dense(rows.T @ D)
    return total + total.T if form == "symmetric" else total


@dataclass(eq=False)
class Checkpoint:
    """Sums after a number of updates: the start of a tail of the sequence."""

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
        Number of last matrices that `total` sums; None for all.
    recent : Updates
        The last `tail` updates; none without a tail.
    """

    X: Rows
    form: Form
    A: np.ndarray
    weighted: np.ndarray
    n_visits: int
    n_updates: int
    tail: int | None
    recent: Updates
    checkpoints: list[Checkpoint] = field(default_factory=list)

    def add(self, updates: Updates) -> None:
        """Apply updates."""
        ones = np.ones(len(updates))
        added, weighted = updates.totals(self.X, self.form, ones, updates.visits)
        self.A += added
        self.weighted += weighted
        self.record(len(updates), int(updates.visits[0]), updates if self.tail else None)

    def record(self, n_updates: int, first_visit: int, updates: Updates | None) -> None:
        """Record updates that are already in `A` and `weighted`.

        Parameters
        ----------
        n_updates, first_visit : int
            Their number, and the number of visits before the first.
        updates : Updates or None
            Needed only with a tail.
        """
        self.n_updates += n_updates
        for checkpoint in self.checkpoints:
            if checkpoint.next_visits is None:
                checkpoint.next_visits = first_visit
        if updates is not None and self.tail is not None:
            self.recent = self.recent.concatenate(updates)[-self.tail :]

    def add_checkpoint(self) -> None:
        """Start a tail at the next update."""
        if not self.checkpoints or self.checkpoints[-1].n_updates < self.n_updates:
            self.checkpoints.append(Checkpoint(self.A.copy(), self.weighted.copy(), self.n_updates))

    def total(self) -> np.ndarray:
        """Return the sum over the last `tail` matrices, or over all."""
        if self.tail is None or self.n_updates < self.tail:
            return self.n_visits * self.A - self.weighted
        first = self.recent.visits[0]
        factors = (self.recent.visits - first).astype(np.float64)
        (late,) = self.recent.totals(self.X, self.form, factors)
        return np.asarray((self.n_visits - first) * self.A - late)

    def total_since(self, checkpoint: Checkpoint) -> np.ndarray:
        """Return the sum over the matrices after a checkpoint."""
        assert checkpoint.next_visits is not None
        before = checkpoint.next_visits * checkpoint.A - checkpoint.weighted
        return self.n_visits * self.A - self.weighted - before


class BestAverage:
    """The voted sum with the best nearest-neighbor accuracy on the validation rows.

    Evaluated are all epochs up to the 16th, and 8 between consecutive powers of two after it. In
    each, the sum of all matrices and, unless a tail is given, the sums since each earlier of these
    epochs. Where their matrices would take more than 256 MB, tails start at powers of two only.
    Ties go to the later epoch, then to the longer tail.

    Parameters
    ----------
    norm, n_neighbors
        As in `SiLA`.
    rule : {"majority", "symmetric", "symmetric_mean"}
        How the neighbors decide.
    X : array or CSR of shape (n_rows, n_features)
    labels : (n_rows,) int64
    held_out : (n_rows,) bool
        The validation rows.
    positive : int or None
        The class that is separated from the others, in one-vs-rest.
    """

    def __init__(
        self,
        norm: Norm,
        n_neighbors: int,
        rule: str,
        X: Rows,
        labels: np.ndarray,
        held_out: np.ndarray,
        positive: int | None,
    ) -> None:
        if positive is not None:
            labels = (labels == positive).astype(np.int64)
        if norm == "cosine":  # normalize once, not for every matrix: the order is the same
            X, norm = to_unit_length(X), "none"
        self._norm, self._k, self._rule = norm, n_neighbors, rule
        self._items, self._queries = X[np.flatnonzero(~held_out)], X[np.flatnonzero(held_out)]
        self._item_labels, self._query_labels = labels[~held_out], labels[held_out]
        self.accuracy = -1.0

    def evaluate(self, voted: VotedSum, epoch: int) -> None:
        """Evaluate the sums after an epoch."""
        power = epoch.bit_length() - 1
        if epoch % max(1, 2 ** (power - 3)):
            return
        self._keep_if_best(voted.total(), epoch, voted.tail, wins_ties=True)
        if voted.tail is not None:
            return
        for checkpoint in voted.checkpoints:
            if checkpoint.next_visits is not None:
                tail = voted.n_updates - checkpoint.n_updates
                self._keep_if_best(voted.total_since(checkpoint), epoch, tail, wins_ties=False)
        stored = 2 * voted.A.nbytes * (len(voted.checkpoints) + 1)
        if epoch == 2**power or stored <= _CHECKPOINT_BYTES:
            voted.add_checkpoint()

    def _keep_if_best(
        self, W: np.ndarray, epoch: int, tail: int | None, *, wins_ties: bool
    ) -> None:
        similarity = Bilinear(W, norm=self._norm)
        n_classes, n_correct = int(self._item_labels.max()) + 1, 0
        size = max(1, _SCORES_PER_BLOCK // len(self._item_labels))
        for block in slices(len(self._query_labels), size):
            scores = similarity.score(self._queries[block], self._items)
            if self._rule.startswith("symmetric"):
                votes = self._class_sums(scores, n_classes)
            else:
                votes = majority_votes(self._nearest_labels(scores), n_classes)
            n_correct += int(np.count_nonzero(votes.argmax(axis=1) == self._query_labels[block]))
        accuracy = n_correct / len(self._query_labels)
        if accuracy > self.accuracy or (wins_ties and accuracy == self.accuracy):
            self.accuracy, self.W, self.n_epochs, self.tail = accuracy, W, epoch, tail

    def _class_sums(self, scores: np.ndarray, n_classes: int) -> np.ndarray:
        """Return the sum, or mean, of the highest scores of each class; −inf without rows."""
        sums = np.full((len(scores), n_classes), -np.inf)
        for label in range(n_classes):
            of_class = scores[:, self._item_labels == label]
            k = min(self._k, of_class.shape[1])
            if k:
                best = -np.partition(-of_class, k - 1, axis=1)[:, :k]
                sums[:, label] = best.sum(axis=1) / (k if self._rule == "symmetric_mean" else 1)
        return sums

    def _nearest_labels(self, scores: np.ndarray) -> np.ndarray:
        """Return the labels of each row's nearest neighbors, without the overhead of a search."""
        shape = len(scores), min(self._k, len(self._item_labels))
        best, ids = np.full(shape, -np.inf), np.zeros(shape, dtype=np.int64)
        kernels.scan_scores(scores, 0, np.full(len(scores), -1), best, ids)
        return self._item_labels[np.take_along_axis(ids, np.lexsort((ids, -best)), axis=1)]


def validation_mask(y: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Return a mask of the validation rows, stratified by class.

    A class too small for a validation row at this fraction is used for training only.
    """
    from sklearn.model_selection import StratifiedShuffleSplit  # slow to import

    _, labels, counts = np.unique(y, return_inverse=True, return_counts=True)
    n_validation = (fraction * counts).astype(np.int64)
    rows = np.flatnonzero(n_validation[labels] > 0)
    if len(rows) == 0:
        raise ValueError(
            f"validation_fraction is {fraction}, which leaves no row of any class to validate "
            "with: raise it, or set early_stopping to False."
        )
    splitter = StratifiedShuffleSplit(1, test_size=int(n_validation.sum()), random_state=seed)
    _, validation = next(splitter.split(rows, labels[rows]))
    held_out = np.zeros(len(y), dtype=bool)
    held_out[rows[validation]] = True
    return held_out
