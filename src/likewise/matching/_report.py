"""The result of matching: pairs, clusters, and what is expected of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.matching._calibration import forecast
from likewise.matching._candidates import Candidates
from likewise.matching._decision import Decision, falling, membership
from likewise.matching._tables import ComparedTables


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
    """

    pairs: Any
    clusters: Any
    threshold: float
    share: float
    forecast: dict[str, float]
    n_decided: int
    sentences: tuple[str, ...]

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
) -> MatchReport:
    """Return pairs and clusters as frames, with what is expected of them."""
    order = falling(pairs, p)
    listed = tables.as_frame(
        {
            **tables.ids(pairs, order),
            "probability": p[order],
            "decided": decision.is_match[order],
        }
    )
    expected = forecast(p, decision.threshold)._asdict()
    n = int(decision.is_match.sum())
    expects = ", ".join(f"{name} {value:.3f}" for name, value in expected.items())
    told = (
        *sentences,
        tables.sentence(len(pairs)),
        f"{n} pairs are decided as matches, at a probability of {decision.threshold:.3f} or more; "
        f"expected: {expects}.",
    )
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
    return MatchReport(listed, clusters, decision.threshold, float(p.mean()), expected, n, told)
