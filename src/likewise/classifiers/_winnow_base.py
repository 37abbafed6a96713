"""What both forms of Winnow share: passes over rows, classes and checks."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from likewise._files import fields
from likewise._progress import LongWork, show_progress
from likewise._threads import for_each
from likewise._validation import (
    FLOATS,
    check_class_targets,
    check_classes,
    check_number,
    check_run_parameters,
    check_whole_number,
    validate_data,
)
from likewise.supervision import check_sample_weight


def n_problems(sizes: fields.Sizes) -> int:
    """Return the number of binary problems: one for two classes, otherwise one per class."""
    return 1 if sizes["classes"] == 2 else sizes["classes"]


class WinnowBase(ClassifierMixin, BaseEstimator, ABC):
    """Passes over rows, one problem for two classes and otherwise one per class."""

    epsilon: float
    n_passes: int
    verbose: bool
    classes_: np.ndarray
    log_weights_: np.ndarray
    n_mistakes_: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to labeled rows; Ctrl-C keeps the passes completed so far.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Factor of a row's updates of the logarithms of weights. Rows of weight zero are left
            out.
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
                self._pass(X, y, self.epsilon / 2**number, weights)
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
            raise ValueError("classes must be given in the first call of partial_fit, but is None.")
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
        self._pass(X, y, self.epsilon, weights)
        return self

    def _check_parameters(self) -> None:
        check_run_parameters(self)
        check_number(self.epsilon, "epsilon", minimum=0, exclusive=True)
        check_whole_number(self.n_passes, "n_passes")

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, order="C", reset=reset)
        check_class_targets(y, self)
        return X, y

    def _start(self, X: Any, classes: np.ndarray) -> None:
        check_classes(classes)
        self.classes_ = classes
        n_problems = 1 if len(classes) == 2 else len(classes)
        self.log_weights_ = np.zeros((n_problems, X.shape[1]))
        self.n_mistakes_ = 0

    def _pass(self, X: Any, y: np.ndarray, epsilon: float, weights: np.ndarray) -> None:
        """Make one pass over the rows for every problem."""
        positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        mistakes = np.zeros(len(positive), np.int64)

        def work(problem: int) -> None:
            signs = np.where(y == positive[problem], 1.0, -1.0)
            mistakes[problem] = self._learn(problem, X, signs, epsilon, weights)

        for_each(work, range(len(positive)))
        self.n_mistakes_ += int(mistakes.sum())

    @abstractmethod
    def _learn(
        self, problem: int, X: Any, signs: np.ndarray, epsilon: float, weights: np.ndarray
    ) -> int:
        """Make one pass for one problem; return the number of mistakes."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
