"""Metric learning for kernel regression: a map whose random neighbors predict a row's numbers."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from likewise._execution import call_without_backend, current_backend, validate_rows
from likewise._files import fields
from likewise._threads import limit_threads
from likewise._validation import check_numeric_targets
from likewise.learners.linear_map import map_checked
from likewise.learners.nca._base import SoftNeighborLearner, rows_with_weight
from likewise.learners.nca._objective import KernelRegression
from likewise.learners.nca._optimizer import Problem
from likewise.learners.nca._rows import column_scale, in_memory, standardized_targets
from likewise.similarities import Mahalanobis, kernel_means

_PENALTY = 10.0  # divided by the number of rows
_MAX_ROWS_AT_ONCE = 2048


class MLKR(RegressorMixin, SoftNeighborLearner):
    """Linear map under which near rows predict a row's numbers.

    Predicts ŷ = Σ_j p_j y_j with p_j proportional to exp(−d(j)), with d the squared distance to
    training row j after the map, and minimizes the squared error of the prediction of each row from
    the others (Weinberger and Tesauro, 2007). Up to 2,048 rows are fitted at once; with more, each
    step uses a sample.

    Parameters
    ----------
    n_components : int, optional
        Number of rows of the map; the number of features by default.
    init : {"identity", "pca", "auto"} or array, default="identity"
        Initial map; its scale is fitted. ``identity`` is the identity, or the principal axes if
        there are fewer components than features; ``auto``, its former name, is the same.
    n_references : int or None, default=2048
        Number of rows in the sample of a step, which draws 256 of them and predicts them from all
        of the sample. None for all rows. As many rows as that, but not more than 2,048, are fitted
        at once, and up to 1,000 rows always.
    max_iter : int, optional
        By default at most 100 steps of L-BFGS for rows that are fitted at once, and 200 steps of
        Adam for more.
    alpha : "auto" or float, default="auto"
        Weight of the penalty on the squared map of standardized columns; 10 / n_rows by default.
    warm_start : bool, default=False
        Start from the map of the previous `fit`.
    n_jobs : int, optional
        Number of threads; by default that of BLAS, and -1 for all cores. Results do not depend on
        it.
    random_state : int, RandomState or None
        Draws the samples.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    similarity_ : Mahalanobis
    components_ : ndarray of shape (n_components, n_features)
        The map L.
    bandwidth_ : float
        1: the map is learned for the kernel exp(−d²), so that its width needs no other.
    objective_ : float
        The mean squared error of rows predicted from the others, with targets of unit variance,
        summed over targets: over all rows if they are fitted at once, else over a sample as large
        as that of a step (at most 2,048).
    n_iter_ : int
    history_ : list of dict
        ``iteration``, ``objective`` and ``seconds`` of each step; the objective is that of its
        sample.
    embedding_ : ndarray of shape (n_rows, n_components)
        The training rows after the map, from which `predict` computes distances.
    targets_ : ndarray of shape (n_rows,) or (n_rows, n_targets)
    weights_ : ndarray of shape (n_rows,)
    n_features_in_ : int

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> mlkr = lw.MLKR(random_state=0).fit(X[:300], y[:300])
    >>> mlkr.score(X[300:], y[300:]) > 0.4
    True
    """

    _file_fields: ClassVar[fields.Declaration] = SoftNeighborLearner._file_fields | {
        "embedding_": fields.Array(fields.FLOATS, "rows", "components"),
        "targets_": fields.Either(
            fields.Array(fields.FLOATS, "rows"), fields.Array(fields.FLOATS, "rows", "targets")
        ),
        "weights_": fields.Array(fields.FLOATS, "rows", minimum=0),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "identity",
        n_references: int | None = 2048,
        max_iter: int | None = None,
        alpha: Any = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.n_references = n_references
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the map from rows and their numbers.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
            Inside `likewise.distributed.run_on` also rows that workers read: only the samples are
            then brought into this process, and in the end all mapped rows, for `predict`.
        y : array of shape (n_rows,) or (n_rows, n_targets)
        sample_weight : array of shape (n_rows,), optional
            Weight of a row's error, and of the row in the predictions of others. A row of weight
            zero is left out.
        """
        self._check_parameters()
        X, y = self._check_training(X, y, multi_output=True)
        y = check_numeric_targets(y, self)
        X, y, weights = rows_with_weight(X, y, sample_weight)
        targets = standardized_targets(y)
        problem = Problem(
            X,
            column_scale(X),
            weights,
            sign=1,
            alpha=self._alpha(_PENALTY, len(y)),
            order=lambda rows: (rows, np.arange(len(rows))),
            objective=lambda rows: KernelRegression(targets[rows]),
            max_rows_at_once=self._max_rows_at_once,
            n_references=self.n_references,
        )
        self._minimize(problem, self._initial_map(X, None), problem)
        self.embedding_ = _embedding(X, self.components_)
        self.targets_, self.weights_ = y, weights
        return self

    @property
    def _max_rows_at_once(self) -> int:
        """Up to so many rows, L-BFGS over all of them takes less time than samples of as many."""
        references = _MAX_ROWS_AT_ONCE if self.n_references is None else self.n_references
        return max(super()._max_rows_at_once, min(references, _MAX_ROWS_AT_ONCE))

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean of the training rows' numbers, weighted by exp(−d²).

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        backend = current_backend()
        if backend is not None and backend.is_remote(X):
            rows = validate_rows(self, X, reset=False)
            blocks = backend.map_rows(call_without_backend, rows, _predicted, self)
            return np.concatenate(list(blocks))
        Z = self.transform(X)
        with limit_threads(self.n_jobs):
            return kernel_means(
                Mahalanobis(1.0), Z, self.embedding_, self.targets_, weights=self.weights_
            )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of `predict`."""
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _embedding(X: Any, components: np.ndarray) -> np.ndarray:
    """Return all mapped rows."""
    backend = current_backend()
    if in_memory(X) or backend is None:
        return np.asarray(X @ components.T)
    return np.concatenate(list(backend.map_rows(map_checked, X, components)))


def _predicted(X: Any, fitted: MLKR) -> np.ndarray:
    return fitted.predict(X)
