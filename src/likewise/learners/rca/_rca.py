"""RCA: the Mahalanobis distance that whitens the variation within classes."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from likewise._files import fields
from likewise._threads import single_threaded_blas
from likewise._validation import (
    FLOATS,
    Rows,
    check_class_targets,
    check_classes,
    check_number,
    check_whole_number,
    is_sparse,
    validate_data,
)
from likewise.learners.linear_map import MahalanobisTransformer, inverse_root
from likewise.similarities import to_dense
from likewise.supervision import weighted_rows


class RCA(MahalanobisTransformer, BaseEstimator):
    """Mahalanobis distance by the inverse of the mean covariance within classes.

    Relevant component analysis shrinks the directions in which rows of one class differ (Shental,
    Hertz, Weinshall and Pavel, 2002). It has a closed form: L = C^(−1/2), where C is the covariance
    of the rows around the means of their classes.

    Parameters
    ----------
    n_components : int, optional
        Keep the directions in which all rows vary most, relative to the variation within classes;
        all of them by default.
    shrinkage : float, default=0.0
        Share, from 0 to 1, by which C is moved toward the multiple of the identity with the same
        trace. Worth raising if classes have few rows.

    Attributes
    ----------
    similarity_ : Mahalanobis
    components_ : ndarray of shape (n_components, n_features)
        The map L.
    covariance_ : ndarray of shape (n_features, n_features)
        C, after shrinkage.
    n_features_in_ : int

    Notes
    -----
    A direction in which no class varies has the smallest variance of the others.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("wine")
    >>> rca = lw.RCA().fit(data.X[::2], data.y[::2])
    >>> rca.similarity_
    Mahalanobis(L=13×13 float64)
    >>> clf = lw.SimilarityClassifier(learner=rca).fit(data.X[::2], data.y[::2])
    >>> round(clf.score(data.X[1::2], data.y[1::2]), 1)
    1.0
    """

    _file_fields: ClassVar[fields.Declaration] = MahalanobisTransformer._file_fields | {
        "covariance_": fields.Array(fields.FLOATS, "features", "features"),
    }

    def __init__(self, n_components: int | None = None, *, shrinkage: float = 0.0) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the map from labeled rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Weight of a row in the means and covariances. A row of weight zero is left out.
        """
        check_number(self.shrinkage, "shrinkage", minimum=0, maximum=1)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=FLOATS, order="C", ensure_min_samples=2
        )
        check_class_targets(y, self)
        n_features = X.shape[1]
        if self.n_components is not None:
            check_whole_number(self.n_components, "n_components")
            if self.n_components > n_features:
                raise ValueError(
                    f"n_components is {self.n_components}, but X has only {n_features} features."
                )
        rows, weights = weighted_rows(sample_weight, y)
        if len(rows) < len(y):
            X, y = X[rows], y[rows]
        weights = np.ones(len(y)) if weights is None else weights
        labels = check_classes(y)[1]
        if np.bincount(labels).max() < 2:
            raise ValueError("y has a single row of each class; one class must have two.")
        with single_threaded_blas():
            C = covariance_around_means(X, labels, weights)
            mean_variance = np.trace(C) / n_features
            C = (1 - self.shrinkage) * C + self.shrinkage * mean_variance * np.eye(n_features)
            L = inverse_root(
                C, "X does not vary within any class, so RCA has no direction to shrink."
            )
            if self.n_components is not None:
                total = covariance_around_means(X, np.zeros_like(labels), weights)
                directions = np.linalg.eigh(L @ total @ L.T)[1]
                L = directions[:, ::-1][:, : self.n_components].T @ L
        self.covariance_ = C
        self._publish_map(L, X.dtype)
        return self


def covariance_around_means(X: Rows, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted covariance of rows around the means of their classes.

    Parameters
    ----------
    labels : (n_rows,) int64 from 0, each with a row
    weights : (n_rows,) positive
    """
    shares = weights / weights.sum()
    of_class = np.bincount(labels, shares)
    membership = np.zeros((len(of_class), len(labels)))
    membership[labels, np.arange(len(labels))] = shares
    if is_sparse(X):  # not centered, so that it stays sparse
        X = X.astype(np.float64)
        means = membership @ X / of_class[:, None]
        squares = to_dense(X.T @ X.multiply(shares[:, None]).tocsr())
        C = squares - (means.T * of_class) @ means
    else:
        means = membership @ X.astype(np.float64) / of_class[:, None]
        centered = (X - means[labels]) * np.sqrt(shares)[:, None]
        C = centered.T @ centered
    return np.asarray((C + C.T) / 2)
