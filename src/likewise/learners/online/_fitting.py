"""Fits to labels, grades or triplets, with a part of them held out."""

from typing import Any

import numpy as np

from likewise._validation import Rows, take
from likewise.learners.online._early_stopping import (
    Learner,
    TrainingSet,
    keep_start,
    train_unvalidated,
    train_validated,
)
from likewise.learners.online._training import DrawnTriplets, check_stream, train, train_once
from likewise.learners.validation._held_out import (
    HeldOutLabels,
    HeldOutRelevance,
    HeldOutTriplets,
    can_validate_labels,
    held_out_queries,
    held_out_rows,
)
from likewise.supervision import (
    HoldOut,
    LabelTriplets,
    RelevanceTriplets,
    TripletSource,
    TripletStream,
    relevant_items,
)

_MAX_HELD_OUT = 300  # queries, for each of which a check ranks all items
_HELD_OUT_SPLIT = 0


def fit_labels(
    learner: Learner, X: Rows, y: np.ndarray, rows: np.ndarray, weights: np.ndarray | None
) -> Learner:
    """Learn from triplets of labeled rows; with early stopping, some rows are held out.

    Parameters
    ----------
    learner : OnlineLearner
    X, y : rows and their labels
    rows : row numbers to learn from
    weights : weights of all rows, or None
    """
    rng = learner._generator(0)

    def training_set(rows: np.ndarray) -> TrainingSet:
        source = LabelTriplets(y, rows, rows)
        of_rows = None if weights is None else weights[rows]
        return TrainingSet(
            lambda: learner._initial_form(
                X, X, lambda ridge: ridge.fit(take(X, rows), y[rows], of_rows)
            ),
            lambda n, held: train(learner, DrawnTriplets(source, n, rng, weights), X, X, held),
            rng,
        )

    whole = training_set(rows)
    if not learner.early_stopping:
        return train_unvalidated(learner, whole)
    splits = HoldOut.single(len(rows), 0, learner.validation_fraction, rng).queries
    rest = rows[splits != _HELD_OUT_SPLIT]
    held = rows[held_out_rows(splits, _HELD_OUT_SPLIT, rng)]
    if not can_validate_labels(y, held, rest):
        return keep_start(learner, X, X, HeldOutLabels.measure)
    part = training_set(rest)
    return train_validated(learner, part, whole, HeldOutLabels(X, y, held), X, X)


def fit_grades(
    learner: Learner, grades: Any, queries: Rows, items: Rows, weights: Any, negatives: str
) -> Learner:
    """Learn from triplets of graded items; with early stopping, some of both sides are held out."""
    rng = learner._generator(0)

    def training_set(source: TripletSource, part: Any) -> TrainingSet:
        return TrainingSet(
            lambda: learner._initial_form(
                queries,
                items,
                lambda ridge: ridge.fit_relevance(
                    part, queries, None if items is queries else items, weights, offsets=False
                ),
            ),
            lambda n, held: train(learner, DrawnTriplets(source, n, rng), queries, items, held),
            rng,
        )

    options: dict[str, Any] = {"negatives": negatives, "hard": learner.hard_negatives}
    everything = RelevanceTriplets(grades, weights, **options)
    whole = training_set(everything, grades)
    if not learner.early_stopping:
        return train_unvalidated(learner, whole)
    hold = _hold_out(learner, queries, items, rng)
    training = hold.training(grades, _HELD_OUT_SPLIT)
    held = held_out_queries(everything.queries, hold.queries, _HELD_OUT_SPLIT, _MAX_HELD_OUT, rng)
    try:
        training_items = hold.items != _HELD_OUT_SPLIT
        source = RelevanceTriplets(training, weights, **options, items=training_items)
    except ValueError:  # no training triplet is left
        held = held[:0]
    if len(held) == 0:
        return keep_start(learner, queries, items, HeldOutRelevance.measure)
    seen = relevant_items(training)
    held_out = HeldOutRelevance(grades, held, seen, queries, items, same=items is queries)
    part = training_set(source, training)
    return train_validated(learner, part, whole, held_out, queries, items)


def fit_stream(learner: Learner, stream: TripletStream, queries: Rows, items: Rows) -> Learner:
    """Learn from given triplets, with some queries and closer items held out."""
    rng = learner._generator(0)
    triplets, weights = stream.arrays()
    hold = _hold_out(learner, queries, items, rng)
    is_training = hold.in_training(triplets[:, 0], triplets[:, 1], _HELD_OUT_SPLIT)
    held_triplets = triplets[hold.queries[triplets[:, 0]] == _HELD_OUT_SPLIT]
    if len(held_triplets) == 0 or not is_training.any():
        return keep_start(learner, queries, items, HeldOutTriplets.measure)

    def training_set(which: np.ndarray) -> TrainingSet:
        part = check_stream(triplets[which], queries, items, weights[which])
        return TrainingSet(
            lambda: learner._initial_form(
                queries,
                items,
                lambda ridge: ridge.fit_triplets(
                    triplets[which], queries, items, weights[which], offsets=False
                ),
            ),
            lambda n, held: train_once(learner, part, queries, items),
            rng,
        )

    seen = np.zeros(items.shape[0], dtype=bool)
    seen[triplets[is_training, 1]] = True
    held = HeldOutTriplets(held_triplets, seen, queries, items)
    whole = training_set(np.ones(len(triplets), dtype=bool))
    return train_validated(learner, training_set(is_training), whole, held, queries, items)


def _hold_out(learner: Learner, queries: Rows, items: Rows, rng: np.random.Generator) -> HoldOut:
    shape = queries.shape[0], items.shape[0]
    return HoldOut.single(*shape, learner.validation_fraction, rng, same=items is queries)
