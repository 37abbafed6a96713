"""Regression by the most similar training rows."""

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from likewise._files import fields
from likewise._validation import check_choice, check_numeric_targets, check_whole_number
from likewise.classifiers._neighbors import (
    NEIGHBOR_FIELDS,
    NeighborPredictor,
    NeighborWeights,
    check_has_distance,
)
from likewise.learners.nca import regression_bandwidth
from likewise.similarities import Matches, Similarity, as_similarity, kernel_means

_WEIGHTS = ("uniform", "distance", "kernel")


class SimilarityRegressor(RegressorMixin, NeighborPredictor):
    """Predict the mean of the numbers of the training rows that are most similar.

    Parameters
    ----------
    learner : estimator, optional
        Cloned and fitted; its `similarity_`, or its linear map, is used. Give this or `similarity`.
        It must learn from numbers, as `MLKR` does, or without targets.
    similarity : str, Similarity, callable or fitted learner, default="euclidean"
        As in `likewise.as_similarity`. With ``"precomputed"`` X is a matrix of similarities, square
        in `fit` and with a column for each training row in `predict`; with
        ``"precomputed_distance"`` a matrix of distances. With a function X may be a list of any
        objects.
    n_neighbors : int, default=5
        Number of nearest rows to average; all rows are averaged with ``weights="kernel"``.
    weights : {"uniform", "distance", "kernel"}, default="uniform"
        Weights of the rows in the mean. ``uniform``: equal. ``distance``: 1 / distance, for a
        similarity that has one; if rows are at distance 0, only these count. ``kernel``: all
        training rows, with weights exp(score / `bandwidth_`). The score of a Mahalanobis or of
        ``"euclidean"`` is −d², so that the kernel is Gaussian; that of other distances is −d.

    Attributes
    ----------
    similarity_ : Similarity
    learner_ : estimator or None
        The fitted learner, if one was given.
    bandwidth_ : float or None
        With ``weights="kernel"``: 1 if the learner is `MLKR` or `NCA`, which learn the map for this
        kernel, so that predictions are those of `MLKR.predict`. Otherwise fitted: the squared error
        of at most 256 training rows, each predicted from at most 4,096 others, is minimized.
    items_ : array, CSR or list
        The training rows, without those of weight zero.
    targets_ : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Their numbers.
    sample_weight_ : ndarray of shape (n_rows,) or None
        Their weights, if given.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X was a frame.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> learned = lw.SimilarityRegressor(learner=lw.MLKR(random_state=0), weights="kernel")
    >>> learned.fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.4
    True
    >>> words, lengths = ["fig", "plum", "banana", "elderberry"], [3, 4, 6, 10]
    >>> by_edits = lw.SimilarityRegressor(similarity="levenshtein", n_neighbors=1)
    >>> by_edits.fit(words, lengths).predict(["plums"])
    array([4.])
    """

    _file_fields: ClassVar[fields.Declaration] = NEIGHBOR_FIELDS | {
        "similarity_": fields.Instance(Similarity),
        "items_": fields.Items("similarity_", "items"),
        "targets_": fields.Either(
            fields.Array(fields.FLOATS, "items"), fields.Array(fields.FLOATS, "items", "targets")
        ),
    }

    def __init__(
        self,
        learner: Any = None,
        similarity: Any = "euclidean",
        n_neighbors: int = 5,
        weights: str = "uniform",
    ) -> None:
        self.learner = learner
        self.similarity = similarity
        self.n_neighbors = n_neighbors
        self.weights = weights

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the learner, if any, and keep the training rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features), a frame, or a list of objects
        y : array of shape (n_rows,) or (n_rows, n_targets)
        sample_weight : array of shape (n_rows,), optional
            Weight of a row in means, times the weight by `weights`. Each row counts as one neighbor
            whatever its weight, but rows of weight zero are left out. The learner is fitted with
            the weights if its `fit` takes them.
        """
        weights = check_choice(self.weights, "weights", _WEIGHTS)
        check_whole_number(self.n_neighbors, "n_neighbors")
        base = self._given_similarity()
        training = self._check_training(
            X,
            y,
            sample_weight,
            base,
            partial(check_numeric_targets, estimator=self),
            may_stay_remote=weights != "kernel",
        )
        learner = bandwidth = None
        if base is None:
            learner = self._fitted_learner(training)
            base = as_similarity(learner)
        if weights == "distance":
            check_has_distance(base, "weights 'distance'", "'uniform' or 'kernel'")
        if weights == "kernel":
            bandwidth = self._kernel_bandwidth(
                learner, base, training, training.y, regression_bandwidth
            )
        # Assigned together, so that a failed fit leaves the previous one intact.
        self.learner_, self.similarity_ = learner, base
        self.items_, self.targets_ = training.items, training.y
        self.sample_weight_, self.bandwidth_ = training.weights, bandwidth
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the numbers of each row.

        Parameters
        ----------
        X : as in `fit`, or None
            None stands for the training rows, each without itself, unless `weights` is
            ``"kernel"``. The similarity has learned from all of them: these predictions are not a
            test.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
        """
        check_is_fitted(self)
        if self.weights == "kernel":
            return self._by_rows(X, predict_by_kernel)
        return self._by_neighbors(X, mean_target, self.targets_, self._neighbor_weights())

    def _needs_neighbors(self) -> bool:
        return self.weights != "kernel"

    def _n_items(self) -> int:
        return len(self.targets_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def predict_by_kernel(X: Any, fitted: SimilarityRegressor) -> np.ndarray:
    """Return the mean of all targets for checked rows, weighted by the kernel."""
    if fitted.bandwidth_ is None:
        raise ValueError("weights changed after fit: fit again.")
    return kernel_means(
        fitted.similarity_,
        X,
        fitted.items_,
        fitted.targets_,
        weights=fitted.sample_weight_,
        bandwidth=fitted.bandwidth_,
    )


def mean_target(matches: Matches, targets: np.ndarray, weights: NeighborWeights) -> np.ndarray:
    """Return the weighted mean of the neighbors' targets."""
    found, weight = targets[matches.ids], weights.of(matches)
    if weight is None:
        return np.asarray(found.mean(axis=1))
    shares = weight / weight.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("ik,ik...->i...", shares, found))
