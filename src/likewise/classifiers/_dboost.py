"""DBoost: a classifier for anything that has a dissimilarity."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from likewise import kernels
from likewise._progress import LongWork, show_progress
from likewise._threads import for_each, limit_threads, slices
from likewise._validation import (
    check_choice,
    check_classes,
    check_number,
    check_same_length,
    check_square,
    check_whole_number,
    take,
)
from likewise.classifiers._boosting import Ensemble, Plan, boost, winners
from likewise.classifiers._stopping import Fold, averaged, deal_out, held_out_scores, try_rounds
from likewise.similarities import (
    DissimilarityColumns,
    Similarity,
    as_similarity,
    dissimilarities,
)

_FLOATS = [np.float64, np.float32]
_ROWS_IN_BLOCK = 1_024


class DBoost(ClassifierMixin, BaseEstimator):
    """Boosted splits by pairs of examples: is x nearer to x′ or to x″, and by how much.

    Nothing is assumed of the dissimilarity d but that it gives numbers that are not negative: it
    need not be symmetric, nor a metric, and there need not be any features. Each round draws pairs
    of training examples of different classes, those that are still hard more often, and keeps the
    split of f(x) = d(x, x′) − d(x, x″) that tells the classes apart best (Wang, Yang and Feng,
    2007); the splits are combined by the real AdaBoost.MH of Schapire and Singer.

    Parameters
    ----------
    dissimilarity : str, callable or Dissimilarity, default="euclidean"
        A name (see `likewise.distances.names`), a function of two objects, or a dissimilarity. With
        ``"precomputed"`` X is a matrix of dissimilarities, square at `fit` and with a column for
        each training row at `predict`; only columns of `prototypes_` are read then.
    n_rounds : int, default=600
    n_pairs : int, default=50
        Pairs drawn for each split.
    n_prototypes : int, optional
        Strategy II: once so many examples are used, pairs come only from them, and recognition
        costs so many dissimilarities, or one more. Without it (Strategy I) there is no limit.
    threshold : {"free", "zero"}, default="free"
        Whether v is searched for or always 0. With 0 only the order of dissimilarities matters, not
        their size.
    search : {"auto", "exact", "histogram"}, default="auto"
        How v is searched for: among all values, or among the borders of 128 bins, which is many
        times quicker and the choice for a split of more than 80 rows.
    max_depth : int, default=1
        Splits on the way to a leaf: 1 for stumps, more for small trees.
    early_stopping : bool or int, default=False
        Choose the number of rounds, up to `n_rounds`, of the least loss on rows held out, with its
        neighbours: on a part of them where it is True, on each of so many folds in turn where it is
        a number. All rows are then trained on for as many rounds, unless `refit` is False.
    validation_fraction : float, default=0.2
        Which part is held out where `early_stopping` is True.
    n_jobs : int, optional
        Threads; as many as BLAS uses by default. Results do not depend on it.
    random_state : int, RandomState or None
    verbose : bool, default=False
        Show progress.
    learning_rate : float, default=1.0
        By what each split's output is multiplied before it is added. 1 is the printed algorithm;
        0.1, fewer pairs and early stopping err less where classes overlap.
    refit : bool, default=True
        Whether all rows are trained on once early stopping has chosen the number of rounds. If not,
        what was learned with each fold held out is kept, and the mean of its scores decides: often
        better, and sooner there, but recognition reads more prototypes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    prototypes_ : ndarray of int
        The training rows whose dissimilarities recognition reads.
    items_ : these rows or objects themselves; of a precomputed matrix their numbers
    n_rounds_ : int
        Rounds that were kept; without `refit` each has a tree for every fold.
    history_ : list of dict
        Of each round: ``normaliser`` Z, ``bound`` (the product of all Z so far, which bounds the
        training error), ``training_error`` and ``prototypes``; without `refit` means over folds.
    validation_errors_ : ndarray or None
        Share of held-out rows that each number of rounds gets wrong, with early stopping.
    validation_losses_ : ndarray or None
        Their mean log-loss, where scores are scaled as suits it best: boosting is too sure of
        itself long before it errs more, and the share that is wrong is too coarse a measure.
    validation_loss_ : float or None
        The least of their averages with neighbours: for comparing parameters.
    scale_ : float or None
        By what the scores of the rows held out had to be multiplied to give the best shares.
    validation_shares_ : ndarray of shape (n_rows, n_classes) or None
        What `predict_proba` says of each training row when it was held out; NaN of one that never
        was. For weighing several classifiers against each other.
    dissimilarity_ : Dissimilarity
    firsts_, seconds_, thresholds_, outputs_ : ndarray
        The trees: which prototypes and threshold each node has, and what each leaf adds.
    n_features_in_ : int
        Where X is a table or a matrix.

    Examples
    --------
    >>> import likewise as lw
    >>> names = ["Ivanov", "Petrov", "Smirnov", "Sokolov", "Rossi", "Russo", "Bianchi", "Ricci"]
    >>> languages = ["Russian"] * 4 + ["Italian"] * 4
    >>> clf = lw.DBoost("levenshtein", n_rounds=20, random_state=0).fit(names, languages)
    >>> clf.predict(["Kuznetsov", "Rossini"])
    array(['Russian', 'Italian'], dtype='<U7')
    """

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

    def fit(self, X: Any, y: Any) -> "DBoost":
        """Learn from labelled objects.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features), a list of objects, or a square matrix
        y : array of shape (n_rows,)
        """
        plan = self._check_parameters()
        base = self._similarity()
        X, y = self._check_training(X, y, base)
        classes, labels = check_classes(y)
        folds = self._folds(labels)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=len(folds) + 1)
        anew = self.refit or not folds
        with (
            show_progress(self.verbose),
            limit_threads(self.n_jobs),
            LongWork(
                "fitting DBoost",
                total=self.n_rounds * (len(folds) + anew),
                unit="rounds",
                partial_result="the rounds so far",
            ) as work,
        ):
            fitted = base.fitted(X)
            columns = DissimilarityColumns(fitted, X)
            fitting = self.n_rounds, plan, work
            parts, verdict = try_rounds(columns, labels, folds, seeds[1:], *fitting)
            n_rounds = verdict.n_rounds if verdict else self.n_rounds
            if parts and work.interrupted:
                found = parts[-1]
            elif anew:
                work.total = work.done + n_rounds
                rng = np.random.default_rng(seeds[0])
                found = boost(columns, np.arange(len(labels)), labels, n_rounds, plan, rng, work)
            else:
                found = averaged(parts, n_rounds)
            if verdict:
                without = held_out_scores(parts, folds, columns, n_rounds)
        # All at once, so that a fit that fails leaves what an earlier one has learned.
        self.classes_, self.dissimilarity_ = classes, fitted
        self.prototypes_, self.history_ = found.prototypes, found.history
        self.items_ = self.prototypes_ if base.takes == "matrix" else take(X, self.prototypes_)
        self.firsts_, self.seconds_ = found.firsts, found.seconds
        self.thresholds_, self.outputs_ = found.thresholds, found.outputs
        self.n_rounds_ = len(found.history)
        self.validation_errors_ = verdict.errors if verdict else None
        self.validation_losses_ = verdict.losses if verdict else None
        self.validation_loss_ = verdict.loss if verdict else None
        self.scale_ = verdict.scale if verdict else None
        self.validation_shares_ = self._shares(without) if verdict else None
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return how strongly the rounds speak for each class.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) of two classes, for the second
        """
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : as in `fit`; of a precomputed matrix a column for each training row
        """
        scores = self._scores(X)
        return self.classes_[winners(scores)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the share of each class, in the order of `classes_`.

        Boosting estimates half the log-odds of each label, so a label's share is 1/(1 + exp(−2F));
        those of more than two classes are scaled to sum to 1. This is too sure of itself; with
        early stopping shares are as exp(`scale_` · F) instead, of two classes ∓F.
        """
        return self._shares(self._scores(X))

    def _shares(self, scores: np.ndarray) -> np.ndarray:
        if len(self.classes_) == 2:
            second = expit(2 * (self.scale_ or 1.0) * scores)
            return np.hstack([1 - second, second])
        if self.scale_ is not None:
            return np.asarray(softmax(self.scale_ * scores, axis=1))
        return np.asarray(softmax(log_expit(2 * scores), axis=1))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the class of each row after every round."""
        distances = self._distances(X)
        found = self._ensemble()
        trees_a_round = len(found.outputs) // self.n_rounds_
        stages = _staged_scores(found, found.leaves(distances))
        for scores in islice(stages, trees_a_round - 1, None, trees_a_round):
            yield self.classes_[winners(scores)]

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
        X = self._check_rows(X, self.dissimilarity_)
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

    def _check_parameters(self) -> Plan:
        check_whole_number(self.n_rounds, "n_rounds")
        check_whole_number(self.n_pairs, "n_pairs")
        if self.n_prototypes is not None:
            check_whole_number(self.n_prototypes, "n_prototypes", minimum=2)
        check_choice(self.threshold, "threshold", ("free", "zero"))
        check_choice(self.search, "search", ("auto", "exact", "histogram"))
        check_whole_number(self.max_depth, "max_depth")
        if not isinstance(self.early_stopping, bool | np.bool_):
            check_whole_number(self.early_stopping, "early_stopping", minimum=2)
            self._check_budget()
        fraction = check_number(self.validation_fraction, "validation_fraction", minimum=0)
        if not 0 < fraction < 1:
            raise ValueError(f"validation_fraction must lie between 0 and 1, but is {fraction}.")
        rate = check_number(self.learning_rate, "learning_rate", minimum=0)
        if rate == 0:
            raise ValueError("learning_rate must be above 0, but is 0.")
        if self.n_jobs is not None:
            check_whole_number(self.n_jobs, "n_jobs")
        return Plan(
            self.n_pairs, self.n_prototypes, self.threshold, self.search, self.max_depth, rate
        )

    def _check_budget(self) -> None:
        if not self.refit and self.n_prototypes is not None:
            raise ValueError(
                "n_prototypes bounds what recognition reads, which the folds together would exceed "
                "with refit=False: leave one of the two out."
            )

    def _folds(self, labels: np.ndarray) -> list[Fold]:
        """Return rows to train on and rows held out, to choose the number of rounds by."""
        parts = self.early_stopping
        if isinstance(parts, np.bool_):
            parts = bool(parts)
        if parts is False:
            return []
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return deal_out(labels, parts, self.validation_fraction, seed)

    def _check_training(self, X: Any, y: Any, base: Similarity) -> tuple[Any, np.ndarray]:
        X = self._check_rows(X, base, reset=True)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_same_length(X, "X", y, "y")
        check_classification_targets(y)
        if base.takes == "matrix":
            check_square(X, "X")
        else:
            base.check_items(X, "X")
        return base.check_queries(X, "X"), y

    def _check_rows(self, X: Any, base: Similarity, *, reset: bool = False) -> Any:
        if base.takes == "objects":
            return X
        if base.takes == "rows":
            return validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=reset)
        # only some columns of a matrix will be read, and these are looked at then
        return validate_data(self, X, dtype=_FLOATS, reset=reset, ensure_all_finite=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            base = self._similarity()
        except (TypeError, ValueError):
            return tags  # `fit` reports the error
        tags.input_tags.sparse = base.takes == "rows"
        tags.input_tags.pairwise = base.takes == "matrix"
        tags.input_tags.positive_only = base.takes == "matrix" and base.has_distance
        tags.input_tags.one_d_array = tags.input_tags.string = base.takes == "objects"
        return tags


def _staged_scores(found: Ensemble, leaves: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the scores after every tree; the array is the same, and goes on changing."""
    scores = np.zeros((len(leaves), found.outputs.shape[2]))
    for number, output in enumerate(found.outputs):
        scores += output[leaves[:, number]]
        yield scores
