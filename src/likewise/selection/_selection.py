"""What a comparison leads to: the table of what was tried, the choice, and what it is worth."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from likewise.evaluation import Comparison, Table
from likewise.selection._families import Family, Settings
from likewise.selection._fold import Fold, within_rows
from likewise.tables import Columns, TableModel


@dataclass(frozen=True, eq=False)
class Selection:
    """What was tried, how well it did on rows it had not seen, and what was chosen.

    Attributes
    ----------
    rows : list of dict
        For each family ``name``, ``kind``, ``mean``, ``deviation``, ``scores`` (one for each outer
        fold), ``settings`` and ``chosen``, best first.
    chosen : Family
        The one with the best inner scores among those that leave a similarity.
    settings : mapping
        Its settings.
    nested : ndarray of shape (n_folds,)
        Accuracy of whatever would have been chosen in each outer fold: the honest figure.
    predictions : (labels, predicted labels)
        On the outer test rows, by that choice.
    comparison : Comparison
        The outer scores, with times and paired tests.
    notes : tuple of str
        What a reader should know.
    columns : Columns
        As given; the scale is that of `settings`.
    seed : int
    """

    rows: list[dict[str, Any]]
    chosen: Family
    settings: Settings
    nested: np.ndarray
    predictions: tuple[np.ndarray, np.ndarray]
    comparison: Comparison
    notes: tuple[str, ...]
    columns: Columns
    seed: int

    def fit(self, rows: Any, labels: Any, *, target: str | None = None) -> TableModel:
        """Fit what was chosen on a whole table."""
        columns = clone(self.columns).set_params(scale=self.settings["scale"]).fit(rows)
        estimator = within_rows(self.chosen.estimator(self.settings, self.seed), len(labels))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.fit(columns.transform(rows), labels)
        return TableModel(columns, estimator, target=target)

    def table(self) -> Table:
        """Return a row for each family, best first."""
        return Table(
            ("", "kind", "accuracy", "deviation", "p against best", "fit s", "settings"),
            [
                (
                    f"{row['name']}{' *' if row['chosen'] else ''}",
                    row["kind"],
                    f"{row['mean']:.4f}",
                    f"{row['deviation']:.4f}",
                    "best" if place == 0 else _shown(self.comparison.p_value(row["name"])),
                    f"{self.comparison.fit_seconds[row['name']].mean():.3g}",
                    described(row["settings"]),
                )
                for place, row in enumerate(self.rows)
            ],
        )

    def __str__(self) -> str:
        return str(self.table())


def described(settings: Mapping[str, Any]) -> str:
    """Return settings in a few words."""
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def concluded(
    folds: list[Fold],
    tried: Sequence[Family],
    allowed: Sequence[Family],
    notes: list[str],
    columns: Columns,
    seed: int,
) -> Selection:
    """Return what the folds lead to, chosen among those that are allowed."""
    inner = {family.name: _mean_inner(folds, family) for family in tried}
    settings = {
        family.name: max(inner[family.name], key=lambda p: (inner[family.name][p], -p), default=0)
        for family in tried
    }
    chosen = _best_of(allowed, {name: max(s.values(), default=0.0) for name, s in inner.items()})
    picks = [_best_of(allowed, fold.best_inner(allowed)) for fold in folds]
    nested = np.array(
        [
            np.mean(fold.predicted[pick.name] == fold.y_test)
            for fold, pick in zip(folds, picks, strict=True)
        ]
    )
    scores = {
        family.title: np.array([np.mean(f.predicted[family.name] == f.y_test) for f in folds])
        for family in tried
    }
    comparison = Comparison(
        scores,
        {f.title: np.array([fold.fit_seconds[f.name] for fold in folds]) for f in tried},
        {f.title: np.array([fold.predict_seconds[f.name] for fold in folds]) for f in tried},
        np.array([fold.share for fold in folds]),
        "accuracy",
    )
    rows = [
        {
            "name": family.title,
            "kind": family.kind,
            "mean": float(scores[family.title].mean()),
            "deviation": float(scores[family.title].std(ddof=1)) if len(folds) > 1 else 0.0,
            "scores": scores[family.title].tolist(),
            "settings": dict(family.grid[settings[family.name]]),
            "chosen": family is chosen,
        }
        for family in tried
    ]
    rows.sort(key=lambda row: -row["mean"])
    truth = np.concatenate([fold.y_test for fold in folds])
    predicted = np.concatenate(
        [fold.predicted[pick.name] for fold, pick in zip(folds, picks, strict=True)]
    )
    return Selection(
        rows,
        chosen,
        chosen.grid[settings[chosen.name]],
        nested,
        (truth, predicted),
        comparison,
        (*notes, *_verdict(rows, comparison)),
        columns,
        seed,
    )


def _shown(p: float) -> str:
    return f"{p:.3f}" if p == p else "–"  # one fold tells nothing


def _mean_inner(folds: list[Fold], family: Family) -> dict[int, float]:
    """Return the mean inner score of the settings that every fold has tried."""
    tried = [fold.inner.get(family.name, {}) for fold in folds]
    common = set.intersection(*(set(scores) for scores in tried))
    return {place: float(np.mean([scores[place] for scores in tried])) for place in sorted(common)}


def _best_of(allowed: Sequence[Family], scores: Mapping[str, float]) -> Family:
    """Return the best; of equals the first, which is the simpler."""
    return max(allowed, key=lambda family: scores[family.name])


def _verdict(rows: list[dict[str, Any]], comparison: Comparison) -> list[str]:
    """Say whether learning a similarity was worth it."""
    best = {
        kind: next((row for row in rows if row["kind"] == kind), None)
        for kind in ("baseline", "learned", "reference")
    }
    learned, baseline, reference = best["learned"], best["baseline"], best["reference"]
    said = []
    if learned and baseline:
        gain = learned["mean"] - baseline["mean"]
        if gain > 0:
            said.append(
                f"{learned['name']} is right on {100 * gain:.1f} rows more in 100 than "
                f"{baseline['name']}{_chance(learned, baseline, comparison)}."
            )
        else:
            said.append(
                f"A learned similarity is not worth it here: {baseline['name']} reaches "
                f"{baseline['mean']:.3f}, {learned['name']} {learned['mean']:.3f}."
            )
    ours = max(
        (row for row in (learned, baseline) if row), key=lambda row: row["mean"], default=None
    )
    if ours and reference and reference["mean"] > ours["mean"]:
        said.append(
            f"If you only need classes, {reference['name']} is better: {reference['mean']:.3f} "
            f"against {ours['mean']:.3f}{_chance(reference, ours, comparison)}."
        )
    return said


def _chance(better: dict[str, Any], other: dict[str, Any], comparison: Comparison) -> str:
    """Return what to add to a difference that is not significant."""
    p = comparison.p_value_between(better["name"], other["name"])
    if p < 0.05:
        return ""
    why = f"p = {p:.2f}" if p == p else "there is but one split"
    return f", a difference that chance alone may make ({why})"
