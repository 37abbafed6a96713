"""DBoost: a classifier for objects that can be compared, with or without features."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from likewise import kernels
from likewise._files import fields
from likewise._progress import LongWork, show_progress
from likewise._threads import for_each, limit_threads, slices
from likewise._validation import check_classes, check_labels, take
from likewise.classifiers._boosting import Ensemble, predicted_classes
from likewise.classifiers._calibration import (
    CalibrationData,
    Kind,
    calibrated,
    check_alpha,
    prediction_sets,
)
from likewise.classifiers._dboost_input import (
    check_parameters,
    check_rows,
    check_training,
    validation_splits,
)
from likewise.classifiers._ensemble_scores import (
    class_scores,
    normalized_margins,
    score_probabilities,
    staged_scores,
    vote_shares,
)
from likewise.classifiers._ensemble_training import train
from likewise.classifiers._winnow_base import n_problems
from likewise.similarities import (
    DissimilarityColumns,
    Similarity,
    as_similarity,
    dissimilarities,
    set_input_tags,
)
from likewise.supervision import check_sample_weight

_ROWS_IN_BLOCK = 1_024


class DBoost(ClassifierMixin, BaseEstimator):
    """Boosted splits by pairs of examples: is x nearer to x′ or to x″, and by how much.

    The dissimilarity d need not be symmetric nor a metric, and objects need not have features. Each
    round draws pairs of training examples of different classes, hard ones more often, and keeps the
    split of f(x) = d(x, x′) − d(x, x″) > v that best separates the classes (Wang, Yang and Feng,
    2007); the splits are combined by the real AdaBoost.MH of Schapire and Singer.

    Parameters
    ----------
    dissimilarity : str, callable, Similarity or fitted estimator, default="euclidean"
        The name of a distance (see `likewise.distances.names`); a function of two objects that is
        smaller for more similar ones; or a similarity, of which the distance is used, or −score if
        it has none: only differences of d matter. With ``"precomputed"`` X is a matrix of
        dissimilarities, square in `fit` and with a column for each training row in `predict`, which
        reads only the columns of `prototypes_`.
    n_rounds : int, default=600
    n_pairs : int, default=50
        Number of pairs drawn for each split.
    n_prototypes : int, optional
        Strategy II: once this many examples are used, pairs are drawn only from them, and
        prediction needs at most one dissimilarity more. By default (Strategy I) there is no limit.
    threshold : {"free", "zero"}, default="free"
        Whether v is optimized or always 0. With 0 only the order of dissimilarities matters.
    search : {"auto", "exact", "histogram"}, default="auto"
        Whether v is chosen among all values or among the edges of 128 bins. Auto uses the faster
        histogram for splits of more than 80 rows.
    max_depth : int, default=1
        Depth of the trees; 1 for stumps.
    early_stopping : bool or int, default=False
        Choose the number of rounds, up to `n_rounds`, with the lowest smoothed validation loss: on
        one hold-out if True, by cross-validation with this number of splits if an integer. The
        ensemble is then trained on all rows, unless `refit` is False. A dissimilarity that is
        fitted, such as a ranked one, is fitted to all rows, without labels.
    validation_fraction : float, default=0.2
        Share of the rows held out if `early_stopping` is True.
    n_jobs : int, optional
        Number of threads; by default that of BLAS, and -1 for all cores. Results do not depend on
        it.
    random_state : int, RandomState or None
    verbose : bool, default=False
        Show progress.
    learning_rate : float, default=1.0
        Factor of each split's output. 1 is the published algorithm; 0.1, with fewer pairs and early
        stopping, has a lower error where classes overlap.
    refit : bool, default=True
        Whether to train on all rows once early stopping has chosen the number of rounds. Otherwise
        the ensembles of all splits are kept and their scores averaged: often more accurate and
        faster to train, but prediction reads more prototypes.
    calibrate : {"none", "sigmoid", "isotonic"}, default="none"
        Calibrate probabilities by the scores of held-out rows: those of early stopping or, without
        it, of five splits. `predict` then returns the most probable class.
    rule : {"boost", "vote"}, default="boost"
        ``vote``: the voting classifier of the paper's first theorem. Each of `n_rounds` pairs,
        drawn at random by the weights of the rows, has one vote, for the class of the nearer
        example and against that of the other. Only `n_rounds` and `random_state` apply then. If d
        is strongly (ε, γ)-good (see `likewise.goodness`), (4/γ²) ln(1/δ) pairs err on at most a
        share ε + δ of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    prototypes_ : ndarray of int
        Training row numbers of the prototypes.
    items_ : rows or objects
        The prototypes; their numbers for a precomputed matrix.
    n_rounds_ : int
        Number of rounds kept; without `refit` each has one tree per split.
    history_ : list of dict
        For each round ``normaliser`` Z, ``bound`` (the product of all Z so far, which bounds the
        training error), ``training_error`` and ``prototypes``; without `refit` means over splits.
    validation_errors_ : ndarray or None
        Validation error after each round, with early stopping.
    validation_losses_ : ndarray or None
        Mean validation log-loss after each round, with scores scaled optimally: the margins of
        boosting are overconfident long before its error rises, and the error is a coarse measure.
    validation_loss_ : float or None
        The minimum of their moving average: for comparing parameters.
    scale_ : float or None
        The factor of the validation scores that minimizes their log-loss.
    validation_shares_ : ndarray of shape (n_rows, n_classes) or None
        Uncalibrated probabilities of each training row while it was held out; NaN for rows that
        never were. For weighting several classifiers.
    calibration_ : dict or None
        The fitted calibration.
    dissimilarity_ : Similarity
    firsts_, seconds_, thresholds_, outputs_ : ndarray
        The trees: prototypes and threshold of each node, and output of each leaf.
    n_features_in_ : int
        If X is a table or a matrix.

    Examples
    --------
    >>> import likewise as lw
    >>> names = ["Ivanov", "Petrov", "Smirnov", "Sokolov", "Rossi", "Russo", "Bianchi", "Ricci"]
    >>> languages = ["Russian"] * 4 + ["Italian"] * 4
    >>> clf = lw.DBoost("levenshtein", n_rounds=20, random_state=0).fit(names, languages)
    >>> clf.predict(["Kuznetsov", "Rossini"])
    array(['Russian', 'Italian'], dtype='<U7')
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "classes_": fields.Labels("classes"),
        "dissimilarity_": fields.Instance(Similarity),
        "items_": fields.Items("dissimilarity_", "prototypes"),
        "prototypes_": fields.Array(fields.INTEGERS, "prototypes", minimum=0),
        "firsts_": fields.Array(fields.INTEGERS, "trees", "nodes", minimum=0, below="prototypes"),
        "seconds_": fields.Array(fields.INTEGERS, "trees", "nodes", minimum=0, below="prototypes"),
        "thresholds_": fields.Array(fields.FLOATS, "trees", "nodes", finite=False),
        "outputs_": fields.Array(
            fields.FLOATS, "trees", lambda sizes: sizes["nodes"] + 1, n_problems
        ),
        "calibration_": fields.Optional(fields.OrNone(CalibrationData())),
        "n_rounds_": fields.Number(minimum=1),
        "history_": fields.Record(),
        "validation_errors_": fields.OrNone(fields.Array(fields.FLOATS, "rounds")),
        "validation_losses_": fields.OrNone(fields.Array(fields.FLOATS, "rounds")),
        "validation_loss_": fields.OrNone(fields.Number(whole=False)),
        "scale_": fields.OrNone(fields.Number(whole=False)),
        "validation_shares_": fields.OrNone(
            fields.Array(fields.FLOATS, "rows", "classes", finite=False)
        ),
    }

    def __init__(
        self,
        dissimilarity: Any = "euclidean",
        n_rounds: int = 600,
        n_pairs: int = 50,
        n_prototypes: int | None = None,
        threshold: str = "free",
        search: str = "auto",
        max_depth: int = 1,
        early_stopping: bool | int = False,
        validation_fraction: float = 0.2,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
        learning_rate: float = 1.0,
        refit: bool = True,
        calibrate: Kind = "none",
        rule: str = "boost",
    ) -> None:
        self.dissimilarity = dissimilarity
        self.n_rounds = n_rounds
        self.n_pairs = n_pairs
        self.n_prototypes = n_prototypes
        self.threshold = threshold
        self.search = search
        self.max_depth = max_depth
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.learning_rate = learning_rate
        self.refit = refit
        self.calibrate = calibrate
        self.rule = rule

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the ensemble to labeled objects.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features), a list of objects, or a square matrix
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Weight of a row before the first round, and in the training and validation errors and
            losses, and in the fit of calibrated probabilities; prediction sets count each row
            once. Rows of weight zero are left out.
        """
        options = check_parameters(self)
        base = self._similarity()
        X, y = check_training(self, X, y, base)
        n_rows, weights = len(y), check_sample_weight(sample_weight, y)
        kept = np.flatnonzero(weights)
        if len(kept) < n_rows:
            X = X[np.ix_(kept, kept)] if base.takes == "matrix" else take(X, kept)
            y, weights = y[kept], weights[kept]
        classes, labels = check_classes(y)
        splits = validation_splits(self, labels)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=len(splits) + 1)
        with (
            show_progress(self.verbose),
            limit_threads(self.n_jobs),
            LongWork(
                "fitting DBoost",
                total=options.total_rounds(len(splits)),
                unit="rounds",
                partial_result="the rounds so far",
            ) as work,
        ):
            fitted = base.fitted(X)
            columns = DissimilarityColumns(fitted, X)
            trained = train(columns, labels, weights, splits, seeds, options, work)
        ensemble, validation = trained.ensemble, trained.validation
        # Assigned together, so that a failed fit leaves the previous one intact.
        self.calibration_: dict[str, Any] | None = trained.calibration
        self.classes_, self.dissimilarity_ = classes, fitted
        self.prototypes_, self.history_ = kept[ensemble.prototypes], ensemble.history
        is_matrix = base.takes == "matrix"
        self.items_ = self.prototypes_ if is_matrix else take(X, ensemble.prototypes)
        self.firsts_, self.seconds_ = ensemble.firsts, ensemble.seconds
        self.thresholds_, self.outputs_ = ensemble.thresholds, ensemble.outputs
        self.n_rounds_ = len(ensemble.history)
        self.validation_errors_ = validation.errors if validation else None
        self.validation_losses_ = validation.losses if validation else None
        self.validation_loss_ = validation.loss if validation else None
        self.scale_ = validation.scale if validation else None
        self.validation_shares_ = None
        if validation and trained.held_out is not None:
            self.validation_shares_ = np.full((n_rows, len(classes)), np.nan)
            self.validation_shares_[kept] = self._uncalibrated(trained.held_out)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each class.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) with the second class's score if binary
        """
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : as in `fit`; a precomputed matrix has a column for each training row
        """
        scores = self._scores(X)
        if self._calibration() is not None:
            return self.classes_[self._probabilities(scores).argmax(axis=1)]
        return self.classes_[predicted_classes(scores)]

    def predict_set(self, X: Any, alpha: float = 0.1) -> np.ndarray:
        """Return sets of classes that hold the true class with probability about 1 − `alpha`.

        A set holds the classes whose score exceeds the others by no less than the own class's score
        does in most held-out rows (cross-conformal prediction). It can be empty. The probability is
        over rows of all classes: it can be lower for a rare class.

        Parameters
        ----------
        X : as in `predict`
        alpha : float, default=0.1

        Returns
        -------
        bool array of shape (n_rows, n_classes), in the order of `classes_`
        """
        check_is_fitted(self)
        check_alpha(alpha)
        calibration = self._calibration()
        if calibration is None:
            raise ValueError(
                "predict_set needs held-out scores, but calibrate is 'none': fit with 'sigmoid' or "
                "'isotonic'."
            )
        return prediction_sets(class_scores(self._scores(X)), calibration, alpha)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of `classes_`.

        Boosting estimates half the log-odds of each label, so a label's probability is
        1/(1 + exp(−2F)), normalized over more than two classes. This is overconfident; with early
        stopping, probabilities are instead proportional to exp(`scale_` · F), with ∓F for two
        classes. With `calibrate` they are calibrated by held-out rows. Under the rule ``vote`` they
        are proportional to 1 + F.
        """
        return self._probabilities(self._scores(X))

    def _calibration(self) -> dict[str, Any] | None:
        """Return the calibration; files of earlier editions have none."""
        return getattr(self, "calibration_", None)

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        calibration = self._calibration()
        if calibration is None:
            return self._uncalibrated(scores)
        return calibrated(class_scores(scores), calibration)

    def _uncalibrated(self, scores: np.ndarray) -> np.ndarray:
        if self.rule == "vote":
            return vote_shares(scores)
        return score_probabilities(scores, self.scale_)

    def margins(self, X: Any, y: Any) -> np.ndarray:
        """Return the margin of the ensemble on labeled rows, in [−1, 1].

        The paper's margin of a convex combination, y Σ α h(x), for two classes: with the rule
        ``vote`` all α are equal. Boosted outputs are unbounded, so a tree counts as h / max h with
        the weight max h: y F(x) / Σ max h, as by Schapire and Singer (1999). For more classes it is
        half the lead of the own class over the best other one, which is our extension. Positive for
        a correct prediction.

        Parameters
        ----------
        X : as in `predict`
        y : array of shape (n_rows,)
        """
        scores = self._scores(X)
        y = check_labels(y, "y", scores, "X")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the class {unknown[0]!s}, which was not in y at fit.")
        return normalized_margins(scores, np.searchsorted(self.classes_, y), self.outputs_)

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores after every round, as in `decision_function`."""
        for scores in self._staged_scores(X):
            yield scores[:, 0].copy() if len(self.classes_) == 2 else scores.copy()

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the class of each row after every round."""
        for scores in self._staged_scores(X):
            yield self.classes_[predicted_classes(scores)]

    def _staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        distances = self._distances(X)
        ensemble = self._ensemble()
        trees_per_round = len(ensemble.outputs) // self.n_rounds_
        stages = staged_scores(ensemble, distances)
        return islice(stages, trees_per_round - 1, None, trees_per_round)

    def _scores(self, X: Any) -> np.ndarray:
        distances = self._distances(X)
        scores = np.empty((len(distances), self.outputs_.shape[2]))
        trees = self.firsts_, self.seconds_, self.thresholds_, self.outputs_

        def work(block: slice) -> None:
            kernels.sum_trees(distances[block], *trees, scores[block])

        with limit_threads(self.n_jobs):
            for_each(work, list(slices(len(distances), _ROWS_IN_BLOCK)))
        return scores

    def _distances(self, X: Any) -> np.ndarray:
        """Return the dissimilarities of rows to prototypes."""
        check_is_fitted(self)
        X = check_rows(self, X, self.dissimilarity_)
        with show_progress(self.verbose), limit_threads(self.n_jobs):
            return dissimilarities(self.dissimilarity_, X, self.items_)

    def _similarity(self) -> Similarity:
        return as_similarity(self.dissimilarity, is_distance=True, argument="dissimilarity")

    def _ensemble(self) -> Ensemble:
        return Ensemble(
            self.prototypes_,
            self.firsts_,
            self.seconds_,
            self.thresholds_,
            self.outputs_,
            self.history_,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(TypeError, ValueError):  # `fit` reports the error
            set_input_tags(tags, self._similarity())
        return tags
