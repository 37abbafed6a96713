"""The treatment that all methods of the DBoost tables get, and the errors it leads to.

The scores of every candidate are multiplied by the factor with the lowest log-loss on held-out
rows. A method is then the candidate with the lowest such loss, or all candidates together: a mean
of probabilities whose weights minimize that loss. Methods are stacked in the same way.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from likewise.classifiers import DBoost
from reproduce._distance_candidates import (
    BOOSTED,
    BOOSTED_AFTER_NCA,
    RIVALS,
    SCALES,
    Problem,
    Scores,
)

_STEPS = 20  # of weighting the candidates
TOGETHER = ", together"
STACKED, STACKED_RIVALS, STACKED_NCA = "stacked", "rivals stacked", "stacked with NCA"
AFTER_NCA = "NCA, DBoost"


class Split(NamedTuple):
    """Distances D (training × training) and D_test (test × training), classes, and rows if any."""

    D: np.ndarray
    y: np.ndarray
    D_test: np.ndarray
    y_test: np.ndarray
    X: np.ndarray | None = None
    X_test: np.ndarray | None = None


class Shares(NamedTuple):
    """Probabilities of held-out and of test rows, and the log-loss of the former."""

    held_out: np.ndarray
    test: np.ndarray
    loss: float


def errors(split: Split, n_prototypes: int) -> Iterator[tuple[str, float]]:
    """Yield the test error of each method, as soon as it is known.

    Parameters
    ----------
    n_prototypes : of the DBoost with a limit
    """
    classes, y = np.unique(split.y, return_inverse=True)
    y_test = np.searchsorted(classes, split.y_test)
    problem = Problem(split.D, y, split.D_test, split.X, split.X_test)

    def error(predicted: np.ndarray) -> float:
        return float(np.mean(predicted != y_test))

    yield "NN", error(y[split.D_test.argmin(axis=1)])
    for limit in (None, n_prototypes):
        fitted = DBoost("precomputed", n_prototypes=limit, random_state=0).fit(split.D, y)
        name = "DBoost untuned" if limit is None else f"DBoost, {limit} prototypes"
        yield name, error(fitted.predict(split.D_test))
    together: dict[str, Shares] = {}
    for name, candidates in _families(problem).items():
        found = [scaled(candidate(problem), y) for candidate in candidates]
        together[name] = weighed(found, y)
        if name != AFTER_NCA:
            yield name, error(min(found, key=lambda shares: shares.loss).test.argmax(axis=1))
        suffix = TOGETHER if name != AFTER_NCA else ""
        yield name + suffix, error(together[name].test.argmax(axis=1))
    for name, members in (
        (STACKED_RIVALS, [*RIVALS]),
        (STACKED, [*RIVALS, "DBoost"]),
        (STACKED_NCA, [*RIVALS, "DBoost", AFTER_NCA]),
    ):
        if all(member in together for member in members):
            stacked = weighed([together[member] for member in members], y)
            yield name, error(stacked.test.argmax(axis=1))


def _families(problem: Problem) -> dict[str, list[Callable[[Problem], Scores]]]:
    """Return the candidates of each method."""
    families = {**RIVALS, "DBoost": BOOSTED}
    if problem.X is not None:
        families[AFTER_NCA] = BOOSTED_AFTER_NCA
    return families


def scaled(scores: Scores, y: np.ndarray) -> Shares:
    """Return probabilities from scores, scaled to the lowest log-loss on held-out rows."""
    losses = [log_loss(softmax(scale * scores.held_out, axis=1), y) for scale in SCALES]
    scale = SCALES[int(np.argmin(losses))]
    held_out, test = (softmax(scale * part, axis=1) for part in scores)
    return Shares(held_out, test, min(losses))


def weighed(parts: list[Shares], y: np.ndarray) -> Shares:
    """Return a weighted mean of probabilities.

    Candidates are added one at a time, each the one that leaves the lowest log-loss; a candidate
    may be added again.
    """
    counts, total = np.zeros(len(parts)), np.zeros_like(parts[0].held_out)
    for step in range(1, _STEPS + 1):
        losses = [log_loss((total + part.held_out) / step, y) for part in parts]
        best = int(np.argmin(losses))
        counts[best] += 1
        total += parts[best].held_out
    weights = counts / _STEPS
    held_out, test = (
        np.tensordot(weights, [part[side] for part in parts], axes=1) for side in (0, 1)
    )
    return Shares(held_out, test, log_loss(held_out, y))


def log_loss(shares: np.ndarray, y: np.ndarray) -> float:
    """Return the mean log-loss of probabilities."""
    return float(-np.log(np.maximum(shares[np.arange(len(y)), y], 1e-12)).mean())
