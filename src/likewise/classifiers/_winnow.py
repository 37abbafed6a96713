"""The original Winnow: positive weights and a fixed threshold."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likewise._files import fields
from likewise._validation import FLOATS, check_number, is_sparse, validate_data
from likewise.classifiers._winnow_base import WinnowBase, n_problems

_MAX_LOG = 600.0  # of a weight: no sum of weights overflows


class Winnow(WinnowBase):
    """The original Winnow: one positive weight per feature, and a fixed threshold.

    A row x ≥ 0 is positive if w·x ≥ d, the number of features. All weights start at 1. If a
    positive row is missed, w is multiplied by 1 + ε x; if a negative row is taken for positive, by
    1 − ε x (Littlestone, 1988). Weights stay positive, so it can learn only rules in which a
    feature counts for the positive class; `BalancedWinnow` has no such limit.

    Parameters
    ----------
    epsilon : float, default=0.5
        ε in the first pass, below 1; it is halved after each pass.
    n_passes : int, default=5
        Number of passes of `fit` over the rows, in the given order.
    threshold : float, optional
        Number that w·x is compared with; the number of features by default.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    log_weights_ : ndarray of shape (n_problems, n_features)
        ln w of each feature: one problem if binary, otherwise one per class.
    threshold_ : float
    n_mistakes_ : int
        Number of updates, in all passes and problems.
    n_features_in_ : int

    Notes
    -----
    Designed for features of 0 and 1. For a feature above 1, where 1 − ε x can be negative, the
    second factor is (1 − ε)ˣ.

    Examples
    --------
    >>> import likewise as lw
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(2, size=(200, 500))
    >>> y = X[:, 7] | X[:, 70]                                     # 2 of 500 features matter
    >>> winnow = lw.Winnow().fit(X[:100], y[:100])
    >>> round(winnow.score(X[100:], y[100:]), 2)
    0.97
    """

    _file_fields: ClassVar[fields.Declaration] = {
        "classes_": fields.Labels("classes"),
        "log_weights_": fields.Array(fields.FLOATS, n_problems, "features"),
        "threshold_": fields.Number(whole=False),
        "n_mistakes_": fields.Number(),
    }

    def __init__(
        self,
        epsilon: float = 0.5,
        n_passes: int = 5,
        threshold: float | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.n_passes = n_passes
        self.threshold = threshold
        self.verbose = verbose

    def decision_function(self, X: Any) -> np.ndarray:
        """Return (w·x − d) / (w·x + d), in [−1, 1], of each row.

        Returns
        -------
        ndarray of shape (n_rows,) if binary, at least 0 for the second class; otherwise of shape
        (n_rows, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        _check_non_negative(X)
        sums = np.asarray(X @ np.exp(self.log_weights_).T, dtype=np.float64)
        scores = 1 - 2 * self.threshold_ / (sums + self.threshold_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        scores = self.decision_function(X)
        best = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.epsilon >= 1:
            raise ValueError(f"epsilon must be below 1, but {self.epsilon} was given.")
        if self.threshold is not None:
            check_number(self.threshold, "threshold", minimum=0, exclusive=True)

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = super()._check_rows(X, y, reset=reset)
        _check_non_negative(X)
        return X, y

    def _start(self, X: Any, classes: np.ndarray) -> None:
        super()._start(X, classes)
        self.threshold_ = float(X.shape[1] if self.threshold is None else self.threshold)

    def _learn(
        self, problem: int, X: Any, signs: np.ndarray, epsilon: float, weights: np.ndarray
    ) -> int:
        logs, n_mistakes = self.log_weights_[problem], 0
        current = np.exp(logs)
        for i in np.flatnonzero(weights):
            if is_sparse(X):
                row = slice(X.indptr[i], X.indptr[i + 1])
                columns, values = X.indices[row], X.data[row].astype(np.float64)
            else:
                columns, values = slice(None), X[i].astype(np.float64)
            is_positive = current[columns] @ values >= self.threshold_
            if is_positive == (signs[i] > 0):
                continue
            change = np.log1p(epsilon * values)
            if is_positive:
                change = values * np.log1p(-epsilon)
                small = values < 1
                change[small] = np.log1p(-epsilon * values[small])
            logs[columns] = np.clip(logs[columns] + weights[i] * change, -_MAX_LOG, _MAX_LOG)
            current[columns] = np.exp(logs[columns])
            n_mistakes += 1
        return n_mistakes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # on the blobs of the checks, which no sum separates
        return tags


def _check_non_negative(X: Any) -> None:
    values = X.data if is_sparse(X) else X
    if values.size and values.min() < 0:
        raise ValueError(
            f"Negative values in data passed to Winnow: X holds {values.min():.4g}, but features "
            "must be at least 0; BalancedWinnow takes any."
        )
