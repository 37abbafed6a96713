"""Distances to prototypes as features, for any classifier of vectors."""

from contextlib import suppress
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise._files import fields
from likewise._progress import show_progress
from likewise._threads import limit_threads
from likewise._validation import (
    FLOATS,
    check_number,
    check_run_parameters,
    check_square,
    check_whole_number,
    n_rows,
    take,
    validate_data,
)
from likewise._warnings import warn
from likewise.similarities import Similarity, as_similarity, dissimilarities, set_input_tags


class DissimilaritySpace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map x to (d(x, p₁), …, d(x, p_m)), its distances to prototypes.

    After Pekalska and Duin, for a regularized normal classifier; with `width` the map exp(−d²/σ²)
    of Balcan and Blum, for a linear support vector machine.

    Parameters
    ----------
    dissimilarity : str, callable, Similarity or fitted estimator, default="euclidean"
        As in `likewise.DBoost`.
    n_prototypes : int, optional
        Number of rows drawn as prototypes; all by default. Limited to the number of rows, with a
        warning.
    width : float, optional
        Use exp(−d²/σ²) instead of d, with σ this multiple of the median dissimilarity of the
        training rows to the prototypes.
    n_jobs : int, optional
        Number of threads; by default that of BLAS, and -1 for all cores. Results do not depend on
        it.
    random_state : int, RandomState or None
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    prototypes_ : ndarray of int
        Row numbers of the prototypes in `fit`, ascending.
    items_ : rows or objects
        The prototypes; their numbers for a precomputed matrix.
    dissimilarity_ : Similarity
    sigma_ : float or None
    n_features_in_ : int

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from sklearn.pipeline import make_pipeline
    >>> wine = lw.datasets.load("wine")
    >>> rldc = make_pipeline(
    ...     lw.DissimilaritySpace(n_prototypes=30, random_state=0),
    ...     LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
    ... )
    >>> rldc.fit(wine.X, wine.y).predict(wine.X[:2])
    array([0, 0])
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "dissimilarity_": fields.Instance(Similarity),
        "items_": fields.Items("dissimilarity_", "prototypes"),
        "prototypes_": fields.Array(fields.INTEGERS, "prototypes", minimum=0),
        "sigma_": fields.OrNone(fields.Number(whole=False)),
    }

    def __init__(
        self,
        dissimilarity: Any = "euclidean",
        n_prototypes: int | None = None,
        *,
        width: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.dissimilarity = dissimilarity
        self.n_prototypes = n_prototypes
        self.width = width
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the prototypes.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features), a list of objects, or a square matrix
        y : ignored
        """
        if self.n_prototypes is not None:
            check_whole_number(self.n_prototypes, "n_prototypes")
        if self.width is not None:
            check_number(self.width, "width", minimum=0, exclusive=True)
        check_run_parameters(self)
        base = self._similarity()
        X = self._check_rows(X, base, reset=True)
        if base.takes == "matrix":
            check_square(X, "X")
            base.check_queries(X, "X")
        chosen = self._draw(n_rows(X))
        items = chosen if base.takes == "matrix" else take(X, chosen)
        with show_progress(self.verbose), limit_threads(self.n_jobs):
            fitted = base.fitted(X)
            sigma = None
            if self.width is not None:
                values = dissimilarities(fitted, X, items)
                median = float(np.median(values))
                sigma = self.width * (median if median > 0 else float(values.mean()) or 1.0)
        self.prototypes_, self.items_ = chosen, items
        self.dissimilarity_, self.sigma_ = fitted, sigma
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the dissimilarities of rows to prototypes, or their Gaussians.

        Parameters
        ----------
        X : as in `fit`; a precomputed matrix has a column for each training row
        """
        check_is_fitted(self)
        X = self._check_rows(X, self.dissimilarity_)
        with show_progress(self.verbose), limit_threads(self.n_jobs):
            values = dissimilarities(self.dissimilarity_, X, self.items_)
        return values if self.sigma_ is None else np.exp(-((values / self.sigma_) ** 2))

    def _similarity(self) -> Similarity:
        return as_similarity(self.dissimilarity, is_distance=True, argument="dissimilarity")

    def _draw(self, n: int) -> np.ndarray:
        if self.n_prototypes is None or self.n_prototypes >= n:
            if self.n_prototypes is not None and self.n_prototypes > n:
                warn(
                    f"n_prototypes is {self.n_prototypes}, but X has only {n} rows: all are used.",
                )
            return np.arange(n)
        random = check_random_state(self.random_state)
        return np.sort(random.permutation(n)[: self.n_prototypes])

    def _check_rows(self, X: Any, base: Similarity, *, reset: bool = False) -> Any:
        if base.takes == "rows":
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=reset)
        elif base.takes == "matrix":
            # only some columns are read, and checked then
            return validate_data(self, X, dtype=FLOATS, reset=reset, ensure_all_finite=reset)
        return base.check_queries(X, "X")

    @property
    def _n_features_out(self) -> int:
        return len(self.prototypes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(TypeError, ValueError):  # `fit` reports the error
            set_input_tags(tags, self._similarity())
        return tags
