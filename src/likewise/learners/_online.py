"""What AROMA and OASIS share: the doors for labels, clicks and pairs, beside that for triplets."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise._progress import LongWork, show_progress
from likewise._validation import (
    Rows,
    check_choice,
    check_labels,
    check_number,
    check_rows,
    check_whole_number,
)
from likewise.learners._arguments import grades_of_pairs
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
from likewise.learners._states import State, copied
from likewise.learners._triplet_learner import TripletLearner
from likewise.learners._way import Way, drawn, stretches
from likewise.similarities import Matches, Similarity
from likewise.supervision import (
    LabelTriplets,
    RelevanceTriplets,
    TripletSource,
    check_relevance,
    check_weights,
)

_PATIENCE = 5  # checks without a gain
_TRIPLETS_A_ROW = 10
_RANKED = 50  # items of each query that hard negatives are drawn from
_SHRINKAGES = (0.25, 0.5, 0.75, 1.0)
_ERRORS_TO_PASS = 2.5


class OnlineLearner(TripletLearner):
    """A learner that draws triplets itself, and is held to what it does not learn from."""

    _FLOATS: ClassVar = [np.float64, np.float32]

    n_triplets: int
    early_stopping: bool
    validation: str
    validation_fraction: float
    negatives: str
    hard_negatives: float
    random_state: Any

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

    # How it is done.

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole_number(self.n_triplets, "n_triplets")
        check_choice(self.validation, "validation", ("queries", "triplets"))
        check_choice(self.negatives, "negatives", ("unjudged", "judged"))
        check_number(self.validation_fraction, "validation_fraction", least=0, strictly=True)
        check_number(self.hard_negatives, "hard_negatives", least=0)
        for name in ("validation_fraction", "hard_negatives"):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} must be at most 1, but {getattr(self, name)} was given.")

    def _start(self, n_query: int, n_item: int) -> None:
        super()._start(n_query, n_item)
        self.__dict__.pop("validation_", None)

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
