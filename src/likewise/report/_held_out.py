"""The section on held-out queries and items: the start beside the learned similarity."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likewise.learners import Outcome
from likewise.report._charts import Scale, interval, number, padded_range
from likewise.report._sections import Section, section
from likewise.selection import KINDS, share_text

_MEASURES = {
    "right order": "share of comparisons in the right order",
    "ndcg@10": "nDCG@10",
    "map": "mean average precision",
}
_OF_ROWS = "map"  # the measure where labeled rows are ranked among themselves: all are new


def check_validation(validation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `validation_` of a learner with `Outcome` entries; others are refused."""
    checked = dict(validation)
    for kind in KINDS:
        try:
            start, learned, error, n = checked[kind]
            checked[kind] = Outcome(float(start), float(learned), float(error), int(n))
        except (KeyError, TypeError, ValueError) as problem:
            raise ValueError(
                f"validation must have (start, learned, error, n) as {kind!r}, as validation_ of a "
                f"learner has; {checked.get(kind)!r} was given."
            ) from problem
    return checked


def held_out_section(
    validation: Mapping[str, Any], rows: Sequence[Mapping[str, Any]] = ()
) -> Section | None:
    """Return the gains with their errors, and the figures of all learners and baselines.

    Parameters
    ----------
    validation : mapping
        From `check_validation`.
    rows : sequence of mapping
        Those of a `likewise.selection.TripletSelection`.
    """
    of_rows = validation.get("measure") == _OF_ROWS
    kinds = [kind for kind in (KINDS[:1] if of_rows else KINDS) if validation[kind].n]
    if not kinds:
        return None
    outcomes = {kind: validation[kind] for kind in kinds}
    scale = Scale(*padded_range([_ends(outcome) for outcome in outcomes.values()]))
    measure = str(validation.get("measure", "value"))
    unit = "rows" if of_rows else "queries and items"
    return section(
        "held-out",
        f"On {unit} it had not learned from",
        method=_method(validation, of_rows),
        measure=_MEASURES.get(measure, measure),
        axis=scale.axis(number),
        gains=[_gain(kind, outcome, of_rows, scale) for kind, outcome in outcomes.items()],
        kinds=KINDS,
        rows=[
            {**row, "figures": [share_text(row[kind]).replace(" ", "\u00a0") for kind in KINDS]}
            for row in rows
        ],
    )


def _method(validation: Mapping[str, Any], of_rows: bool) -> str:
    if of_rows:
        text = "Some rows were held out, and ranked among themselves by a model of the others."
    else:
        splits = validation.get("splits")
        repeated = f" in {splits} splits" if splits and splits > 1 else ""
        text = (
            f"Queries and items were held out{repeated}, and models of the rest were evaluated on "
            "them. Every query counts equally. Seen items were relevant to a training query; new "
            "items were not."
        )
    text += " The bar is one standard error of the difference to the start, to either side."
    if validation.get("published") is False:
        text += " The learned similarity did not pass, so the start was kept."
    return text


def _gain(kind: str, outcome: Outcome, of_rows: bool, scale: Scale) -> dict[str, Any]:
    start, learned, error, n = outcome
    error = 0.0 if np.isnan(error) else error
    unit = ("row", "rows") if of_rows else ("query", "queries")
    bar = f"\u00a0±\u00a0{error:.3f}" if error else ""
    return {
        "name": kind if kind == "overall" else f"{kind} items",
        "queries": f"{n:,} {unit[n != 1]}",
        "start": f"{start:.3f}",
        "learned": f"{learned:.3f}{bar}",
        "plot": interval(learned, error, scale, "learned", start=start),
    }


def _ends(outcome: Outcome) -> np.ndarray:
    error = 0.0 if np.isnan(outcome.error) else outcome.error
    return np.array([outcome.start, outcome.learned - error, outcome.learned + error])
