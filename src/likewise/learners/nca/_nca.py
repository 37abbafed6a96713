"""Neighborhood components analysis: a map whose random neighbors share the class of a row."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from likewise._validation import check_choice, check_class_targets, check_classes
from likewise.learners.nca._base import SoftNeighborLearner, rows_with_weight
from likewise.learners.nca._objective import (
    ClassAccuracy,
    ClassLikelihood,
    Objective,
    has_mate,
)
from likewise.learners.nca._optimizer import Problem
from likewise.learners.nca._rows import column_scale

_OBJECTIVES: dict[str, Callable[[np.ndarray], Objective]] = {
    "likelihood": ClassLikelihood,
    "accuracy": ClassAccuracy,
}
_PENALTY = 2.0  # divided by the number of rows


class NCA(SoftNeighborLearner):
    """Linear map under which a random near row is likely to share a row's class.

    After the map, row i chooses row j as its neighbor with a probability proportional to
    exp(−d(i,j)), with d the squared distance. NCA maximizes the probability p_i of a neighbor of
    the same class (Goldberger, Roweis, Hinton and Salakhutdinov, 2005), summed over all rows. Up to
    1,000 rows are fitted at once; with more, each step uses a sample, so that neither the time of a
    step nor memory grows with the square of the number of rows.

    Parameters
    ----------
    n_components : int, optional
        Number of rows of the map; the number of features by default.
    objective : {"likelihood", "accuracy"}, default="likelihood"
        Whether Σ log p_i or Σ p_i, the expected accuracy of the paper, is maximized. The accuracy
        depends more on the start.
    init : {"identity", "pca", "lda", "auto"} or array, default="identity"
        Initial map; its scale is fitted. ``identity`` is the identity, or the principal axes if
        there are fewer components than features; ``auto``, its former name, is the same.
    n_references : int or None, default=2048
        Number of rows in the sample of a step, which draws 256 of them to choose their neighbors
        among all of the sample. Not more than half of all rows are drawn, unless that is fewer
        than 1,000. None for all rows. Up to 1,000 rows are always used together.
    max_iter : int, optional
        By default at most 100 steps of L-BFGS for up to 1,000 rows, and 200 steps of Adam for more.
    alpha : "auto" or float, default="auto"
        Weight of the penalty on the squared map of standardized columns; 2 / n_rows by default.
    warm_start : bool, default=False
        Start from the map of the previous `fit`.
    n_jobs : int, optional
        Number of threads; by default that of BLAS, and -1 for all cores. Results do not depend on
        it.
    random_state : int, RandomState or None
        Draws the samples.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    similarity_ : Mahalanobis
    components_ : ndarray of shape (n_components, n_features)
        The map L.
    bandwidth_ : float
        1: the map is learned for the kernel exp(−d²), so that its width needs no other.
    objective_ : float
        The mean of log p_i or p_i at the learned map: over all rows if they are at most 1,000, else
        over a sample as large as that of a step, all of whose rows choose neighbors (at most
        2,048).
    n_iter_ : int
    history_ : list of dict
        ``iteration``, ``objective`` and ``seconds`` of each step; the objective is that of its
        sample.
    n_features_in_ : int

    Notes
    -----
    A row without another row of its class in the sample is a possible neighbor, but chooses none.
    With many classes of few rows, raise `n_references`.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("iris")
    >>> nca = lw.NCA(random_state=0).fit(data.X, data.y)
    >>> nca.similarity_
    Mahalanobis(L=4×4 float64)
    >>> nca.transform(data.X).shape
    (150, 4)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        objective: str = "likelihood",
        init: Any = "identity",
        n_references: int | None = 2048,
        max_iter: int | None = None,
        alpha: Any = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.objective = objective
        self.init = init
        self.n_references = n_references
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the map from labeled rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
            Inside `likewise.distributed.run_on` also rows that workers read: only the samples are
            then brought into this process, for many steps at a time.
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Weight of a row's term in the objective, and of the row as a neighbor of others. A row
            of weight zero is left out.
        """
        self._check_parameters()
        objective = _OBJECTIVES[check_choice(self.objective, "objective", _OBJECTIVES)]
        X, y = self._check_training(X, y)
        check_class_targets(y, self)
        X, y, weights = rows_with_weight(X, y, sample_weight)
        labels = check_classes(y)[1]
        if np.bincount(labels).max() < 2:
            raise ValueError("y has a single row of each class; one class must have two.")
        by_class = np.argsort(labels, kind="stable")

        def order(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            rows = by_class[places]
            return rows, np.flatnonzero(has_mate(labels[rows]))

        problem = Problem(
            X,
            column_scale(X),
            weights,
            sign=-1,
            alpha=self._alpha(_PENALTY, len(labels)),
            order=order,
            objective=lambda rows: objective(labels[rows]),
            max_rows_at_once=self._max_rows_at_once,
            n_references=self._sample_size(len(labels)),
        )
        # At the scale that is best for the accuracy, its gradient vanishes.
        for_scale = replace(problem, objective=lambda rows: ClassLikelihood(labels[rows]))
        self._minimize(problem, self._initial_map(X, labels), for_scale)
        return self

    def _sample_size(self, n_rows: int) -> int | None:
        """Return the number of references; with most of the rows in each step, NCA overfits."""
        if self.n_references is None:
            return None
        return min(self.n_references, max(self._max_rows_at_once, n_rows // 2))
