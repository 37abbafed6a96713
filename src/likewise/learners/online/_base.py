"""What AROMA and OASIS share: learning from labels, clicks and pairs, beside triplets."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._progress import LongWork, show_progress
from likewise._validation import (
    Rows,
    check_choice,
    check_number,
    check_rows,
    check_whole_number,
    take,
)
from likewise.learners._arguments import grades_of_pairs
from likewise.learners._gate import KINDS, NEW_ITEMS, Verdict, judge, start_kept
from likewise.learners._held_out import (
    HeldOut,
    HeldOutLabels,
    HeldOutRelevance,
    HeldOutTriplets,
    can_judge_labels,
    held_queries,
    held_rows,
    mean_average_precision,
)
from likewise.learners.online._beliefs import copied
from likewise.learners.online._early_stopping import Way, drawn, stretches
from likewise.learners.online._history import plot_history, record
from likewise.learners.online._triplet_batches import Feed
from likewise.learners.online._triplet_learner import TripletLearner
from likewise.learners.ridge import RidgeSimilarity
from likewise.similarities import Matches, Similarity
from likewise.supervision import (
    HoldOut,
    LabelTriplets,
    RelevanceTriplets,
    TripletSource,
    check_relevance,
    check_weights,
    relevant_items,
)

_PATIENCE = 5  # checks without a gain
_TRIPLETS_A_ROW = 10
_RANKED = 50  # items of each query that hard negatives are drawn from
_SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
_MOST_HELD_OUT = 300  # queries; each check ranks all items for them
_HELD_OUT_SPLIT = 0


@dataclass(frozen=True, eq=False)
class _Lesson:
    """Something to learn from: the start it is learned from, and how it is learned.

    Attributes
    ----------
    start : callable that returns the form to begin with
    learn : callable from a number of triplets and what judges, or None, to the `Way` it took
    """

    start: Callable[[], np.ndarray]
    learn: Callable[[int, HeldOut | None], Way]


class OnlineLearner(TripletLearner):
    """A learner that draws triplets itself, and is held to what it does not learn from."""

    _FLOATS: ClassVar = [np.float64, np.float32]

    n_triplets: int
    early_stopping: bool
    validation_fraction: float
    new_items: str
    negatives: str
    hard_negatives: float
    random_state: Any

    def fit(self, X: Any, y: Any, weights: Any = None) -> Any:
        """Learn from labelled rows: triplets are drawn from them.

        With `early_stopping`, some rows are held out and ranked among themselves: see
        `validation_`. What clearly beats the start on them is learned again from all rows; else
        the start is kept, with a warning.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        weights : array of shape (n_rows,), optional
            How much the triplets of a query count.
        """
        self._check_parameters()
        X, y, weights = self._labelled(X, y, weights, reset=True)
        rng = self._generator(0)

        def lesson(source: TripletSource, rows: np.ndarray) -> _Lesson:
            return _Lesson(
                lambda: self._form(X, X, lambda ridge: ridge.fit(take(X, rows), y[rows])),
                lambda n, held: self._draw_and_learn(source, X, X, n, rng, held, weights),
            )

        whole = lesson(LabelTriplets(y), np.arange(len(y)))
        if not self.early_stopping:
            return self._fit_unvalidated(whole)
        splits = HoldOut.single(len(y), 0, self.validation_fraction, rng).queries
        rest = np.flatnonzero(splits != _HELD_OUT_SPLIT)
        held = held_rows(y, splits, _HELD_OUT_SPLIT, rng)
        if not can_judge_labels(y, held, rest):
            return self._keep_start(X, X, HeldOutLabels.measure)
        part = lesson(LabelTriplets(y, rest, rest), rest)
        return self._fit_validated(part, whole, HeldOutLabels(X, y, held), X, X)

    def partial_fit(self, X: Any, y: Any, weights: Any = None) -> Any:
        """Go on learning from more labelled rows: ten triplets a row are drawn among them.

        Parameters as in `fit`. Nothing is held out.
        """
        self._check_parameters()
        started = self._has_started()
        X, y, weights = self._labelled(X, y, weights, reset=not started)
        source = LabelTriplets(y)
        if not started:
            self._start(self._form(X, X, lambda ridge: ridge.fit(X, y)))
        elif self.state_.W.shape != (X.shape[1], X.shape[1]):
            raise ValueError(
                f"X has {X.shape[1]} features, but what was learned compares "
                f"{self.state_.W.shape[0]} with {self.state_.W.shape[1]}."
            )
        rng = self._generator(self.n_triplets_seen_)
        n_triplets = min(_TRIPLETS_A_ROW * len(y), self.n_triplets)
        self._draw_and_learn(source, X, X, n_triplets, rng, None, weights)
        return self

    def fit_relevance(
        self, relevance: Any, queries: Any, items: Any = None, weights: Any = None
    ) -> Any:
        """Learn from graded relevance, such as clicks: triplets are drawn from it.

        With `early_stopping`, some queries and some items are held out: see `validation_`. The
        share of what was learned by which they gain is published, if it clearly beats the start,
        and then learned again from all judgements; else the start is kept, with a warning.

        Parameters
        ----------
        relevance : sparse matrix or array of shape (n_queries, n_items)
            Grades, higher for more relevant; what a sparse matrix does not store is not judged.
        queries : array or CSR of shape (n_queries, n_query_features)
        items : array or CSR of shape (n_items, n_item_features), optional
            The queries themselves by default.
        weights : sparse matrix or array of the shape of `relevance`, optional
            How much each judgement counts, such as `supervision.position_weights` of clicks.
        """
        self._check_parameters()
        queries, items = self._sides_of(queries, items)
        grades = check_relevance(relevance, queries, items)
        return self._fit_grades(grades, queries, items, weights, self.negatives)

    def fit_pairs(
        self, pairs: Any, y: Any, queries: Any, items: Any = None, weights: Any = None
    ) -> Any:
        """Learn from pairs that are alike or not: triplets are drawn from them.

        A similar item is closer than the query's dissimilar ones; for a query without such, closer
        than any item it is not paired with. Queries that have only dissimilar items teach nothing.
        What is published is decided as in `fit_relevance`.

        Parameters
        ----------
        pairs : int array of shape (n_pairs, 2)
            Row numbers (query, item).
        y : array of shape (n_pairs,)
            1 or True for similar; −1, 0 or False for dissimilar.
        queries, items : as in `fit_relevance`
        weights : array of shape (n_pairs,), optional
        """
        self._check_parameters()
        queries, items = self._sides_of(queries, items)
        grades, of_pairs = grades_of_pairs(pairs, y, weights, queries, items)
        return self._fit_grades(grades, queries, items, of_pairs, "judged")

    def fit_triplets(
        self,
        triplets: Any,
        queries: Any,
        items: Any = None,
        weights: Any = None,
        validate: bool = False,
    ) -> Any:
        """Learn from comparisons, one after the other, in the order given.

        Parameters
        ----------
        triplets : int array of shape (n_triplets, 3), frame or path
            Row numbers (query, closer item, farther item); a frame with the columns ``query``,
            ``closer``, ``farther`` and, if there are weights, ``weight``; or a Parquet or CSV file
            of such a frame, which is read a block at a time.
        queries : array or CSR of shape (n_queries, n_query_features)
        items : array or CSR of shape (n_items, n_item_features), optional
            The queries themselves by default.
        weights : array of shape (n_triplets,), optional
            How much each counts: a weight w makes AROMA's r into r/w, and OASIS's C into wC.
        validate : bool, default=False
            Hold out queries and closer items, publish the share of what was learned by which they
            gain, and keep the start where that does not clearly beat it. By default the printed
            updates are followed.
        """
        if not validate:
            return super().fit_triplets(triplets, queries, items, weights)
        self._check_parameters()
        queries, items = self._sides_of(queries, items)
        stream = self._stream(triplets, queries, items, weights)
        rng = self._generator(0)
        triplets, weights = stream.arrays()
        hold = self._hold_out(queries, items, rng)
        taught = hold.learns_from(triplets[:, 0], triplets[:, 1], _HELD_OUT_SPLIT)
        judging = triplets[hold.queries[triplets[:, 0]] == _HELD_OUT_SPLIT]
        if len(judging) == 0 or not taught.any():
            return self._keep_start(queries, items, HeldOutTriplets.measure)

        def lesson(which: np.ndarray) -> _Lesson:
            part = self._stream(triplets[which], queries, items, weights[which])
            return _Lesson(
                lambda: self._form(
                    queries,
                    items,
                    lambda ridge: ridge.fit_triplets(
                        triplets[which], queries, items, weights[which], offsets=False
                    ),
                ),
                lambda n, held: self._follow_whole(part, queries, items),
            )

        seen = np.zeros(items.shape[0], dtype=bool)
        seen[triplets[taught, 1]] = True
        held = HeldOutTriplets(judging, seen, queries, items)
        whole = lesson(np.ones(len(triplets), dtype=bool))
        return self._fit_validated(lesson(taught), whole, held, queries, items)

    def score(self, X: Any, y: Any) -> float:
        """Return the mean average precision of each row as a query among the others."""
        check_is_fitted(self, "state_")
        X = validate_data(self, X, accept_sparse="csr", dtype=self._FLOATS, reset=False)
        return mean_average_precision(self.similarity_, X, y)

    def plot_history(self, ax: Any = None) -> Any:
        """Plot the loss, and what was held out where something was, against triplets seen."""
        check_is_fitted(self, "state_")
        return plot_history(self.history_, getattr(self, "validation_", None), ax)

    # How it is done.

    @classmethod
    def _from_file(cls, validation: Any = None, **parameters: Any) -> Any:
        """Return a learner as a file holds it; `validation` was a parameter once."""
        return cls(**parameters)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole_number(self.n_triplets, "n_triplets")
        check_choice(self.new_items, "new_items", NEW_ITEMS)
        check_choice(self.negatives, "negatives", ("unjudged", "judged"))
        check_number(self.validation_fraction, "validation_fraction", minimum=0, exclusive=True)
        check_number(self.hard_negatives, "hard_negatives", minimum=0)
        for name in ("validation_fraction", "hard_negatives"):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} must be at most 1, but {getattr(self, name)} was given.")

    def _start(self, form: np.ndarray) -> None:
        super()._start(form)
        self.__dict__.pop("validation_", None)

    def _form(self, Q: Rows, P: Rows, fit_ridge: Callable[[RidgeSimilarity], Any]) -> np.ndarray:
        """Return the form to begin with: with ``init="ridge"`` that of a ridge, fitted here."""
        if not (isinstance(self.init, str) and self.init == "ridge"):
            return self._starting_form(Q.shape[1], P.shape[1])
        ridge = RidgeSimilarity(
            new_items=self.new_items, normalize=self.normalize, random_state=self.random_state
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where it keeps its start, learning begins there
            return fit_ridge(ridge).similarity_.W.astype(self.dtype)

    def _labelled(self, X: Any, y: Any, weights: Any, *, reset: bool) -> tuple[Any, ...]:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=self._FLOATS, order="C", reset=reset
        )
        check_classification_targets(y)
        X = check_rows(X, "X", finite=False)  # CSR in order of columns
        return X, y, None if weights is None else check_weights(weights, y, "y")

    def _generator(self, position: int) -> np.random.Generator:
        """Return random numbers that depend on the seed and on how much has been seen."""
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return np.random.default_rng([seed, position])

    def _hold_out(self, queries: Rows, items: Rows, rng: np.random.Generator) -> HoldOut:
        return HoldOut.single(
            queries.shape[0],
            items.shape[0],
            self.validation_fraction,
            rng,
            same=items is queries,
        )

    def _fit_grades(
        self, grades: Any, queries: Rows, items: Rows, weights: Any, negatives: str
    ) -> Any:
        """Draw triplets from grades, some queries and items held out."""
        rng = self._generator(0)

        def lesson(source: TripletSource, part: Any) -> _Lesson:
            return _Lesson(
                lambda: self._form(
                    queries,
                    items,
                    lambda ridge: ridge.fit_relevance(
                        part, queries, None if items is queries else items, weights, offsets=False
                    ),
                ),
                lambda n, held: self._draw_and_learn(source, queries, items, n, rng, held, None),
            )

        options: dict[str, Any] = {"negatives": negatives, "hard": self.hard_negatives}
        everything = RelevanceTriplets(grades, weights, **options)
        whole = lesson(everything, grades)
        if not self.early_stopping:
            return self._fit_unvalidated(whole)
        hold = self._hold_out(queries, items, rng)
        training = hold.training(grades, _HELD_OUT_SPLIT)
        held = held_queries(everything.queries, hold.queries, _HELD_OUT_SPLIT, _MOST_HELD_OUT, rng)
        try:
            may_be_farther = hold.items != _HELD_OUT_SPLIT
            source = RelevanceTriplets(training, weights, **options, items=may_be_farther)
        except ValueError:  # nothing is left to learn from
            held = held[:0]
        if len(held) == 0:
            return self._keep_start(queries, items, HeldOutRelevance.measure)
        judged_by = HeldOutRelevance(
            grades,
            held,
            relevant_items(training),
            queries,
            items,
            self._neighbors,
            same=items is queries,
        )
        return self._fit_validated(lesson(source, training), whole, judged_by, queries, items)

    def _fit_unvalidated(self, lesson: _Lesson) -> Any:
        self._start(lesson.start())
        lesson.learn(self.n_triplets, None)
        return self

    def _fit_validated(
        self, part: _Lesson, whole: _Lesson, held: HeldOut, queries: Rows, items: Rows
    ) -> Any:
        """Learn from a part, decide by what was held out, and learn again from everything."""
        base = self._base_form(queries.shape[1], items.shape[1])
        validation = self._decided()
        history, way = None, Way()
        if validation is None:
            start = part.start()
            self._start(start.copy())
            way = part.learn(self.n_triplets, held)
            history = self.history_
            validation = self._decision(held, base, start, way)
        if not validation["published"]:
            self._start(base)
            self._warn_of_start(validation)
        elif way.interrupted and way.best is not None:
            # Whoever stops it waits no longer: what was learned from the part is published.
            self.state_ = way.best
        else:
            start = whole.start()
            self._start(start.copy())
            self.validation_ = validation
            if validation["n_triplets"]:
                whole.learn(validation["n_triplets"], None)
        if validation["published"]:
            self.state_.W = start + start.dtype.type(validation["share"]) * (self.state_.W - start)
        self.validation_ = validation
        self.history_ = self.history_ if history is None else history
        return self

    def _decided(self) -> dict[str, Any] | None:
        """Return what an earlier run has decided: nothing by default."""
        return None

    def _decision(
        self, held: HeldOut, base: np.ndarray, start: np.ndarray, way: Way
    ) -> dict[str, Any]:
        """Judge shares of what was learned by what was held out."""
        assert way.best is not None
        learned = way.best.W - start
        shares: tuple[float, ...] = _SHARES
        if not start.any():
            shares = _SHARES[-1:]  # from nothing, every share ranks alike
        elif not np.array_equal(base, start):
            shares = (0.0, *_SHARES)  # a ridge may be worth publishing by itself
        values = [held(self._published(start + start.dtype.type(s) * learned)) for s in shares]
        before = held(self._published(base)) if base.any() else held.without_ranking()
        candidates = np.array(values)[:, None]
        verdict = judge(before, candidates, self.new_items, error_scale=held.error_scale)
        share = shares[verdict.form]
        return {
            **_validation(held.measure, verdict),
            "share": share if verdict.passes else 0.0,
            "n_triplets": way.n_best if share > 0 else 0,
        }

    def _keep_start(self, queries: Rows, items: Rows, measure: str) -> Any:
        """Begin, and learn nothing: there is nothing to judge by."""
        self._start(self._base_form(queries.shape[1], items.shape[1]))
        nothing = judge(np.zeros((3, 0)), np.zeros((1, 1, 3, 0)))
        self.validation_ = {**_validation(measure, nothing), "share": 0.0, "n_triplets": 0}
        self._warn_of_start(self.validation_)
        return self

    def _base_form(self, n_query: int, n_item: int) -> np.ndarray:
        """Return the start that everything is held to: a ridge is learned already."""
        is_ridge = isinstance(self.init, str) and self.init == "ridge"
        return self._starting_form(n_query, n_item, "auto" if is_ridge else self.init)

    def _warn_of_start(self, validation: dict[str, Any]) -> None:
        outcomes = {kind: validation[kind] for kind in KINDS}
        warnings.warn(start_kept(validation["measure"], outcomes), stacklevel=5)

    def _draw_and_learn(
        self,
        source: TripletSource,
        queries: Rows,
        items: Rows,
        n_triplets: int,
        rng: np.random.Generator,
        held: HeldOut | None,
        query_weights: np.ndarray | None,
    ) -> Way:
        """Learn from drawn triplets; with something held out, find the best state on the way."""
        way = Way()
        if held is not None:
            way = Way(copied(self.state_), _overall(held, self.similarity_))
        way = self._begun(way, n_triplets)
        learn = self._learner_of(source, queries, items, rng, query_weights)
        with show_progress(self.verbose), self._work(n_triplets) as work:
            for n in self._stretches(n_triplets)[way.stretches :]:
                if work.interrupted or way.stale >= _PATIENCE:
                    break
                if isinstance(source, RelevanceTriplets) and self.hard_negatives > 0:
                    k = min(_RANKED, items.shape[0])
                    source.set_ranking(self._neighbors(self.similarity_, queries, items, k).ids)
                learn(n, work)
                way.stretches += 1
                if held is not None:
                    mean = _overall(held, self.similarity_)
                    record(self.history_, self.n_triplets_seen_, self.n_updates_, validation=mean)
                    way.note(self.state_, mean, self.n_triplets_seen_)
                self._kept(way)
            way.interrupted = work.interrupted
        return way

    def _follow_whole(self, stream: Any, queries: Rows, items: Rows) -> Way:
        """Learn from all triplets of a stream, once."""
        self._follow(stream, queries, items)
        return Way(copied(self.state_), n_best=len(stream))

    def _stretches(self, n_triplets: int) -> list[int]:
        return list(stretches(n_triplets))

    def _learner_of(
        self, source: TripletSource, queries: Rows, items: Rows, rng: Any, query_weights: Any
    ) -> Callable[[int, LongWork], Any]:
        """Return what learns from so many drawn triplets."""
        feed = Feed(queries, items, unit=self.normalize, dtype=self.dtype)
        return lambda n, work: self._learn(drawn(source, n, rng, query_weights), feed, work)

    def _neighbors(self, similarity: Similarity, Q: Rows, P: Rows, k: int) -> Matches:
        return similarity.neighbors(Q, P, k)

    def _begun(self, way: Way, n_triplets: int) -> Way:
        """Return how far learning has come: nowhere yet."""
        return way

    def _kept(self, way: Way) -> None:
        """Keep how far learning has come where someone may go on from: nowhere by default."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def _overall(held: HeldOut, similarity: Any) -> float:
    return float(held(similarity)[0].mean())


def _validation(measure: str, verdict: Verdict) -> dict[str, Any]:
    return {"measure": measure, **verdict.outcomes, "published": verdict.passes}
