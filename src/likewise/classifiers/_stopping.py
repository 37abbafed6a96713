"""When to stop boosting: each number of rounds is judged on rows held out."""

from dataclasses import dataclass

import numpy as np

from likewise import kernels
from likewise._progress import LongWork
from likewise.classifiers._boosting import Ensemble, Plan, boost
from likewise.similarities import DissimilarityColumns

SCALES = 2.0 ** np.arange(-8, 2, 0.5)  # of scores, to find their loss at its best

Fold = tuple[np.ndarray, np.ndarray]  # rows to train on, rows held out


@dataclass(frozen=True, eq=False)
class Verdict:
    """What rows held out say; see the attributes of `DBoost` of these names."""

    n_rounds: int
    errors: np.ndarray
    losses: np.ndarray
    loss: float
    scale: float


class Judge:
    """Adds up, fold by fold, how wrong each number of rounds is on rows held out."""

    def __init__(self, n_rounds: int) -> None:
        self._wrong = np.zeros(n_rounds)
        self._losses = np.zeros((n_rounds, len(SCALES)))
        self._n_rows = 0

    def hear(
        self,
        found: Ensemble,
        columns: DissimilarityColumns,
        held_out: np.ndarray,
        labels: np.ndarray,
    ) -> None:
        """Add, of each round, how many rows held out are wrong, and their loss at each scale."""
        places = columns.positions(found.prototypes)
        leaves = found.leaves(np.ascontiguousarray(columns.values[places][:, held_out].T))
        sums = self._wrong, self._losses
        kernels.add_staged_losses(leaves, found.outputs, labels[held_out], SCALES, *sums)
        self._n_rows += len(held_out)

    def verdict(self) -> Verdict:
        """Return the number of rounds of the least loss, among neighbours, and what led to it."""
        losses = self._losses.min(axis=1) / self._n_rows
        smooth = _smooth(losses)
        best = int(smooth.argmin())
        scale = float(SCALES[self._losses[best].argmin()])
        errors = self._wrong / self._n_rows
        return Verdict(best + 1, errors, losses, float(smooth[best]), scale)


def deal_out(labels: np.ndarray, parts: bool | int, fraction: float, seed: int) -> list[Fold]:
    """Return rows to train on and rows held out: one part where `parts` is True, or each in turn.

    Parameters
    ----------
    labels : (n,) int64 from 0
    fraction : which part is held out where there is one
    """
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    # dealt out in turn, class by class, so that every fold has its share of each
    if parts is True:
        place = np.arange(len(labels)) * fraction
        held_out = [order[np.floor(place + fraction) > np.floor(place)]]
    else:
        held_out = [order[start::parts] for start in range(parts)]
    every = np.arange(len(labels))
    folds = [(np.setdiff1d(every, part), np.sort(part)) for part in held_out]
    n_classes = labels.max() + 1
    for train, part in folds:
        if len(np.unique(labels[train])) < n_classes or not len(part):
            raise ValueError(
                "early_stopping holds rows out and needs more of them: one class of y has too "
                "few to be in both parts."
            )
    return folds


def try_rounds(
    columns: DissimilarityColumns,
    labels: np.ndarray,
    folds: list[Fold],
    seeds: np.ndarray,
    n_rounds: int,
    plan: Plan,
    work: LongWork,
) -> tuple[list[Ensemble], Verdict | None]:
    """Boost with each fold held out in turn, and let it judge.

    There is no verdict without folds, nor where the work was interrupted.
    """
    judge, parts = Judge(n_rounds), []
    for (train, held_out), seed in zip(folds, seeds, strict=True):
        rng = np.random.default_rng(seed)
        parts.append(boost(columns, train, labels[train], n_rounds, plan, rng, work))
        if work.interrupted:
            return parts, None
        judge.hear(parts[-1], columns, held_out, labels)
    return parts, judge.verdict() if folds else None


def held_out_scores(
    parts: list[Ensemble], folds: list[Fold], columns: DissimilarityColumns, n_rounds: int
) -> np.ndarray:
    """Return the scores of each row after so many rounds without it; NaN of one never held out."""
    scores = np.full((columns.n_rows, parts[0].outputs.shape[2]), np.nan)
    for part, (_, held_out) in zip(parts, folds, strict=True):
        places = columns.positions(part.prototypes)
        distances = np.ascontiguousarray(columns.values[places][:, held_out].T)
        trees = part.firsts, part.seconds, part.thresholds, part.outputs
        found = np.empty((len(held_out), scores.shape[1]))
        kernels.sum_trees(distances, *(array[:n_rounds] for array in trees), found)
        scores[held_out] = found
    return scores


def averaged(parts: list[Ensemble], n_rounds: int) -> Ensemble:
    """Return an ensemble whose scores are the mean of those of several after so many rounds.

    The trees of a round stand side by side.
    """

    def side_by_side(arrays: list[np.ndarray]) -> np.ndarray:
        joined = np.stack([array[:n_rounds] for array in arrays], axis=1)
        return joined.reshape(-1, *joined.shape[2:])

    firsts = side_by_side([part.prototypes[part.firsts] for part in parts])
    seconds = side_by_side([part.prototypes[part.seconds] for part in parts])
    prototypes = np.unique(np.concatenate([firsts, seconds]))
    histories = zip(*(part.history[:n_rounds] for part in parts), strict=True)
    return Ensemble(
        prototypes,
        np.searchsorted(prototypes, firsts),
        np.searchsorted(prototypes, seconds),
        side_by_side([part.thresholds for part in parts]),
        side_by_side([part.outputs for part in parts]) / len(parts),
        [{key: float(np.mean([h[key] for h in of])) for key in of[0]} for of in histories],
    )


def _smooth(losses: np.ndarray) -> np.ndarray:
    """Return means over a tenth of the rounds: the least loss of a single one is often luck."""
    window = np.ones(max(1, len(losses) // 10))
    counted = np.convolve(np.ones_like(losses), window, mode="same")
    means = np.convolve(losses, window, mode="same") / counted
    return np.asarray(means.round(12))  # equal means tie, and the fewest rounds win
