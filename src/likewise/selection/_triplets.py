"""Choose a learner of comparisons by held-out queries and items, or keep the start."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._progress import LongWork, show_progress
from likewise._validation import Rows, check_rows, check_whole_number, unknown_name
from likewise.learners import (
    AROMA,
    OASIS,
    HeldOutRelevance,
    HeldOutTriplets,
    Outcome,
    RidgeSimilarity,
    judge,
)
from likewise.selection._triplet_selection import (
    KINDS,
    START,
    TripletSelection,
    learner_saved,
    start_kept,
    start_kept_by_learner,
    summarize,
)
from likewise.similarities import Bilinear, Similarity, as_similarity
from likewise.supervision import N_SPLITS, HoldOut, check_triplets, check_weights


@dataclass(frozen=True)
class TripletLearner:
    """A learner of comparisons.

    Attributes
    ----------
    title : str
        Its name in tables.
    make : estimator class
    about : str
        A description of one line.
    has_offsets : bool
        Whether it moves items, and so takes their ids; such a learner always validates itself.
    """

    title: str
    make: type
    about: str
    has_offsets: bool = False


TRIPLET_LEARNERS: dict[str, TripletLearner] = {
    "ridge": TripletLearner(
        "ridge",
        RidgeSimilarity,
        "a bilinear similarity near its start, in closed form; judged items may move",
        has_offsets=True,
    ),
    "aroma": TripletLearner(
        "AROMA",
        AROMA,
        "a bilinear similarity with its uncertainty, online, from triplets or labels",
    ),
    "oasis": TripletLearner(
        "OASIS", OASIS, "a bilinear similarity, online, by passive-aggressive steps"
    ),
}
_BASELINES = {"cosine": "cosine", "Euclidean": "euclidean"}
_NO_RANKING = "random order"
_MAX_RANKED = 1_000  # held-out queries of a split for which all items are ranked


def select_triplets(
    triplets: Any,
    queries: Any,
    items: Any = None,
    weights: Any = None,
    *,
    learners: Iterable[str] = tuple(TRIPLET_LEARNERS),
    n_splits: int = N_SPLITS,
    item_ids: Any = None,
    random_state: int = 0,
    verbose: bool = False,
    final_fit: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> TripletSelection:
    """Compare learners on held-out queries and items; fit the best on all comparisons.

    Queries and closer items are split at random. In split k each learner is fitted, with its own
    validation, on the comparisons whose query and closer item are both outside k, and is evaluated
    on those whose query is in k. The best learner must clearly beat the start without harming new
    items, and must rank the closer items of held-out queries among all items at least as high as
    the start (nDCG@10); it is then fitted again on all comparisons. Otherwise the start is
    returned: cosine, or where queries and items differ in width, no ranking at all.

    Parameters
    ----------
    triplets : int array of shape (n_triplets, 3)
        Row numbers (query, closer item, farther item).
    queries, items : array or CSR
        Items are the queries by default.
    weights : array of shape (n_triplets,), optional
        Weights of the comparisons in fitting; in figures, every query counts equally.
    learners : names, default=("ridge", "aroma", "oasis")
    n_splits : int, default=5
        At least 2.
    item_ids : sequence of int or str, optional
        Ids of the items in `offsets_` of a ridge; row numbers by default.
    random_state : int, default=0
    verbose : bool, default=False
    final_fit : callable, optional
        Returns a context manager for the fit on all comparisons, such as `distributed.run_on` with
        a checkpoint.

    Returns
    -------
    TripletSelection
    """
    learners = list(learners)
    for name in learners:
        if name not in TRIPLET_LEARNERS:
            raise unknown_name(name, "learner", TRIPLET_LEARNERS)
    if not learners:
        raise ValueError("learners is empty; at least one is needed.")
    check_whole_number(n_splits, "n_splits", minimum=2)
    Q, P = _sides(queries, items)
    triplets = check_triplets(triplets, Q, P)
    weights = None if weights is None else check_weights(weights, triplets)
    if item_ids is not None and len(set(item_ids)) != P.shape[0]:
        raise ValueError(
            f"item_ids must hold a different id for each of {P.shape[0]} items, but has "
            f"{len(set(item_ids))} different ids."
        )

    def fitted(name: str, which: Any) -> Any:
        learner: Any = TRIPLET_LEARNERS[name].make(random_state=random_state)
        whole = isinstance(which, slice)
        part = None if weights is None else weights[which]
        options: dict[str, Any] = {"validate": True}
        if TRIPLET_LEARNERS[name].has_offsets:
            options = {"item_ids": item_ids if whole else None}
        others = None if P is Q else P
        with final_fit() if whole else nullcontext():
            return learner.fit_triplets(triplets[which], Q, others, part, **options)

    rng = np.random.default_rng(random_state)
    hold = HoldOut.random(Q.shape[0], P.shape[0], rng, same=P is Q, n_splits=n_splits)
    evaluation = _Evaluation(learners, Q, P)
    with (
        show_progress(verbose),
        LongWork(
            "comparing",
            total=n_splits * len(learners) + 1,
            unit="fits",
            partial_result="the finished splits",
        ) as work,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # the verdict says where a learner keeps its start
        for train, test in _splits(hold, triplets, n_splits):
            estimators = {}
            for name in learners:
                estimators[name] = fitted(name, train)
                work.advance()
            if work.interrupted:
                break
            evaluation.add(triplets[test], triplets[train], estimators)
        return evaluation.conclude(lambda name: fitted(name, slice(None)), work)


def judge_triplets(
    similarity: Similarity,
    triplets: Any,
    queries: Any,
    items: Any = None,
    *,
    stored: Any = None,
    trained_on: Any = None,
) -> dict[str, Outcome]:
    """Return the shares of comparisons in the right order by query, of the start and the model.

    Parameters
    ----------
    similarity : Similarity
    triplets : int array of shape (n_triplets, 3)
    queries, items : array or CSR
        Items are the queries by default.
    stored : array or CSR of the shape of `items`, optional
        Items as they are stored for `similarity`, where offsets have moved some.
    trained_on : int array of shape (n, 3), optional
        The triplets of the training, possibly of other queries: their closer items are seen, all
        others are new.

    Returns
    -------
    dict of str to (start, learned, error, n)
        ``"overall"`` and, with `trained_on`, ``"seen"`` and ``"new"``.

    Examples
    --------
    >>> import numpy as np, likewise as lw
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> outcome = lw.selection.judge_triplets(lw.as_similarity("cosine"), [[0, 2, 1]], rows)
    >>> outcome["overall"].learned
    1.0
    """
    Q, P = _sides(queries, items)
    triplets = check_triplets(triplets, Q, P)
    seen = np.zeros(P.shape[0], dtype=bool)
    if trained_on is not None:
        seen[_closer_items(trained_on, P)] = True
    before = _held_out(triplets, seen, Q, P)
    after = before if stored is None else _held_out(triplets, seen, Q, stored)
    start = before(as_similarity("cosine")) if _comparable(Q, P) else before.without_ranking()
    outcomes = judge(start, after(similarity)[None, None], "allow").outcomes
    return {kind: outcomes[kind] for kind in (KINDS if trained_on is not None else KINDS[:1])}


class _Evaluation:
    """Shares of each query in the right order, and nDCG@10, by every learner and baseline."""

    def __init__(self, learners: list[str], Q: Rows, P: Rows) -> None:
        self._learners, self._Q, self._P = learners, Q, P
        baselines = _BASELINES if _comparable(Q, P) else {_NO_RANKING: None}
        self._baselines = {
            title: None if source is None else as_similarity(source)
            for title, source in baselines.items()
        }
        self._start = next(iter(self._baselines))
        self._values: dict[str, list[np.ndarray]] = {n: [] for n in (*self._baselines, *learners)}
        self._rankings: dict[str, list[np.ndarray]] = {name: [] for name in self._values}
        self._published = dict.fromkeys(learners, 0)

    def add(self, test: np.ndarray, train: np.ndarray, estimators: dict[str, Any]) -> None:
        """Evaluate the estimators of a split."""
        seen = np.zeros(self._P.shape[0], dtype=bool)
        seen[train[:, 1]] = True
        start = self._start
        for title, similarity in self._baselines.items():
            self._add(title, similarity, test, seen, self._P)
        for name, learner in estimators.items():
            if learner.validation_["published"]:
                self._published[name] += 1
                self._add(name, learner.similarity_, test, seen, _stored(learner, self._P))
            else:
                self._values[name].append(self._values[start][-1])
                self._rankings[name].append(self._rankings[start][-1])

    def _add(
        self, name: str, similarity: Similarity | None, test: np.ndarray, seen: np.ndarray, P: Rows
    ) -> None:
        """Add the values of a similarity, or of a random order, on items as they are stored."""
        shares = _held_out(test, seen, self._Q, P)
        ranking = _ranked(test, seen, self._Q, P, same=self._P is self._Q)
        for values, held_out in ((self._values, shares), (self._rankings, ranking)):
            values[name].append(
                held_out.without_ranking() if similarity is None else held_out(similarity)
            )

    def conclude(self, fit_whole: Callable[[str], Any], work: LongWork) -> TripletSelection:
        """Return the best learner, fitted on everything, if it beats the start; else the start."""
        n_splits = len(self._values[self._start])
        if n_splits == 0:
            why = "no query could be held out"
            if work.interrupted:
                why = "Ctrl-C came before a split was finished"
            verdict = f"Kept the start: {why}, so no learner could be evaluated."
            return self._selection({}, START, None, _no_outcomes(), verdict, None)
        values = {name: np.concatenate(parts, axis=-1) for name, parts in self._values.items()}
        start = values[self._start]
        rankings = {name: self._ranking(name) for name in self._learners}
        candidates = [n for n in self._learners if rankings[n].learned >= rankings[n].start]
        best = max(self._learners, key=lambda name: float(values[name][0].mean()))
        passes = False
        if candidates:
            decision = judge(start, np.array([values[name] for name in candidates])[:, None])
            passes = decision.passes
            best = candidates[decision.form] if passes else best
        outcomes = judge(start, values[best][None, None], "allow").outcomes
        outcomes["ranking"] = rankings[best]
        title = TRIPLET_LEARNERS[best].title
        if not passes:
            work.advance()  # the last fit is not needed
            verdict = start_kept(title, outcomes, left_its_start=self._published[best] > 0)
            return self._selection(values, START, None, outcomes, verdict, best)
        estimator = fit_whole(best)
        work.advance()
        if not estimator.validation_["published"]:
            verdict = start_kept_by_learner(title, outcomes, estimator.validation_)
            return self._selection(values, START, None, outcomes, verdict, best)
        verdict = learner_saved(title, outcomes)
        return self._selection(values, best, estimator, outcomes, verdict, best)

    def _ranking(self, name: str) -> Outcome:
        """Return nDCG@10 of the closer items of held-out queries among all items."""
        start, learned = (np.concatenate(self._rankings[of], axis=-1) for of in (self._start, name))
        return judge(start, learned[None, None], "allow").outcomes["overall"]

    def _selection(
        self,
        values: dict[str, np.ndarray],
        chosen: str,
        estimator: Any,
        outcomes: dict[str, Outcome],
        verdict: str,
        best: str | None,
    ) -> TripletSelection:
        rows = [self._row(name, shares, chosen) for name, shares in values.items()]
        rows.sort(key=lambda row: -row["mean"])
        validation = {
            "measure": HeldOutTriplets.measure,
            "learner": best,
            **outcomes,
            "published": chosen != START,
            "splits": len(self._values[self._start]),
        }
        return TripletSelection(
            rows,
            chosen,
            self._start_form() if estimator is None else estimator,
            validation,
            verdict,
            tuple(self._notes(values, chosen, estimator)),
        )

    def _row(self, name: str, values: np.ndarray, chosen: str) -> dict[str, Any]:
        figures = summarize(values)
        row = {"name": name, "kind": START if name == self._start else "baseline"}
        if name in self._published:
            row = {"name": TRIPLET_LEARNERS[name].title, "kind": "learned"}
        return {
            **row,
            "mean": figures["overall"]["mean"],
            **figures,
            **({"published": self._published[name]} if name in self._published else {}),
            "chosen": chosen == (START if name == self._start else name),
        }

    def _notes(self, values: dict[str, np.ndarray], chosen: str, estimator: Any) -> Iterator[str]:
        saved_values = values.get(self._start if chosen == START else chosen)
        for name in self._baselines:
            if saved_values is None or name == self._start:
                continue
            decision = judge(saved_values, values[name][None, None], "allow")
            if decision.passes:
                start, learned, error, _ = decision.outcomes["overall"]
                yield (
                    f"{name} puts more comparisons in the right order than the saved model: "
                    f"{learned:.3f} and {start:.3f} (± {error:.3f})."
                )
        if estimator is None and self._start == _NO_RANKING:
            yield (
                "Queries and items differ in width, so the start has no ranking: the model gives "
                "every item the same score."
            )
        if getattr(estimator, "offsets_", None) is not None:
            offsets = estimator.offsets_
            yield (
                f"{len(offsets)} judged items move toward their queries by a step of "
                f"{offsets.gamma:g}: store offsets_.apply(ids, items)."
            )

    def _start_form(self) -> Bilinear:
        if self._start == _NO_RANKING:
            zero = np.zeros((self._Q.shape[1], self._P.shape[1]), dtype=np.float32)
            return Bilinear(zero, norm="cosine")
        return Bilinear(1.0, norm="cosine")


def _sides(queries: Any, items: Any) -> tuple[Rows, Rows]:
    Q = check_rows(queries, "queries")
    return Q, Q if items is None or items is queries else check_rows(items, "items")


def _closer_items(triplets: Any, P: Rows) -> np.ndarray:
    """Return the closer items of triplets, whose queries may be of another table."""
    given = np.asarray(triplets)
    if given.ndim != 2 or given.shape[1] != 3 or given.dtype.kind not in "iu":
        raise ValueError(
            "trained_on must be row numbers in three columns, as triplets are, but "
            f"{given.dtype} of shape {given.shape} was given."
        )
    if len(given) and not 0 <= given[:, 1].min() <= given[:, 1].max() < P.shape[0]:
        raise ValueError(
            f"trained_on has closer items from {given[:, 1].min()} to {given[:, 1].max()}, but "
            f"there are {P.shape[0]} items."
        )
    return given[:, 1]


def _comparable(Q: Rows, P: Rows) -> bool:
    return bool(Q.shape[1] == P.shape[1])


def _splits(
    hold: HoldOut, triplets: np.ndarray, n_splits: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield masks of the training and test triplets of each split that has both."""
    for split in range(n_splits):
        train = hold.in_training(triplets[:, 0], triplets[:, 1], split)
        test = hold.queries[triplets[:, 0]] == split
        if train.any() and test.any():
            yield train, test


def _held_out(triplets: np.ndarray, seen: np.ndarray, Q: Rows, P: Rows) -> HeldOutTriplets:
    return HeldOutTriplets(triplets, seen, Q, P, max_triplets=None)


def _ranked(
    triplets: np.ndarray, seen: np.ndarray, Q: Rows, P: Rows, *, same: bool
) -> HeldOutRelevance:
    """Return held-out queries to which the closer items of their triplets are relevant."""
    from scipy.sparse import csr_array

    held = np.unique(triplets[:, 0])
    if len(held) > _MAX_RANKED:
        held = np.sort(np.random.default_rng(0).permutation(held)[:_MAX_RANKED])
    query, closer = np.unique(triplets[:, :2], axis=0).T
    shape = Q.shape[0], P.shape[0]
    grades = csr_array((np.ones(len(query)), (query, closer)), shape=shape)
    return HeldOutRelevance(grades, held, seen, Q, P, same=same)


def _stored(learner: Any, P: Rows) -> Rows:
    """Return the items with the offsets of a learner applied."""
    offsets = getattr(learner, "offsets_", None)
    return P if offsets is None else offsets.apply(range(P.shape[0]), P)


def _no_outcomes() -> dict[str, Outcome]:
    outcomes = judge(np.zeros((3, 0)), np.zeros((1, 1, 3, 0))).outcomes
    return {**outcomes, "ranking": outcomes["overall"]}
