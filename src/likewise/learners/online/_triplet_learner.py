"""A bilinear form learned from triplets: the printed updates, and nothing else."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likewise._progress import LongWork, show_progress
from likewise._threads import single_threaded_blas, slices
from likewise._validation import Rows, check_choice, check_rows
from likewise.learners._arguments import refuse_odd_rows, same_start, starting_form
from likewise.learners.online._beliefs import State, added, make_writable
from likewise.learners.online._early_stopping import BLOCK, Weighted
from likewise.learners.online._history import record
from likewise.learners.online._triplet_batches import Feed
from likewise.similarities import Bilinear
from likewise.supervision import TripletStream

_FORGET_EVERY = 1000


class TripletLearner(BaseEstimator):
    """A bilinear form learned from one triplet after the other.

    A subclass gives the parameters, the state that triplets change, and the rate they do it by.
    """

    init: Any
    normalize: bool
    dtype: str
    verbose: bool

    state_: State

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
        self._start(self._starting_form(queries.shape[1], items.shape[1]))
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
            self._start(self._starting_form(queries.shape[1], items.shape[1]))
        return self._follow(stream, queries, items)

    @property
    def similarity_(self) -> Bilinear:
        """The form as it is now; what is learned later does not change it."""
        if not hasattr(self, "state_"):
            raise AttributeError(f"this {type(self).__name__} has not learned anything yet.")
        # Frozen, not copied: whoever learns on makes a copy first.
        self.state_.W.flags.writeable = False
        return self._published(self.state_.W)

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
        merged._start(merged._starting_form(*models[0].state_.W.shape))
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

    def _starting_form(self, n_query: int, n_item: int, init: Any = None) -> np.ndarray:
        """Return W₀; `init` instead of the learner's own, where it is given."""
        init = self.init if init is None else init
        return starting_form(init, n_query, n_item, self.dtype, self.normalize)

    def _start(self, form: np.ndarray) -> None:
        """Begin anew with a form, which becomes the state's own."""
        self.state_ = self._kind_of_state().fresh(form)
        self.n_features_in_ = form.shape[0]
        self.n_triplets_seen_ = 0
        self.n_updates_ = 0
        self.history_: list[dict[str, Any]] = []

    def _follow(self, stream: TripletStream, queries: Rows, items: Rows) -> Any:
        feed = Feed(queries, items, unit=self.normalize, dtype=self.dtype)
        with show_progress(self.verbose), self._work(len(stream)) as work:
            self._learn(stream.blocks(BLOCK), feed, work)
            record(self.history_, self.n_triplets_seen_, self.n_updates_)
        return self

    def _work(self, total: int) -> LongWork:
        return LongWork(
            "learning", total=total, unit="triplets", partial_result="what was learned so far"
        )

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
