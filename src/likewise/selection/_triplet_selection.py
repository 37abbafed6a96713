"""Figures of held-out comparisons, the verdict on them, and the sentences that say it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.evaluation import Table
from likewise.learners import ERRORS_TO_PASS, FEWEST_QUERIES, Outcome

START = "start"
KINDS = ("overall", "seen", "new")


@dataclass(frozen=True, eq=False)
class TripletSelection:
    """Shares of held-out comparisons in the right order, by query, and what they lead to.

    Attributes
    ----------
    rows : list of dict
        For each learner and baseline ``name``, ``kind`` (``"start"``, ``"baseline"`` or
        ``"learned"``), ``mean``, ``chosen`` and, as dicts of ``mean``, ``error`` (standard, over
        queries) and ``n`` (queries), ``overall``, ``seen`` and ``new``; best first. ``published``
        counts the splits in which a learner left its start.
    chosen : str
        Name of the learner that was saved; ``"start"`` where none was.
    estimator : fitted learner, or Bilinear
        What was chosen, learned from all comparisons; or the start.
    validation : dict
        As `validation_` of a learner: ``"overall"``, ``"seen"`` and ``"new"``, each (start,
        learned, error, n), of the best learner; ``"learner"``, ``"measure"``, ``"published"`` and
        ``"splits"``.
    sentence : str
        What was saved and why, with the figures.
    notes : tuple of str
        What else a reader should know.
    """

    rows: list[dict[str, Any]]
    chosen: str
    estimator: Any
    validation: dict[str, Any]
    sentence: str
    notes: tuple[str, ...]

    def table(self) -> Table:
        """Return a row for each learner and baseline, best first."""
        return Table(
            ("right order", "kind", *KINDS, "queries"),
            [
                (
                    f"{row['name']}{' *' if row['chosen'] else ''}",
                    row["kind"],
                    *(share(row[kind]) for kind in KINDS),
                    str(row["overall"]["n"]),
                )
                for row in self.rows
            ],
        )

    def as_json(self) -> dict[str, Any]:
        """Return everything but the estimator, with None in place of NaN."""
        validation = {
            key: value._asdict() if isinstance(value, Outcome) else value
            for key, value in self.validation.items()
        }
        plain: dict[str, Any] = without_nan(
            {
                "rows": self.rows,
                "chosen": self.chosen,
                "validation": validation,
                "sentence": self.sentence,
                "notes": list(self.notes),
            }
        )
        return plain

    def __str__(self) -> str:
        return f"{self.table()}\n{self.sentence}"


def without_nan(value: Any) -> Any:
    """Return nested dicts and lists with None in place of NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(entry) for entry in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def share(figures: Mapping[str, Any]) -> str:
    """Return a mean and its standard error, such as 0.644 ± 0.012; a dash without queries."""
    if figures["n"] == 0:
        return "–"
    error = "" if np.isnan(figures["error"]) else f" ± {figures['error']:.3f}"
    return f"{figures['mean']:.3f}{error}"


def summarized(values: np.ndarray) -> dict[str, dict[str, Any]]:
    """Return mean, standard error and number of queries of each kind; NaN is left out."""
    found = {}
    for kind, shares in zip(KINDS, values, strict=True):
        there = shares[~np.isnan(shares)]
        n = len(there)
        found[kind] = {
            "mean": float(there.mean()) if n else np.nan,
            "error": float(there.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan,
            "n": n,
        }
    return found


def saved(title: str, outcomes: Mapping[str, Outcome]) -> str:
    """Return the sentence on a learner that is saved."""
    said = _compared(title, outcomes)
    said = said[:1].upper() + said[1:]
    return f"{said}. Saved: {title}, learned again from all comparisons."


def kept(title: str, outcomes: Mapping[str, Outcome], *, left_its_start: bool) -> str:
    """Return the sentence on a start that is kept because no learner beats it."""
    overall, new = outcomes["overall"], outcomes["new"]
    gain = overall.learned - overall.start
    if overall.n < FEWEST_QUERIES:
        why = f"figures of fewer than {FEWEST_QUERIES} queries decide nothing"
    elif not left_its_start:
        why = f"in every split {title} kept the start itself"
    elif gain <= 0:
        why = "nothing learned here helps held-out queries"
    elif new.n >= FEWEST_QUERIES and new.learned - new.start < -new.error:
        why = "nothing learned here helps new items"
    else:
        why = f"a gain must exceed {ERRORS_TO_PASS} standard errors to count"
    return f"Kept the start: {_compared(title, outcomes)}; {why}."


def kept_at_last(title: str, outcomes: Mapping[str, Outcome], own: Mapping[str, Any]) -> str:
    """Return the sentence on a learner that kept its start when it learned from everything."""
    start, learned, error, n = own["overall"]
    figures = f"{learned:.3f} against {start:.3f}, ± {error:.3f}, {n} queries"
    return (
        f"Kept the start: {_compared(title, outcomes)}, but of all comparisons {title} learned "
        f"nothing that passes its own validation ({figures})."
    )


def unjudged(why: str) -> str:
    """Return the sentence on a start that is kept because nothing could be judged."""
    return f"Kept the start: {why}, so nothing learned could be judged."


def _compared(title: str, outcomes: Mapping[str, Outcome]) -> str:
    said = (
        f"{title} puts {outcomes['overall'].learned:.3f} of held-out comparisons in the right "
        f"order, the start {outcomes['overall'].start:.3f} ({_difference(outcomes['overall'])})"
    )
    new = outcomes["new"]
    if new.n:
        said += f"; on new items {new.learned:.3f} and {new.start:.3f} ({_difference(new)})"
    return said


def _difference(outcome: Outcome) -> str:
    start, learned, error, n = outcome
    gain = f"{round(learned - start, 3) + 0.0:+.3f}".replace("-", "−")  # no negative zero
    spread = "" if np.isnan(error) else f" ± {error:.3f}"
    return f"{gain}{spread}, {n} {'query' if n == 1 else 'queries'}"
