"""Classify by the most similar training rows."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from likewise import kernels
from likewise._threads import for_each
from likewise._validation import (
    check_choice,
    check_number,
    check_same_length,
    check_whole_number,
    n_rows,
    take,
)
from likewise.metrics import majority_votes
from likewise.similarities import Matches, Similarity, as_objects, as_similarity
from likewise.supervision import target_neighbors

# A block of distances to all training rows should stay well within memory.
_DISTANCES_IN_BLOCK = 4_000_000


class SimilarityClassifier(ClassifierMixin, BaseEstimator):
    """Predict the class of the training rows that are most similar.

    Parameters
    ----------
    learner : estimator, optional
        Cloned and fitted; its `similarity_`, or its linear map, is used. Give this or `similarity`.
    similarity : str or Similarity, default="euclidean"
        A name (see `likewise.as_similarity`) or a similarity. With ``"precomputed"`` X is a matrix
        of similarities, at `fit` square and at `predict` with a column for each training row; with
        ``"precomputed_distance"`` one of distances. With a similarity made from a function X may be
        a list of any objects.
    n_neighbors : int, default=3
    rule : {"majority", "symmetric", "energy"}, default="majority"
        ``majority``: the commonest class among the nearest rows; a tie makes the neighbourhood
        smaller by one until it is broken. ``symmetric``: the class whose own nearest rows have the
        largest similarity in sum. ``energy``: the class under which the row fits best with the
        margins of the training rows, after Weinberger, Blitzer and Saul (2005); it needs a
        similarity with a distance.
    c : float, default=1.0
        Weight of the margins in the energy rule.

    Attributes
    ----------
    similarity_ : Similarity
    learner_ : estimator
        The fitted learner, where one was given.
    classes_ : ndarray of shape (n_classes,)
    items_ : the training rows
    labels_ : ndarray of shape (n_rows,)
        Their classes, as positions in `classes_`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X was a frame.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("wine")
    >>> clf = lw.SimilarityClassifier(similarity="cosine", n_neighbors=5).fit(data.X, data.y)
    >>> clf.predict(data.X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        learner: Any = None,
        similarity: Any = "euclidean",
        n_neighbors: int = 3,
        rule: str = "majority",
        c: float = 1.0,
    ) -> None:
        self.learner = learner
        self.similarity = similarity
        self.n_neighbors = n_neighbors
        self.rule = rule
        self.c = c

    def fit(self, X: Any, y: Any) -> "SimilarityClassifier":
        """Learn the similarity, where there is a learner, and keep the rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features), a frame, or a list of objects
        y : array of shape (n_rows,)
        """
        rule = check_choice(self.rule, "rule", _RULES)
        check_whole_number(self.n_neighbors, "n_neighbors")
        check_number(self.c, "c", least=0.0)
        if self.learner is None:
            base = as_similarity(self.similarity)
        elif self.similarity != "euclidean":
            raise ValueError("learner and similarity were both given, but only one can be used.")
        else:
            base = None
        X, y = self._check_training(X, y, base)
        self.classes_, self.labels_ = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class, {self.classes_[0]!s}; at least two classes are needed."
            )
        if self.n_neighbors > len(y):
            raise ValueError(
                f"n_neighbors is {self.n_neighbors}, but X has only {len(y)} rows to choose from."
            )
        if base is None:
            self.learner_ = clone(self.learner).fit(X, y)
            base = as_similarity(self.learner_)
        if rule == "energy" and not base.has_distance:
            raise ValueError(
                f"rule 'energy' needs a similarity with a distance, but {base!r} has none: "
                "use 'majority' or 'symmetric'."
            )
        self.similarity_ = base
        self.items_ = np.arange(len(y)) if base.takes == "matrix" else X
        if rule == "energy":
            _, scores = target_neighbors(base, X, self.items_, self.labels_, self.n_neighbors)
            self.radii_ = -scores
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : as in `fit`
        """
        best = self._class_scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return how much each class has for it, as shares of 1 in the order of `classes_`.

        Under the majority rule the shares of votes in the neighbourhood that decided; under the
        others a softmax of summed similarities or negated energies, which orders classes rightly
        but is not calibrated.
        """
        scores = self._class_scores(X)
        return scores if self.rule == "majority" else softmax(scores, axis=1)

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> Matches:
        """Find the training rows most similar to each row.

        Parameters
        ----------
        X : as in `fit`, optional
            The training rows themselves by default, none of which is its own neighbour.
        n_neighbors : int, optional
            As at `fit` by default.

        Returns
        -------
        Matches
            Training row numbers and scores, most similar first.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if X is not None:
            return self.similarity_.neighbors(self._check_rows(X), self.items_, k)
        if self.similarity_.takes == "matrix":
            raise ValueError("X is needed: a precomputed matrix is not kept after fit.")
        return self.similarity_.neighbors(self.items_, self.items_, k, exclude_self=True)

    def _class_scores(self, X: Any) -> np.ndarray:
        """Return a score for each row and class: the highest is predicted."""
        check_is_fitted(self)
        return _RULES[self.rule](self, self._check_rows(X))

    def _check_training(self, X: Any, y: Any, base: Similarity | None) -> tuple[Any, np.ndarray]:
        takes = "rows" if base is None else base.takes
        if takes == "objects":
            X = as_objects(X, "X")
            y = column_or_1d(y, warn=True)
            check_same_length(X, "X", y, "y")
        else:
            X, y = validate_data(
                self, X, y, accept_sparse="csr" if takes == "rows" else False, dtype=_FLOATS
            )
        if takes == "matrix" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be a square matrix of rows with rows, but has shape {X.shape}."
            )
        if base is not None:
            base.check_queries(X, "X")
            if takes == "rows":
                base.check_items(X, "X")
        check_classification_targets(y)
        return X, y

    def _check_rows(self, X: Any) -> Any:
        takes = self.similarity_.takes
        if takes == "objects":
            return as_objects(X, "X")
        sparse = "csr" if takes == "rows" else False
        return validate_data(self, X, accept_sparse=sparse, dtype=_FLOATS, reset=False)

    def _state_for_file(self) -> "SimilarityClassifier":
        """Return what a file can hold: of a learner that is not ours, only what it learned."""
        if self.learner is None or type(self.learner).__module__.startswith("likewise."):
            return self
        stored = clone(self).set_params(learner=None)
        for name, value in vars(self).items():
            if name.endswith("_") and name != "learner_":
                setattr(stored, name, value)
        if hasattr(self, "similarity_"):
            stored.similarity = self.similarity_
        warnings.warn(
            f"learner is a {type(self.learner).__name__}, which a model file cannot hold: the file "
            "holds the similarity that it learned instead.",
            stacklevel=4,
        )
        return stored

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.learner is not None:
            tags.input_tags.sparse = get_tags(self.learner).input_tags.sparse
            return tags
        try:
            base = as_similarity(self.similarity)
        except (TypeError, ValueError):
            return tags  # `fit` will say what is wrong with it
        for_presence = getattr(base, "norm", None) in ("dice", "jaccard")
        tags.input_tags.sparse = base.takes == "rows"
        tags.input_tags.pairwise = base.takes == "matrix"
        tags.input_tags.one_d_array = tags.input_tags.string = base.takes == "objects"
        tags.input_tags.positive_only = for_presence or (
            base.takes == "matrix" and base.has_distance
        )
        tags.classifier_tags.poor_score = for_presence  # on the blobs that scikit-learn tries
        return tags


_FLOATS = [np.float64, np.float32]


def _majority(fitted: SimilarityClassifier, X: Any) -> np.ndarray:
    matches = fitted.similarity_.neighbors(X, fitted.items_, fitted.n_neighbors)
    return majority_votes(fitted.labels_[matches.ids], len(fitted.classes_))


def _symmetric(fitted: SimilarityClassifier, X: Any) -> np.ndarray:
    """Return the mean score of each class's nearest rows: the sum, fair to a class with fewer."""
    columns = []
    for label in range(len(fitted.classes_)):
        members = np.flatnonzero(fitted.labels_ == label)
        k = min(fitted.n_neighbors, len(members))
        matches = fitted.similarity_.neighbors(X, take(fitted.items_, members), k)
        columns.append(matches.scores.mean(axis=1))
    return np.stack(columns, axis=1)


def _energy(fitted: SimilarityClassifier, X: Any) -> np.ndarray:
    """Return the negated energy of each class; d is −score, for a Mahalanobis the distance²."""
    n_queries, n_items = n_rows(X), len(fitted.labels_)
    n_classes, k = len(fitted.classes_), fitted.n_neighbors
    members = [np.flatnonzero(fitted.labels_ == label) for label in range(n_classes)]
    energies = np.empty((n_queries, n_classes))

    def work(block: np.ndarray) -> None:
        distances = -fitted.similarity_.score(take(X, block), fitted.items_).astype(np.float64)
        nearest = np.full((len(block), n_classes, k), np.nan)
        for label, columns in enumerate(members):
            found = min(k, len(columns))
            closest = np.partition(distances[:, columns], found - 1, axis=1)[:, :found]
            nearest[:, label, :found] = np.sort(closest, axis=1)
        out = np.empty((len(block), n_classes))
        kernels.class_energies(distances, fitted.labels_, nearest, fitted.radii_, fitted.c, out)
        energies[block] = out

    size = max(1, _DISTANCES_IN_BLOCK // n_items)
    blocks = np.split(np.arange(n_queries), range(size, n_queries, size))
    for_each(work, blocks, parallel=fitted.similarity_.takes == "rows")
    return -energies


_RULES: dict[str, Callable[[SimilarityClassifier, Any], np.ndarray]] = {
    "majority": _majority,
    "symmetric": _symmetric,
    "energy": _energy,
}
