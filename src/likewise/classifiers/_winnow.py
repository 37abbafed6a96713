"""Balanced Winnow: a linear classifier for many irrelevant features."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise import kernels
from likewise._files import fields
from likewise._progress import LongWork, show_progress
from likewise._threads import for_each
from likewise._validation import (
    FLOATS,
    check_class_targets,
    check_classes,
    check_number,
    check_whole_number,
    is_sparse,
)
from likewise.supervision import check_sample_weight


def n_problems(sizes: fields.Sizes) -> int:
    """Return the number of binary problems: one for two classes, otherwise one per class."""
    return 1 if sizes["classes"] == 2 else sizes["classes"]


class BalancedWinnow(ClassifierMixin, BaseEstimator):
    """A linear classifier with two positive weights per feature and multiplicative updates.

    A row x with y = ±1 is a mistake if y (w⁺ − w⁻)·x ≤ margin (w⁺ + w⁻)·abs(x); then w± is
    multiplied by exp(±ε y x). All weights start at 1. The number of mistakes grows only with the
    logarithm of the number of irrelevant features (Littlestone, 1988).

    Parameters
    ----------
    epsilon : float, default=0.5
        ε in the first pass; it is halved after each pass.
    n_passes : int, default=5
        Number of passes of `fit` over the rows, in the given order.
    margin : float, default=0.0
        Share of its largest possible value, from 0 to 1, that a row's score must exceed. 0.2 is
        often better.
    fit_intercept : bool, default=True
        Add a feature that is 1 in every row.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    log_weights_ : ndarray of shape (n_problems, n_features)
        ln w⁺ = −ln w⁻ of each feature: one problem if binary, otherwise one per class.
    log_intercept_ : ndarray of shape (n_problems,)
        The same for the constant feature; 0 without it.
    n_mistakes_ : int
        Number of updates, in all passes and problems.
    n_features_in_ : int

    Notes
    -----
    Designed for boolean features, such as those of `MedianBinarizer`, but takes any. Weights are
    stored as logarithms, so that they cannot overflow.

    Examples
    --------
    >>> import likewise as lw
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(2, size=(200, 500))
    >>> winnow = lw.BalancedWinnow().fit(X[:100], X[:100, 7])      # 1 of 500 features matters
    >>> round(winnow.score(X[100:], X[100:, 7]), 2)
    1.0
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "classes_": fields.Labels("classes"),
        "log_weights_": fields.Array(fields.FLOATS, n_problems, "features"),
        "log_intercept_": fields.Array(fields.FLOATS, n_problems),
        "n_mistakes_": fields.Number(),
    }

    def __init__(
        self,
        epsilon: float = 0.5,
        n_passes: int = 5,
        margin: float = 0.0,
        fit_intercept: bool = True,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.n_passes = n_passes
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labeled rows; Ctrl-C keeps the passes completed so far.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Factor of ε in a row's updates. Rows of weight zero are left out.
        """
        self._check_parameters()
        X, y = self._check_rows(X, y, reset=True)
        weights = check_sample_weight(sample_weight, y)
        self._start(X, np.unique(y[weights > 0]))
        n_passes = self.n_passes
        with (
            show_progress(self.verbose),
            LongWork(
                "fitting Winnow", total=n_passes, unit="passes", partial_result="these passes"
            ) as work,
        ):
            for number in range(n_passes):
                self._pass(X, y, weights * (self.epsilon / 2**number))
                work.advance()
                if work.interrupted:
                    break
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over further rows, with ε unchanged.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : array of shape (n_classes,), optional
            All classes; required in the first call.
        """
        self._check_parameters()
        is_first = not hasattr(self, "classes_")
        if is_first and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit.")
        X, y = self._check_rows(X, y, reset=is_first)
        weights = check_sample_weight(sample_weight, y)
        if is_first:
            self._start(X, np.unique(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_}, "
                f"but {classes} was given."
            )
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y holds {unknown[0]!s}, but classes are {self.classes_}.")
        self._pass(X, y, weights * self.epsilon)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return (w⁺ − w⁻)·x / (w⁺ + w⁻)·abs(x), in [−1, 1], of each row.

        Returns
        -------
        ndarray of shape (n_rows,) if binary, positive for the second class; otherwise of shape
        (n_rows, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        scores = np.empty((len(self.log_weights_), X.shape[0]))

        def work(problem: int) -> None:
            logs, bias = self._logs(problem)
            if is_sparse(X):
                parts = X.data, X.indices, X.indptr
                kernels.winnow_scores_sparse(*parts, bias, logs, scores[problem])
            else:
                columns = np.arange(X.shape[1])
                kernels.winnow_scores_dense(X, columns, bias, logs, scores[problem])

        for_each(work, range(len(scores)))
        return scores[0] if len(scores) == 1 else scores.T

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def _check_parameters(self) -> None:
        check_number(self.epsilon, "epsilon", minimum=0, exclusive=True)
        check_whole_number(self.n_passes, "n_passes")
        if check_number(self.margin, "margin", minimum=0) >= 1:
            raise ValueError(f"margin must be below 1, but {self.margin} was given.")

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, order="C", reset=reset)
        check_class_targets(y, self)
        return X, y

    def _start(self, X: Any, classes: np.ndarray) -> None:
        check_classes(classes)
        n_problems = 1 if len(classes) == 2 else len(classes)
        self.classes_ = classes
        self.log_weights_ = np.zeros((n_problems, X.shape[1]))
        self.log_intercept_ = np.zeros(n_problems)
        self.n_mistakes_ = 0

    def _pass(self, X: Any, y: np.ndarray, rates: np.ndarray) -> None:
        """Make one pass over the rows for every problem, with an ε for each row."""
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        mistakes = np.zeros(len(positive), np.int64)

        def work(problem: int) -> None:
            logs, bias = self._logs(problem)
            signs = np.where(y == positive[problem], 1.0, -1.0)
            scratch = np.empty((2, len(logs)))
            options = signs, rates, float(self.margin), bias, logs, *scratch
            if is_sparse(X):
                n_mistakes = kernels.winnow_pass_sparse(X.data, X.indices, X.indptr, *options)
            else:
                n_mistakes = kernels.winnow_pass_dense(X, np.arange(X.shape[1]), *options)
            mistakes[problem] = n_mistakes
            self.log_weights_[problem], self.log_intercept_[problem] = logs[:-1], logs[-1]

        for_each(work, range(len(positive)))
        self.n_mistakes_ += int(mistakes.sum())

    def _logs(self, problem: int) -> tuple[np.ndarray, float]:
        logs = np.append(self.log_weights_[problem], self.log_intercept_[problem])
        return logs, 1.0 if self.fit_intercept else 0.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
