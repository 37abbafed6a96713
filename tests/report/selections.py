"""Selections made by hand: the scores of families, without fitting any."""

import numpy as np

from likewise.evaluation import Comparison
from likewise.selection import Family, Selection
from likewise.selection._selection import verdict_on
from likewise.tables import Columns


def selection_of(scores, chosen, predictions, notes=()):
    """Return a selection of ``{name: (kind, scores)}``, of which `chosen` was chosen."""
    values = {name: np.asarray(of, dtype=float) for name, (_, of) in scores.items()}
    seconds = {name: np.ones(len(of)) for name, of in values.items()}
    n = len(next(iter(values.values())))
    comparison = Comparison(values, seconds, seconds, np.full(n, 1 / max(n - 1, 1)), "accuracy")
    rows = [
        {
            "name": name,
            "kind": kind,
            "mean": float(values[name].mean()),
            "deviation": float(values[name].std(ddof=1)) if n > 1 else 0.0,
            "scores": values[name].tolist(),
            "settings": {"scale": "none"},
            "chosen": name == chosen,
        }
        for name, (kind, _) in scores.items()
    ]
    rows.sort(key=lambda row: -row["mean"])
    kind = scores[chosen][0]
    family = Family(chosen.lower(), chosen, kind, "", lambda settings, seed: None, ({},))
    truth, predicted = (np.asarray(labels) for labels in predictions)
    verdict = verdict_on(rows, comparison)
    return Selection(
        rows, family, {"scale": "none"}, values[chosen], (truth, predicted), comparison, verdict,
        tuple(notes), Columns(), 0,
    )  # fmt: skip
