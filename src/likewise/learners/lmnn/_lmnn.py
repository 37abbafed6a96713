"""Large margin nearest neighbours: pull target neighbours in, push impostors out."""

import warnings
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._progress import show_progress
from likewise._threads import limit_threads, slices
from likewise._validation import check_classes, check_number, check_whole_number
from likewise.learners.lmnn._certificate import lower_bound
from likewise.learners.lmnn._impostors import ImpostorSearch
from likewise.learners.lmnn._init import starting_map
from likewise.learners.lmnn._objective import Margins
from likewise.learners.lmnn._optimizer import minimize_margins
from likewise.similarities import Mahalanobis, as_similarity
from likewise.supervision import check_targets, check_triplets, target_neighbors

_FLOATS = [np.float64, np.float32]
_ROWS_IN_BLOCK = 256  # few enough to stay in a core's cache

# rows, labels, anchors, targets, given impostors, c
_Training: TypeAlias = tuple[Any, Any, np.ndarray, np.ndarray, Any, float]


class LMNN(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Linear map under which each row's nearest rows share its label, with a margin.

    Minimises Σ d(i,j) + c Σ [1 + d(i,j) − d(i,l)]₊ over rows i, their target neighbours j (the
    nearest of their class, chosen at the start) and rows l of other classes, with d the squared
    distance after the map (Weinberger, Blitzer and Saul, 2005). The problem is convex in M = LᵀL,
    and `duality_gap_` tells how far from its global optimum the result is.

    Parameters
    ----------
    n_neighbors : int, default=3
        Target neighbours of each row.
    c : float, default=1.0
        Weight of the margins beside the pull.
    n_components : int, optional
        Rows of the map; as many as features by default. With fewer the problem is another, and not
        convex.
    init : {"identity", "pca", "lda"} or array, default="identity"
        Where to start; the scale is fitted in any case.
    max_iter : int, default=200
    tol : float, default=1e-3
        Stop when ten steps gain less than this share of the objective.
    warm_start : bool, default=False
        Start from the map of the last `fit`.
    n_jobs : int, optional
        Threads; as many as BLAS uses by default. Results do not depend on it.
    random_state : int, RandomState or None
        Not used: nothing here is random. Kept so that learners can be exchanged.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    similarity_ : Mahalanobis
    components_ : ndarray of shape (n_components, n_features)
        The map L.
    objective_ : float
        What was minimised, over all rows, at the map.
    n_iter_ : int
    history_ : list of dict
        ``iteration``, ``objective``, ``impostors`` and ``seconds`` at each search for impostors.
    n_features_in_ : int

    Notes
    -----
    Where classes are so far apart that the optimum has nearly every pair of rows at its margin, the
    descent ends early, when 500 pairs a row would have to be listed: memory never grows with the
    number of rows squared, and `duality_gap_` tells what is left.

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

    def fit(self, X: Any, y: Any, target_neighbors: Any = None) -> "LMNN":
        """Learn the map from labelled rows.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        target_neighbors : int array of shape (n_rows, k), optional
            Row numbers of each row's targets; −1 where there are fewer. By default the nearest
            rows of its class by Euclid.
        """
        self._check_parameters()
        X, y = self._labelled(X, y)
        check_classification_targets(y)
        labels = check_classes(y)[1]
        given = None if target_neighbors is None else check_targets(target_neighbors, labels)
        start = self._start(X, labels)
        with show_progress(self.verbose), limit_threads(self.n_jobs):
            # by y, not by the labels' numbers: a warning names the classes
            targets = self._targets(X, y) if given is None else given
            self._training: _Training = X, labels, np.arange(len(X)), targets, None, self.c
            self._minimize(start)
        return self

    def fit_triplets(self, triplets: Any, X: Any) -> "LMNN":
        """Learn the map from comparisons: row i is closer to row j than to row l.

        Each pair (i, j) that occurs is pulled, and each triplet pushed.

        Parameters
        ----------
        triplets : int array of shape (n_triplets, 3)
            Row numbers (i, j, l).
        X : array of shape (n_rows, n_features)
        """
        self._check_parameters()
        X = self._rows(X)
        triplets = check_triplets(triplets, X, X, ("X", "X"))
        start = self._start(X, None)
        pairs, of_pair = np.unique(triplets[:, :2], axis=0, return_inverse=True)
        of_pair = of_pair.reshape(-1)  # NumPy 2.0 gives it two axes
        order = np.lexsort((triplets[:, 2], of_pair))
        indptr = np.searchsorted(of_pair[order], np.arange(len(pairs) + 1))
        impostors = indptr.astype(np.int64), triplets[order, 2].astype(np.int32)
        with show_progress(self.verbose), limit_threads(self.n_jobs):
            self._training = X, None, pairs[:, 0], pairs[:, 1:], impostors, self.c
            self._minimize(start)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the rows after the map, in which Euclid's distance is the learned one."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=_FLOATS, reset=False)
        return X @ self.components_.T.astype(X.dtype)

    @property
    def duality_gap_(self) -> float:
        """By which share of itself the objective may still exceed its global minimum, at most.

        Computed when first asked for, from the dual of the problem and the rows given to `fit`;
        that takes about as long as `fit` itself.
        """
        check_is_fitted(self)
        if not hasattr(self, "_gap"):
            if not hasattr(self, "_training"):
                raise AttributeError("duality_gap_ can be asked for only where the map was fitted.")
            with show_progress(self.verbose), limit_threads(self.n_jobs):
                margins, search, spread = self._problem()
                bound = lower_bound(margins, search, self.components_ * spread)
            self._gap = max(0.0, 1 - bound / self.objective_) if self.objective_ > 0 else 0.0
        return self._gap

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_training", None)  # a copy elsewhere is a map, not the rows it came from
        return state

    def _check_parameters(self) -> None:
        check_whole_number(self.n_neighbors, "n_neighbors")
        check_number(self.c, "c", minimum=0, exclusive=True)
        check_whole_number(self.max_iter, "max_iter")
        check_number(self.tol, "tol", minimum=0)
        if self.n_components is not None:
            check_whole_number(self.n_components, "n_components")
        if self.n_jobs is not None:
            check_whole_number(self.n_jobs, "n_jobs")

    def _labelled(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        return validate_data(self, X, y, dtype=_FLOATS, order="C", ensure_min_samples=2)

    def _rows(self, X: Any) -> Any:
        return validate_data(self, X, dtype=_FLOATS, order="C")

    def _targets(self, X: Any, y: np.ndarray) -> np.ndarray:
        return target_neighbors(as_similarity("euclidean"), X, X, y, self.n_neighbors)[0]

    def _start(self, X: Any, labels: np.ndarray | None) -> np.ndarray:
        n_features = X.shape[1]
        if self.n_components is not None and self.n_components > n_features:
            raise ValueError(
                f"n_components is {self.n_components}, but X has only {n_features} features."
            )
        last = getattr(self, "components_", None) if self.warm_start else None
        init = self.init if last is None else last
        return self._starting_map(X, labels, init)

    def _starting_map(self, X: Any, labels: np.ndarray | None, init: Any) -> np.ndarray:
        return starting_map(X, labels, init, self.n_components)

    def _problem(self) -> tuple[Any, Any, np.ndarray]:
        """Return what is minimised, and the units of the columns in which it is.

        Columns are taken in units of their own spread, around their means: the same problem, on a
        surface that is about as steep in every direction and looks the same at every scale of X.
        """
        X, labels, anchors, targets, impostors, c = self._training
        mean = X.mean(axis=0, dtype=np.float64)
        spread = steady_spread(X.std(axis=0, dtype=np.float64), np.abs(X).max(axis=0), len(X))
        margins = Margins(in_units(X, mean, spread), anchors, targets, c)
        return margins, ImpostorSearch(margins, labels, impostors), spread

    def _minimize(self, start: np.ndarray) -> None:
        """Descend from `start` and publish the best map seen."""
        margins, search, spread = self._problem()
        L = start * spread
        warm = self.warm_start and hasattr(self, "components_")
        if not warm:
            L *= np.sqrt(search.best_scale(L))
        found = minimize_margins(margins, search, L, self.max_iter, self.tol, warm=warm)
        if not found.converged:
            warnings.warn(
                f"LMNN has not converged in {self.max_iter} steps: raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.__dict__.pop("_gap", None)
        self.components_ = (found.L / spread).astype(margins.dtype)
        self.similarity_ = Mahalanobis(self.components_)
        self.objective_ = found.objective
        self.n_iter_ = found.n_iter
        self.history_ = found.history

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def steady_spread(spread: np.ndarray, largest: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the spread of columns, and 1 for a constant.

    The spread of a constant is a rounding error, and would magnify others by its inverse.
    """
    rounding = largest * n_rows * np.finfo(np.float64).eps
    return np.where(spread <= rounding, 1.0, spread)


def in_units(X: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the rows around the mean, in units of the columns' spread."""
    found = np.empty(X.shape, X.dtype)
    centred = np.empty((min(len(X), _ROWS_IN_BLOCK), X.shape[1]))
    for rows in slices(len(X), _ROWS_IN_BLOCK):  # no copy of all of X in double precision
        few = np.subtract(X[rows], mean, out=centred[: rows.stop - rows.start])
        np.divide(few, spread, out=found[rows], casting="same_kind")
    return found
