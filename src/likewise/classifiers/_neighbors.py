"""What predictors by similar training rows share: the similarity, the rows and their weights."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from likewise._execution import (
    Backend,
    call_without_backend,
    current_backend,
    validate_rows,
)
from likewise._files import fields
from likewise._validation import (
    FLOATS,
    check_same_length,
    check_square,
    check_whole_number,
    take,
    validate_data,
)
from likewise._warnings import warn
from likewise.similarities import (
    Matches,
    Similarity,
    as_objects,
    as_similarity,
    scores_to_dissimilarities,
    set_input_tags,
)
from likewise.supervision import check_sample_weight

# Fitted attributes in a file of every predictor by similar rows.
NEIGHBOR_FIELDS: fields.Declaration = {
    "learner_": fields.OrNone(fields.Instance(BaseEstimator)),
    "sample_weight_": fields.Optional(
        fields.OrNone(fields.Array(fields.FLOATS, "items", minimum=0))
    ),
    "bandwidth_": fields.Optional(fields.OrNone(fields.Number(whole=False))),
}


class Training(NamedTuple):
    """Checked training rows with their targets and weights.

    Attributes
    ----------
    X : rows, objects, or rows of a square matrix
    items : X, or the column numbers of its rows in a matrix
    y : (n_rows,) or (n_rows, n_targets) array
    weights : (n_rows,) array or None
        Positive.
    """

    X: Any
    items: Any
    y: np.ndarray
    weights: np.ndarray | None


class NeighborPredictor(BaseEstimator):
    """Predicts from the training rows that are similar, by a given or a learned similarity."""

    learner: Any
    similarity: Any
    n_neighbors: Any
    weights: Any

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> Matches:
        """Find the training rows most similar to each row.

        Parameters
        ----------
        X : as in `fit`, optional
            The training rows by default, each without itself.
        n_neighbors : int, optional
            As in `fit` by default.

        Returns
        -------
        Matches
            Row numbers in `items_` and scores, most similar first. They are the numbers of the
            training rows, unless some had a weight of zero.
        """
        check_is_fitted(self)
        k = check_whole_number(
            self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors"
        )
        if self.similarity_ is None:
            raise ValueError(
                "kneighbors needs one similarity, but the learner has one per class: use neighbors "
                "of one of similarities_."
            )
        if X is not None:
            return self.similarity_.neighbors(self._check_rows(X), self.items_, k)
        if self.similarity_.takes == "matrix":
            raise ValueError("X is required: a precomputed matrix is not kept after fit.")
        return self.similarity_.neighbors(self.items_, self.items_, k, exclude_self=True)

    def _by_neighbors(
        self, X: Any, function: Callable[..., np.ndarray], *arguments: Any
    ) -> np.ndarray:
        """Return ``function(matches, *arguments)`` for the nearest training rows of each row.

        Without X, for the training rows, each without itself.
        """
        if X is None:
            k = min(self.n_neighbors, self._n_items() - 1)
            return function(self.kneighbors(n_neighbors=k), *arguments)
        rows, k = self._check_rows(X), self.n_neighbors
        backend = self._backend()
        if backend is None:
            return function(self.similarity_.neighbors(rows, self.items_, k), *arguments)
        shared = tuple(backend.share(argument) for argument in arguments)
        items = backend.rows(self.items_, "X")
        parts = backend.search(self.similarity_, rows, items, k, function, lambda block: shared)
        return np.concatenate(list(parts))

    def _by_rows(self, X: Any, function: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
        """Return ``function(rows, self, *arguments)``, by blocks if a backend runs it."""
        if X is None:
            raise ValueError(
                "X is None, which stands for the training rows, each without itself; only votes "
                "and means of the nearest rows are made without a row."
            )
        rows = self._check_rows(X)
        backend = self._backend()
        if backend is None:
            return function(rows, self, *arguments)
        blocks = backend.map_rows(call_without_backend, rows, function, self, *arguments)
        return np.concatenate(list(blocks))

    def _backend(self) -> Backend | None:
        """Return the backend that predicts; None for this process."""
        takes_rows = self.similarity_ is None or self.similarity_.takes == "rows"
        return current_backend() if takes_rows else None

    def _given_similarity(self) -> Similarity | None:
        """Return the given similarity; None if a learner is given instead."""
        if self.learner is None:
            return as_similarity(self.similarity)
        if not (isinstance(self.similarity, str) and self.similarity == "euclidean"):
            raise ValueError("learner and similarity were both given, but only one can be used.")
        if isinstance(self.learner, type) or not hasattr(self.learner, "fit"):
            raise TypeError(f"learner must be an estimator, but {self.learner!r} was given.")
        return None

    def _set_rule(self, learner: Any) -> None:
        """Set what a learner validates itself by, if that is left to the predictor."""

    def _needs_neighbors(self) -> bool:
        """Tell whether predictions depend on `n_neighbors`."""
        raise NotImplementedError

    def _n_items(self) -> int:
        """Return the number of training rows that have a weight."""
        raise NotImplementedError

    def _check_enough_rows(self, n_items: int) -> None:
        if self._needs_neighbors() and self.n_neighbors > n_items:
            rows = "one sample" if n_items == 1 else f"{n_items} rows"
            raise ValueError(
                f"n_neighbors is {self.n_neighbors}, but X has only {rows} to choose from."
            )

    def _check_training(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        base: Similarity | None,
        check_targets: Callable[[Any], np.ndarray],
        *,
        may_stay_remote: bool,
    ) -> Training:
        """Return checked rows, targets and weights, without the rows of weight zero.

        Parameters
        ----------
        base : the given similarity; None if it is learned
        check_targets : returns checked targets
        may_stay_remote : whether rows that workers read need not be in this process
        """
        takes = "rows" if base is None else base.takes
        backend = current_backend()
        stays_remote = False
        if backend is not None and takes == "rows" and backend.is_remote(X):
            y = backend.labels(y, "y")
            rows = validate_rows(self, X)
            stays_remote = may_stay_remote
            X = rows if stays_remote else rows[np.arange(len(rows))]
        if takes == "objects":
            X = as_objects(X, "X")
        elif not stays_remote:
            sparse = "csr" if takes == "rows" else False
            X = validate_data(self, X, accept_sparse=sparse, dtype=FLOATS)
        y = check_targets(y)
        check_same_length(X, "X", y, "y")
        if takes == "matrix":
            check_square(X, "X")
        if base is not None and not stays_remote:
            base.check_queries(X, "X")
            if takes == "rows":
                base.check_items(X, "X")
        weights, kept = None, np.arange(len(y))
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, y)
            kept = np.flatnonzero(weights)
        self._check_enough_rows(len(kept))
        if weights is not None and len(kept) < len(y):
            X, y, weights = take(X, kept), y[kept], weights[kept]
        elif stays_remote:
            X = X.detach()
        return Training(X, kept if takes == "matrix" else X, y, weights)

    def _fitted_learner(self, training: Training) -> Any:
        """Return a clone of the learner, fitted with the weights if it takes them."""
        learner = clone(self.learner)
        self._set_rule(learner)
        if training.weights is None or not has_fit_parameter(learner, "sample_weight"):
            return learner.fit(training.X, training.y)
        return learner.fit(training.X, training.y, sample_weight=training.weights)

    def _kernel_bandwidth(
        self,
        learner: Any,
        similarity: Similarity,
        training: Training,
        targets: np.ndarray,
        fit: Callable[..., float],
    ) -> float:
        """Return the bandwidth that was learned with the similarity, or else fit it."""
        source = self.similarity if learner is None else learner
        learned: float | None = getattr(source, "bandwidth_", None)
        if learned is not None and getattr(source, "similarity_", None) is similarity:
            return learned
        weights = np.ones(len(targets)) if training.weights is None else training.weights
        return fit(similarity, training.X, training.items, targets, weights)

    def _row_weights(self) -> np.ndarray | None:
        """Return the weights of the training rows; files of earlier editions have none."""
        return getattr(self, "sample_weight_", None)

    def _neighbor_weights(self) -> "NeighborWeights":
        return NeighborWeights(self.similarity_, self.weights, self._row_weights())

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        self._check_enough_rows(self._n_items())
        takes = "rows" if self.similarity_ is None else self.similarity_.takes
        if takes == "objects":
            return as_objects(X, "X")
        if takes == "rows":
            return validate_rows(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return validate_data(self, X, dtype=FLOATS, reset=False)

    def _state_for_file(self) -> Self:
        """Return the state to store: the similarity instead of another package's learner."""
        if self.learner is None or type(self.learner).__module__.startswith("likewise."):
            return self
        check_is_fitted(self)
        stored = clone(self).set_params(learner=None, similarity=self.similarity_)
        for name, value in vars(self).items():
            if name.endswith("_") and name != "learner_":
                setattr(stored, name, value)
        stored.learner_ = None
        warn(
            f"learner is a {type(self.learner).__name__}, which a model file cannot hold: the file "
            "holds the learned similarity instead.",
        )
        return stored

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "items_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            base = self._given_similarity()
        except (TypeError, ValueError):
            return tags  # `fit` reports the error
        if base is None:
            learner_tags = get_tags(self.learner).input_tags
            tags.input_tags.sparse = learner_tags.sparse
            tags.input_tags.positive_only = learner_tags.positive_only
            return tags
        set_input_tags(tags, base)
        tags.input_tags.positive_only |= needs_presence(base)
        return tags


@dataclass(frozen=True, eq=False)
class NeighborWeights:
    """The weights of neighbors in votes and means.

    Attributes
    ----------
    similarity : Similarity
    kind : {"uniform", "distance"}
    rows : (n_items,) array or None
        Weights of the training rows.
    """

    similarity: Similarity
    kind: str
    rows: np.ndarray | None

    def of(self, matches: Matches) -> np.ndarray | None:
        """Return a weight for each match, relative to the nearest; None if all are equal."""
        weights = None
        if self.kind == "distance":
            distances = scores_to_dissimilarities(
                self.similarity, matches.scores.astype(np.float64)
            )
            nearest = distances[:, :1]
            # 1/d up to a factor of each row; if any distance is 0, only those rows count
            weights = np.divide(nearest, distances, out=1.0 * (distances == 0), where=nearest > 0)
        if self.rows is None:
            return weights
        own: np.ndarray = self.rows[matches.ids]
        return own if weights is None else weights * own


def check_has_distance(similarity: Similarity, option: str, otherwise: str) -> None:
    """Refuse a similarity without a distance; `option` is what needs one."""
    if not similarity.has_distance:
        raise ValueError(
            f"{option} needs a similarity with a distance, but {similarity!r} has none: "
            f"use {otherwise}."
        )


def needs_presence(similarity: Similarity | None) -> bool:
    """Tell whether rows say how much of each feature is present, as Dice and Jaccard need."""
    return getattr(similarity, "norm", None) in ("dice", "jaccard")
