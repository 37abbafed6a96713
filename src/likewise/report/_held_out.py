"""The section on queries and items that were held out: the start beside what was learned."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.report._charts import Scale, gain_plot, interval_axis, number, reach
from likewise.report._html import Html, join, shortened, tag
from likewise.report._sections import Section, scrolling, section

KINDS = ("overall", "seen", "new")
_MEASURES = {
    "right order": "share of comparisons in the right order",
    "ndcg@10": "nDCG@10",
    "map": "mean average precision",
}
_OF_ROWS = "map"  # labeled rows are ranked among themselves: all are new


class Gain(NamedTuple):
    """Means over held-out queries of one kind of items, and the error of their difference."""

    kind: str
    start: float
    learned: float
    error: float
    n: int


def checked_validation(validation: Mapping[str, Any]) -> dict[str, Any]:
    """Return `validation` of a learner with its outcomes as `Gain`; others are refused."""
    found = dict(validation)
    for kind in KINDS:
        try:
            start, learned, error, n = found[kind]
            found[kind] = Gain(kind, float(start), float(learned), float(error), int(n))
        except (KeyError, TypeError, ValueError) as problem:
            raise ValueError(
                f"validation must have (start, learned, error, n) as {kind!r}, as validation_ of a "
                f"learner has; {found.get(kind)!r} was given."
            ) from problem
    return found


def held_out_section(
    validation: Mapping[str, Any], rows: Sequence[Mapping[str, Any]] = ()
) -> Section | None:
    """Return the chart of gains, and the table of everything that was compared.

    Parameters
    ----------
    validation : mapping
        As `checked_validation` gives it.
    rows : sequence of mapping
        As in `likewise.selection.TripletSelection`.
    """
    of_rows = validation.get("measure") == _OF_ROWS
    kinds = KINDS[:1] if of_rows else KINDS
    gains = [validation[kind] for kind in kinds if validation[kind].n]
    if not gains:
        return None
    heading = "On rows it had not learned from"
    if not of_rows:
        heading = "On queries and items it had not learned from"
    parts = [tag("p", _method(validation, of_rows)), _chart(gains, validation)]
    if rows:
        parts.append(_table(rows))
    return section("held-out", heading, *parts)


def _method(validation: Mapping[str, Any], of_rows: bool) -> str:
    if of_rows:
        said = "Some rows were held out, and ranked among themselves by what the others taught."
    else:
        splits = validation.get("splits")
        times = f", in {splits} splits," if splits and splits > 1 else ""
        said = (
            f"Queries and items were held out{times} and what was learned from the rest was judged "
            "by them. Each query counts once. Seen items were a right answer to some query that "
            "was learned from; new items never were."
        )
    said += " The bar is one standard error of the difference to the start, to either side."
    if validation.get("published") is False:
        said += " What was learned did not pass, so the start was kept."
    return said


def _chart(gains: Sequence[Gain], validation: Mapping[str, Any]) -> Html:
    spreads = [0.0 if np.isnan(gain.error) else gain.error for gain in gains]
    ends = [
        np.array([gain.start, gain.learned - spread, gain.learned + spread])
        for gain, spread in zip(gains, spreads, strict=True)
    ]
    scale = Scale(*reach(ends))
    lines = []
    for gain, spread in zip(gains, spreads, strict=True):
        name = gain.kind if gain.kind == "overall" else f"{gain.kind} items"
        unit = ("row", "rows") if validation.get("measure") == _OF_ROWS else ("query", "queries")
        queries = f"{gain.n:,} {unit[gain.n != 1]}"
        error = f"\u00a0±\u00a0{spread:.3f}" if spread else ""
        lines.append(
            tag(
                "tr",
                tag("th", name, tag("small", queries), scope="row"),
                tag("td", f"{gain.start:.3f}", class_="number"),
                tag("td", f"{gain.learned:.3f}{error}", class_="number"),
                tag("td", gain_plot(gain.start, gain.learned, spread, scale), class_="interval"),
            )
        )
    measure = str(validation.get("measure", "value"))
    heads = tag(
        "tr",
        tag("th", _MEASURES.get(measure, measure)),
        tag("th", tag("span", class_="dot before"), "start", class_="number"),
        tag("th", tag("span", class_="dot"), "learned", class_="number"),
        tag("th", interval_axis(scale, number), class_="interval"),
    )
    table = tag("table", tag("thead", heads), tag("tbody", *lines), class_="comparison gains")
    return scrolling(table)


def _table(rows: Sequence[Mapping[str, Any]]) -> Html:
    lines = []
    for row in rows:
        badge = tag("span", "saved", class_="badge") if row.get("chosen") else ""
        name = [shortened(row["name"], 60), " ", badge, " ", tag("small", row["kind"])]
        cells = [tag("td", _share(row[kind]), class_="number") for kind in KINDS]
        lines.append(
            tag(
                "tr",
                tag("th", *name, scope="row"),
                *cells,
                class_="chosen" if row.get("chosen") else None,
            )
        )
    heads = [tag("th", kind, scope="col", class_="number") for kind in KINDS]
    return join(
        [
            tag("h3", "Everything that was compared"),
            tag("p", "Means over queries, each with its own standard error."),
            scrolling(
                tag(
                    "table",
                    tag("thead", tag("tr", tag("th", ""), *heads)),
                    tag("tbody", *lines),
                    class_="rankers",
                )
            ),
        ]
    )


def _share(figures: Mapping[str, Any]) -> str:
    if not figures["n"]:
        return "–"
    error = figures["error"]
    return f"{figures['mean']:.3f}" + ("" if np.isnan(error) else f"\u00a0±\u00a0{error:.3f}")
