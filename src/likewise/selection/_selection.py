"""The result of comparing families on labeled rows: scores, the choice, and the verdict."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from likewise.evaluation import Comparison, Table
from likewise.selection._families import Family, Settings
from likewise.selection._split import Split, limit_to_rows
from likewise.tables import Columns, TableModel


@dataclass(frozen=True, eq=False)
class Selection:
    """Scores of families on rows they did not see, and the choice.

    The command line, ``--json`` and `likewise.report.write_report` all show this object.

    Attributes
    ----------
    rows : list of dict
        For each family ``name``, ``kind``, ``mean``, ``deviation``, ``scores`` (one for each outer
        split), ``settings`` and ``chosen``, best first.
    family : Family
        The choice: the family with the best inner scores among those that leave a similarity.
    settings : mapping
        Its settings.
    nested : ndarray of shape (n_splits,)
        Accuracy of the family that would have been chosen in each outer split: an unbiased
        estimate for the choice.
    predictions : (labels, predicted labels)
        Of the outer test rows, by those choices.
    comparison : Comparison
        The outer scores, with times and paired tests.
    verdict : str
        Whether a learned similarity is worth it, with the figures.
    notes : tuple of str
        Limits of the comparison, such as families left out.
    columns : Columns
        As given; the scale is that of `settings`.
    seed : int
    """

    rows: list[dict[str, Any]]
    family: Family
    settings: Settings
    nested: np.ndarray
    predictions: tuple[np.ndarray, np.ndarray]
    comparison: Comparison
    verdict: str
    notes: tuple[str, ...]
    columns: Columns
    seed: int

    @property
    def chosen(self) -> str:
        """Name of the chosen family."""
        return self.family.name

    @property
    def expectation(self) -> str:
        """The accuracy to expect of the choice, in a sentence."""
        n = len(self.nested)
        how = "one split, not cross-validated" if n == 1 else f"nested cross-validation, {n} splits"
        return f"Expected accuracy of the choice: {self.nested.mean():.4f} ({how})."

    def fit(self, rows: Any, labels: Any, *, target: str | None = None) -> TableModel:
        """Fit the choice on a whole table."""
        columns = clone(self.columns).set_params(scale=self.settings["scale"]).fit(rows)
        estimator = limit_to_rows(self.family.estimator(self.settings, self.seed), len(labels))
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
                    "best" if place == 0 else _p_value_text(self.comparison.p_value(row["name"])),
                    f"{self.comparison.fit_seconds[row['name']].mean():.3g}",
                    describe_settings(row["settings"]),
                )
                for place, row in enumerate(self.rows)
            ],
        )

    def summary(self) -> list[str]:
        """Return the lines to read below the table."""
        settings = describe_settings(self.settings)
        chosen = f"Chosen: {self.family.title} ({settings}), marked *."
        return [chosen, self.expectation, self.verdict, *self.notes]

    def as_json(self) -> dict[str, Any]:
        """Return the selection as JSON values."""
        return {
            "rows": self.rows,
            "chosen": self.chosen,
            "settings": dict(self.settings),
            "accuracy": float(self.nested.mean()),
            "nested_scores": self.nested.tolist(),
            "verdict": self.verdict,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return "\n".join([str(self.table()), *self.summary()])


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Return settings as text."""
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def conclude(
    splits: list[Split],
    families: Sequence[Family],
    selectable: Sequence[Family],
    notes: list[str],
    columns: Columns,
    seed: int,
) -> Selection:
    """Return the selection that the splits lead to, chosen among `selectable` families."""
    inner = {family.name: _mean_inner_scores(splits, family) for family in families}
    places = {
        name: max(scores, key=lambda place, s=scores: (s[place], -place), default=0)  # type: ignore[misc]
        for name, scores in inner.items()
    }
    best_inner = {name: max(scores.values(), default=0.0) for name, scores in inner.items()}
    chosen = _best_of(selectable, best_inner)
    picks = [(s, _best_of(selectable, s.best_inner_scores(selectable))) for s in splits]
    scores = {family.title: np.array([s.accuracy(family) for s in splits]) for family in families}
    comparison = Comparison(
        scores,
        {f.title: np.array([s.fit_seconds[f.name] for s in splits]) for f in families},
        {f.title: np.array([s.predict_seconds[f.name] for s in splits]) for f in families},
        np.array([s.test_share for s in splits]),
        "accuracy",
    )
    rows = [
        {
            "name": family.title,
            "kind": family.kind,
            "mean": float(scores[family.title].mean()),
            "deviation": float(scores[family.title].std(ddof=1)) if len(splits) > 1 else 0.0,
            "scores": scores[family.title].tolist(),
            "settings": dict(family.grid[places[family.name]]),
            "chosen": family is chosen,
        }
        for family in families
    ]
    rows.sort(key=lambda row: -row["mean"])
    return Selection(
        rows,
        chosen,
        chosen.grid[places[chosen.name]],
        np.array([s.accuracy(pick) for s, pick in picks]),
        (
            np.concatenate([s.y_test for s in splits]),
            np.concatenate([s.predicted[pick.name] for s, pick in picks]),
        ),
        comparison,
        verdict_on(rows, comparison),
        tuple(notes),
        columns,
        seed,
    )


def verdict_on(rows: Sequence[Mapping[str, Any]], comparison: Comparison) -> str:
    """Say whether a learned similarity beats the best baseline, and whether a reference beats both.

    `rows` are those of a `Selection`, best first.
    """
    best = {row["kind"]: row for row in reversed(rows)}
    learned, baseline, reference = map(best.get, ("learned", "baseline", "reference"))
    sentences = []
    if learned and baseline:
        gain = 100 * (learned["mean"] - baseline["mean"])
        figures = (
            f"{learned['name']} classifies {percent_text(learned)} of unseen rows correctly and "
            f"{baseline['name']}, the best without learning, {percent_text(baseline)}"
        )
        if gain > 0:
            doubt = _significance(learned, baseline, comparison)
            sentences.append(f"{figures}: a gain of {gain:.1f} percentage points{doubt}.")
        else:
            sentences.append(f"A learned similarity does not help here: {figures}.")
    ours = max(filter(None, (learned, baseline)), key=lambda row: row["mean"], default=None)
    if ours and reference and reference["mean"] > ours["mean"]:
        sentences.append(
            f"If you only need classes, {reference['name']} is better: {percent_text(reference)} "
            f"against {percent_text(ours)}{_significance(reference, ours, comparison)}."
        )
    return " ".join(sentences)


def percent_text(row: Mapping[str, Any]) -> str:
    """Return the accuracy of a row of a `Selection` in percent, with its deviation."""
    deviation = f"\u00a0±\u00a0{100 * row['deviation']:.1f}" if row["deviation"] else ""
    return f"{100 * row['mean']:.1f}{deviation}\u00a0%"


def _significance(
    better: Mapping[str, Any], other: Mapping[str, Any], comparison: Comparison
) -> str:
    """Return the part of a sentence on whether a difference is significant at 5 %."""
    p = comparison.p_value_between(better["name"], other["name"])
    if np.isnan(p):
        return ", which one split cannot tell from chance"
    return f" (p = {p:.3f})" if p < 0.05 else f", not more than chance can explain (p = {p:.2f})"


def _p_value_text(p: float) -> str:
    return "–" if np.isnan(p) else f"{p:.3f}"


def _mean_inner_scores(splits: list[Split], family: Family) -> dict[int, float]:
    """Return the mean inner score of the settings that every split tried."""
    tried = [split.inner_scores.get(family.name, {}) for split in splits]
    common = set.intersection(*(set(scores) for scores in tried))
    return {place: float(np.mean([scores[place] for scores in tried])) for place in sorted(common)}


def _best_of(families: Sequence[Family], scores: Mapping[str, float]) -> Family:
    """Return the best family; of equals the first, which is the simplest."""
    return max(families, key=lambda family: scores[family.name])
