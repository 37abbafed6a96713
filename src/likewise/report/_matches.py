"""The report on matched records: what to expect, what was decided, and what is doubtful."""

import json
import os
import re
import shlex
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from likewise._validation import check_same_length
from likewise.matching import MatchReport
from likewise.report._charts import Line, Scale, line_plot, number, percent, ticks
from likewise.report._sections import Section, section, weight_table
from likewise.report._write import check_report_path, page_template, write_page
from likewise.tables import as_frame

_N_DOUBTFUL = 20
_N_CLUSTERS = 5
_MAX_OF_CLUSTER = 6  # records of it that are shown
_BINS = 20  # of the histogram
_MAX_VALUE = 240  # characters
_ID = "id"
_WORD = re.compile(r"\W+")


def write_match_report(
    report: MatchReport,
    path: str | os.PathLike[str],
    left: Any,
    right: Any = None,
    *,
    title: str,
    model_path: str | os.PathLike[str] | None = None,
) -> None:
    """Write one HTML file on matched records; it needs no network and no script.

    Parameters
    ----------
    report : MatchReport
    path : str or path-like
    left, right : frames
        The tables that were matched; no right one where `left` was matched with itself.
    title : str
        Names of the data.
    model_path : str or path-like, optional
        The file of the matcher, if it was saved.

    Examples
    --------
    >>> import likewise as lw, os, pandas as pd, tempfile
    >>> from likewise.report import write_match_report
    >>> left = pd.DataFrame({"name": ["Anna Meier", "Bob Smith"]})
    >>> right = pd.DataFrame({"name": ["Smith, Bob", "Meier Anna"]})
    >>> found = lw.Matcher(k=1).fit(left, right).match(left, right)
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write_match_report(found, path, left, right, title="people")
    """
    if not isinstance(report, MatchReport):
        raise TypeError(f"report must be a MatchReport, but {type(report).__name__} was given.")
    page = page_template()
    target = check_report_path(path)
    if (report.clusters is None) != (right is not None):
        raise ValueError(
            "right is not given, but report matches two tables."
            if right is None
            else "right must be None: report matches the records of one table."
        )
    tables = _Tables(left, right)
    pairs = as_frame(report.pairs)
    if report.clusters is not None:
        check_same_length(report.clusters, "report.clusters", left, "left")
    p = np.asarray(pairs.values("probability"), dtype=np.float64)
    ids = list(zip(pairs.values("left_id"), pairs.values("right_id"), strict=True))
    write_page(
        page,
        target,
        title=title,
        kind="matched records",
        lead=report.sentences[-1],
        notes=list(report.sentences[:-1]),
        sections=[
            _expectation(report),
            _candidates(ids, tables, report.weights),
            _probabilities(report, p) if len(p) else None,
            _weights(report),
            _doubtful(report, p, ids, pairs.values("decided"), tables) if len(p) else None,
            None if report.clusters is None else _clusters(as_frame(report.clusters), tables),
            section("use", "How to use it", snippets=_snippets(model_path, right is not None)),
        ],
    )


class _Tables:
    """The records of both tables, by id."""

    def __init__(self, left: Any, right: Any) -> None:
        self._frames = [as_frame(left), as_frame(left if right is None else right)]
        self.one = right is None
        self.ids = [
            frame.values(_ID) if _ID in frame.names else list(range(len(frame)))
            for frame in self._frames
        ]
        self._rows = [{str(key): row for row, key in enumerate(ids)} for ids in self.ids]
        self._texts = cache(lambda side, field: self._frames[side].texts(field))

    @property
    def sizes(self) -> list[int]:
        """Numbers of records."""
        return [len(ids) for ids in self.ids]

    @property
    def names(self) -> list[str]:
        """Columns of the left table."""
        return list(self._frames[0].names)

    def unused(self, fields: Sequence[str]) -> list[str]:
        """Return the columns of either table that are not compared."""
        names = dict.fromkeys(name for frame in self._frames for name in frame.names)
        return [name for name in names if name not in fields and name != _ID]

    def text(self, side: int, key: Any, field: str) -> str | None:
        """Return a value of a record as text."""
        return self._texts(side, field)[self._rows[side][str(key)]]


def _expectation(report: MatchReport) -> Section:
    """Return precision, recall and F1: as forecast, and as judged by answers."""
    judged, scale = report.judged, Scale(0.0, 1.0)
    n = 0 if judged is None else judged["n"]
    if judged is None:
        text = (
            "This is what the probabilities expect of the candidates. No answers judge it: every "
            "fifth question of --ask, or of ask(), is drawn at random, never learned from, and "
            "judges."
        )
    else:
        text = (
            f"The forecast (ring) is what the probabilities expect of the candidates. {n} answers "
            "that were drawn at random, and never learned from, judge it (dot), with 95 % "
            "intervals. Both are of candidates; a match that is none is not counted."
        )
    rows = []
    for name, title in (("precision", "precision"), ("recall", "recall"), ("f1", "F1")):
        value, *ends = (None, 0.0, 1.0) if judged is None else judged[name]
        expected = report.forecast[name]
        interval = _span((ends[0], ends[1]), 3)
        rows.append(
            {
                "name": title,
                "forecast": f"{expected:.3f}",
                "judged": "–" if value is None else f"{value:.3f}",
                "interval": "" if judged is None else interval,
                "plot": {
                    "title": f"forecast {expected:.3f}"
                    + ("" if value is None else f", judged {value:.3f}, {interval}"),
                    "style": "learned",
                    "grid": [scale.across(tick) for tick in ticks(*scale, about=4)],
                    "splits": [],
                    "start": scale.across(expected),
                    "mean": scale.across(expected if value is None else value),
                    "ends": [] if judged is None else [scale.across(end) for end in ends],
                },
            }
        )
    axis = scale.axis(percent)
    return section("expectation", "What to expect", text=text, rows=rows, axis=axis)


def _candidates(ids: list[tuple[Any, Any]], tables: _Tables, weights: dict[str, float]) -> Section:
    """Return how many pairs were looked at, and what was not."""
    n_left, n_right = tables.sizes
    n_all = n_left * (n_left - 1) // 2 if tables.one else n_left * n_right
    seen = [{pair[side] for pair in ids} for side in (0, 1)]
    if tables.one:
        alone, n_records = len(set(tables.ids[0]) - seen[0] - seen[1]), n_left
    else:
        alone = sum(key not in seen[side] for side in (0, 1) for key in tables.ids[side])
        n_records = n_left + n_right
    sentences = [
        f"{len(ids):,} candidates were compared, {number(2 * len(ids) / n_records)} for each "
        f"record on average. The other {n_all - len(ids):,} of all {n_all:,} pairs were not "
        "looked at: no answer judges them.",
        f"{alone:,} of {n_records:,} records have no candidate.",
    ]
    if unused := tables.unused(list(weights)):
        sentences.append(f"Columns that were not compared: {', '.join(unused)}.")
    return section("columns", "What was looked at, and what was not", sentences=sentences)


def _probabilities(report: MatchReport, p: np.ndarray) -> Section:
    """Return the histogram with the threshold and, if answers judge, their reliability."""
    counts, edges = np.histogram(p, bins=_BINS, range=(0.0, 1.0))
    heights = np.log10(1.0 + counts)
    steps = Line("candidates", np.repeat(edges, 2), np.pad(np.repeat(heights, 2), 1), "after")
    at = np.full(2, report.threshold)
    threshold = Line(
        f"threshold {report.threshold:.3f}", at, np.array([0.0, heights.max() * 1.05]), "before"
    )
    plots = [
        (
            "Number of candidates by probability",
            line_plot([steps, threshold], "probability", "log₁₀ (1 + candidates)", "Histogram"),
        )
    ]
    ranges = report.reliability
    if ranges:
        x, y = (
            np.array(side) for side in zip(*((r.predicted, r.share) for r in ranges), strict=True)
        )
        ideal = Line("as predicted", np.array([0.0, 1.0]), np.array([0.0, 1.0]), "before")
        points = list(zip(x.tolist(), y.tolist(), strict=True))
        lines = [ideal, Line("answers", x, y, "after")]
        drawn = line_plot(lines, "probability", "share of matches", "Reliability", points)
        plots.append(("Share of matches among the judging answers", drawn))
    rows = [
        (_span(r.bounds, 1), r.n, f"{r.predicted:.3f}", f"{r.share:.3f}", _span(r.interval, 3))
        for r in ranges
    ]
    return section(
        "probabilities", "How sure it is", plots=plots, rows=rows, n_decided=report.n_decided
    )


def _span(ends: tuple[float, float], digits: int) -> str:
    return f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"


def _weights(report: MatchReport) -> Section:
    """Return the weight of each field."""
    falling = sorted(report.weights.items(), key=lambda item: -item[1])
    named = [("* (the whole record)" if name == "*" else name, w) for name, w in falling]
    return section("weights", "What decides", table=weight_table("field", named))


def _doubtful(
    report: MatchReport,
    p: np.ndarray,
    ids: list[tuple[Any, Any]],
    decided: Sequence[bool],
    tables: _Tables,
) -> Section:
    """Return the pairs that are nearest to the threshold, side by side."""
    order = np.argsort(np.abs(p - report.threshold), kind="stable")[:_N_DOUBTFUL]
    order = order[np.argsort(-p[order], kind="stable")]
    examples = [
        {
            "probability": f"{p[place]:.3f}",
            "decided": "match" if decided[place] else "no match",
            "ids": ids[place],
            "fields": [
                (field, *_marked(*(tables.text(s, ids[place][s], field) for s in (0, 1))))
                for field in report.weights
                if field != "*"
            ],
        }
        for place in order.tolist()
    ]
    sides = ("one record", "the other") if tables.one else ("left", "right")
    return section("doubtful", "The most doubtful pairs", examples=examples, sides=sides)


def _marked(left: str | None, right: str | None) -> list[list[tuple[str, bool]] | None]:
    """Return the words of two values, and whether each is missing from the other value.

    Signs count for nothing, and nothing differs from a missing value.
    """
    words = [[] if value is None else _shortened(value).split() for value in (left, right)]
    plain = [[_WORD.sub("", word).lower() for word in side] for side in words]
    return [
        [(word, p not in {"", *other}) if other else (word, False)
         for word, p in zip(side, own, strict=True)] or None
        for side, own, other in zip(words, plain, reversed(plain), strict=True)
    ]  # fmt: skip


def _shortened(value: str) -> str:
    return value if len(value) <= _MAX_VALUE else value[: _MAX_VALUE - 1] + "…"


def _clusters(clusters: Any, tables: _Tables) -> Section:
    """Return the clusters by size, and the least coherent ones with their records."""
    numbers = np.asarray(clusters.values("cluster_id"), dtype=np.int64)
    means = np.array([np.nan if v is None else v for v in clusters.values("probability")], float)
    sizes = np.bincount(numbers)
    by_size, n_of_size = np.unique(sizes, return_counts=True)
    totals = np.bincount(numbers, np.nan_to_num(means), len(sizes))
    joined = np.flatnonzero(sizes > 1)
    coherence = totals[joined] / sizes[joined]
    worst = joined[np.argsort(coherence, kind="stable")[:_N_CLUSTERS]]
    fields = [name for name in tables.names if name != _ID]
    examples = []
    for cluster in worst.tolist():
        rows = np.flatnonzero(numbers == cluster)
        keys = [tables.ids[0][row] for row in rows[:_MAX_OF_CLUSTER].tolist()]
        more = len(rows) - len(keys)
        examples.append(
            {
                "title": f"Cluster {cluster}: {len(rows)} records",
                "coherence": f"{totals[cluster] / sizes[cluster]:.3f}",
                "records": [
                    (key, [_shortened(tables.text(0, key, field) or "–") for field in fields])
                    for key in keys
                ],
                "more": f"and {more} more" if more else "",
            }
        )
    return section(
        "clusters",
        "The clusters",
        sizes=list(zip(by_size.tolist(), n_of_size.tolist(), strict=True)),
        fields=fields,
        examples=examples,
    )


def _snippets(model_path: Any, two: bool) -> list[tuple[str, str]]:
    """Return the code to go on with."""
    tables = "left.csv right.csv" if two else "table.csv"
    command = "match" if two else "dedupe"
    shell = [
        f"likewise {command} {tables} --ask 30 -m matcher.safetensors",
        f"likewise {command} {tables} --labels answers.csv --report report.html",
    ]
    parts = []
    if model_path is not None:
        path = os.fspath(model_path)
        shell.append(f"likewise {command} new.csv {tables.split()[-1]} -m {shlex.quote(path)}"
                     if two else f"likewise dedupe new.csv -m {shlex.quote(path)}")  # fmt: skip
        given = "left, right" if two else "table"
        python = [
            "import likewise as lw",
            "",
            f"matcher = lw.load({json.dumps(path, ensure_ascii=False)})",
            f"matcher.match({given}).pairs  # of data frames with the same fields",
        ]
        parts.append(("Python", "\n".join(python)))
    return [("Command line", "\n".join(shell)), *parts]
