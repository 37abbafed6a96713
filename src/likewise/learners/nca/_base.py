"""What NCA and MLKR share: parameters, the fit of a map, and the transform."""

import numbers
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._progress import show_progress
from likewise._threads import limit_threads, single_threaded_blas
from likewise._validation import (
    check_choice,
    check_number,
    check_whole_number,
    is_sparse,
    sample_rows,
)
from likewise.learners.lmnn import starting_map
from likewise.learners.nca._optimizer import Problem, best_scale, minimize
from likewise.similarities import Mahalanobis
from likewise.supervision import check_weights

FLOATS = [np.float64, np.float32]
_INITS = ("auto", "identity", "pca", "lda")
_ROWS_FOR_PCA = 10_000


class SoftNeighborLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A linear map under which neighbors chosen at random predict a target."""

    n_components: Any
    init: Any
    n_references: Any
    max_iter: Any
    alpha: Any
    warm_start: bool
    n_jobs: Any
    random_state: Any
    verbose: bool

    def transform(self, X: Any) -> np.ndarray:
        """Return the mapped rows; their Euclidean distance is the learned distance."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return np.asarray(X @ self.components_.T.astype(X.dtype))

    def _check_parameters(self) -> None:
        for name in ("n_components", "max_iter", "n_jobs"):
            if getattr(self, name) is not None:
                check_whole_number(getattr(self, name), name)
        if self.n_references is not None:
            check_whole_number(self.n_references, "n_references", minimum=2)
        if isinstance(self.alpha, str) and self.alpha == "auto":
            return
        if not isinstance(self.alpha, numbers.Real):
            raise TypeError(f"alpha must be 'auto' or a number, but {self.alpha!r} was given.")
        check_number(self.alpha, "alpha", minimum=0)

    def _alpha(self, numerator: float, n_rows: int) -> float:
        """Return the weight of the penalty, which by default fades as rows are added."""
        return numerator / n_rows if isinstance(self.alpha, str) else float(self.alpha)

    def _initial_map(self, X: Any, labels: np.ndarray | None) -> np.ndarray:
        n_features = X.shape[1]
        if self.n_components is not None and self.n_components > n_features:
            raise ValueError(
                f"n_components is {self.n_components}, but X has only {n_features} features."
            )
        if self.warm_start and hasattr(self, "components_"):
            return np.asarray(starting_map(X, None, self.components_, self.n_components))
        init = self.init
        if not isinstance(init, str):
            return np.asarray(starting_map(X, labels, init, self.n_components))
        check_choice(init, "init", _INITS)
        if init == "auto":
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
            minimum = minimize(problem, L, self.n_references, self.max_iter, random, label)
        self.components_ = (minimum.L / deviation).astype(problem.X.dtype)
        self.similarity_ = Mahalanobis(self.components_)
        self.objective_ = minimum.objective
        self.n_iter_ = minimum.n_iter
        self.history_ = minimum.history

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def rows_with_weight(X: Any, y: np.ndarray, weights: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the rows whose weight is not zero, with their targets and weights."""
    weights = check_weights(weights, y, "y")
    kept = np.flatnonzero(weights)
    if len(kept) < 2:
        raise ValueError("sample_weight must be above zero for at least two rows.")
    return (X, y, weights) if len(kept) == len(y) else (X[kept], y[kept], weights[kept])


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
