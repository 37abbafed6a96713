"""Early stopping of boosting: every number of rounds is scored on validation rows."""

from dataclasses import dataclass

import numpy as np

from likewise import kernels
from likewise._progress import LongWork
from likewise.classifiers._boosting import BoostingOptions, Ensemble, boost
from likewise.similarities import DissimilarityColumns

SCALES = 2.0 ** np.arange(-8, 2, 0.5)  # candidate factors of the scores

Split = tuple[np.ndarray, np.ndarray]  # training rows, validation rows


@dataclass(frozen=True, eq=False)
class Validation:
    """Result on validation rows; see the attributes of `DBoost` of these names."""

    n_rounds: int
    errors: np.ndarray
    losses: np.ndarray
    loss: float
    scale: float


class _ValidationLoss:
    """Accumulates the validation errors and losses of every number of rounds over splits."""

    def __init__(self, n_rounds: int) -> None:
        self._wrong = np.zeros(n_rounds)
        self._losses = np.zeros((n_rounds, len(SCALES)))
        self._total = 0.0

    def add(
        self,
        ensemble: Ensemble,
        columns: DissimilarityColumns,
        held_out: np.ndarray,
        labels: np.ndarray,
        importances: np.ndarray,
    ) -> None:
        """Add the errors after each round, and the losses at each scale."""
        positions = columns.positions(ensemble.prototypes)
        leaves = ensemble.leaves(np.ascontiguousarray(columns.values[positions][:, held_out].T))
        sums = self._wrong, self._losses
        examples = labels[held_out], importances[held_out]
        kernels.add_staged_losses(leaves, ensemble.outputs, *examples, SCALES, *sums)
        self._total += importances[held_out].sum()

    def result(self) -> Validation:
        """Return the number of rounds with the lowest smoothed loss, and the losses."""
        losses = self._losses.min(axis=1) / self._total
        smooth = _smooth(losses)
        best = int(smooth.argmin())
        scale = float(SCALES[self._losses[best].argmin()])
        errors = self._wrong / self._total
        return Validation(best + 1, errors, losses, float(smooth[best]), scale)


def stratified_splits(
    labels: np.ndarray,
    n_splits: bool | int,
    fraction: float,
    seed: int,
    argument: str = "early_stopping",
) -> list[Split]:
    """Return one stratified hold-out if `n_splits` is True, otherwise cross-validation splits.

    Parameters
    ----------
    labels : (n,) int64 from 0
    fraction : share of the rows in a single hold-out
    argument : the parameter that an error names
    """
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    # sorted by class, so that every split has its share of each class
    if n_splits is True:
        position = np.arange(len(labels)) * fraction
        held_out = [order[np.floor(position + fraction) > np.floor(position)]]
    else:
        held_out = [order[start::n_splits] for start in range(n_splits)]
    every = np.arange(len(labels))
    splits = [(np.setdiff1d(every, part), np.sort(part)) for part in held_out]
    n_classes = labels.max() + 1
    for train, part in splits:
        if len(np.unique(labels[train])) < n_classes or not len(part):
            raise ValueError(
                f"{argument} needs more rows: one class of y has too few for both training and "
                "validation."
            )
    return splits


def validate_rounds(
    columns: DissimilarityColumns,
    labels: np.ndarray,
    importances: np.ndarray,
    splits: list[Split],
    seeds: np.ndarray,
    n_rounds: int,
    options: BoostingOptions,
    work: LongWork,
) -> tuple[list[Ensemble], Validation | None]:
    """Boost on the training rows of each split, and score every round on its validation rows.

    The validation is None without splits, or if the work was interrupted.
    """
    loss, parts = _ValidationLoss(n_rounds), []
    for (train, held_out), seed in zip(splits, seeds, strict=True):
        rng = np.random.default_rng(seed)
        training = train, labels[train], importances[train]
        parts.append(boost(columns, *training, n_rounds, options, rng, work))
        if work.interrupted:
            return parts, None
        loss.add(parts[-1], columns, held_out, labels, importances)
    return parts, loss.result() if splits else None


def held_out_scores(
    parts: list[Ensemble], splits: list[Split], columns: DissimilarityColumns, n_rounds: int
) -> np.ndarray:
    """Return the scores of each row while it was held out; NaN for rows that never were."""
    scores = np.full((columns.n_rows, parts[0].outputs.shape[2]), np.nan)
    for part, (_, held_out) in zip(parts, splits, strict=True):
        positions = columns.positions(part.prototypes)
        distances = np.ascontiguousarray(columns.values[positions][:, held_out].T)
        trees = part.firsts, part.seconds, part.thresholds, part.outputs
        values = np.empty((len(held_out), scores.shape[1]))
        kernels.sum_trees(distances, *(array[:n_rounds] for array in trees), values)
        scores[held_out] = values
    return scores


def average_ensembles(parts: list[Ensemble], n_rounds: int) -> Ensemble:
    """Return an ensemble whose scores are the mean scores of several after `n_rounds` rounds.

    The trees of a round are adjacent.
    """

    def interleaved(arrays: list[np.ndarray]) -> np.ndarray:
        joined = np.stack([array[:n_rounds] for array in arrays], axis=1)
        return joined.reshape(-1, *joined.shape[2:])

    firsts = interleaved([part.prototypes[part.firsts] for part in parts])
    seconds = interleaved([part.prototypes[part.seconds] for part in parts])
    prototypes = np.unique(np.concatenate([firsts, seconds]))
    histories = zip(*(part.history[:n_rounds] for part in parts), strict=True)
    return Ensemble(
        prototypes,
        np.searchsorted(prototypes, firsts),
        np.searchsorted(prototypes, seconds),
        interleaved([part.thresholds for part in parts]),
        interleaved([part.outputs for part in parts]) / len(parts),
        [{key: float(np.mean([h[key] for h in of])) for key in of[0]} for of in histories],
    )


def _smooth(losses: np.ndarray) -> np.ndarray:
    """Return moving averages over a tenth of the rounds: a single minimum is often chance."""
    window = np.ones(max(1, len(losses) // 10))
    counted = np.convolve(np.ones_like(losses), window, mode="same")
    means = np.convolve(losses, window, mode="same") / counted
    return np.asarray(means.round(12))  # nearly equal means tie, and the fewest rounds win
