"""Classification by native and similarity features, the latter also from unlabeled rows."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import assert_all_finite, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from likewise._files import fields
from likewise._progress import LongWork, show_progress
from likewise._validation import (
    check_choice,
    check_class_targets,
    check_run_parameters,
    check_same_length,
    check_targets_given,
    check_whole_number,
    is_sparse,
    take,
)
from likewise._warnings import warn
from likewise.classifiers._balanced_winnow import BalancedWinnow
from likewise.classifiers._winnow_base import WinnowBase, n_problems
from likewise.features import LandmarkFeatures, MedianBinarizer, is_labeled, is_table
from likewise.similarities import join_columns
from likewise.supervision import check_sample_weight

_USE = ("native", "similarity", "both")  # the simpler first
_REPEATS = 3
_STANDARD_ERRORS = 0.5


class SimilarityFeatureClassifier(ClassifierMixin, BaseEstimator):
    """A linear classifier on a row's own features, its similarity to landmarks, or both.

    `fit` takes all rows; those labeled −1 have no label, and serve as landmarks and to compute
    ranks. The features are selected by cross-validation on the labeled rows; landmarks and ranks
    may use the features of held-out rows, but never their labels.

    Parameters
    ----------
    similarity, n_landmarks, select, base, sample_size : as in `LandmarkFeatures`
    boolean : float, sequence of float or None, default=(0.01, 0.03, 0.1)
        As in `LandmarkFeatures`.
    use : {"auto", "native", "similarity", "both"}, default="auto"
        Which features to use; auto selects by cross-validation. Fewer features are preferred if
        more are better by less than half a standard error.
    classifier : estimator, optional
        A linear classifier that has `coef_` and `intercept_` after `fit`, a `BalancedWinnow` or a
        `Winnow`; ``BalancedWinnow(margin=0.2)`` by default. Either Winnow gets native features as
        booleans, split at the median of all rows; others get them standardized.
    cv : int, default=5
        Number of cross-validation splits, repeated three times.
    random_state : int, RandomState or None
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    use_ : str
        The features used.
    cv_scores_ : dict of str to float
        Cross-validated accuracy of each choice; empty if there was no choice.
    features_ : LandmarkFeatures
    classifier_ : BalancedWinnow, Winnow or None
    coef_, intercept_ : ndarray or None
        Coefficients of any other classifier.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    If all labels are −1 or 1, they are taken as two classes, with a warning: one class alone could
    not be learned.

    Examples
    --------
    >>> import likewise as lw
    >>> ring = lw.datasets.circle(600, random_state=0)
    >>> y = ring.y.copy()
    >>> y[100:] = -1                                   # 100 labels are enough
    >>> clf = lw.SimilarityFeatureClassifier(random_state=0).fit(ring.X, y)
    >>> clf.use_, round(clf.score(ring.X[100:], ring.y[100:]), 1)
    ('similarity', 0.9)
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "classes_": fields.Labels("classes"),
        "use_": fields.Choice(*_USE),
        "cv_scores_": fields.Record(),
        "features_": fields.Instance(LandmarkFeatures),
        "preparation_": fields.Either(
            fields.Parts(
                columns=fields.Array(fields.INTEGERS, "native", minimum=0, below="features"),
                binarizer=fields.Instance(MedianBinarizer, n_features_in_="native"),
            ),
            fields.Parts(
                centre=fields.OrNone(fields.Array(fields.FLOATS, "features")),
                spread=fields.Array(fields.FLOATS, "features"),
            ),
            fields.Parts(),
        ),
        "classifier_": fields.OrNone(fields.Instance(WinnowBase)),
        "coef_": fields.OrNone(fields.Array(fields.FLOATS, n_problems, "inputs")),
        "intercept_": fields.OrNone(fields.Array(fields.FLOATS, n_problems)),
    }

    def __init__(
        self,
        similarity: Any = "ranked",
        n_landmarks: int = 200,
        select: str = "random",
        boolean: Any = (0.01, 0.03, 0.1),
        use: str = "auto",
        classifier: Any = None,
        *,
        base: Any = "euclidean",
        sample_size: int | None = None,
        cv: int = 5,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.similarity = similarity
        self.n_landmarks = n_landmarks
        self.select = select
        self.boolean = boolean
        self.use = use
        self.classifier = classifier
        self.base = base
        self.sample_size = sample_size
        self.cv = cv
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compute features from all rows, select among them and train on the labeled rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features), a frame, or a list of objects
        y : array of shape (n_rows,)
            −1 for unlabeled rows.
        sample_weight : array of shape (n_rows,), optional
            Weight of a labeled row in the fit of the classifier, which must take weights, and in
            cross-validation. Rows of weight zero count as unlabeled; all rows can be landmarks.
        """
        check_choice(self.use, "use", ["auto", *_USE])
        check_whole_number(self.cv, "cv", minimum=2)
        check_run_parameters(self)
        classifier = self._linear_classifier()
        check_targets_given(y, self)
        random = check_random_state(self.random_state)
        features = self._landmark_features(random)
        compared = features.compared_similarity()
        native = features.check_rows(X, compared, reset=True)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_same_length(native, "X", y, "y")
        check_class_targets(y, self)
        weights = None if sample_weight is None else check_sample_weight(sample_weight, y)
        if weights is not None and not has_fit_parameter(classifier, "sample_weight"):
            raise ValueError(
                f"sample_weight was given, but fit of classifier {classifier!r} takes no weights."
            )
        rows = np.flatnonzero(_labeled_rows(y, weights))
        weights = None if weights is None else weights[rows]
        with show_progress(self.verbose):
            classes, labels = np.unique(y[rows], return_inverse=True)
            known = np.full(len(y), -1)
            known[rows] = labels
            features.fit(X, known)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(features, name):
                    setattr(self, name, getattr(features, name))
            parts = {"similarity": features.landmark_scores(take(native, rows))}
            has_native = is_table(native, compared)
            how = {}
            if has_native:
                how = _preprocessing(native, isinstance(classifier, WinnowBase))
                parts["native"] = _prepared(native[rows], how)
            redraw = None
            if self.select == "per_class":  # by labels, which must not be those of held-out rows
                redraw = partial(_similarities_without, features, X, native, known)
            use, scores = self._choice(classifier, parts, labels, weights, redraw, random)
            fitted = _fitted(classifier, _joined(parts, use), labels, weights)
        is_winnow = isinstance(fitted, WinnowBase)
        if not is_winnow and not hasattr(fitted, "coef_"):
            raise TypeError(
                "classifier must be linear and leave coef_ and intercept_, but "
                f"{classifier!r} does not."
            )
        self.classes_, self.use_, self.cv_scores_ = classes, use, scores
        self.features_ = features
        self.preparation_ = how
        self.classifier_ = fitted if is_winnow else None
        self.coef_ = None if is_winnow else np.asarray(fitted.coef_, dtype=np.float64)
        self.intercept_ = None if is_winnow else np.ravel(fitted.intercept_).astype(np.float64)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores: of the second class if binary, otherwise one column per class."""
        check_is_fitted(self)
        rows = self.features_.check_rows(X, self.features_.similarity_)
        parts = {}
        if self.use_ != "native":
            parts["similarity"] = self.features_.landmark_scores(rows)
        if self.use_ != "similarity":
            parts["native"] = _prepared(rows, self.preparation_)
        joined = _joined(parts, self.use_)
        if self.classifier_ is not None:
            return self.classifier_.decision_function(joined)
        assert self.coef_ is not None  # set for all other classifiers
        scores = np.asarray(joined @ self.coef_.T) + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def _linear_classifier(self) -> Any:
        if self.classifier is None:
            return BalancedWinnow(margin=0.2)
        if isinstance(self.classifier, type) or not hasattr(self.classifier, "fit"):
            raise TypeError(f"classifier must be an estimator, but {self.classifier!r} was given.")
        return self.classifier

    def _landmark_features(self, random: np.random.RandomState) -> LandmarkFeatures:
        return LandmarkFeatures(
            self.similarity,
            self.n_landmarks,
            self.select,
            self.boolean,
            keep_native=False,
            base=self.base,
            sample_size=self.sample_size,
            random_state=int(random.randint(2**31 - 1)),
        )

    def _choice(
        self,
        classifier: Any,
        parts: dict[str, Any],
        labels: np.ndarray,
        weights: np.ndarray | None,
        redraw: Callable[[np.ndarray], np.ndarray] | None,
        random: Any,
    ) -> tuple[str, dict[str, float]]:
        """Return the selected features, and the accuracy of each choice.

        `redraw` returns the similarities to landmarks that are drawn without the labels of some
        rows; None if landmarks are drawn without labels anyway.
        """
        from sklearn.model_selection import StratifiedKFold  # slow to import

        if "native" not in parts:
            if self.use in ("native", "both"):
                raise ValueError(
                    f"use is {self.use!r}, but X has no native features: it must be a table of "
                    "numbers and not a precomputed matrix."
                )
            return "similarity", {}
        n_splits = min(self.cv, int(np.bincount(labels).min()))
        if self.use != "auto" or n_splits < 2:
            return ("both" if self.use == "auto" else self.use), {}
        hits = {use: np.zeros(len(labels)) for use in _USE}
        seeds = random.randint(2**31 - 1, size=_REPEATS)
        total = _REPEATS * n_splits * len(_USE)
        with LongWork("choosing features", total=total, unit="fits") as work:
            for seed in seeds:
                splitter = StratifiedKFold(n_splits, shuffle=True, random_state=int(seed))
                for train, test in splitter.split(labels, labels):
                    if redraw is not None:
                        parts = {**parts, "similarity": redraw(test)}
                    for use in _USE:
                        joined = _joined(parts, use)
                        of_train = None if weights is None else weights[train]
                        fitted = _fitted(classifier, joined[train], labels[train], of_train)
                        hits[use][test] += fitted.predict(joined[test]) == labels[test]
                        work.advance()
        shares = np.ones(len(labels)) if weights is None else weights / weights.mean()
        hits = {use: found * shares for use, found in hits.items()}
        return _simplest_choice(hits), {
            use: float(found.mean() / _REPEATS) for use, found in hits.items()
        }

    def _state_for_file(self) -> "SimilarityFeatureClassifier":
        """Return the state to store: the coefficients of another package's classifier."""
        if self.classifier is None or isinstance(self.classifier, WinnowBase):
            return self
        check_is_fitted(self)
        stored = clone(self).set_params(classifier=None)
        stored.__dict__.update({k: v for k, v in vars(self).items() if k.endswith("_")})
        warn(
            f"classifier is a {type(self.classifier).__name__}, which a model file cannot hold: "
            "the file holds its coefficients instead.",
        )
        return stored

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "use_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._landmark_features(np.random.RandomState(0))).input_tags
        return tags


def _fitted(classifier: Any, X: Any, y: np.ndarray, weights: np.ndarray | None) -> Any:
    """Return a fitted clone of a classifier."""
    options = {} if weights is None else {"sample_weight": weights}
    return clone(classifier).fit(X, y, **options)


def _similarities_without(
    features: LandmarkFeatures, X: Any, native: Any, known: np.ndarray, hidden: np.ndarray
) -> np.ndarray:
    """Return the similarities of labeled rows to landmarks drawn without some of their labels.

    Parameters
    ----------
    native : the rows of X in the form in which similarities take them
    known : (n_rows,) int64, the class of each row, −1 without a label
    hidden : positions among the labeled rows
    """
    rows, visible = np.flatnonzero(known >= 0), known.copy()
    visible[rows[hidden]] = -1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_landmarks is")
        redrawn = clone(features).fit(X, visible)
    return redrawn.landmark_scores(take(native, rows))


def _labeled_rows(y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return a mask of labeled rows with a weight; refuse labels with fewer than two classes."""
    if weights is not None:
        labeled = weights > 0
        labeled[labeled] = _labeled_rows(y[labeled], None)
        return labeled
    labeled = is_labeled(y)
    classes = np.unique(y[labeled])
    if len(classes) == 0:
        raise ValueError("y has no labels, only -1; rows of at least two classes need one.")
    if len(classes) > 1:
        return labeled
    if not labeled.all() and classes[0] == 1:
        warn(
            "y holds only -1 and 1, which are taken as two classes, although -1 usually marks "
            "unlabeled rows.",
        )
        return np.ones(len(y), dtype=bool)
    raise ValueError(
        f"y has one class, {classes[0]!s}; at least two classes are needed"
        f"{'' if labeled.all() else ' (rows with -1 have no label)'}."
    )


def _simplest_choice(hits: dict[str, np.ndarray]) -> str:
    """Return the first choice that is not significantly worse than the best."""
    best = max(hits.values(), key=lambda found: found.sum())
    for use, found in hits.items():
        lost = best - found
        if lost.mean() <= _STANDARD_ERRORS * lost.std() / np.sqrt(len(lost)):
            return use
    raise AssertionError("no choice is as good as the best")


def _joined(parts: dict[str, Any], use: str) -> Any:
    return parts[use] if use != "both" else join_columns(parts["native"], parts["similarity"])


def _preprocessing(rows: Any, is_boolean: bool) -> dict[str, Any]:
    """Return the preprocessing of native features: to booleans, or standardized."""
    if is_boolean:
        spread = rows.max(axis=0) - rows.min(axis=0)
        varies = np.ravel(spread.toarray() if is_sparse(spread) else spread) > 0
        # Constant columns are dropped; at least one is kept, so that the table is not empty.
        columns = np.flatnonzero(varies) if varies.any() else np.arange(1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*are constant")
            return {"columns": columns, "binarizer": MedianBinarizer().fit(rows[:, columns])}
    if is_sparse(rows):  # which must not be centered
        centre, spread = None, np.ravel(abs(rows).max(axis=0).toarray()).astype(np.float64)
    else:
        centre, spread = (f(rows, axis=0, dtype=np.float64) for f in (np.mean, np.std))
    return {"centre": centre, "spread": np.where(spread > 0, spread, 1.0)}


def _prepared(rows: Any, how: dict[str, Any]) -> Any:
    if "binarizer" in how:
        return how["binarizer"].transform(rows[:, how["columns"]])
    if is_sparse(rows):
        return rows.multiply(1 / how["spread"]).tocsr()
    return (rows - (0 if how["centre"] is None else how["centre"])) / how["spread"]
