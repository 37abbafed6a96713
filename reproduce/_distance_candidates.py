"""Candidates of each method that needs distances alone: nearest neighbors, DBoost and its rivals.

Every method has eight candidates, four settings on d and four on d² (neighbors, whose order is the
same, have eight numbers of them). A candidate is fitted to the training rows of five inner splits:
it gives the scores of each training row while it was held out, and the mean scores of test rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax

from likewise.classifiers import DBoost
from likewise.learners import NCA

N_SPLITS = 5
SCALES = 2.0 ** np.arange(-10, 4, 0.5)  # candidate factors of scores
_POWERS = (1, 2)  # the squares of Euclidean distances make linear methods linear in the rows
_TINY = 1e-12

# The settings of DBoost: as printed, or with a low learning rate, shallow or deep.
_DBOOST = (
    {"learning_rate": 1.0, "max_depth": 1, "n_pairs": 50, "n_rounds": 500},
    {"learning_rate": 0.1, "max_depth": 1, "n_pairs": 10, "n_rounds": 600},
    {"learning_rate": 0.1, "max_depth": 3, "n_pairs": 10, "n_rounds": 300},
    {"learning_rate": 0.1, "max_depth": 3, "n_pairs": 50, "n_rounds": 300},
)
_STAGES = (9, None, 10)  # after which rounds the scores of held-out rows are looked at
_NEIGHBORS = (1, 3, 5, 7, 9, 15, 25, 51)

Scorer = Callable[[np.ndarray], np.ndarray]  # from features to a score of each class


@dataclass(frozen=True, eq=False)
class Problem:
    """Distances of training rows to each other, and of test rows to them.

    Attributes
    ----------
    D : (n, n)
    y : (n,) int64 from 0
    D_test : (n_test, n)
    X, X_test : rows, if there are any
    """

    D: np.ndarray
    y: np.ndarray
    D_test: np.ndarray
    X: np.ndarray | None = None
    X_test: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1

    @cached_property
    def splits(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training and held-out rows of each inner split."""
        import warnings

        from sklearn.model_selection import StratifiedKFold

        with warnings.catch_warnings():  # small classes have no row in some held-out parts
            warnings.filterwarnings("ignore", message="The least populated class")
            folds = StratifiedKFold(N_SPLITS, shuffle=True, random_state=0)
            return list(folds.split(self.y, self.y))

    @cached_property
    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances, of training and of test rows."""
        return self.D**2, self.D_test**2

    @cached_property
    def learned(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Training, held-out and test rows of each inner split, mapped by NCA fitted to the first.

        The rows must be given.
        """
        X, X_test = self.X, self.X_test
        assert X is not None
        assert X_test is not None
        found = []
        for train, held in self.splits:
            fitted = NCA(random_state=0).fit(X[train], self.y[train])
            found.append(tuple(map(fitted.transform, (X[train], X[held], X_test))))
        return found


class Scores(NamedTuple):
    """Scores of training rows while held out, (n, n_classes), and of test rows."""

    held_out: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, eq=False)
class OnPrototypes:
    """A classifier on distances to random prototypes.

    Attributes
    ----------
    fit : from the distances of training rows and their classes to a scorer
    n_prototypes : int
    power : int
    limit : from the sizes of classes to the maximum number of prototypes
    """

    fit: Callable[[np.ndarray, np.ndarray], Scorer]
    n_prototypes: int
    power: int
    limit: Callable[[np.ndarray], int] = field(default=np.sum)

    def __call__(self, problem: Problem) -> Scores:
        """Return the scores of a problem."""
        held_out = np.empty((len(problem.y), problem.n_classes))
        test = np.zeros((len(problem.D_test), problem.n_classes))
        for number, (train, held) in enumerate(problem.splits):
            y = problem.y[train]
            n_prototypes = max(1, min(self.n_prototypes, self.limit(np.bincount(y))))
            drawn = np.random.default_rng(number).permutation(train)[:n_prototypes]
            score = self.fit(problem.D[np.ix_(train, drawn)] ** self.power, y)
            held_out[held] = score(problem.D[np.ix_(held, drawn)] ** self.power)
            test += score(problem.D_test[:, drawn] ** self.power) / N_SPLITS
        return Scores(held_out, test)


def _linear(shrinkage: float, F: np.ndarray, y: np.ndarray) -> Scorer:
    """Fit a regularized linear normal density classifier."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    fitted = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(F, y)
    return lambda features: _two_columns(fitted.decision_function(features))


def _quadratic(reg_param: float, F: np.ndarray, y: np.ndarray) -> Scorer:
    """Fit a regularized quadratic normal density classifier."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fitted = make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=reg_param))
    fitted.fit(F, y)
    return lambda features: _two_columns(fitted.decision_function(features))


def _support_vectors(width: float, C: float, F: np.ndarray, y: np.ndarray) -> Scorer:
    """Fit a linear support vector machine on exp(−d/σ), with σ a multiple of the median."""
    from sklearn.svm import SVC

    median = float(np.median(F))
    sigma = width * (median if median > 0 else float(F.mean()) or 1.0)
    fitted = SVC(kernel="linear", C=C, cache_size=500).fit(np.exp(-F / sigma), y)
    return lambda features: _two_columns(fitted.decision_function(np.exp(-features / sigma)))


def _two_columns(scores: np.ndarray) -> np.ndarray:
    """Return a column for each class also if there are two."""
    return np.stack([-scores, scores], axis=1) / 2 if scores.ndim == 1 else scores


def _logs(shares: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(shares, _TINY))


@dataclass(frozen=True)
class Neighbors:
    """The k nearest neighbors, weighted by distance."""

    n_neighbors: int

    def __call__(self, problem: Problem) -> Scores:
        """Return the scores of a problem."""
        held_out = np.empty((len(problem.y), problem.n_classes))
        test = np.zeros((len(problem.D_test), problem.n_classes))
        for train, held in problem.splits:
            classes = np.eye(problem.n_classes)[problem.y[train]]
            held_out[held] = self._scores(problem.D[np.ix_(held, train)], classes)
            test += self._scores(problem.D_test[:, train], classes) / N_SPLITS
        return Scores(held_out, test)

    def _scores(self, distances: np.ndarray, classes: np.ndarray) -> np.ndarray:
        k = min(self.n_neighbors, distances.shape[1])
        nearest = np.argpartition(distances, k - 1, axis=1)[:, :k]
        d = np.take_along_axis(distances, nearest, axis=1)
        weights = 1 / (d + 0.1 * d.max(axis=1, keepdims=True) + _TINY)
        shares = np.einsum("ij,ijc->ic", weights, classes[nearest])
        return np.log(shares / weights.sum(axis=1, keepdims=True) + 0.3 / k)


def boosted(options: dict[str, Any], power: int, problem: Problem) -> Scores:
    """Return the scores of DBoost, whose early stopping has the same number of inner splits."""
    D, D_test = (problem.D, problem.D_test) if power == 1 else problem.squares
    fitted = DBoost(
        "precomputed", early_stopping=N_SPLITS, refit=False, random_state=0, **options
    ).fit(D, problem.y)
    assert fitted.validation_shares_ is not None  # with early stopping
    return Scores(_logs(fitted.validation_shares_), _logs(fitted.predict_proba(D_test)))


def boosted_after_nca(options: dict[str, Any], problem: Problem) -> Scores:
    """Return the scores of DBoost on squared distances that NCA learned on each inner split.

    The number of rounds is that with the lowest loss of held-out rows over all splits.
    """
    stages = []
    for (train, held), learned in zip(problem.splits, problem.learned, strict=True):
        rows, held_rows, test_rows = learned
        fitted = DBoost("sqeuclidean", random_state=0, **options).fit(rows, problem.y[train])
        of_held, of_test = (
            list(map(_two_columns, islice(fitted.staged_decision_function(part), *_STAGES)))
            for part in (held_rows, test_rows)
        )
        stages.append((held, of_held, of_test))
    best = int(_smooth(_staged_losses(stages, problem.y)).argmin())
    held_out = np.empty((len(problem.y), problem.n_classes))
    test = np.zeros((len(problem.D_test), problem.n_classes))
    for held, of_held, of_test in stages:
        held_out[held] = of_held[best]
        test += of_test[best] / N_SPLITS
    return Scores(held_out, test)


def _staged_losses(stages: list[Any], y: np.ndarray) -> np.ndarray:
    """Return the log-loss of held-out rows at each stage, at the best scale."""
    losses = np.zeros((len(stages[0][1]), len(SCALES)))
    for held, of_held, _ in stages:
        for number, scores in enumerate(of_held):
            for at, scale in enumerate(SCALES):
                own = log_softmax(scale * scores, axis=1)[np.arange(len(held)), y[held]]
                losses[number, at] -= own.sum()
    return losses.min(axis=1)


def _smooth(losses: np.ndarray) -> np.ndarray:
    """Return moving averages over a tenth of the stages, as early stopping does."""
    window = np.ones(max(1, len(losses) // 10))
    return np.convolve(losses, window, "same") / np.convolve(np.ones(len(losses)), window, "same")


def _most_quadratic(counts: np.ndarray) -> int:
    """Return the maximum number of prototypes for covariances of each class."""
    return int(counts.min()) - 2


RIVALS: dict[str, list[Callable[[Problem], Scores]]] = {
    "kNN": [Neighbors(k) for k in _NEIGHBORS],
    "RLDC": [
        OnPrototypes(partial(_linear, shrinkage), n, power)
        for n, shrinkage, power in product((30, 200), (0.001, 0.03), _POWERS)
    ],
    "RQDC": [
        OnPrototypes(partial(_quadratic, reg_param), n, power, _most_quadratic)
        for n, reg_param, power in product((20, 50), (0.03, 0.2), _POWERS)
    ],
    "Balcan-Blum": [
        OnPrototypes(partial(_support_vectors, width**power, C), 300, power)
        for width, C, power in product((0.7, 1.4), (5.0, 50.0), _POWERS)
    ],
}
BOOSTED: list[Callable[[Problem], Scores]] = [
    partial(boosted, options, power) for options, power in product(_DBOOST, _POWERS)
]
BOOSTED_AFTER_NCA: list[Callable[[Problem], Scores]] = [
    partial(boosted_after_nca, options) for options in _DBOOST
]
