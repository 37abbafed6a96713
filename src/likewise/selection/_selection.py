"""The result of comparing families on a table: scores, the choice, and the verdict."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from likewise._validation import sample_rows, take
from likewise.evaluation import Comparison, Table, corrected_p_value, holm, p_value_text
from likewise.selection._families import Family, Settings
from likewise.selection._scoring import REGRESSION_SCORINGS, Predicted, Scoring, recalls
from likewise.selection._split import limit_to_rows
from likewise.selection._stage import Outcome, best_outcome
from likewise.selection._verdict import MIN_SPLITS, Nested, judge
from likewise.tables import Columns, TableModel, row_digests

_MAX_CLASSES = 12  # whose recall is shown


@dataclass(frozen=True, eq=False)
class Selection:
    """Scores of families on rows they did not see, and the choice.

    The command line, ``--json`` and `likewise.report.write_report` all show this object.

    Attributes
    ----------
    rows : list of dict
        For each family ``name``, ``kind``, ``inner`` (the mean inner score, which decides),
        ``mean`` and ``deviation`` of the outer ``scores`` (one for each split; no deviation from
        fewer than three), ``p`` (of the difference to the choice, adjusted for the number of
        families), ``recall`` by class or, for numbers, ``measures`` (R² and mean absolute error),
        ``n_rows`` it was compared on, ``settings`` and ``chosen``. Best first; families that were
        left out before the last stage follow.
    family : Family
        The choice: the family with the best inner score among those that leave a similarity.
    settings : mapping
        Settings of the choice.
    scoring : Scoring
    nested : ndarray of shape (n_splits,)
        Score of the family that would have been chosen in each outer split: an unbiased estimate
        for the choice.
    predictions : (target, predictions)
        Targets of the outer test rows, and predictions of those choices for them.
    comparison : Comparison
        The outer scores of the last stage, with times and paired tests; higher is better.
    verdict : str
        Whether a learned similarity is worth it, with the figures.
    notes : tuple of str
        How it was measured, and the limits of the comparison, such as families left out.
    columns : Columns
        The encoding of columns, as given; `settings` has the scale.
    seed : int
    n_rows : int
        Number of rows in the last stage.
    n_fit_rows : int or None
        Number of rows that can be fitted within the budget; None for all.
    given_by : str or None
        The argument or option that named the only family to choose from.
    """

    rows: list[dict[str, Any]]
    family: Family
    settings: Settings
    scoring: Scoring
    nested: np.ndarray
    predictions: tuple[np.ndarray, np.ndarray]
    comparison: Comparison
    verdict: str
    notes: tuple[str, ...]
    columns: Columns
    seed: int
    n_rows: int
    n_fit_rows: int | None = None
    given_by: str | None = None

    @property
    def chosen(self) -> str:
        """Name of the chosen family."""
        return self.family.name

    @property
    def expectation(self) -> str:
        """The score to expect of the choice, in a sentence."""
        n, n_rows = len(self.nested), len(self.predictions[0])
        how = f"nested cross-validation, {n} splits, {n_rows} held-out rows"
        if n == 1:
            how = f"one split of {n_rows} held-out rows, not cross-validated"
        score = self.scoring.cell(float(self.nested.mean()))
        return f"Expected {self.scoring.title} of the choice: {score} ({how})."

    @property
    def reason(self) -> str:
        """Why the choice was chosen, in a sentence."""
        inner = self.scoring.cell(next(row["inner"] for row in self.rows if row["chosen"]))
        chosen = f"Chosen: {self.family.title}"
        settings = describe_settings(self.settings)
        if self.given_by is not None:
            return (
                f"{chosen}, as given by {self.given_by} ({settings}); its inner "
                f"{self.scoring.title} is {inner}."
            )
        return (
            f"{chosen} ({settings}); its inner {self.scoring.title}, {inner}, is the best of those "
            "that may be chosen."
        )

    def fit(
        self, rows: Any, labels: Any, *, target: str | None = None, all_rows: bool = False
    ) -> TableModel:
        """Fit the choice on a whole table.

        Parameters
        ----------
        rows, labels : as in `select`
        target : str, optional
            Name of the column of the labels.
        all_rows : bool, default=False
            Fit all rows also where that takes longer than the budget (see `n_fit_rows`).
        """
        labels = np.asarray(labels)
        if self.n_fit_rows is not None and not all_rows:
            numbers = None
            if labels.dtype.kind != "f":
                numbers = np.unique(labels, return_inverse=True)[1]
            used = sample_rows(len(labels), self.n_fit_rows, labels=numbers, random_state=self.seed)
            rows, labels = take(rows, used), labels[used]
        columns = clone(self.columns).set_params(scale=self.settings["scale"]).fit(rows)
        estimator = limit_to_rows(self.family.estimator(self.settings, self.seed), len(labels))
        X = columns.transform(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.fit(X, labels)
        return TableModel(columns, estimator, target=target, training_rows=row_digests(X))

    @property
    def task(self) -> str:
        """What is predicted: "classification" or "regression"."""
        return "regression" if self.predictions[0].dtype.kind == "f" else "classification"

    @property
    def recall(self) -> dict[str, float]:
        """Recall of each class by the choice; empty for numbers."""
        truth, predicted = self.predictions
        return recalls(predicted, truth) if self.task == "classification" else {}

    def table(self) -> Table:
        """Return a row for each family, best first."""
        has_stages = len({row["n_rows"] for row in self.rows}) > 1
        heads = ["", "kind", "inner", self.scoring.title, "deviation"]
        heads += ["lowest recall"] if self.recall else [self._other_measure.title]
        heads += ["p against choice", *(["rows"] if has_stages else []), "fit s", "settings"]
        return Table(heads, [self._cells(row, has_stages) for row in self.rows])

    @property
    def _other_measure(self) -> Scoring:
        """The measure of numbers that is not the scoring."""
        return next(s for s in REGRESSION_SCORINGS.values() if s.name != self.scoring.name)

    def _cells(self, row: Mapping[str, Any], has_stages: bool) -> list[str]:
        p = float("nan") if row["p"] is None else row["p"]
        return [
            f"{row['name']}{' *' if row['chosen'] else ''}",
            row["kind"],
            self.scoring.cell(row["inner"]),
            self.scoring.cell(row["mean"]),
            "–" if row["deviation"] is None else self.scoring.cell(row["deviation"]),
            self._other_cell(row),
            "choice" if row["chosen"] else p_value_text(p),
            *([f"{row['n_rows']:,}"] if has_stages else []),
            f"{row['fit_seconds']:.3g}",
            describe_settings(row["settings"]),
        ]

    def _other_cell(self, row: Mapping[str, Any]) -> str:
        if self.recall:
            return f"{min(row['recall'].values()):.3f}"
        return self._other_measure.cell(row["measures"][self._other_measure.name])

    def tables(self) -> list[Table]:
        """Return the tables to show: the families, and the recall of each class."""
        return [self.table(), *([self.recall_table()] if self.recall else [])]

    def recall_table(self) -> Table:
        """Return the recall of each class by the choice; of many classes the lowest."""
        truth = self.predictions[0]
        counts = {str(name): int(np.count_nonzero(truth == name)) for name in np.unique(truth)}
        shown = list(self.recall)
        others = []
        if len(shown) > _MAX_CLASSES:
            by_recall = sorted(shown, key=lambda name: self.recall[name])
            shown, others = by_recall[:_MAX_CLASSES], by_recall[_MAX_CLASSES:]
        groups = [*((name, [name]) for name in shown)]
        groups += [(f"{len(others)} others", others)] if others else []
        return Table(
            ("class", "held-out rows", "share", "recall"),
            [
                (
                    title,
                    str(n := sum(counts[name] for name in names)),
                    f"{n / len(truth):.3f}",
                    f"{np.mean([self.recall[name] for name in names]):.3f}",
                )
                for title, names in groups
            ],
        )

    def summary(self) -> list[str]:
        """Return the lines to read below the table."""
        return [f"* {self.reason}", self.expectation, self.verdict, *self.notes]

    def as_json(self) -> dict[str, Any]:
        """Return the selection as JSON values."""
        truth, predicted = self.predictions
        measures = {"accuracy": float(np.mean(truth == predicted)), "recall": self.recall}
        if self.task == "regression":
            measures = _measures(predicted, truth)
        return {
            "task": self.task,
            "rows": self.rows,
            "chosen": self.chosen,
            "settings": dict(self.settings),
            "scoring": self.scoring.name,
            "score": float(self.nested.mean()),
            "nested_scores": self.nested.tolist(),
            **measures,
            "n_rows": self.n_rows,
            "verdict": self.verdict,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return "\n".join([*map(str, self.tables()), *self.summary()])


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Return settings as text."""
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def conclude(
    finalists: Sequence[Outcome],
    eliminated: Sequence[Outcome],
    truths: Sequence[np.ndarray],
    eliminated_truths: Mapping[str, Sequence[np.ndarray]],
    test_share: np.ndarray,
    selectable: Sequence[str],
    scoring: Scoring,
    notes: Sequence[str],
    columns: Columns,
    seed: int,
    n_fit_rows: int | None = None,
) -> Selection:
    """Return the selection that outcomes lead to.

    Parameters
    ----------
    finalists : outcomes of the last stage
    eliminated : outcomes of families that did not reach it
    truths : targets of the test rows of the last stage, one array for each split
    eliminated_truths : the same of each eliminated family, by name
    test_share : ndarray of shape (n_splits,)
        Number of test rows per training row in the last stage.
    selectable : names of the families that may be chosen
    scoring, notes, columns, seed, n_fit_rows : of the selection
    """
    allowed = [o for o in finalists if o.family.name in selectable]
    chosen = best_outcome(allowed, scoring)
    choice = Nested.among(allowed, scoring)
    share = float(test_share.mean())
    others = [o for o in finalists if o is not chosen]
    raw = [_p_value(choice.scores - o.scores, share) for o in others]
    adjusted = {o.family.name: p for o, p in zip(others, holm(raw), strict=True)}
    rows = [
        *_ranked(
            [_row(o, truths, adjusted.get(o.family.name), chosen) for o in finalists], scoring
        ),
        *_ranked(
            [_row(o, eliminated_truths[o.family.name], None, chosen) for o in eliminated], scoring
        ),
    ]
    return Selection(
        rows,
        chosen.family,
        chosen.settings,
        scoring,
        choice.scores,
        (np.concatenate(truths), choice.predictions),
        Comparison(
            {o.family.title: scoring.sign * o.scores for o in finalists},
            {o.family.title: o.fit_seconds for o in finalists},
            {o.family.title: o.predict_seconds for o in finalists},
            test_share,
            f"neg_{scoring.name}" if scoring.lower_is_better else scoring.name,
        ),
        judge(finalists, chosen, choice, np.concatenate(truths), share, scoring),
        tuple(notes),
        columns,
        seed,
        chosen.n_rows,
        n_fit_rows,
    )


def _row(
    outcome: Outcome, truths: Sequence[np.ndarray], p: float | None, chosen: Outcome
) -> dict[str, Any]:
    truth, predicted = np.concatenate(truths), np.concatenate(outcome.predictions)
    scores = outcome.scores
    return {
        "name": outcome.family.title,
        "kind": outcome.family.kind,
        "inner": outcome.mean_inner,
        "mean": float(scores.mean()),
        "deviation": float(scores.std(ddof=1)) if len(scores) >= MIN_SPLITS else None,
        "scores": scores.tolist(),
        "p": None if p is None or np.isnan(p) else float(p),
        **(
            {"measures": _measures(predicted, truth)}
            if truth.dtype.kind == "f"
            else {"recall": recalls(predicted, truth)}
        ),
        "n_rows": outcome.n_rows,
        "fit_seconds": float(outcome.fit_seconds.mean()),
        "settings": dict(outcome.settings),
        "chosen": outcome is chosen,
    }


def _measures(predicted: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Return R² and mean absolute error on the test rows of all splits."""
    return {
        name: scoring.measure(Predicted(predicted), truth)
        for name, scoring in REGRESSION_SCORINGS.items()
    }


def _ranked(rows: list[dict[str, Any]], scoring: Scoring) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (-row["n_rows"], -scoring.sign * row["mean"]))


def _p_value(differences: np.ndarray, test_share: float) -> float:
    """Return the corrected p-value; NaN from fewer than three splits."""
    if len(differences) < MIN_SPLITS:
        return float("nan")
    return corrected_p_value(differences, test_share)
