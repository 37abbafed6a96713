"""Explanation of the probability of a pair, field by field."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from likewise.matching._guess import Guess
from likewise.matching._learner import PairLearner
from likewise.matching._records import WHOLE


class FieldTerm(NamedTuple):
    """The part of one field in the probability of a pair.

    ``log_odds`` is the exact contribution to the logistic regression, or to a guess without
    labels; ``forest`` the change of the forest's probability, and None for a guess, compared with
    the field missing in both records. The field ``*`` is the whole record.
    """

    field: str
    left: str | None
    right: str | None
    log_odds: float
    forest: float | None


@dataclass(frozen=True, eq=False)
class PairExplanation:
    """Why a pair has its probability; iterates over the fields, strongest first.

    Attributes
    ----------
    probability : float
    terms : tuple of FieldTerm
    base : float
        Log odds without any field; with all terms, the log odds of the logistic regression.
    """

    probability: float
    terms: tuple[FieldTerm, ...]
    base: float

    def __iter__(self) -> Iterator[FieldTerm]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def __repr__(self) -> str:
        return f"PairExplanation(probability={self.probability:.4g}, {len(self)} fields)"

    def __str__(self) -> str:
        width = max(len(term.field) for term in self.terms)
        lines = [f"probability {self.probability:.4g}"]
        for term in self.terms:
            forest = "" if term.forest is None else f"  forest {term.forest:+.3f}"
            lines.append(
                f"{term.field:<{width}}  log odds {term.log_odds:+.3f}{forest}  "
                f"{_shown(term.left)} | {_shown(term.right)}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(t.field)}</td><td>{escape(_shown(t.left))}</td>"
            f"<td>{escape(_shown(t.right))}</td><td>{t.log_odds:+.3f}</td>"
            f"<td>{'' if t.forest is None else f'{t.forest:+.3f}'}</td></tr>"
            for t in self.terms
        )
        heads = "".join(
            f"<th>{head}</th>" for head in ("field", "left", "right", "log odds", "forest")
        )
        return f"<table><tr>{heads}</tr>{rows}</table>"


def explain_pair(
    model: PairLearner | Guess,
    vector: np.ndarray,
    names: list[tuple[str, str]],
    values: dict[str, tuple[str | None, str | None]],
    probability: float,
) -> PairExplanation:
    """Break the probability of a pair into fields.

    Parameters
    ----------
    model : PairLearner or Guess
    vector : (1, n_features) comparison vector
    names : field and title of each feature
    values : both values of each field
    probability : float
    """
    fields = [*values, WHOLE]
    of_field = np.array([fields.index(field) for field, _ in names])
    if isinstance(model, Guess):
        log_odds = model.log_odds(vector)[0]  # the lead, of whole records, is last
        changes: list[float | None] = [None] * len(fields)
        base = float(np.log(model.share / (1 - model.share)))
    else:
        parts = model.log_odds(vector)[0]
        log_odds = np.bincount(of_field, weights=parts, minlength=len(fields))
        changes = [_forest_change(model, vector, of_field == f, names) for f in range(len(fields))]
        base = model.intercept
    terms = [
        FieldTerm(field, *values.get(field, (None, None)), float(part), change)
        for field, part, change in zip(fields, log_odds, changes, strict=True)
    ]
    terms.sort(key=lambda term: -abs(term.log_odds))
    return PairExplanation(probability, tuple(terms), base)


def _forest_change(
    model: PairLearner, vector: np.ndarray, of_field: np.ndarray, names: list[tuple[str, str]]
) -> float:
    """Return the forest's probability minus that with a field missing in both records."""
    without = np.where(of_field, np.nan, vector)
    for column in np.flatnonzero(of_field):
        if names[column][1].startswith("missing"):
            without[0, column] = names[column][1] == "missing in both"
    return float((model.forest(vector) - model.forest(without))[0])


def _shown(value: str | None) -> str:
    text = "–" if value is None else value
    return text if len(text) <= 40 else f"{text[:39]}…"
