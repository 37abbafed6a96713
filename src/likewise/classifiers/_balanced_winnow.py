"""Balanced Winnow: a linear classifier for many irrelevant features."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likewise import kernels
from likewise._files import fields
from likewise._threads import for_each
from likewise._validation import FLOATS, check_number, is_sparse, validate_data
from likewise.classifiers._winnow_base import WinnowBase, n_problems


class BalancedWinnow(WinnowBase):
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
        super()._check_parameters()
        if check_number(self.margin, "margin", minimum=0) >= 1:
            raise ValueError(f"margin must be below 1, but {self.margin} was given.")

    def _start(self, X: Any, classes: np.ndarray) -> None:
        super()._start(X, classes)
        self.log_intercept_ = np.zeros(len(self.log_weights_))

    def _learn(
        self, problem: int, X: Any, signs: np.ndarray, epsilon: float, weights: np.ndarray
    ) -> int:
        logs, bias = self._logs(problem)
        scratch = np.empty((2, len(logs)))
        options = signs, weights * epsilon, float(self.margin), bias, logs, *scratch
        if is_sparse(X):
            n_mistakes = kernels.winnow_pass_sparse(X.data, X.indices, X.indptr, *options)
        else:
            n_mistakes = kernels.winnow_pass_dense(X, np.arange(X.shape[1]), *options)
        self.log_weights_[problem], self.log_intercept_[problem] = logs[:-1], logs[-1]
        return int(n_mistakes)

    def _logs(self, problem: int) -> tuple[np.ndarray, float]:
        logs = np.append(self.log_weights_[problem], self.log_intercept_[problem])
        return logs, 1.0 if self.fit_intercept else 0.0
