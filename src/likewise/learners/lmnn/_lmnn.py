"""Large margin nearest neighbors: pull target neighbors in, push impostors out."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from likewise._execution import current_backend, validate_labeled, validate_rows
from likewise._progress import show_progress
from likewise._threads import limit_threads, slices
from likewise._validation import (
    FLOATS,
    check_classes,
    check_number,
    check_run_parameters,
    check_whole_number,
)
from likewise._warnings import warn
from likewise.learners.linear_map import (
    MahalanobisTransformer,
    check_n_components,
    dense_rows,
    is_constant,
    starting_map,
)
from likewise.learners.lmnn._certificate import lower_bound
from likewise.learners.lmnn._impostors import ImpostorSearch
from likewise.learners.lmnn._objective import Margins
from likewise.learners.lmnn._optimizer import minimize_margins
from likewise.similarities import as_similarity
from likewise.supervision import (
    check_targets,
    check_triplets,
    target_neighbors,
    weighted_rows,
)

_ROWS_PER_BLOCK = 256  # small enough for the cache of a core


class LargeMarginProblem(NamedTuple):
    """The problem that LMNN solves.

    Attributes
    ----------
    X : array of shape (n_rows, n_features), or rows that workers read
    labels : int array of shape (n_rows,), or None where the impostors are given
    anchors : int array of shape (n_anchors,)
        Row numbers.
    targets : int array of shape (n_anchors, k)
        Row numbers; −1 where there are fewer.
    impostors : CSR list of the anchors' impostors, or None where they are searched for
    c : float
    weights : float array of shape (n_rows,), or None
    """

    X: Any
    labels: np.ndarray | None
    anchors: np.ndarray
    targets: np.ndarray
    impostors: tuple[np.ndarray, np.ndarray] | None
    c: float
    weights: np.ndarray | None = None

    def in_label_order(self) -> tuple["LargeMarginProblem", np.ndarray | None]:
        """Return the problem for rows in the order of their labels, and that order of X.

        The impostors of rows that follow each other are then mostly of the same few labels, so that
        they stay in the cache, and blocks of one label have none to search for. The order is
        None, and the problem as it is, if impostors are given.
        """
        if self.labels is None:
            return self, None
        order = np.argsort(self.labels, kind="stable")
        positions = np.empty(len(order) + 1, np.int64)
        positions[order] = np.arange(len(order))
        positions[-1] = -1  # no target
        ordered = self._replace(
            labels=self.labels[order],
            targets=positions[self.targets[order]],
            weights=None if self.weights is None else self.weights[order],
        )
        return ordered, order


class LMNN(MahalanobisTransformer, BaseEstimator):
    """Linear map under which each row's nearest rows share its label, with a margin.

    Minimizes Σ d(i,j) + c Σ [1 + d(i,j) − d(i,l)]₊ over rows i, their target neighbors j (the
    nearest of their class, chosen at the start) and rows l of other classes, with d the squared
    distance after the map (Weinberger, Blitzer and Saul, 2005). The problem is convex in M = LᵀL,
    and `duality_gap_` bounds the distance to its global optimum.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of target neighbors of each row.
    c : float, default=1.0
        Weight of the margin term.
    n_components : int, optional
        Number of rows of the map; the number of features by default. With fewer, the problem is
        not convex.
    init : {"identity", "pca", "lda"} or array, default="identity"
        Initial map; its scale is fitted.
    max_iter : int, default=200
    tol : float, default=1e-3
        Stop when steps lower the objective by much less than this share, and a new search for
        impostors changes it by less than this share.
    warm_start : bool, default=False
        Start from the map of the previous `fit`.
    n_jobs : int, optional
        Number of threads; by default that of BLAS, and -1 for all cores. Results do not depend on
        it.
    random_state : int, RandomState or None
        Ignored: the algorithm is deterministic.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    similarity_ : Mahalanobis
    components_ : ndarray of shape (n_components, n_features)
        The map L.
    objective_ : float
        The objective of the learned map, over all rows.
    n_iter_ : int
    history_ : list of dict
        ``iteration``, ``objective``, ``impostors`` and ``seconds`` at each search for impostors.
    n_features_in_ : int

    Notes
    -----
    If classes are so far apart that the optimum has nearly every pair of rows at its margin, the
    optimization ends early, at 500 impostors per row: memory does not grow with the square of the
    number of rows, and `duality_gap_` bounds the remaining gap.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("iris")
    >>> lmnn = lw.LMNN(n_neighbors=3).fit(data.X, data.y)
    >>> lmnn.similarity_
    Mahalanobis(L=4×4 float64)
    >>> lmnn.duality_gap_ < 0.01
    True
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        c: float = 1.0,
        n_components: int | None = None,
        init: Any = "identity",
        max_iter: int = 200,
        tol: float = 1e-3,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.c = c
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, target_neighbors: Any = None, sample_weight: Any = None) -> Self:
        """Learn the map from labeled rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
            CSR rows are made dense; up to 2,000 features.
        y : array of shape (n_rows,)
        target_neighbors : int array of shape (n_rows, k), optional
            Row numbers of each row's targets; −1 for a missing target. By default the nearest rows
            of its class in Euclidean distance.
        sample_weight : array of shape (n_rows,), optional
            Weights w, of which only the ratios matter. The terms of row i are multiplied by w_i,
            and those in which it must be farther than row l also by w_l, with w scaled to mean 1.
            A row of weight zero is left out. The choice of target neighbors does not depend on
            other weights.
        """
        self._check_parameters()
        X = dense_rows(X, self)
        X, y = validate_labeled(self, X, y, dtype=FLOATS, order="C", ensure_min_samples=2)
        targets = target_neighbors
        if targets is not None:
            targets = check_targets(targets, check_classes(y)[1])
        weights = None
        if sample_weight is not None:
            X, y, targets, weights = _with_weight(X, y, targets, sample_weight)
        labels = check_classes(y)[1]
        start = self._initial_map(X, labels)
        with show_progress(self.verbose), limit_threads(self.n_jobs):
            # y instead of class numbers: a warning names the classes
            targets = nearest_targets(X, y, self.n_neighbors) if targets is None else targets
            anchors = np.arange(len(X))
            problem = LargeMarginProblem(X, labels, anchors, targets, None, self.c, weights)
            self._minimize(problem, start)
        return self

    def fit_triplets(self, triplets: Any, X: Any) -> Self:
        """Learn the map from comparisons: row i is closer to row j than to row l.

        Each distinct pair (i, j) is pulled once, and each triplet is pushed.

        Parameters
        ----------
        triplets : int array of shape (n_triplets, 3)
            Row numbers (i, j, l).
        X : array or CSR, as in `fit`
        """
        self._check_parameters()
        X = validate_rows(self, dense_rows(X, self), dtype=FLOATS, order="C")
        triplets = check_triplets(triplets, X, X, ("X", "X"))
        start = self._initial_map(X, None)
        pairs, pair_of = np.unique(triplets[:, :2], axis=0, return_inverse=True)
        pair_of = pair_of.reshape(-1)  # NumPy 2.0 gives it two axes
        order = np.lexsort((triplets[:, 2], pair_of))
        indptr = np.searchsorted(pair_of[order], np.arange(len(pairs) + 1))
        impostors = indptr.astype(np.int64), triplets[order, 2].astype(np.int32)
        with show_progress(self.verbose), limit_threads(self.n_jobs):
            problem = LargeMarginProblem(X, None, pairs[:, 0], pairs[:, 1:], impostors, self.c)
            self._minimize(problem, start)
        return self

    @property
    def duality_gap_(self) -> float:
        """Bound on the share of the objective by which it exceeds its global minimum.

        Computed at the first access, from the dual of the problem and the rows given to `fit`;
        that takes about as long as `fit` itself.
        """
        check_is_fitted(self)
        if not hasattr(self, "_gap"):
            if not hasattr(self, "_problem"):
                raise AttributeError("duality_gap_ is known only to the object that was fitted.")
            with show_progress(self.verbose), limit_threads(self.n_jobs):
                margins, search, scale = _margins_of(self._problem)
                bound = lower_bound(margins, search, self.components_ * scale)
            self._gap = max(0.0, 1 - bound / self.objective_) if self.objective_ > 0 else 0.0
        return self._gap

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_problem", None)  # a copy holds the map, not the rows it was learned from
        return state

    def _check_parameters(self) -> None:
        check_whole_number(self.n_neighbors, "n_neighbors")
        check_number(self.c, "c", minimum=0, exclusive=True)
        check_whole_number(self.max_iter, "max_iter")
        check_number(self.tol, "tol", minimum=0)
        if self.n_components is not None:
            check_whole_number(self.n_components, "n_components")
        check_run_parameters(self)

    def _initial_map(self, X: Any, labels: np.ndarray | None) -> np.ndarray:
        check_n_components(self.n_components, X.shape[1])
        last = getattr(self, "components_", None) if self.warm_start else None
        init = self.init if last is None else last
        backend = current_backend()
        make = starting_map if backend is None else backend.initial_map
        return np.asarray(make(X, labels, init, self.n_components))

    def _minimize(self, problem: LargeMarginProblem, start: np.ndarray) -> None:
        """Minimize the objective from `start` and publish the best map."""
        margins, search, scale = _margins_of(problem)
        L = start * scale
        warm = self.warm_start and hasattr(self, "components_")
        if not warm:
            L *= np.sqrt(search.best_scale(L))
        minimum = minimize_margins(margins, search, L, self.max_iter, self.tol, warm=warm)
        if not minimum.converged:
            warn(
                f"LMNN has not converged in {self.max_iter} steps: raise max_iter or tol.",
                ConvergenceWarning,
            )
        self.__dict__.pop("_gap", None)
        # for `duality_gap_`, which is computed on demand
        X = problem.X if isinstance(problem.X, np.ndarray) else problem.X.detach()
        self._problem = problem._replace(X=X)
        self._publish_map(minimum.L / scale, margins.dtype)
        self.objective_ = minimum.objective
        self.n_iter_ = minimum.n_iter
        self.history_ = minimum.history


def _with_weight(
    X: np.ndarray, y: np.ndarray, targets: np.ndarray | None, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return rows, labels, targets and weights without the rows of weight zero."""
    rows, weights = weighted_rows(sample_weight, y)
    if len(rows) == len(y):
        return X, y, targets, weights
    if current_backend() is not None:
        raise ValueError(
            "sample_weight holds zeros, but on a cluster LMNN cannot leave out rows: give it the "
            "other rows alone."
        )
    if targets is not None:
        number = np.full(len(y) + 1, -1)  # the last for a missing target
        number[rows] = np.arange(len(rows))
        targets = number[targets[rows]]
    return X[rows], y[rows], targets, weights


def nearest_targets(X: Any, y: np.ndarray, k: int) -> np.ndarray:
    """Return each row's target neighbors by Euclidean distance."""
    return target_neighbors(as_similarity("euclidean"), X, X, y, k)[0]


def _margins_of(problem: LargeMarginProblem) -> tuple[Any, Any, np.ndarray]:
    """Return the margins, the search for impostors, and the scale of each column.

    Columns are centered and divided by their standard deviation: the same problem, on a surface
    that is about as steep in every direction and does not depend on the scale of X.
    """
    backend = current_backend()
    if backend is not None:
        return backend.large_margin_problem(problem)
    X = problem.X
    if not isinstance(X, np.ndarray):
        raise AttributeError(
            "duality_gap_ needs the rows given to fit, which are not in memory: it is computed "
            "inside run_on."
        )
    mean = X.mean(axis=0, dtype=np.float64)
    scale = column_scale(X.std(axis=0, dtype=np.float64), np.abs(X).max(axis=0), len(X))
    problem, order = problem.in_label_order()
    rows = standardize(X, mean, scale, order)
    margins = Margins(rows, problem.anchors, problem.targets, problem.c, problem.weights)
    return margins, ImpostorSearch(margins, problem.labels, problem.impostors), scale


def column_scale(deviation: np.ndarray, largest: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the standard deviation of each column, and 1 for a constant column.

    The deviation of a constant is a rounding error; dividing by it would magnify other errors.
    """
    return np.where(is_constant(deviation, largest, n_rows), 1.0, deviation)


def standardize(
    X: np.ndarray, mean: np.ndarray, scale: np.ndarray, order: np.ndarray | None = None
) -> np.ndarray:
    """Return ``(X[order] - mean) / scale`` in the precision of X."""
    standardized = np.empty(X.shape, X.dtype)
    centered = np.empty((min(len(X), _ROWS_PER_BLOCK), X.shape[1]))
    for rows in slices(len(X), _ROWS_PER_BLOCK):  # no copy of all of X in double precision
        given = X[rows] if order is None else X[order[rows]]
        block = np.subtract(given, mean, out=centered[: rows.stop - rows.start])
        np.divide(block, scale, out=standardized[rows], casting="same_kind")
    return standardized
