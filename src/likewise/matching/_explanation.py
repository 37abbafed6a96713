"""Explanation of the probability of a pair, field by field."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from likewise.matching._agreement import NAMES as AGREEMENT_NAMES
from likewise.matching._candidates import Candidates
from likewise.matching._learner import PairLearner
from likewise.matching._model import PairModel, agreement_of, with_agreement
from likewise.matching._records import WHOLE
from likewise.matching._tables import ComparedTables
from likewise.matching._vectors import Comparison

_N_SAMPLED = 2_000  # candidates that the weights of fields are of


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
    model: PairModel, tables: ComparedTables, pair: Candidates, probability: float
) -> PairExplanation:
    """Break the probability of one pair into fields."""
    comparison = tables.comparison
    compared = comparison.compare(pair)
    fields = [*comparison.kinds, WHOLE]
    weights = model.guess.field_weights(compared.levels)[0]  # the lead, of whole records, is last
    if model.learner is None:
        log_odds, base = weights, float(np.log(model.guess.share / (1 - model.guess.share)))
        changes: list[float | None] = [None] * len(fields)
    else:
        names, of_field = _features(comparison)
        vector = with_agreement(compared, tables, np.arange(1), agreement_of(model.guess, tables))
        parts = model.learner.log_odds(vector)[0]
        log_odds = np.bincount(of_field, weights=parts, minlength=len(fields))
        base = model.learner.intercept
        changes = [
            _forest_change(model.learner, vector, of_field == place, names, weight)
            for place, weight in enumerate(weights)
        ]
    terms = [
        FieldTerm(field, *_both(comparison, field, pair), float(part), change)
        for field, part, change in zip(fields, log_odds, changes, strict=True)
    ]
    terms.sort(key=lambda term: -abs(term.log_odds))
    return PairExplanation(probability, tuple(terms), base)


def field_weights(model: PairModel, tables: ComparedTables) -> dict[str, float]:
    """Return the standard deviation of each field's log odds over some of the candidates."""
    compared, comparison = tables.compared, tables.comparison
    fields = [*comparison.kinds, WHOLE]
    n = len(compared)
    which = np.unique(np.linspace(0, n - 1, min(n, _N_SAMPLED)).astype(np.int64))
    if n == 0:
        return dict.fromkeys(fields, 0.0)
    if model.learner is None:
        parts = model.guess.field_weights(compared.levels[which])
    else:
        vectors = with_agreement(compared, tables, which, agreement_of(model.guess, tables))
        members = _features(comparison)[1][:, None] == np.arange(len(fields))
        parts = model.learner.log_odds(vectors) @ members
    return dict(zip(fields, parts.std(axis=0).tolist(), strict=True))


def _features(comparison: Comparison) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Return the names of the learner's features, and the place of each one's field."""
    fields = [*comparison.kinds, WHOLE]
    names = [*comparison.names, *AGREEMENT_NAMES]
    return names, np.array([fields.index(field) for field, _ in names])


def _both(comparison: Comparison, field: str, pair: Candidates) -> tuple[str | None, str | None]:
    """Return both values of a field as they stand in the tables; None for whole records."""
    if field == WHOLE:
        return None, None
    left, right = comparison.left.columns[field], comparison.right.columns[field]
    return left.shown(int(pair.left[0])), right.shown(int(pair.right[0]))


def _forest_change(
    learner: PairLearner,
    vector: np.ndarray,
    of_field: np.ndarray,
    names: list[tuple[str, str]],
    weight: float,
) -> float:
    """Return the forest's probability minus that with a field missing in both records.

    The field's `weight` is then missing from the agreement, too.
    """
    agreement = np.array([name in AGREEMENT_NAMES for name in names])
    without = np.where(of_field & ~agreement, np.nan, vector)
    without[0, agreement] -= weight
    for column in np.flatnonzero(of_field):
        if names[column][1].startswith("missing"):
            without[0, column] = names[column][1] == "missing in both"
    return float((learner.forest(vector) - learner.forest(without))[0])


def _shown(value: str | None) -> str:
    text = "–" if value is None else value
    return text if len(text) <= 40 else f"{text[:39]}…"
