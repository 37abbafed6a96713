"""The result of matching: pairs, clusters, and their expected quality."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise.matching._calibration import forecast, interval
from likewise.matching._candidates import Candidates
from likewise.matching._decision import Decision, falling, membership
from likewise.matching._tables import ComparedTables

_RANGES = 5  # of probabilities that answers judge
UNCHECKED = "This forecast is not checked by any label and can be far too high."


class Reliability(NamedTuple):
    """The answers that judge a range of probabilities.

    Attributes
    ----------
    bounds : (float, float)
        Of the range.
    n : int
        Number of answers.
    predicted, share : float
        Mean probability, and share of matches.
    interval : (float, float)
        95 % interval of the share.
    """

    bounds: tuple[float, float]
    n: int
    predicted: float
    share: float
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class MatchReport:
    """The candidates with their probabilities, and the decisions.

    Attributes
    ----------
    pairs : frame
        ``left_id``, ``right_id``, ``probability`` and ``decided`` of every candidate, by falling
        probability; of the library of the left table.
    clusters : frame or None
        For one table: ``id``, ``cluster_id`` and ``probability`` of every record, in the order of
        the table. The probability is the mean over the other records of its cluster, and missing
        where there is none.
    threshold : float
    share : float
        Estimated share of matches among the candidates.
    forecast : dict
        Expected ``precision``, ``recall`` and ``f1`` of the candidates at or above the threshold.
    n_decided : int
        Number of pairs that are decided as matches.
    sentences : tuple of str
    weights : dict
        Weight of each field: the standard deviation of its log odds over the candidates, by the
        logistic regression or, without labels, by the guess. ``*`` is the whole record.
    judged : dict or None
        ``judged_`` of the matcher, for the tables of `fit`.
    reliability : tuple of Reliability
        Of the judging answers, by range of probability; empty without any.
    """

    pairs: Any
    clusters: Any
    threshold: float
    share: float
    forecast: dict[str, float]
    n_decided: int
    sentences: tuple[str, ...]
    weights: dict[str, float]
    judged: dict[str, Any] | None = None
    reliability: tuple[Reliability, ...] = ()

    def __repr__(self) -> str:
        n = len(self.pairs)
        return f"MatchReport({n} candidates, {self.n_decided} decided as matches)"

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.sentences])


def make_report(
    tables: ComparedTables,
    pairs: Candidates,
    p: np.ndarray,
    decision: Decision,
    sentences: list[str],
    weights: dict[str, float],
    judged: dict[str, Any] | None,
    *,
    is_checked: bool,
) -> MatchReport:
    """Return pairs and clusters as frames, with their expected quality.

    Where labels neither taught nor judge the matcher, `is_checked` is false.
    """
    order = falling(pairs, p)
    listed = tables.as_frame(
        {
            **tables.ids(pairs[order]),
            "probability": p[order],
            "decided": decision.is_match[order],
        }
    )
    expected = forecast(p, decision.threshold)._asdict()
    n = int(decision.is_match.sum())
    expects = ", ".join(f"{name} {value:.3f}" for name, value in expected.items())
    told = (
        *(sentence for sentence in sentences if sentence != UNCHECKED),  # it follows the figures
        tables.sentence(len(pairs)),
        f"{n} pairs are decided as matches, at a probability of {decision.threshold:.3f} or more; "
        f"expected: {expects}.{'' if is_checked else f' {UNCHECKED}'}",
    )
    share = float(p.mean()) if len(p) else 0.0
    clusters = None
    if decision.clusters is not None:
        means = membership(pairs, p, decision.clusters).tolist()
        clusters = tables.as_frame(
            {
                "id": tables.comparison.left.ids,
                "cluster_id": decision.clusters,
                "probability": [None if mean != mean else mean for mean in means],
            }
        )
    reliability = () if judged is None else _reliability(tables, pairs, p)
    return MatchReport(
        listed, clusters, decision.threshold, share, expected, n, told, weights, judged, reliability
    )


def _reliability(
    tables: ComparedTables, pairs: Candidates, p: np.ndarray
) -> tuple[Reliability, ...]:
    """Return the shares of matches among the judging answers, by range of probability."""
    if len(pairs) == 0:
        return ()
    keys, judges = tables.keys(pairs), tables.judges
    asked = tables.keys(judges.pairs)
    order = np.argsort(keys)
    place = order[np.minimum(np.searchsorted(keys, asked, sorter=order), len(keys) - 1)]
    known = keys[place] == asked
    predicted, is_match = p[place[known]], judges.is_match[known]
    ranges = np.minimum((predicted * _RANGES).astype(int), _RANGES - 1)
    found = []
    for r in np.unique(ranges).tolist():
        inside = is_match[ranges == r]
        mean, ends = float(predicted[ranges == r].mean()), interval(int(inside.sum()), len(inside))
        bounds = r / _RANGES, (r + 1) / _RANGES
        found.append(Reliability(bounds, len(inside), mean, float(inside.mean()), ends))
    return tuple(found)
