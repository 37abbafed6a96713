"""Selections made by hand: the scores of families, without fitting any."""

import numpy as np

from likewise.selection import SCORINGS, Family
from likewise.selection._selection import conclude
from likewise.selection._stage import Outcome
from likewise.tables import Columns


def outcome_of(name, kind, scores, predictions, *, inner=None, n_rows=100):
    """Return the outcome of a family with these outer scores; inner ones are the same."""
    scores = np.asarray(scores, dtype=float)
    inner = scores if inner is None else np.asarray(inner, dtype=float)
    family = Family(
        name.lower(), name, kind, "", lambda settings, seed: None, ({},),
        is_constant=name == "majority class",
    )  # fmt: skip
    return Outcome(
        family,
        {"scale": "none"},
        inner,
        float(inner.mean()),
        scores,
        predictions,
        np.ones(len(scores)),
        np.ones(len(scores)),
        n_rows,
    )


def selection_of(scores, chosen, predictions, notes=(), scoring="accuracy", inner=None):
    """Return a selection of ``{name: (kind, scores)}``, of which `chosen` was chosen.

    `predictions` are the labels and the predictions of all test rows, the same for all families;
    `inner` gives inner scores that differ from the outer ones.
    """
    n = len(next(iter(scores.values()))[1])
    truth, predicted = (np.array_split(np.asarray(labels), n) for labels in predictions)
    outcomes = [
        outcome_of(name, kind, of, predicted, inner=(inner or {}).get(name))
        for name, (kind, of) in scores.items()
    ]
    return conclude(
        outcomes, [], truth, {}, np.full(n, 1 / max(n - 1, 1)), [chosen.lower()],
        SCORINGS[scoring], list(notes), Columns(), 0,
    )  # fmt: skip
