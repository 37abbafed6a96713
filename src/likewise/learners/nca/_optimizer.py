"""Minimize the objective of NCA or MLKR: L-BFGS over few rows, Adam over samples of many."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from likewise._progress import LongWork
from likewise._threads import ScratchArray, single_threaded_blas, slices
from likewise.learners.linear_map import LBFGS
from likewise.learners.nca._bandwidth import best_bandwidth
from likewise.learners.nca._gradient import evaluate
from likewise.learners.nca._objective import Objective
from likewise.learners.nca._rows import ColumnScale, StandardizedRows, in_memory

MAX_ROWS_IN_DOUBLE = 1000  # of those fitted at once
_LBFGS_STEPS, _ADAM_STEPS = 100, 200
_LBFGS_TOL, _LBFGS_TOL_IN_SINGLE = 1e-5, 1e-4  # smallest decrease of the cost, as a share of it
_ANCHORS_IN_STEP = 256
_ANCHORS_FOR_SCALE, _REFERENCES_FOR_SCALE = 500, 2048
_ANCHORS_IN_SCALE_BLOCK = 50
_ANCHORS_FOR_OBJECTIVE = 2048
_STEP_SIZE = 0.1  # of the root mean square of the initial map
_DECAY, _SQUARE_DECAY = 0.9, 0.99
_EPSILON = 1e-12
_BYTES_READ_AHEAD = 64_000_000  # of samples of rows that are not in memory


class Sample(NamedTuple):
    """References and their anchors.

    Attributes
    ----------
    references : int array
        Row numbers.
    anchors : int array
        Ascending positions in `references`.
    """

    references: np.ndarray
    anchors: np.ndarray


@dataclass(frozen=True)
class Problem:
    """An objective over the rows of X.

    Attributes
    ----------
    X : array, CSR or DistributedRows of shape (n_rows, n_features)
    scale : ColumnScale of X
    weights : (n_rows,) array
        Positive.
    sign : {-1, 1}
        −1 for an objective to maximize.
    alpha : float
        Weight of the penalty, the sum of squares of the map of standardized columns.
    order : callable
        Returns the rows at ascending places in the order that the objective needs, and the
        positions among them of those that can be anchors.
    objective : callable
        Makes the objective of ordered references.
    max_rows_at_once : int
        Up to so many rows are fitted at once.
    n_references : int or None
        Number of rows in the sample of a step, where there are more; None for all rows.
    scratch : ScratchArray
    """

    X: Any
    scale: ColumnScale
    weights: np.ndarray
    sign: int
    alpha: float
    order: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    objective: Callable[[np.ndarray], Objective]
    max_rows_at_once: int
    n_references: int | None
    scratch: ScratchArray = field(default_factory=ScratchArray)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.weights)

    @property
    def at_once(self) -> bool:
        """Whether all rows are fitted at once."""
        return self.n_rows <= self.max_rows_at_once

    def rows(self, references: np.ndarray, dtype: Any) -> StandardizedRows:
        """Return standardized rows."""
        return StandardizedRows(self.X[references], self.scale, dtype)

    def penalty(self, L: np.ndarray) -> float:
        """Return the penalty of a map."""
        return float(self.alpha * np.sum(L[:, self.scale.varies] ** 2))

    def value_and_gradient(
        self, objective: Objective, rows: StandardizedRows, sample: Sample, L: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return the objective, and the gradient of what is minimized: with sign and penalty."""
        weights = self.weights[sample.references]
        value, gradient = evaluate(
            objective, rows, weights, sample.anchors, L, scratch=self.scratch
        )
        gradient *= self.sign
        gradient += 2 * self.alpha * self.scale.varies * L
        return value, gradient


class Minimum(NamedTuple):
    """Result of `minimize`."""

    L: np.ndarray
    objective: float
    n_iter: int
    history: list[dict[str, float]]


def minimize(
    problem: Problem, L: np.ndarray, max_iter: int | None, random: np.random.Generator, label: str
) -> Minimum:
    """Minimize from `L`, until L-BFGS has converged or Adam has taken its steps."""
    n_steps = (_LBFGS_STEPS if problem.at_once else _ADAM_STEPS) if max_iter is None else max_iter
    maps = _lbfgs(problem, L) if problem.at_once else _adam(problem, L, n_steps, random)
    history: list[dict[str, float]] = []
    started = perf_counter()
    with LongWork(label, total=n_steps, unit="steps", partial_result="the map so far") as work:
        for found, objective in maps:
            L = found
            work.advance()
            seconds = perf_counter() - started
            history.append({"iteration": work.done, "objective": objective, "seconds": seconds})
            if work.done == n_steps or work.interrupted:
                break
    if not problem.at_once:
        objective = _objective_of_sample(problem, L, random)
    return Minimum(L, objective, len(history), history)


def _lbfgs(problem: Problem, L: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the map and its objective after each step over all rows."""
    sample = Sample(*problem.order(np.arange(problem.n_rows)))
    double = problem.n_rows <= MAX_ROWS_IN_DOUBLE
    tol = _LBFGS_TOL if double else _LBFGS_TOL_IN_SINGLE
    rows = problem.rows(sample.references, np.float64 if double else np.float32)
    objective = problem.objective(sample.references)

    def cost_and_gradient(L: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = problem.value_and_gradient(objective, rows, sample, L)
        return problem.sign * value + problem.penalty(L), gradient

    optimizer = LBFGS(cost_and_gradient, L)
    converged = False
    while not converged:
        before = optimizer.value
        decreased = optimizer.step()
        converged = not decreased or before - optimizer.value <= tol * max(abs(before), 1)
        value = problem.sign * (optimizer.value - problem.penalty(optimizer.x))
        yield optimizer.x, value


def _adam(
    problem: Problem, L: np.ndarray, n_steps: int, random: np.random.Generator
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the map and the objective of a sample after each step (Kingma and Ba, 2015).

    The gradient is exact for the sample, which is drawn anew for each step.
    """
    # The steps of all entries have one size in the units of X: columns that vary little, such as
    # the last principal components, then stay as unimportant as they were, unless they help.
    deviation = problem.scale.deviation
    size = _STEP_SIZE * np.sqrt(np.mean((L / deviation) ** 2)) * deviation
    mean, square = np.zeros_like(L), np.zeros_like(L)
    samples = _samples(problem, n_steps, random)
    for step, (sample, rows, objective) in enumerate(samples):
        if len(sample.anchors) == 0:  # no two references share a class
            yield L, np.nan
            continue
        value, gradient = problem.value_and_gradient(objective, rows, sample, L)
        mean += (1 - _DECAY) * (gradient - mean)
        square += (1 - _SQUARE_DECAY) * (gradient**2 - square)
        unbiased = mean / (1 - _DECAY ** (step + 1))
        deviation = np.sqrt(square / (1 - _SQUARE_DECAY ** (step + 1)))
        annealed = size * (1 + np.cos(np.pi * step / n_steps)) / 2
        L = L - annealed * unbiased / (deviation + _EPSILON)
        yield L, value


def _samples(
    problem: Problem, n_steps: int, random: np.random.Generator
) -> Iterator[tuple[Sample, StandardizedRows, Objective]]:
    """Yield for each step a sample of references, or all rows, and in them its anchors."""
    n_rows, n_references = problem.n_rows, problem.n_references
    if n_references is None or n_references >= n_rows:
        references, anchors = problem.order(np.arange(n_rows))
        rows, objective = problem.rows(references, np.float32), problem.objective(references)
        for in_step in islice(_epochs(anchors, random), n_steps):
            yield Sample(references, in_step), rows, objective
        return
    ahead = 1 if in_memory(problem.X) else _steps_read_ahead(n_references, problem.X.shape[1])
    for steps in slices(n_steps, ahead):
        samples = [
            _draw(problem, n_references, _ANCHORS_IN_STEP, random)
            for _ in range(steps.start, steps.stop)
        ]
        together = problem.X[np.concatenate([sample.references for sample in samples])]
        for sample, part in zip(samples, slices(together.shape[0], n_references), strict=True):
            rows = StandardizedRows(together[part], problem.scale, np.float32)
            yield sample, rows, problem.objective(sample.references)


def _epochs(anchors: np.ndarray, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the anchors of steps; each row is an anchor once in an epoch."""
    while True:
        permuted = random.permutation(anchors)
        for part in slices(len(permuted), _ANCHORS_IN_STEP):
            yield np.sort(permuted[part])


def _steps_read_ahead(n_references: int, n_features: int) -> int:
    """Return the number of steps whose samples are read together, in one pass over all rows."""
    return max(1, _BYTES_READ_AHEAD // (8 * n_references * n_features))


def _draw(
    problem: Problem, n_references: int | None, n_anchors: int, random: np.random.Generator
) -> Sample:
    """Draw references without repetition, and anchors among them."""
    if n_references is None or n_references >= problem.n_rows:
        places = np.arange(problem.n_rows)
    else:
        places = random.choice(problem.n_rows, n_references, replace=False, shuffle=False)
        places.sort()
    references, anchors = problem.order(places)
    if len(anchors) > n_anchors:
        anchors = np.sort(random.choice(anchors, n_anchors, replace=False))
    return Sample(references, anchors)


def _objective_of_sample(problem: Problem, L: np.ndarray, random: np.random.Generator) -> float:
    """Return the objective over a sample like that of a step, with more anchors."""
    sample = _draw(problem, problem.n_references, _ANCHORS_FOR_OBJECTIVE, random)
    if len(sample.anchors) == 0:
        return np.nan
    rows = problem.rows(sample.references, np.float32)
    weights = problem.weights[sample.references]
    objective = problem.objective(sample.references)
    return evaluate(objective, rows, weights, sample.anchors, L, gradient=False)[0]


def best_scale(problem: Problem, L: np.ndarray, random: np.random.Generator) -> float:
    """Return the factor of the map at which the objective is best, over a sample of anchors."""
    references, anchors = _draw(problem, _REFERENCES_FOR_SCALE, _ANCHORS_FOR_SCALE, random)
    size = float(np.sqrt(np.mean(L**2)))
    if len(anchors) == 0 or size == 0:
        return 1.0
    # Single precision is enough for distances of a map of usual size, once they are computed.
    scores = np.empty((len(anchors), len(references)), np.float32)
    with single_threaded_blas():
        Z = problem.rows(references, np.float64).mapped(L / size)
        squares = np.einsum("ij,ij->i", Z, Z)
        for part in slices(len(anchors), _ANCHORS_IN_SCALE_BLOCK):
            negated = (2 * Z[anchors[part]]) @ Z.T
            negated -= squares + squares[anchors[part], None]
            np.minimum(negated, 0, out=scores[part], casting="same_kind")
    typical = -float(np.median(scores[:: max(1, len(anchors) // _ANCHORS_IN_SCALE_BLOCK)]))
    if not typical > 0:
        return 1.0
    weights, objective = problem.weights[references], problem.objective(references)
    bandwidth = best_bandwidth(scores, anchors, weights, objective, problem.sign, typical)
    return float(1 / np.sqrt(bandwidth)) / size
