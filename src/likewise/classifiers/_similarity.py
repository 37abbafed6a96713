"""Classification by the most similar training rows."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from likewise._files import fields
from likewise._validation import (
    check_choice,
    check_class_targets,
    check_classes,
    check_number,
    check_targets_given,
    check_whole_number,
    is_sparse,
    take,
)
from likewise.classifiers._calibration import (
    KINDS,
    N_SPLITS,
    CalibrationData,
    HeldOutScores,
    Kind,
    calibrated,
    check_alpha,
    prediction_sets,
)
from likewise.classifiers._neighbors import (
    NEIGHBOR_FIELDS,
    NeighborPredictor,
    Training,
    check_has_distance,
    needs_presence,
)
from likewise.classifiers._rules import RULES, score, vote
from likewise.classifiers._stopping import stratified_splits
from likewise.learners.nca import class_bandwidth, regression_bandwidth
from likewise.similarities import Similarity, as_similarity
from likewise.supervision import target_neighbors


class SimilarityClassifier(ClassifierMixin, NeighborPredictor):
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
    rule : {"majority", "symmetric", "symmetric_mean", "energy", "softmax"}, default="majority"
        ``majority``: the most frequent class among the nearest rows; ties drop the farthest row
        until they are broken. ``symmetric``: the class whose own nearest rows have the largest sum
        of similarities, as in the SiLA paper; ``symmetric_mean``: the largest mean, which treats a
        class with fewer than `n_neighbors` rows fairly. ``energy``: the class
        under which the row violates the fewest margins of the training rows, after Weinberger,
        Blitzer and Saul (2005). The energy rule needs a similarity with a distance and uses
        −score: the squared distance of a Mahalanobis, the distance itself of a function.
        ``softmax``: the most probable class of one training row, drawn with a probability
        proportional to exp(score / `bandwidth_`), as in NCA; `n_neighbors` is not used.
    c : float, default=1.0
        Weight of the margins in the energy rule.
    weights : {"uniform", "distance"}, default="uniform"
        Whether votes under the majority rule are equal or weighted by 1 / distance. If rows are at
        distance 0, only these vote.
    calibrate : {"none", "sigmoid", "isotonic"}, default="none"
        Calibrate probabilities by the scores of held-out rows: the classifier, with its learner, is
        also fitted to the training rows of five splits. `predict` then returns the most probable
        class. ``sigmoid`` needs fewer rows; ``isotonic`` corrects any increasing error. A
        `similarity` that was learned from the same rows has seen the held-out ones, so give its
        `learner` instead.

    Attributes
    ----------
    similarity_ : Similarity
        None if there is one per class.
    similarities_ : list of Similarity or None
        In the order of `classes_`, if the learner has one per class.
    learner_ : estimator or None
        The fitted learner, if one was given.
    bandwidth_ : float or None
        Under the softmax rule: 1 if the learner is `NCA` or `MLKR`, which learn the map for this
        kernel. Otherwise fitted: the mean log-probability of the own class is maximized over at
        most 256 training rows, each predicted from at most 4,096 others; with several labels, the
        squared error of their probabilities is minimized.
    classes_ : ndarray of shape (n_classes,)
        With several labels, a list of ``array([0, 1])`` for each label.
    items_ : array, CSR or list
        The training rows, without those of weight zero.
    labels_ : ndarray of shape (n_rows,) or (n_rows, n_labels)
        Their classes, as positions in `classes_`, or their labels.
    sample_weight_ : ndarray of shape (n_rows,) or None
        Their weights, if given.
    calibration_ : dict or None
        The fitted calibration.
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

    _file_fields: ClassVar[fields.Declaration] = NEIGHBOR_FIELDS | {
        "similarities_": fields.OrNone(fields.ListOf(fields.Instance(Similarity), "classes")),
        "similarity_": fields.OrNone(fields.Instance(Similarity)),
        "items_": fields.Items("similarity_", "items", several="similarities_"),
        "classes_": fields.Either(
            fields.Labels("classes", minimum=1),
            fields.ListOf(fields.Array(fields.INTEGERS, 2), "labels"),
        ),
        "labels_": fields.Either(
            fields.Array(fields.INTEGERS, "items", minimum=0, below="classes"),
            fields.Array(fields.INTEGERS, "items", "labels", minimum=0),
        ),
        "calibration_": fields.Optional(fields.OrNone(CalibrationData())),
        "radii_": fields.OrNone(fields.Array(fields.FLOATS, "items", "targets", finite=False)),
    }

    def __init__(
        self,
        learner: Any = None,
        similarity: Any = "euclidean",
        n_neighbors: int = 3,
        rule: str = "majority",
        c: float = 1.0,
        weights: str = "uniform",
        calibrate: Kind = "none",
    ) -> None:
        self.learner = learner
        self.similarity = similarity
        self.n_neighbors = n_neighbors
        self.rule = rule
        self.c = c
        self.weights = weights
        self.calibrate = calibrate

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the learner, if any, and keep the training rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features), a frame, or a list of objects
        y : array of shape (n_rows,), or array or CSR of shape (n_rows, n_labels) of 0 and 1
            One class for each row, or any number of labels, which are predicted one by one. The
            energy rule and learners that take one class refuse several labels.
        sample_weight : array of shape (n_rows,), optional
            Weight of a row's vote (``majority``), its score in the mean of its class
            (``symmetric``), its margins (``energy``) or its probability (``softmax``). Each row
            counts as one neighbor whatever its weight, but rows of weight zero are left out. The
            learner is fitted with the weights if its `fit` takes them. With `calibrate`, the
            probabilities are fitted with the weights; prediction sets count each row once.
        """
        rule = check_choice(self.rule, "rule", RULES)
        weights = check_choice(self.weights, "weights", ("uniform", "distance"))
        if weights != "uniform" and rule != "majority":
            raise ValueError(f"weights {weights!r} needs rule 'majority', but rule is {rule!r}.")
        calibrate = check_choice(self.calibrate, "calibrate", KINDS)
        check_whole_number(self.n_neighbors, "n_neighbors")
        check_number(self.c, "c", minimum=0.0)
        base = self._given_similarity()
        training = self._check_training(
            X,
            y,
            sample_weight,
            base,
            self._check_targets,
            may_stay_remote=rule == "majority" and calibrate == "none",
        )
        classes, labels = _classes_and_labels(training.y)
        calibration = None
        if calibrate != "none":
            held_out = self._held_out_scores(training, labels, "calibrate")
            calibration = held_out.calibration(self.calibrate)
        learner = radii = per_class = bandwidth = None
        if base is None:
            learner = self._fitted_learner(training)
            per_class = getattr(learner, "similarities_", None)
            base = as_similarity(learner if per_class is None else per_class[0])
        if weights == "distance":
            check_has_distance(base, "weights 'distance'", "'uniform'")
        if rule == "energy":
            check_has_distance(base, "rule 'energy'", "'majority' or 'symmetric'")
            rows = training.X, training.items, training.y
            radii = -target_neighbors(base, *rows, self.n_neighbors)[1]
        if rule == "softmax":
            if per_class is not None:
                raise ValueError(
                    "rule 'softmax' needs one similarity, but the learner has one per class."
                )
            fit_bandwidth = class_bandwidth if labels.ndim == 1 else regression_bandwidth
            bandwidth = self._kernel_bandwidth(learner, base, training, labels, fit_bandwidth)
        # Assigned together, so that a failed fit leaves the previous one intact.
        self.calibration_: dict[str, Any] | None = calibration
        self.learner_ = learner
        self.similarities_: Any = per_class
        self.similarity_: Any = base if per_class is None else None
        self.classes_, self.labels_ = classes, labels
        self.items_, self.radii_ = training.items, radii
        self.sample_weight_, self.bandwidth_ = training.weights, bandwidth
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row; with several labels, 0 or 1 for each row and label.

        Parameters
        ----------
        X : as in `fit`, or None
            None stands for the training rows, each without itself, under the majority rule. The
            similarity has learned from all of them: these predictions are not a test.
        """
        if self._calibration() is not None:
            return np.asarray(self.classes_)[self.predict_proba(X).argmax(axis=1)]
        best = self._scores(X, best_only=True)
        return best if self.labels_.ndim == 2 else np.asarray(self.classes_)[best]

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, in the order of `classes_`.

        Under the majority rule these are the shares of the votes, and under the softmax rule the
        probabilities of NCA; under the others a softmax of mean similarities or negated energies,
        which is not calibrated. With a similarity per class it is a softmax of their leads. With
        `calibrate` all are calibrated by held-out rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            With several labels, a list of an array for each label, with the probabilities of 0 and
            1, as scikit-learn's `KNeighborsClassifier` returns it.
        """
        scores = self._scores(X, best_only=False)
        calibration = self._calibration()
        if calibration is not None:
            return calibrated(scores, calibration)
        are_shares = self.rule in ("majority", "softmax") and self.similarities_ is None
        if self.rule == "symmetric" and self.similarities_ is None:
            scores = scores / self.n_neighbors  # comparable with means
        shares = scores if are_shares else softmax(scores, axis=-1)
        return list(np.moveaxis(shares, 1, 0)) if self.labels_.ndim == 2 else shares

    def predict_set(self, X: Any, alpha: float = 0.1) -> np.ndarray:
        """Return sets of classes that hold the true class with probability about 1 − `alpha`.

        A set holds the classes whose score exceeds the others by no less than the own class's score
        does in most held-out rows (cross-conformal prediction). It can be empty. The probability is
        over rows of all classes: it can be lower for a rare class. Without `calibrate`, held-out
        scores are computed at every call, from the training rows.

        Parameters
        ----------
        X : as in `fit`
        alpha : float, default=0.1

        Returns
        -------
        bool array of shape (n_rows, n_classes), in the order of `classes_`
        """
        check_is_fitted(self)
        check_alpha(alpha)
        scores = self._scores(X, best_only=False)
        calibration = self._calibration()
        if calibration is None:
            if self.similarity_ is not None and self.similarity_.takes == "matrix":
                raise ValueError(
                    "predict_set needs held-out scores, and a precomputed matrix is not kept after "
                    "fit: fit with calibrate='sigmoid' or 'isotonic'."
                )
            labels, items = self.labels_, self.items_
            y = labels if labels.ndim == 2 else np.asarray(self.classes_)[labels]
            training = Training(items, items, y, self._row_weights())
            calibration = self._held_out_scores(training, labels, "predict_set").calibration("none")
        return prediction_sets(scores, calibration, alpha)

    def _calibration(self) -> dict[str, Any] | None:
        """Return the calibration; files of earlier editions have none."""
        check_is_fitted(self)
        return getattr(self, "calibration_", None)

    def _held_out_scores(self, training: Training, labels: np.ndarray, user: str) -> HeldOutScores:
        """Return the scores of all training rows by classifiers that were fitted without them.

        `user` is the parameter or method that an error names.
        """
        if labels.ndim == 2:
            raise ValueError(f"y has several labels for each row, but {user} needs one class.")
        X, y, weights = training.X, training.y, training.weights
        is_matrix = training.items is not X
        scores = np.empty((len(labels), labels.max() + 1))
        for train, held_out in stratified_splits(labels, N_SPLITS, 0.0, 0, user):
            of_train, of_held_out = take(X, train), take(X, held_out)
            if is_matrix:
                of_train, of_held_out = of_train[:, train], of_held_out[:, train]
            # `clone` would return a learner that was given as the similarity unfitted.
            part = clone(self).set_params(calibrate="none", similarity=self.similarity)
            part.fit(of_train, y[train], None if weights is None else weights[train])
            scores[held_out] = part._scores(of_held_out, best_only=False)
        return HeldOutScores(scores, labels, np.ones(len(y)) if weights is None else weights)

    def _scores(self, X: Any, *, best_only: bool) -> np.ndarray:
        """Return the score of each row and class, or only the best class."""
        check_is_fitted(self)
        if self.rule != "majority" or self.similarities_ is not None:
            return self._by_rows(X, score, best_only)
        n_classes, weights = len(self.classes_), self._neighbor_weights()
        return self._by_neighbors(X, vote, self.labels_, n_classes, weights, best_only)

    def _check_targets(self, y: Any) -> np.ndarray:
        check_targets_given(y, self)
        y = np.asarray(y.toarray() if is_sparse(y) else y)
        if y.ndim == 2 and y.shape[1] > 1:
            return self._check_indicators(y)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_class_targets(y, self)
        return np.asarray(y)

    def _check_indicators(self, y: np.ndarray) -> np.ndarray:
        assert_all_finite(y, input_name="y")
        check_class_targets(y, self)
        others = y[~np.isin(y, [0, 1])]
        if len(others):
            raise ValueError(
                f"y has {y.shape[1]} columns, one for each label, and must hold 0 and 1, but holds "
                f"{others[0]!s}."
            )
        if self.rule == "energy":
            raise ValueError(
                "rule 'energy' compares classes, but y has several labels for each row: use "
                "'majority', 'symmetric' or 'softmax'."
            )
        if not self._takes_several_labels():
            raise ValueError(
                f"y has several labels for each row, but learner {self.learner!r} needs one class."
            )
        return y.astype(np.int64)

    def _takes_several_labels(self) -> bool:
        if self.learner is None:
            return self.rule != "energy"
        targets = get_tags(self.learner).target_tags
        return self.rule != "energy" and (targets.multi_output or not targets.required)

    def _set_rule(self, learner: Any) -> None:
        if getattr(learner, "validation_rule", None) == "auto" and "symmetric" in self.rule:
            learner.set_params(validation_rule=self.rule)

    def _needs_neighbors(self) -> bool:
        return self.rule != "softmax"

    def _n_items(self) -> int:
        return len(self.labels_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            base = self._given_similarity()
        except (TypeError, ValueError):
            return tags  # `fit` reports the error
        tags.classifier_tags.poor_score = needs_presence(base)  # on the blobs of the checks
        tags.classifier_tags.multi_label = self._takes_several_labels()
        return tags


def _classes_and_labels(y: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return `classes_` and `labels_` for classes or indicators of labels."""
    if y.ndim == 1:
        return check_classes(y)
    return [np.array([0, 1])] * y.shape[1], y
