"""Which learner suits these comparisons? Held-out queries decide."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from likewise._progress import LongWork, show_progress
from likewise._validation import check_rows, take, unknown_name
from likewise.evaluation import Table
from likewise.learners import AROMA, OASIS
from likewise.similarities import Similarity, as_similarity
from likewise.supervision import check_triplets, check_weights

TRIPLET_LEARNERS: dict[str, tuple[str, type]] = {
    "aroma": ("AROMA", AROMA),
    "oasis": ("OASIS", OASIS),
}
_BASELINES = {"cosine": "cosine", "Euclid": "euclidean"}


@dataclass(frozen=True, eq=False)
class TripletSelection:
    """Share of held-out comparisons in the right order, and the learner that was chosen.

    Attributes
    ----------
    rows : list of dict
        As in `Selection`, best first.
    chosen : str
        Name of the learner.
    estimator : fitted learner
        On all comparisons.
    notes : tuple of str
    """

    rows: list[dict[str, Any]]
    chosen: str
    estimator: Any
    notes: tuple[str, ...]

    def table(self) -> Table:
        """Return a row for each learner and baseline, best first."""
        return Table(
            ("", "kind", "right order", "deviation"),
            [
                (
                    f"{row['name']}{' *' if row['chosen'] else ''}",
                    row["kind"],
                    f"{row['mean']:.4f}",
                    f"{row['deviation']:.4f}",
                )
                for row in self.rows
            ],
        )

    def __str__(self) -> str:
        return str(self.table())


def select_triplets(
    triplets: Any,
    queries: Any,
    items: Any = None,
    weights: Any = None,
    *,
    learners: Iterable[str] = tuple(TRIPLET_LEARNERS),
    n_folds: int = 5,
    random_state: int = 0,
    verbose: bool = False,
    adapt: Callable[[Any, bool], Any] | None = None,
) -> TripletSelection:
    """Compare learners on comparisons of queries they have not seen; fit the best on all.

    Parameters
    ----------
    triplets : int array of shape (n_triplets, 3)
        Row numbers (query, closer item, farther item).
    queries, items : array or CSR
        Items are the queries by default.
    weights : array of shape (n_triplets,), optional
    learners : names, default=("aroma", "oasis")
    n_folds : int, default=5
        Fewer where there are fewer queries.
    random_state : int, default=0
    verbose : bool, default=False
    adapt : callable, optional
        From a learner, not fitted, and whether it is for all comparisons to the one to be used,
        such as its namesake on a cluster.

    Returns
    -------
    TripletSelection
    """
    learners = list(learners)
    for name in learners:
        if name not in TRIPLET_LEARNERS:
            raise unknown_name(name, "learner", TRIPLET_LEARNERS)
    Q = check_rows(queries, "queries")
    P = Q if items is None else check_rows(items, "items")
    triplets = check_triplets(triplets, Q, P)
    weights = None if weights is None else check_weights(weights, triplets)
    asked = triplets[:, 0]
    n_folds = min(n_folds, len(np.unique(asked)))
    baselines = _BASELINES if Q.shape[1] == P.shape[1] else {}
    scores: dict[str, list[float]] = {name: [] for name in (*baselines, *learners)}
    notes: list[str] = []

    def fitted(name: str, which: Any) -> Any:
        learner = TRIPLET_LEARNERS[name][1](random_state=random_state)
        if adapt is not None:
            learner = adapt(learner, isinstance(which, slice))
        part = None if weights is None else weights[which]
        return learner.fit_triplets(triplets[which], Q, P, part)

    splits = [] if n_folds < 2 else list(GroupKFold(n_folds).split(triplets, groups=asked))
    if not splits:
        notes.append("All comparisons are of one query, so none could be held out: no figures.")
    with (
        show_progress(verbose),
        LongWork(
            "comparing",
            total=len(splits) * len(learners) + 1,
            unit="fits",
            keeps="the learner that was best until then",
        ) as work,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for train, test in splits:
            found = {name: as_similarity(source) for name, source in baselines.items()}
            for name in learners:
                found[name] = fitted(name, train).similarity_
                work.advance()
            if work.interrupted:
                break
            for name, similarity in found.items():
                scores[name].append(right_order(similarity, triplets[test], Q, P))
        chosen = max(learners, key=lambda name: np.mean(scores[name] or [0.0]))
        estimator = fitted(chosen, slice(None))
        work.advance()
    rows: list[dict[str, Any]] = [
        {
            "name": TRIPLET_LEARNERS[name][0] if name in TRIPLET_LEARNERS else name,
            "kind": "learned" if name in TRIPLET_LEARNERS else "baseline",
            "mean": float(np.mean(values)),
            "deviation": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0,
            "scores": values,
            "chosen": name == chosen,
        }
        for name, values in scores.items()
        if values
    ]
    rows.sort(key=lambda row: -row["mean"])
    if rows and rows[0]["kind"] == "baseline":
        notes.append(f"A learned similarity is not worth it here: {rows[0]['name']} is as good.")
    return TripletSelection(rows, chosen, estimator, tuple(notes))


def right_order(similarity: Similarity, triplets: np.ndarray, Q: Any, P: Any) -> float:
    """Return the share of comparisons that a similarity puts in the right order."""
    asked = take(Q, triplets[:, 0])
    closer = similarity.score_pairs(asked, take(P, triplets[:, 1]))
    farther = similarity.score_pairs(asked, take(P, triplets[:, 2]))
    return float(np.mean(closer > farther))
