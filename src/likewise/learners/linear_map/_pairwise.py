"""What learners from similar and dissimilar pairs share: the ways to be given pairs."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from likewise._files import fields
from likewise._progress import LongWork, show_progress
from likewise._threads import single_threaded_blas, slices
from likewise._validation import (
    FLOATS,
    Rows,
    check_class_targets,
    check_classes,
    check_run_parameters,
    check_whole_number,
    sample_rows,
    validate_data,
)
from likewise.learners.linear_map._columns import check_sparse_width
from likewise.learners.linear_map._roots import map_of
from likewise.learners.linear_map._transform import MahalanobisTransformer
from likewise.similarities import to_dense
from likewise.supervision import LabelPairs, check_pairs, weighted_rows

_ROWS_FOR_PERCENTILES = 500
_PAIRS_PER_BLOCK = 200  # between checks for Ctrl-C


class PairwiseLearner(MahalanobisTransformer, BaseEstimator):
    """A Mahalanobis distance learned from pairs of rows, which `fit` draws from labels."""

    n_pairs: int | None
    random_state: Any
    verbose: bool

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labeled rows: `n_pairs` pairs are drawn, half of them of one class.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
            CSR of up to 2,000 features.
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Rows are drawn in proportion to it. A row of weight zero is left out.
        """
        self._check_parameters()
        X, pairs, similar = self._drawn_pairs(X, y, sample_weight, reset=True)
        return self._fit_checked(X, pairs, similar)

    def fit_pairs(self, pairs: Any, y: Any, X: Any) -> Self:
        """Learn from similar and dissimilar pairs.

        Parameters
        ----------
        pairs : int array of shape (n_pairs, 2)
            Row numbers.
        y : array of shape (n_pairs,)
            1 or True for similar; −1, 0 or False for dissimilar.
        X : array or CSR, as in `fit`
        """
        self._check_parameters()
        X, pairs, similar = self._given_pairs(pairs, y, X, reset=True)
        return self._fit_checked(X, pairs, similar)

    @abstractmethod
    def _learn(self, X: Rows, Z: np.ndarray, similar: np.ndarray) -> np.ndarray:
        """Return the map, and set what is published besides.

        Parameters
        ----------
        X : rows
        Z : (n_pairs, n_features) float64
            Difference of the rows of each pair.
        similar : (n_pairs,) bool
        """

    def _check_parameters(self) -> None:
        check_run_parameters(self)
        if self.n_pairs is not None:
            check_whole_number(self.n_pairs, "n_pairs", minimum=2)

    def _n_drawn_pairs(self, n_classes: int) -> int:
        assert self.n_pairs is not None
        return self.n_pairs

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _drawn_pairs(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, n_seen: int = 0
    ) -> tuple[Rows, np.ndarray, np.ndarray]:
        """Return checked rows, and pairs drawn from their labels."""
        check_sparse_width(X, self)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=FLOATS, reset=reset, ensure_min_samples=2
        )
        check_class_targets(y, self)
        rows, weights = weighted_rows(sample_weight, y)
        if len(rows) < len(y):
            X, y = X[rows], y[rows]
        n_classes = len(check_classes(y)[0])
        rng = np.random.default_rng([self._seed(), n_seen])
        return X, *LabelPairs(y, weights).draw(self._n_drawn_pairs(n_classes), rng)

    def _given_pairs(
        self, pairs: Any, y: Any, X: Any, *, reset: bool
    ) -> tuple[Rows, np.ndarray, np.ndarray]:
        """Return checked rows and pairs."""
        check_sparse_width(X, self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=reset)
        return X, *check_pairs(pairs, y, X, X, ("X", "X"))

    def _fit_checked(self, X: Rows, pairs: np.ndarray, similar: np.ndarray) -> Self:
        with show_progress(self.verbose), single_threaded_blas():
            L = self._learn(X, differences(X, pairs), similar)
        self._publish_map(L, X.dtype)
        return self


class OnlinePairwiseLearner(PairwiseLearner):
    """A learner that follows pairs one at a time, and continues with more of them."""

    _file_fields: ClassVar[fields.Declaration] = PairwiseLearner._file_fields | {
        "matrix_": fields.Array(fields.FLOATS, "features", "features"),
        "n_pairs_seen_": fields.Number(),
        "n_updates_": fields.Number(),
    }
    matrix_: np.ndarray
    n_pairs_seen_: int
    n_updates_: int

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Continue with `n_pairs` pairs that are drawn from more labeled rows.

        Parameters as in `fit`.
        """
        self._check_parameters()
        started = hasattr(self, "matrix_")
        n_seen = self.n_pairs_seen_ if started else 0
        X, pairs, similar = self._drawn_pairs(X, y, sample_weight, reset=not started, n_seen=n_seen)
        return self._continue(X, pairs, similar)

    def partial_fit_pairs(self, pairs: Any, y: Any, X: Any) -> Self:
        """Continue with more pairs; parameters as in `fit_pairs`.

        Calls on consecutive parts of a list give the result of `fit_pairs` on the list.
        """
        self._check_parameters()
        X, pairs, similar = self._given_pairs(pairs, y, X, reset=not hasattr(self, "matrix_"))
        return self._continue(X, pairs, similar)

    @abstractmethod
    def _begin(self, X: Rows) -> None:
        """Set the state before the first pair."""

    @abstractmethod
    def _follow(self, Z: np.ndarray, similar: np.ndarray) -> int:
        """Update the state by pairs, in order, and return the number of updates."""

    def _learn(self, X: Rows, Z: np.ndarray, similar: np.ndarray) -> np.ndarray:
        self._begin(X)
        self.n_pairs_seen_ = self.n_updates_ = 0
        return self._map_after(Z, similar)

    def _continue(self, X: Rows, pairs: np.ndarray, similar: np.ndarray) -> Self:
        if not hasattr(self, "matrix_"):
            return self._fit_checked(X, pairs, similar)
        with show_progress(self.verbose), single_threaded_blas():
            L = self._map_after(differences(X, pairs), similar)
        self._publish_map(L, X.dtype)
        return self

    def _map_after(self, Z: np.ndarray, similar: np.ndarray) -> np.ndarray:
        label = f"fitting {type(self).__name__}"
        with LongWork(label, total=len(Z), unit="pairs", partial_result="the pairs so far") as work:
            for block in slices(len(Z), _PAIRS_PER_BLOCK):
                if work.interrupted:
                    break
                self.n_updates_ += self._follow(Z[block], similar[block])
                work.advance(len(Z[block]))
        self.n_pairs_seen_ += work.done
        return map_of(self.matrix_)


def differences(X: Rows, pairs: np.ndarray) -> np.ndarray:
    """Return the difference of the two rows of each pair, in double precision."""
    first, second = (X[pairs[:, side]].astype(np.float64) for side in (0, 1))
    return np.asarray(to_dense(first - second))


def differing(Z: np.ndarray, similar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave out pairs of equal rows."""
    differ = Z.any(axis=1)
    if not differ.any():
        raise ValueError("pairs are of equal rows only; at least one pair must differ.")
    return Z[differ], similar[differ]


def distance_percentiles(X: Rows, seed: int, L: np.ndarray | None = None) -> tuple[float, float]:
    """Return the 5th and 95th percentiles of squared distances between different rows.

    At most 500 rows, drawn at random, are compared, after the map L if one is given.
    """
    rows = to_dense(X[sample_rows(X.shape[0], _ROWS_FOR_PERCENTILES, random_state=seed)])
    rows = rows.astype(np.float64)
    rows = rows if L is None else rows @ L.T
    rows = rows - rows.mean(axis=0)
    squares = np.einsum("ij,ij->i", rows, rows)
    first, second = np.triu_indices(len(rows), 1)
    distances = (squares[:, None] + squares - 2 * rows @ rows.T)[first, second]
    positive = distances[distances > 1e-12 * squares.max(initial=0)]
    if len(positive) == 0:
        raise ValueError("X has no two different rows, so there is no distance to learn.")
    low, high = np.percentile(positive, (5, 95))
    return float(low), float(high)
