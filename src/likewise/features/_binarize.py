"""Columns as booleans: above the median or not."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.sparsefuncs import csc_median_axis_0, min_max_axis
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._validation import is_sparse

_FLOATS = [np.float64, np.float32]


class MedianBinarizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turn each column into 1 where it is above its median, else 0.

    Where the median is also the column's maximum, values equal to it become 1: otherwise nothing
    would. A column that is constant becomes 1 everywhere, and a warning says so.

    Attributes
    ----------
    medians_ : ndarray of shape (n_features,)
    at_maximum_ : ndarray of bool of shape (n_features,)
        Whether the median is the maximum.
    n_features_in_ : int

    Notes
    -----
    Sparse rows stay sparse, as far as zero becomes 0: which it does where the median is not
    negative, nor zero the maximum.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.MedianBinarizer().fit_transform([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    array([[0., 0.],
           [0., 1.],
           [1., 1.]])
    """

    def fit(self, X: Any, y: Any = None) -> "MedianBinarizer":
        """Find the medians.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : not used
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS)
        if is_sparse(X):
            medians = csc_median_axis_0(X.tocsc())
            least, most = min_max_axis(X, axis=0)
        else:
            medians, least, most = np.median(X, axis=0), X.min(axis=0), X.max(axis=0)
        constant = np.flatnonzero(least == most)
        if len(constant):
            warnings.warn(
                f"{len(constant)} of {X.shape[1]} columns of X are constant, the first of them "
                f"column {constant[0]}: they become 1 in every row and say nothing.",
                stacklevel=2,
            )
        self.medians_ = medians.astype(np.float64)
        self.at_maximum_ = medians == most
        return self

    def transform(self, X: Any) -> Any:
        """Return 1 and 0, in the type of `X`; CSR where `X` is sparse."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False)
        if not is_sparse(X):
            return self._is_one(X, slice(None)).astype(X.dtype)
        # Of what zero becomes, and by how much the stored values differ from that.
        columns = np.arange(X.shape[1])
        of_zero = self._is_one(np.zeros(X.shape[1], X.dtype), columns).astype(X.dtype)
        found = X.copy()
        found.data = self._is_one(X.data, X.indices).astype(X.dtype) - of_zero[X.indices]
        if of_zero.any():
            found = found + type(X)(np.broadcast_to(of_zero, X.shape))
        found.eliminate_zeros()
        return found

    def _is_one(self, values: np.ndarray, columns: Any) -> np.ndarray:
        medians, at_maximum = self.medians_[columns], self.at_maximum_[columns]
        return np.where(at_maximum, values >= medians, values > medians)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
