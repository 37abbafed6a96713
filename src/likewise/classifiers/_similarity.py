"""Classification by the most similar training rows."""

import warnings
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from likewise import kernels
from likewise._execution import current_backend, use_backend, validate_rows
from likewise._threads import for_each
from likewise._validation import (
    FLOATS,
    check_choice,
    check_classes,
    check_number,
    check_same_length,
    check_square,
    check_whole_number,
    n_rows,
    take,
)
from likewise.metrics import majority_votes
from likewise.similarities import Matches, Similarity, as_objects, as_similarity, set_input_tags
from likewise.supervision import target_neighbors

# A block of distances to all training rows should stay well within memory.
_DISTANCES_IN_BLOCK = 4_000_000


class SimilarityClassifier(ClassifierMixin, BaseEstimator):
    """Predict the class of the training rows that are most similar.

    Parameters
    ----------
    learner : estimator, optional
        Cloned and fitted; its `similarity_`, or its linear map, is used. Give this or `similarity`.
        If it has `similarities_`, one per class, each separates its class from the rest, and the
        class with the largest lead is predicted.
    similarity : str, Similarity, callable or fitted learner, default="euclidean"
        As in `likewise.as_similarity`. With ``"precomputed"`` X is a matrix of similarities, square
        in `fit` and with a column for each training row in `predict`; with
        ``"precomputed_distance"`` a matrix of distances. With a function X may be a list of any
        objects.
    n_neighbors : int, default=3
    rule : {"majority", "symmetric", "energy"}, default="majority"
        ``majority``: the most frequent class among the nearest rows; ties drop the farthest row
        until they are broken. ``symmetric``: the class whose own nearest rows have the largest sum
        of similarities, scaled up for a class with fewer than `n_neighbors` rows. ``energy``: the
        class under which the row violates the fewest margins of the training rows, after
        Weinberger, Blitzer and Saul (2005). The energy rule needs a similarity with a distance and
        uses −score: the squared distance of a Mahalanobis, the distance itself of a function.
    c : float, default=1.0
        Weight of the margins in the energy rule.

    Attributes
    ----------
    similarity_ : Similarity
        None if there is one per class.
    similarities_ : list of Similarity or None
        In the order of `classes_`, if the learner has one per class.
    learner_ : estimator or None
        The fitted learner, if one was given.
    classes_ : ndarray of shape (n_classes,)
    items_ : array, CSR or list
        The training rows.
    labels_ : ndarray of shape (n_rows,)
        Their classes, as positions in `classes_`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X was a frame.

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

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the learner, if any, and keep the training rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features), a frame, or a list of objects
        y : array of shape (n_rows,)
        """
        rule = check_choice(self.rule, "rule", _RULES)
        check_whole_number(self.n_neighbors, "n_neighbors")
        check_number(self.c, "c", minimum=0.0)
        base = self._given_similarity()
        X, y = self._check_training(X, y, base, rule)
        classes, labels = check_classes(y)
        self._check_enough_rows(len(y))
        learner = radii = per_class = None
        if base is None:
            learner = clone(self.learner).fit(X, y)
            per_class = getattr(learner, "similarities_", None)
            base = as_similarity(learner if per_class is None else per_class[0])
        if rule == "energy" and not base.has_distance:
            raise ValueError(
                f"rule 'energy' needs a similarity with a distance, but {base!r} has none: "
                "use 'majority' or 'symmetric'."
            )
        items = np.arange(len(y)) if base.takes == "matrix" else X
        if rule == "energy":
            radii = -target_neighbors(base, X, items, y, self.n_neighbors)[1]
        # Assigned together, so that a failed fit leaves the previous one intact.
        self.learner_ = learner
        self.similarities_: Any = per_class
        self.similarity_: Any = base if per_class is None else None
        self.classes_, self.labels_ = classes, labels
        self.items_, self.radii_ = items, radii
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : as in `fit`
        """
        best = self._best_classes(X)
        return self.classes_[best]

    def _best_classes(self, X: Any) -> np.ndarray:
        if (on_backend := self._scores_on_backend(X, best_only=True)) is not None:
            return on_backend
        return self._class_scores(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of `classes_`.

        Under the majority rule these are the shares of the votes; under the others a softmax of
        summed similarities or negated energies, which is not calibrated. With a similarity per
        class it is a softmax of their leads.
        """
        scores = self._class_scores(X)
        are_shares = self.rule == "majority" and self.similarities_ is None
        return scores if are_shares else softmax(scores, axis=1)

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
            Training row numbers and scores, most similar first.
        """
        check_is_fitted(self)
        k = check_whole_number(
            self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors"
        )
        if self.similarities_ is not None:
            raise ValueError(
                "kneighbors needs one similarity, but the learner has one per class: use neighbors "
                "of one of similarities_."
            )
        if X is not None:
            return self.similarity_.neighbors(self._check_rows(X), self.items_, k)
        if self.similarity_.takes == "matrix":
            raise ValueError("X is required: a precomputed matrix is not kept after fit.")
        return self.similarity_.neighbors(self.items_, self.items_, k, exclude_self=True)

    def _class_scores(self, X: Any) -> np.ndarray:
        """Return the score of each row and class; the highest is predicted."""
        if (on_backend := self._scores_on_backend(X, best_only=False)) is not None:
            return on_backend
        check_is_fitted(self)
        self._check_enough_rows(len(self.labels_))
        rows = self._check_rows(X)
        if self.similarities_ is not None:
            return self._one_vs_rest_scores(rows)
        return _RULES[self.rule](self, rows)

    def _scores_on_backend(self, X: Any, *, best_only: bool) -> np.ndarray | None:
        """Return class scores, or only the best class, from the backend; None without one."""
        check_is_fitted(self)
        backend = current_backend()
        if backend is None or (self.similarity_ is not None and self.similarity_.takes != "rows"):
            return None
        self._check_enough_rows(len(self.labels_))
        rows = validate_rows(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        if self.rule != "majority" or self.similarities_ is not None:
            return np.concatenate(list(backend.map_rows(score_block, rows, self, best_only)))
        labels, n_classes = backend.share(self.labels_), len(self.classes_)
        votes = backend.search(
            self.similarity_,
            rows,
            backend.rows(self.items_, "X"),
            self.n_neighbors,
            vote_block,
            lambda block: (labels, n_classes, best_only),
        )
        return np.concatenate(list(votes))

    def _one_vs_rest_scores(self, X: Any) -> np.ndarray:
        """Return the lead of each class over the rest, by its own similarity.

        The lead is relative to the sum of both scores, because the similarities of different
        classes have different scales.
        """
        columns = []
        for label, similarity in enumerate(self.similarities_):
            binary = copy(self)
            binary.similarity_, binary.similarities_ = similarity, None
            binary.labels_ = (self.labels_ == label).astype(np.int64)
            binary.classes_ = np.array([False, True])
            rest, own = _RULES[self.rule](binary, X).T.astype(np.float64)
            total = np.abs(own) + np.abs(rest)
            columns.append(np.divide(own - rest, total, out=np.zeros(len(own)), where=total > 0))
        return np.stack(columns, axis=1)

    def _given_similarity(self) -> Similarity | None:
        """Return the given similarity; None if a learner is given instead."""
        if self.learner is None:
            return as_similarity(self.similarity)
        if not (isinstance(self.similarity, str) and self.similarity == "euclidean"):
            raise ValueError("learner and similarity were both given, but only one can be used.")
        if isinstance(self.learner, type) or not hasattr(self.learner, "fit"):
            raise TypeError(f"learner must be an estimator, but {self.learner!r} was given.")
        return None

    def _check_enough_rows(self, n_items: int) -> None:
        if self.n_neighbors > n_items:
            raise ValueError(
                f"n_neighbors is {self.n_neighbors}, but X has only {n_items} rows to choose from."
            )

    def _check_training(
        self, X: Any, y: Any, base: Similarity | None, rule: str
    ) -> tuple[Any, np.ndarray]:
        takes = "rows" if base is None else base.takes
        backend = current_backend()
        if backend is not None and takes == "rows" and backend.is_remote(X):
            y = backend.labels(y, "y")
            rows = validate_rows(self, X)
            if rule == "majority":  # the rows stay where they are
                check_same_length(rows, "X", y, "y")
                check_classification_targets(y)
                return rows.detach(), y
            X = rows[np.arange(len(rows))]
        if takes == "objects":
            X = as_objects(X, "X")
        else:
            sparse = "csr" if takes == "rows" else False
            X = validate_data(self, X, accept_sparse=sparse, dtype=FLOATS)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_same_length(X, "X", y, "y")
        if takes == "matrix":
            check_square(X, "X")
        if base is not None:
            base.check_queries(X, "X")
            if takes == "rows":
                base.check_items(X, "X")
        check_classification_targets(y)
        return X, y

    def _check_rows(self, X: Any) -> Any:
        takes = "rows" if self.similarity_ is None else self.similarity_.takes
        if takes == "objects":
            return as_objects(X, "X")
        if takes == "rows":
            return validate_rows(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return validate_data(self, X, dtype=FLOATS, reset=False)

    def _state_for_file(self) -> "SimilarityClassifier":
        """Return the state to store: the similarity instead of another package's learner."""
        if self.learner is None or type(self.learner).__module__.startswith("likewise."):
            return self
        check_is_fitted(self)
        stored = clone(self).set_params(learner=None, similarity=self.similarity_)
        for name, value in vars(self).items():
            if name.endswith("_") and name != "learner_":
                setattr(stored, name, value)
        stored.learner_ = None
        warnings.warn(
            f"learner is a {type(self.learner).__name__}, which a model file cannot hold: the file "
            "holds the learned similarity instead.",
            stacklevel=4,
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
        needs_presence = getattr(base, "norm", None) in ("dice", "jaccard")
        set_input_tags(tags, base)
        tags.input_tags.positive_only |= needs_presence
        tags.classifier_tags.poor_score = needs_presence  # on the blobs of scikit-learn's checks
        return tags


def vote_block(matches: Matches, labels: np.ndarray, n_classes: int, best_only: bool) -> np.ndarray:
    """Return the votes of the neighbors of a block of queries, or only the best class."""
    votes = majority_votes(labels[matches.ids], n_classes)
    return votes.argmax(axis=1) if best_only else votes


def score_block(X: Any, fitted: SimilarityClassifier, best_only: bool) -> np.ndarray:
    """Return the class scores of a block of rows, or only the best class, in this process."""
    with use_backend(None):
        return fitted._best_classes(X) if best_only else fitted._class_scores(X)


def _majority(fitted: SimilarityClassifier, X: Any) -> np.ndarray:
    matches = fitted.similarity_.neighbors(X, fitted.items_, fitted.n_neighbors)
    return majority_votes(fitted.labels_[matches.ids], len(fitted.classes_))


def _symmetric(fitted: SimilarityClassifier, X: Any) -> np.ndarray:
    """Return the mean score of each class's nearest rows, comparable for small classes."""
    columns = []
    for label in range(len(fitted.classes_)):
        members = np.flatnonzero(fitted.labels_ == label)
        k = min(fitted.n_neighbors, len(members))
        matches = fitted.similarity_.neighbors(X, take(fitted.items_, members), k)
        columns.append(matches.scores.mean(axis=1))
    return np.stack(columns, axis=1)


def _energy(fitted: SimilarityClassifier, X: Any) -> np.ndarray:
    """Return the negated energy of each class, with −score as the distance."""
    labels, radii = fitted.labels_, fitted.radii_
    n_queries, n_items = n_rows(X), n_rows(fitted.items_)
    n_classes, k = len(fitted.classes_), fitted.n_neighbors
    # Compiled loops do not check bounds: shapes and labels must be consistent.
    if (
        radii is None
        or radii.shape != (n_items, k)
        or labels.shape != (n_items,)
        or not 0 <= labels.min() <= labels.max() < n_classes
    ):
        raise ValueError("rule, n_neighbors or fitted attributes changed after fit: fit again.")
    members = [np.flatnonzero(labels == label) for label in range(n_classes)]
    energies = np.empty((n_queries, n_classes))

    def work(block: np.ndarray) -> None:
        distances = -fitted.similarity_.score(take(X, block), fitted.items_).astype(np.float64)
        nearest = np.full((len(block), n_classes, k), np.nan)
        for label, columns in enumerate(members):
            n_nearest = min(k, len(columns))
            closest = np.partition(distances[:, columns], n_nearest - 1, axis=1)[:, :n_nearest]
            nearest[:, label, :n_nearest] = np.sort(closest, axis=1)
        out = np.empty((len(block), n_classes))
        scratch = np.empty((2, n_classes))
        kernels.class_energies(distances, labels, nearest, radii, fitted.c, *scratch, out)
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
