"""What AROMA and OASIS share: the doors for triplets, clicks, pairs and labels."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._progress import LongWork, show_progress
from likewise._threads import single_threaded_blas, slices
from likewise._validation import (
    Rows,
    check_choice,
    check_labels,
    check_number,
    check_rows,
    check_whole_number,
)
from likewise.learners._arguments import (
    grades_of_pairs,
    refuse_odd_rows,
    same_start,
    starting_form,
)
from likewise.learners._feed import Feed
from likewise.learners._held_out import (
    HeldOut,
    HeldOutLabels,
    HeldOutRelevance,
    HeldOutTriplets,
    average_precisions,
    split_queries,
    split_rows,
)
from likewise.learners._history import plot_history, record
from likewise.learners._states import State, added, copied, make_writable
from likewise.learners._way import BLOCK, Way, Weighted, drawn, stretches
from likewise.similarities import Bilinear, Matches, Similarity
from likewise.supervision import (
    LabelTriplets,
    RelevanceTriplets,
    TripletSource,
    TripletStream,
    check_relevance,
    check_weights,
)

_FORGET_EVERY = 1000
_PATIENCE = 5  # checks without a gain
_TRIPLETS_A_ROW = 10
_RANKED = 50  # items of each query that hard negatives are drawn from
_SHRINKAGES = (0.25, 0.5, 0.75, 1.0)
_ERRORS_TO_PASS = 2.5


class OnlineLearner(BaseEstimator):
    """A bilinear form learned from one triplet after the other.

    A subclass gives the parameters, the state that triplets change, and the rate they do it by.
    """

    _FLOATS: ClassVar = [np.float64, np.float32]

    init: Any
    normalize: bool
    dtype: str
    n_triplets: int
    early_stopping: bool
    validation: str
    validation_fraction: float
    negatives: str
    hard_negatives: float
    random_state: Any
    verbose: bool

    state_: State

    # Triplets: the printed updates, and nothing else.

    def fit_triplets(
        self, triplets: Any, queries: Any, items: Any = None, weights: Any = None
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
        """
        self._check_parameters()
        queries, items = self._sides_of(queries, items)
        stream = self._stream(triplets, queries, items, weights)
        self._start(queries.shape[1], items.shape[1])
        return self._follow(stream, queries, items)

    def partial_fit_triplets(
        self, triplets: Any, queries: Any, items: Any = None, weights: Any = None
    ) -> Any:
        """Go on learning from more comparisons; parameters as in `fit_triplets`.

        Pieces of a list, one call after the other, give what `fit_triplets` gives on the list.
        """
        self._check_parameters()
        started = self._has_started()
        widths = self.state_.W.shape if started else (None, None)
        # Not every number is looked at: a few triplets must not cost a pass over all rows.
        if items is None and widths[0] != widths[1]:
            raise ValueError(
                f"items must be given: what was learned compares {widths[0]} features with "
                f"{widths[1]}."
            )
        queries, items = self._sides_of(queries, items, widths, finite=False)
        stream = self._stream(triplets, queries, items, weights)
        if isinstance(stream, TripletStream):
            refuse_odd_rows(stream, queries, None if items is queries else items)
        if not started:
            self._start(queries.shape[1], items.shape[1])
        return self._follow(stream, queries, items)

    # Labels, clicks and pairs: triplets are drawn, and what is learned is held to what is held out.

    def fit(self, X: Any, y: Any, weights: Any = None) -> Any:
        """Learn from labelled rows: triplets are drawn from them.

        With `early_stopping`, some rows are held out as queries; learning ends when they find
        their class no better, and where they never do, the start is kept, with a warning.

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
        source: TripletSource = LabelTriplets(y)
        held: HeldOut | None = None
        if self.early_stopping:
            held_rows, rows = split_rows(y, self.validation_fraction, rng)
            if len(held_rows):
                if self.validation == "queries":
                    held = HeldOutLabels(X, y, held_rows, rows, rng)
                else:
                    held = HeldOutTriplets(LabelTriplets(y, held_rows), X, X, rng)
                source = LabelTriplets(y, rows, rows)
            else:
                _warn_unvalidated(len(y), "rows")
        self._start(X.shape[1], X.shape[1])
        return self._draw_and_learn(source, X, X, self.n_triplets, rng, held, weights)

    def partial_fit(self, X: Any, y: Any, weights: Any = None) -> Any:
        """Go on learning from more labelled rows: ten triplets a row are drawn among them.

        Parameters as in `fit`. Nothing is held out.
        """
        self._check_parameters()
        started = self._has_started()
        X, y, weights = self._labelled(X, y, weights, reset=not started)
        source = LabelTriplets(y)
        if not started:
            self._start(X.shape[1], X.shape[1])
        elif self.state_.W.shape != (X.shape[1], X.shape[1]):
            raise ValueError(
                f"X has {X.shape[1]} features, but what was learned compares "
                f"{self.state_.W.shape[0]} with {self.state_.W.shape[1]}."
            )
        rng = self._generator(self.n_triplets_seen_)
        n_triplets = min(_TRIPLETS_A_ROW * len(y), self.n_triplets)
        return self._draw_and_learn(source, X, X, n_triplets, rng, None, weights)

    def fit_relevance(
        self, relevance: Any, queries: Any, items: Any = None, weights: Any = None
    ) -> Any:
        """Learn from graded relevance, such as clicks: triplets are drawn from it.

        With `early_stopping`, some queries are held out; learning ends when their results get no
        better, what was learned is mixed with the start as they like it best, and where that is
        not better than the start, the start is kept, with a warning.

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

    @property
    def similarity_(self) -> Bilinear:
        """The form as it is now; what is learned later does not change it."""
        if not hasattr(self, "state_"):
            raise AttributeError(f"this {type(self).__name__} has not learned anything yet.")
        # Frozen, not copied: whoever learns on makes a copy first.
        self.state_.W.flags.writeable = False
        return self._published(self.state_.W)

    def score(self, X: Any, y: Any) -> float:
        """Return the mean average precision of each row as a query among the others."""
        check_is_fitted(self, "state_")
        X = validate_data(self, X, accept_sparse="csr", dtype=self._FLOATS, reset=False)
        y = check_labels(y, "y", X, "X")
        precisions = average_precisions(self.similarity_, X, y)
        if len(precisions) == 0:
            raise ValueError("y has no class of two rows or more, so no row has one to find.")
        return float(precisions.mean())

    def plot_history(self, ax: Any = None) -> Any:
        """Plot the loss, and what was held out where something was, against triplets seen."""
        check_is_fitted(self, "state_")
        return plot_history(self.history_, getattr(self, "validation_", None), ax)

    @classmethod
    def merge(cls, models: Sequence[Any], start: Any = None) -> Any:
        """Return one learner that knows what several learned, each on its own triplets.

        Parameters
        ----------
        models : sequence of learners of this class
            All went on from the same start.
        start : learner, optional
            That start, where it had learned something itself; it is counted once. A fresh one by
            default.

        Returns
        -------
        A new learner with the parameters of the first.
        """
        models = list(models)
        if not models:
            raise ValueError("models is empty; at least one learner is needed.")
        for model in [*models, *([] if start is None else [start])]:
            if type(model) is not cls:
                raise TypeError(f"models must be {cls.__name__}s, but {model!r} was given.")
            check_is_fitted(model, "state_")
            if model.normalize != models[0].normalize:
                raise ValueError("models must agree in normalize, but they do not.")
            if type(model.state_) is not type(models[0].state_) or (
                model.state_.W.shape != models[0].state_.W.shape
            ):
                raise ValueError(
                    "models must have learned the same kind of form, of the same widths, but "
                    f"{type(models[0].state_).__name__} {models[0].state_.W.shape} and "
                    f"{type(model.state_).__name__} {model.state_.W.shape} were given."
                )
        if start is None and any(not same_start(m.init, models[0].init) for m in models):
            raise ValueError("models must have had the same start, but init differs.")
        if start is not None and any(m.n_triplets_seen_ < start.n_triplets_seen_ for m in models):
            raise ValueError("start has seen more triplets than a model that went on from it.")
        merged = cls(**models[0].get_params(deep=False))
        merged._start(*models[0].state_.W.shape)
        before = (0, 0)
        if start is not None:
            merged.state_ = start.state_
            before = start.n_triplets_seen_, start.n_updates_
        updates = [model.n_updates_ - before[1] for model in models]
        merged.state_ = merged.state_.with_evidence(
            added(
                model.state_.evidence_since(merged.state_, n)
                for model, n in zip(models, updates, strict=True)
            )
        )
        merged.n_updates_ = before[1] + sum(updates)
        merged.n_triplets_seen_ = before[0] + sum(m.n_triplets_seen_ - before[0] for m in models)
        return merged

    # How it is done.

    def _kind_of_state(self) -> type[State]:
        raise NotImplementedError

    def _rate(self) -> float:
        raise NotImplementedError

    def _published(self, W: np.ndarray) -> Bilinear:
        return Bilinear(W, norm="cosine" if self.normalize else "none")

    def _forgets(self) -> bool:
        return False

    def _inflate_variance(self) -> None:
        raise NotImplementedError

    def _has_started(self) -> bool:
        """Tell whether there is something to go on from, of the kind that is asked for."""
        if not hasattr(self, "state_"):
            return False
        if type(self.state_) is not self._kind_of_state() or self.state_.W.dtype != self.dtype:
            raise ValueError(
                f"parameters were changed after learning began with a {type(self.state_).__name__} "
                f"of {self.state_.W.dtype}: fit again."
            )
        return True

    def _check_parameters(self) -> None:
        if not isinstance(self.normalize, bool | np.bool_):
            raise TypeError(f"normalize must be True or False, but {self.normalize!r} was given.")
        check_choice(self.dtype, "dtype", ("float32", "float64"))
        check_whole_number(self.n_triplets, "n_triplets")
        check_choice(self.validation, "validation", ("queries", "triplets"))
        check_choice(self.negatives, "negatives", ("unjudged", "judged"))
        check_number(self.validation_fraction, "validation_fraction", least=0, strictly=True)
        check_number(self.hard_negatives, "hard_negatives", least=0)
        for name in ("validation_fraction", "hard_negatives"):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} must be at most 1, but {getattr(self, name)} was given.")

    def _sides_of(
        self, queries: Any, items: Any, widths: Any = (None, None), *, finite: bool = True
    ) -> tuple[Rows, Rows]:
        """Return the rows of both sides, checked; the queries are the items where there are none.

        With `finite` false the numbers themselves are not looked at.
        """
        queries = check_rows(queries, "queries", n_features=widths[0], finite=finite)
        if items is None:
            return queries, queries
        return queries, check_rows(items, "items", n_features=widths[1], finite=finite)

    def _stream(self, triplets: Any, queries: Rows, items: Rows, weights: Any) -> Any:
        return TripletStream(triplets, queries, items, weights)

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

    def _start(self, n_query: int, n_item: int) -> None:
        W = starting_form(self.init, n_query, n_item, self.dtype, self.normalize)
        self.state_ = self._kind_of_state().fresh(W)
        self.n_features_in_ = n_query
        self.n_triplets_seen_ = 0
        self.n_updates_ = 0
        self.history_: list[dict[str, Any]] = []
        self.__dict__.pop("validation_", None)

    def _follow(self, stream: TripletStream, queries: Rows, items: Rows) -> Any:
        feed = Feed(queries, items, unit=self.normalize, dtype=self.dtype)
        with show_progress(self.verbose), self._work(len(stream)) as work:
            self._learn(stream.blocks(BLOCK), feed, work)
            record(self.history_, self.n_triplets_seen_, self.n_updates_)
        return self

    def _work(self, total: int) -> LongWork:
        return LongWork("learning", total=total, unit="triplets", keeps="what was learned so far")

    def _learn(self, blocks: Iterable[Weighted], feed: Feed, work: LongWork) -> float:
        """Take in blocks of triplets until they end or someone presses Ctrl-C; return the loss."""
        make_writable(self.state_)
        loss = 0.0
        with single_threaded_blas():
            for triplets, weights in blocks:
                if work.interrupted:
                    break
                totals = np.zeros(2)
                for part in self._between_forgetting(len(triplets)):
                    self.state_.learn(triplets[part], weights[part], feed, self._rate(), totals)
                    self.n_triplets_seen_ += part.stop - part.start
                    if self._forgets() and self.n_triplets_seen_ % _FORGET_EVERY == 0:
                        self._inflate_variance()
                loss += totals[0]
                self.n_updates_ += int(totals[1])
                record(self.history_, self.n_triplets_seen_, self.n_updates_, totals[0])
                work.advance(len(triplets))
        return loss

    def _between_forgetting(self, n: int) -> Iterator[slice]:
        """Cut a block where variance is to be inflated: at whole thousands of the whole stream."""
        first = n if not self._forgets() else -self.n_triplets_seen_ % _FORGET_EVERY
        if first:
            yield slice(0, min(first, n))
        yield from slices(n, _FORGET_EVERY, start=first)

    def _fit_grades(
        self, grades: Any, queries: Rows, items: Rows, weights: Any, negatives: str
    ) -> Any:
        """Draw triplets from grades, some queries held out."""
        rng = self._generator(0)
        hard = self.hard_negatives
        source = RelevanceTriplets(grades, weights, negatives=negatives, hard=hard)
        held: HeldOut | None = None
        if self.early_stopping:
            held_rows, rows = split_queries(source.queries, self.validation_fraction, rng)
            if len(held_rows) and len(rows):
                source = RelevanceTriplets(
                    grades, weights, negatives=negatives, hard=hard, queries=rows
                )
                if self.validation == "queries":
                    held = HeldOutRelevance(grades, queries, items, held_rows, self._neighbors)
                else:
                    held_source = RelevanceTriplets(grades, weights, queries=held_rows)
                    held = HeldOutTriplets(held_source, queries, items, rng)
            else:
                _warn_unvalidated(len(source.queries), "queries")
        self._start(queries.shape[1], items.shape[1])
        return self._draw_and_learn(source, queries, items, self.n_triplets, rng, held, None)

    def _draw_and_learn(
        self,
        source: TripletSource,
        queries: Rows,
        items: Rows,
        n_triplets: int,
        rng: np.random.Generator,
        held: HeldOut | None,
        query_weights: np.ndarray | None,
    ) -> Any:
        """Learn from drawn triplets; with something held out, publish what does best on it."""
        start = None if held is None else copied(self.state_)
        way = Way() if held is None else Way(start, held(self.similarity_).mean())
        way = self._begun(way, n_triplets)
        learn = self._learner_of(source, queries, items, rng, query_weights)
        with show_progress(self.verbose), self._work(n_triplets) as work:
            for n in self._stretches(n_triplets)[way.stretches :]:
                if isinstance(source, RelevanceTriplets) and self.hard_negatives > 0:
                    k = min(_RANKED, items.shape[0])
                    source.set_ranking(self._neighbors(self.similarity_, queries, items, k).ids)
                learn(n, work)
                way.stretches += 1
                if held is not None:
                    mean = held(self.similarity_).mean()
                    record(self.history_, self.n_triplets_seen_, self.n_updates_, validation=mean)
                    way.note(self.state_, mean)
                self._kept(way)
                if work.interrupted or way.stale >= _PATIENCE:
                    break
        if held is not None and start is not None and way.best is not None:
            self._publish_best(held, start, way.best)
        return self

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

    def _publish_best(self, held: HeldOut, start: State, best: State) -> None:
        """Keep the best mixture of start and what was learned, or the start if none beats it.

        What was chosen among many seems better than it is. So many standard errors keep most of
        what is chance out: random labels pass in one case of twenty or so. One half to choose by
        and the other to judge by would be stricter, but too weak to let real gains pass.
        """
        before = held(self._published(start.W))
        found = []
        for share in _SHRINKAGES:
            W = start.W + start.W.dtype.type(share) * (best.W - start.W)
            found.append((held(self._published(W)), share, W))
        after, share, W = max(found, key=lambda option: option[0].mean())
        gain = after - before
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        passes = gain.mean() > max(_ERRORS_TO_PASS * error, 0)
        self.state_ = best if passes else start
        if passes:
            self.state_.W = W
        else:
            warnings.warn(
                f"what was learned does not clearly beat its start on {len(gain)} held-out "
                f"{self.validation} ({held.measure} {after.mean():.3f}, at the start "
                f"{before.mean():.3f}): the start is kept.",
                stacklevel=5,
            )
        self.validation_ = {
            "measure": held.measure,
            "n_held_out": len(gain),
            "start": float(before.mean()),
            "learned": float(after.mean()),
            "share": share if passes else 0.0,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def _warn_unvalidated(n: int, what: str) -> None:
    warnings.warn(
        f"{n} {what} are too few to hold some out: what is learned is not held to its start.",
        stacklevel=4,
    )
