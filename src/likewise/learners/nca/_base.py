"""What NCA and MLKR share: parameters and the fit of a map."""

import numbers
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from likewise._execution import current_backend, validate_rows
from likewise._progress import show_progress
from likewise._threads import limit_threads, single_threaded_blas
from likewise._validation import (
    FLOATS,
    check_choice,
    check_number,
    check_rows,
    check_run_parameters,
    check_same_length,
    check_whole_number,
    is_sparse,
    sample_rows,
    validate_data,
)
from likewise.learners.linear_map import (
    MahalanobisTransformer,
    check_n_components,
    starting_map,
)
from likewise.learners.nca._optimizer import (
    MAX_ROWS_IN_DOUBLE,
    Problem,
    best_scale,
    minimize,
)
from likewise.learners.nca._rows import in_memory
from likewise.supervision import weighted_rows

_INITS = ("identity", "pca", "lda", "auto")
_ROWS_FOR_PCA = 10_000


class SoftNeighborLearner(MahalanobisTransformer, BaseEstimator):
    """A linear map under which neighbors chosen at random predict a target."""

    # The map is learned for the kernel exp(score), so its bandwidth is 1.
    bandwidth_ = 1.0
    n_components: Any
    init: Any
    n_references: Any
    max_iter: Any
    alpha: Any
    warm_start: bool
    n_jobs: Any
    random_state: Any
    verbose: bool

    def _check_parameters(self) -> None:
        check_run_parameters(self)
        for name in ("n_components", "max_iter"):
            if getattr(self, name) is not None:
                check_whole_number(getattr(self, name), name)
        if self.n_references is not None:
            check_whole_number(self.n_references, "n_references", minimum=2)
        if isinstance(self.alpha, str) and self.alpha == "auto":
            return
        if not isinstance(self.alpha, numbers.Real):
            raise TypeError(f"alpha must be 'auto' or a number, but {self.alpha!r} was given.")
        check_number(self.alpha, "alpha", minimum=0)

    def _check_training(self, X: Any, y: Any, **options: Any) -> tuple[Any, np.ndarray]:
        """Return checked rows and targets; inside `run_on` rows may be elsewhere.

        Of such rows only the samples are read, so all of them cannot be references.
        """
        backend = current_backend()
        if backend is None or not backend.is_remote(X):
            X, y = validate_data(
                self,
                X,
                y,
                accept_sparse="csr",
                dtype=FLOATS,
                order="C",
                ensure_min_samples=2,
                **options,
            )
            return check_rows(X, "X", finite=False), y  # CSR without duplicate entries
        rows, y = validate_rows(self, X), backend.labels(y, "y")
        check_same_length(rows, "X", y, "y")
        if len(rows) < 2:
            raise ValueError("X has a single row, but at least two are needed.")
        if self.n_references is None and len(rows) > self._max_rows_at_once:
            raise ValueError(
                "n_references is None, which needs all rows in memory, but X is not in memory: "
                "give a number."
            )
        if isinstance(self.init, str) and self.init == "lda":
            raise ValueError("init 'lda' needs rows in memory: use 'identity', 'pca' or an array.")
        return rows, y

    @property
    def _max_rows_at_once(self) -> int:
        return MAX_ROWS_IN_DOUBLE

    def _alpha(self, numerator: float, n_rows: int) -> float:
        """Return the weight of the penalty, which by default fades as rows are added."""
        return numerator / n_rows if isinstance(self.alpha, str) else float(self.alpha)

    def _initial_map(self, X: Any, labels: np.ndarray | None) -> np.ndarray:
        check_n_components(self.n_components, X.shape[1])
        if self.warm_start and hasattr(self, "components_"):
            return np.asarray(starting_map(X, None, self.components_, self.n_components))
        init = self.init
        if not isinstance(init, str):
            return np.asarray(starting_map(X, labels, init, self.n_components))
        check_choice(init, "init", _INITS, ["an array"])
        if init in ("identity", "auto"):
            few = self.n_components is not None and self.n_components < min(X.shape)
            init = "pca" if few else "identity"
        if init == "pca":
            X = X[sample_rows(X.shape[0], _ROWS_FOR_PCA)]
        if is_sparse(X) and init != "identity":
            return _sparse_axes(X, init, self.n_components)
        return np.asarray(starting_map(X, labels, init, self.n_components))

    def _minimize(self, problem: Problem, start: np.ndarray, for_scale: Problem) -> None:
        """Minimize from `start`, at its best scale for another problem, and publish the map."""
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        random = np.random.default_rng(seed)
        deviation = problem.scale.deviation
        L = start * deviation
        label = f"fitting {type(self).__name__}"
        with show_progress(self.verbose), limit_threads(self.n_jobs):
            if not (self.warm_start and hasattr(self, "components_")):
                L = L * best_scale(for_scale, L, random)
            minimum = minimize(problem, L, self.max_iter, random, label)
        self._publish_map(minimum.L / deviation, problem.scale.dtype)
        self.objective_ = minimum.objective
        self.n_iter_ = minimum.n_iter
        self.history_ = minimum.history


def rows_with_weight(
    X: Any, y: np.ndarray, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the rows whose weight is not zero, with their targets and weights."""
    rows, relative = weighted_rows(sample_weight, y)
    weights = np.ones(len(rows)) if relative is None else relative
    if len(rows) == len(y):
        return X, y, weights
    if not in_memory(X):
        raise ValueError(
            "sample_weight holds zeros, but rows that are not in memory cannot be left out: give "
            "the other rows alone."
        )
    return X[rows], y[rows], weights


def _sparse_axes(X: Any, init: str, n_components: int | None) -> np.ndarray:
    """Return the principal axes of CSR rows."""
    from sklearn.decomposition import PCA

    size = X.shape[1] if n_components is None else n_components
    if init != "pca":
        raise ValueError(f"init {init!r} needs dense rows, but X is sparse: use 'pca'.")
    if size >= min(X.shape):
        raise ValueError(
            f"init 'pca' finds fewer than {min(X.shape)} components in {X.shape[0]} sparse rows of "
            f"{X.shape[1]} features, but n_components is {size}."
        )
    with single_threaded_blas():
        axes = PCA(size, svd_solver="arpack", random_state=0).fit(X).components_
    return np.asarray(axes, np.float64)
