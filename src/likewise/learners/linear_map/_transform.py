"""Transforms of learners: rows whose distances, or inner products, are the learned ones."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likewise._execution import current_backend, validate_rows
from likewise._files import fields
from likewise._threads import single_threaded_blas
from likewise._validation import FLOATS, check_rows, validate_data
from likewise.similarities import Bilinear, Mahalanobis, map_rows, to_unit_length


class MahalanobisTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Adds `transform` to a learner of a Mahalanobis distance."""

    _file_fields: ClassVar[fields.Declaration] = {
        "components_": fields.Array(fields.FLOATS, "components", "features"),
        "similarity_": fields.Instance(Mahalanobis, n_features="features"),
        "objective_": fields.Optional(fields.Number(minimum=None, whole=False)),
        "n_iter_": fields.Optional(fields.Number()),
        "history_": fields.Optional(fields.Record()),
    }
    components_: np.ndarray
    similarity_: Mahalanobis

    def transform(self, X: Any) -> np.ndarray:
        """Return the mapped rows; their Euclidean distance is the learned distance.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
            Inside `run_on` also rows that workers read; a Dask array gives a Dask array.
        """
        check_is_fitted(self)
        backend = current_backend()
        if backend is not None and backend.is_remote(X):
            rows = validate_rows(self, X, reset=False)
            size = len(self.components_)
            mapped: np.ndarray = backend.transform(map_checked, rows, self.components_, size, None)
            return mapped
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return np.asarray(X @ self.components_.T.astype(X.dtype))

    def _publish_map(self, L: np.ndarray, dtype: Any) -> None:
        self.components_ = L.astype(dtype)
        self.similarity_ = Mahalanobis(self.components_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        return _tags_of_learner(super().__sklearn_tags__())


def map_checked(X: Any, components: np.ndarray) -> np.ndarray:
    """Return the rows times the transposed map, after a check."""
    X = check_rows(X, "X")
    return np.asarray(X @ components.T.astype(X.dtype))


class BilinearTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Adds `transform` to a learner of a bilinear similarity."""

    def transform(self, X: Any) -> Any:
        """Return rows whose inner products are the symmetric positive part of the similarity.

        The inner product of two mapped rows is xᵀW₊x′, divided by ‖x‖‖x′‖ if `similarity_` has
        ``norm="cosine"``. W₊ is (W + Wᵀ)/2 without its negative eigenvalues: the transform loses
        the difference between a row as query and as item, and the directions in which W makes rows
        dissimilar. Euclidean distances of mapped rows depend on their lengths too; with
        ``metric="cosine"``, a classifier ignores these.

        Not available where queries and items differ in features.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_positive_eigenvalues)
            For a diagonal W of shape (n_rows, n_features), and CSR if X is.
        """
        similarity = self._fitted_form()
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        rows = to_unit_length(X) if similarity.norm == "cosine" else X
        return map_rows(rows, positive_root(similarity.W).astype(X.dtype))

    def _fitted_form(self) -> Bilinear:
        check_is_fitted(self, "similarity_")
        form: Bilinear = self.similarity_
        return form

    def _check_transform(self) -> bool:
        """Raise AttributeError if the rows have no transform."""
        similarity = getattr(self, "similarity_", None)
        if isinstance(similarity, Bilinear):
            n_query, n_item = similarity.n_query_features, similarity.n_item_features
            if n_query != n_item:
                raise AttributeError(
                    "transform needs rows that are both queries and items, but queries have "
                    f"{n_query} features and items {n_item}."
                )
        return True

    @property
    def _n_features_out(self) -> int:
        return positive_root(self._fitted_form().W).shape[-1]

    def __sklearn_tags__(self) -> Any:
        return _tags_of_learner(super().__sklearn_tags__())


# After the class: `TransformerMixin` wraps these methods for `set_output`, which would hide it.
for _name in ("transform", "fit_transform"):
    _method = getattr(BilinearTransformer, _name)
    setattr(
        BilinearTransformer,
        _name,
        available_if(lambda learner: learner._check_transform())(_method),
    )


def positive_root(W: np.ndarray) -> np.ndarray:
    """Return R with R Rᵀ the positive semidefinite part of (W + Wᵀ)/2, in double precision.

    For a diagonal W a vector; else of shape (n_features, n_positive_eigenvalues), the largest first
    and at least one.
    """
    if W.ndim < 2:
        return np.sqrt(np.maximum(W, 0, dtype=np.float64))
    with single_threaded_blas():
        values, vectors = np.linalg.eigh((W.astype(np.float64) + W.T) / 2)
    rounding = len(W) * np.finfo(W.dtype).eps * np.abs(values).max()
    largest_first = np.arange(len(W))[::-1][: max(1, int((values > rounding).sum()))]
    return np.asarray(vectors[:, largest_first] * np.sqrt(np.maximum(values[largest_first], 0)))


def _tags_of_learner(tags: Any) -> Any:
    tags.target_tags.required = True
    tags.input_tags.sparse = True
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags
