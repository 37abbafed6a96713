"""Training of one ensemble: rounds chosen on held-out rows, trees, and calibration."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._progress import LongWork
from likewise.classifiers._boosting import BoostingOptions, Ensemble, boost
from likewise.classifiers._calibration import HeldOutScores, Kind
from likewise.classifiers._ensemble_scores import class_scores
from likewise.classifiers._random_pairs import random_pairs
from likewise.classifiers._stopping import (
    Split,
    Validation,
    average_ensembles,
    held_out_scores,
    validate_rounds,
)
from likewise.similarities import DissimilarityColumns


@dataclass(frozen=True)
class TrainingOptions:
    """How many rounds are boosted, on which rows, and what held-out rows decide.

    Attributes
    ----------
    n_rounds : int
        The maximum if `stops`.
    boosting : BoostingOptions, or None for random pairs with a vote each
    stops : bool
        Whether validation rows choose the number of rounds.
    refits : bool
        Whether the kept ensemble is trained on all rows; otherwise that of each split is kept.
    calibrate : {"none", "sigmoid", "isotonic"}
    """

    n_rounds: int
    boosting: BoostingOptions | None
    stops: bool
    refits: bool
    calibrate: Kind

    def total_rounds(self, n_splits: int) -> int:
        """Return the maximum number of rounds over all splits."""
        return self.n_rounds * (n_splits + self.refits)


@dataclass(frozen=True, eq=False)
class Trained:
    """An ensemble, and what held-out rows said about it.

    Attributes
    ----------
    ensemble : Ensemble
    validation : Validation or None
        None without early stopping.
    held_out : (n_rows, n_labels), the scores of each row while it was held out (NaN if never), or
        None without splits
    calibration : dict or None
    """

    ensemble: Ensemble
    validation: Validation | None = None
    held_out: np.ndarray | None = None
    calibration: dict[str, Any] | None = None


def train(
    columns: DissimilarityColumns,
    labels: np.ndarray,
    weights: np.ndarray,
    splits: list[Split],
    seeds: np.ndarray,
    options: TrainingOptions,
    work: LongWork,
) -> Trained:
    """Train on each split, choose the number of rounds, then train on all rows or keep the splits.

    Parameters
    ----------
    columns : dissimilarities of all rows
    labels : (n,) int64 from 0
    weights : (n,) positive
    splits : for early stopping or calibration; [] for neither
    seeds : (1 + n_splits,), of the ensemble of all rows, then of each split
    """
    if options.boosting is None:
        rng = np.random.default_rng(seeds[0])
        return Trained(random_pairs(labels, weights, options.n_rounds, rng))
    parts, validation = validate_rounds(
        columns, labels, weights, splits, seeds[1:], options.n_rounds, options.boosting, work
    )
    n_rounds = validation.n_rounds if validation and options.stops else options.n_rounds
    if parts and work.interrupted:
        ensemble = parts[-1]
    elif options.refits:
        work.total = work.done + n_rounds
        rng, rows = np.random.default_rng(seeds[0]), np.arange(len(labels))
        ensemble = boost(columns, rows, labels, weights, n_rounds, options.boosting, rng, work)
    else:
        ensemble = average_ensembles(parts, n_rounds)
    if validation is None:
        return Trained(ensemble)
    held_out = held_out_scores(parts, splits, columns, n_rounds)
    calibration = None
    if options.calibrate != "none":
        held = np.flatnonzero(~np.isnan(held_out[:, 0]))
        scores = HeldOutScores(class_scores(held_out[held]), labels[held], weights[held])
        calibration = scores.calibration(options.calibrate)
    return Trained(ensemble, validation if options.stops else None, held_out, calibration)
