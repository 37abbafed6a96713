"""Binarization of columns at their medians."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.sparsefuncs import csc_median_axis_0, min_max_axis
from sklearn.utils.validation import check_is_fitted

from likewise._files import fields
from likewise._validation import FLOATS, Rows, is_sparse, validate_data
from likewise._warnings import warn


class MedianBinarizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turn each column into 1 where it is above its median, else 0.

    If the median is also the column's maximum, values equal to it become 1. A constant column
    becomes 1 everywhere, with a warning.

    Attributes
    ----------
    medians_ : ndarray of shape (n_features,)
    at_maximum_ : ndarray of bool of shape (n_features,)
        Whether the median is the maximum.
    n_features_in_ : int

    Notes
    -----
    Sparse rows stay sparse as far as zeros become 0: in columns whose median is not negative and
    whose maximum is not zero.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.MedianBinarizer().fit_transform([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    array([[0., 0.],
           [0., 1.],
           [1., 1.]])
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "medians_": fields.Array(fields.FLOATS, "features"),
        "at_maximum_": fields.Array(fields.BOOLEANS, "features"),
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the medians.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : ignored
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        if is_sparse(X):
            medians = csc_median_axis_0(X.tocsc())
            minima, maxima = min_max_axis(X, axis=0)
        else:
            medians, minima, maxima = np.median(X, axis=0), X.min(axis=0), X.max(axis=0)
        constant = np.flatnonzero(minima == maxima)
        if len(constant):
            warn(
                f"{len(constant)} of {X.shape[1]} columns of X are constant, the first of them "
                f"column {constant[0]}: they become 1 in every row.",
            )
        self.medians_ = medians.astype(np.float64)
        self.at_maximum_ = medians == maxima
        return self

    def transform(self, X: Any) -> Rows:
        """Return ones and zeros in the dtype of `X`; CSR if `X` is sparse."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        if not is_sparse(X):
            return self._is_one(X, slice(None)).astype(X.dtype)
        # Stored values are relative to the value that a zero is mapped to.
        columns = np.arange(X.shape[1])
        zero_value = self._is_one(np.zeros(X.shape[1], X.dtype), columns).astype(X.dtype)
        binary = X.copy()
        binary.data = self._is_one(X.data, X.indices).astype(X.dtype) - zero_value[X.indices]
        if zero_value.any():
            binary = binary + type(X)(np.broadcast_to(zero_value, X.shape))
        binary.eliminate_zeros()
        return binary

    def _is_one(self, values: np.ndarray, columns: Any) -> np.ndarray:
        medians, at_maximum = self.medians_[columns], self.at_maximum_[columns]
        return np.where(at_maximum, values >= medians, values > medians)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
