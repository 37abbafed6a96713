"""The result of comparing learners on held-out comparisons: figures, choice and verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.evaluation import Table
from likewise.learners import MIN_GAIN_IN_ERRORS, MIN_QUERIES, Outcome

START = "start"
KINDS = ("overall", "seen", "new")


@dataclass(frozen=True, eq=False)
class TripletSelection:
    """Shares of held-out comparisons in the right order, by query, and the choice.

    It has the interface of `Selection`; the command line, ``--json`` and
    `likewise.report.write_report` all show this object.

    Attributes
    ----------
    rows : list of dict
        For each learner and baseline ``name``, ``kind`` (``"start"``, ``"baseline"`` or
        ``"learned"``), ``mean``, ``chosen`` and, as dicts of ``mean``, ``error`` (standard, over
        queries) and ``n`` (queries), ``overall``, ``seen`` and ``new``; best first. ``published``
        counts the splits in which a learner left its start.
    chosen : str
        Name of the chosen learner; ``"start"`` where none beats the start.
    estimator : fitted learner, or Bilinear
        The chosen learner, fitted on all comparisons; or the start.
    validation : dict
        As `validation_` of a learner: ``"overall"``, ``"seen"`` and ``"new"``, each (start,
        learned, error, n), of the best learner; ``"ranking"``, the same for nDCG@10 of closer
        items among all items; ``"learner"``, ``"measure"``, ``"published"`` and ``"splits"``.
    verdict : str
        The choice and the reason, with the figures.
    notes : tuple of str
        Further facts about the choice.
    """

    rows: list[dict[str, Any]]
    chosen: str
    estimator: Any
    validation: dict[str, Any]
    verdict: str
    notes: tuple[str, ...]

    def table(self) -> Table:
        """Return a row for each learner and baseline, best first."""
        return Table(
            ("right order", "kind", *KINDS, "queries"),
            [
                (
                    f"{row['name']}{' *' if row['chosen'] else ''}",
                    row["kind"],
                    *(share_text(row[kind]) for kind in KINDS),
                    str(row["overall"]["n"]),
                )
                for row in self.rows
            ],
        )

    def tables(self) -> list[Table]:
        """Return the tables to show."""
        return [self.table()]

    def summary(self) -> list[str]:
        """Return the lines to read below the table."""
        return [self.verdict, *self.notes]

    def as_json(self) -> dict[str, Any]:
        """Return the selection as JSON values, without the estimator; None for NaN."""
        validation = {
            key: value._asdict() if isinstance(value, Outcome) else value
            for key, value in self.validation.items()
        }
        values: dict[str, Any] = replace_nan(
            {
                "rows": self.rows,
                "chosen": self.chosen,
                "validation": validation,
                "verdict": self.verdict,
                "notes": list(self.notes),
            }
        )
        return values

    def __str__(self) -> str:
        return "\n".join([str(self.table()), *self.summary()])


def replace_nan(value: Any) -> Any:
    """Return nested dicts and lists with None in place of NaN, which JSON lacks."""
    if isinstance(value, dict):
        return {key: replace_nan(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [replace_nan(entry) for entry in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def share_text(figures: Mapping[str, Any]) -> str:
    """Return a mean and its standard error, such as 0.644 ± 0.012; a dash without queries."""
    if figures["n"] == 0:
        return "–"
    error = "" if np.isnan(figures["error"]) else f" ± {figures['error']:.3f}"
    return f"{figures['mean']:.3f}{error}"


def summarize(values: np.ndarray) -> dict[str, dict[str, Any]]:
    """Return mean, standard error and number of queries of each kind; NaN is left out."""
    figures = {}
    for kind, shares in zip(KINDS, values, strict=True):
        known = shares[~np.isnan(shares)]
        n = len(known)
        figures[kind] = {
            "mean": float(known.mean()) if n else np.nan,
            "error": float(known.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan,
            "n": n,
        }
    return figures


def learner_saved(title: str, outcomes: Mapping[str, Outcome]) -> str:
    """Return the verdict for a learner that beats the start."""
    text = _figures(title, outcomes)
    return f"{text[:1].upper()}{text[1:]}. Saved: {title}, fitted again on all comparisons."


def start_kept(title: str, outcomes: Mapping[str, Outcome], *, left_its_start: bool) -> str:
    """Return the verdict where no learner beats the start."""
    overall, new = outcomes["overall"], outcomes["new"]
    gain = overall.learned - overall.start
    if overall.n < MIN_QUERIES:
        why = f"fewer than {MIN_QUERIES} queries are not enough to decide"
    elif not left_its_start:
        why = f"in every split {title} kept the start itself"
    elif gain <= 0:
        why = "no learner improves held-out queries"
    elif new.n >= MIN_QUERIES and new.learned - new.start < -new.error:
        why = "no learner that improves held-out queries spares new items"
    elif outcomes["ranking"].learned < outcomes["ranking"].start:
        why = "no learner that improves held-out queries ranks their closer items as high"
    else:
        why = f"a gain must exceed {MIN_GAIN_IN_ERRORS} standard errors"
    return f"Kept the start: {_figures(title, outcomes)}; {why}."


def start_kept_by_learner(
    title: str, outcomes: Mapping[str, Outcome], own: Mapping[str, Any]
) -> str:
    """Return the verdict where the chosen learner, fitted on everything, keeps its start."""
    start, learned, error, n = own["overall"]
    figures = f"{learned:.3f} against {start:.3f}, ± {error:.3f}, {n} queries"
    return (
        f"Kept the start: {_figures(title, outcomes)}, but fitted on all comparisons {title} does "
        f"not pass its own validation ({figures})."
    )


def _figures(title: str, outcomes: Mapping[str, Outcome]) -> str:
    text = (
        f"{title} puts {outcomes['overall'].learned:.3f} of held-out comparisons in the right "
        f"order, the start {outcomes['overall'].start:.3f} ({_difference(outcomes['overall'])})"
    )
    new = outcomes["new"]
    if new.n:
        text += f"; on new items {new.learned:.3f} and {new.start:.3f} ({_difference(new)})"
    ranking = outcomes["ranking"]
    return (
        f"{text}; nDCG@10 of the closer items among all items is {ranking.learned:.3f} and "
        f"{ranking.start:.3f} ({_difference(ranking)})"
    )


def _difference(outcome: Outcome) -> str:
    start, learned, error, n = outcome
    gain = f"{round(learned - start, 3) + 0.0:+.3f}".replace("-", "−")  # no negative zero
    bar = "" if np.isnan(error) else f" ± {error:.3f}"
    return f"{gain}{bar}, {n} {'query' if n == 1 else 'queries'}"
