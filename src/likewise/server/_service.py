"""The server without HTTP: searches, feedback, items and versions."""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from math import isfinite
from secrets import token_hex
from threading import Event, Thread
from time import monotonic
from typing import Any

import numpy as np

from likewise.server._canary import compare_arms
from likewise.server._encoder import Encoder
from likewise.server._filling import fill_store
from likewise.server._following import StoreFollower
from likewise.server._model import open_model
from likewise.server._notices import startup_notices
from likewise.server._settings import Settings
from likewise.server._shared import RemoteLearning, SharedMemory
from likewise.server._snapshot import Snapshot
from likewise.server._tracing import span
from likewise.server.api import _schemas as schemas
from likewise.server.api._feedback import (
    query_of,
    request_digest,
    text_digest,
    texts_of,
    to_pages,
)
from likewise.server.learning._worker import LearningProcess
from likewise.server.store import (
    InvalidRequest,
    ItemId,
    NotFound,
    NotSupported,
    StoredItem,
    StoreUnavailable,
    TextQuery,
    open_store,
)

_LOG = logging.getLogger("likewise.server")
_POLL_SECONDS = 0.1
_FLUSH_SECONDS = 5.0  # between writes of the number of searches
_MAX_INLINE_NUMBERS = 2_000_000  # a search over so many numbers takes about half a millisecond


class Service(StoreFollower):
    """A model, its items and its store, with a learning process beside them.

    Parameters
    ----------
    settings : Settings
    learns : bool, default=True
        Whether to start a learning process.
    learning : RemoteLearning, optional
        The learning process of a supervisor, instead of an own one.
    memory : SharedMemory, optional
        Tells of changes that other workers have made.

    Attributes
    ----------
    notices : list of str
        Sentences for the person who starts the server.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        learns: bool = True,
        learning: RemoteLearning | None = None,
        memory: SharedMemory | None = None,
    ) -> None:
        model = open_model(
            settings.model,
            r=settings.r,
            image_shape=settings.image_shape,
            label=settings.label,
            encoder=None if settings.encoder is None else Encoder.from_name(settings.encoder),
            encoded_column=settings.text_column,
        )
        store = open_store(settings.location, schema=settings.schema)
        try:
            fill_store(store, settings, model)
            super().__init__(settings, model, store, memory)
            self.notices = startup_notices(settings, model, store, self.snapshot.catalog)
        except BaseException:
            store.close()
            raise
        self._store_answers, self._next_flush = True, 0.0
        self._stopping = Event()
        self._poller = Thread(target=self._poll, name="store-polling", daemon=True)
        self.learning: LearningProcess | RemoteLearning | None = None
        if learns and self.model.no_learning_reason is None:
            self.learning = learning or LearningProcess(settings.location, settings.schema)

    def start(self) -> None:
        """Start learning, and polling the store; search once, to load compiled kernels."""
        snapshot = self.snapshot
        if len(snapshot.catalog) and snapshot.items_are_queries:
            with suppress(InvalidRequest):
                snapshot.search(snapshot.catalog.items[0].vector[None], 1, None)
        self._poller.start()
        if self.learning is not None:
            self.learning.start()

    def stop(self) -> None:
        """Stop the threads and the learning process, and close the store."""
        self._stopping.set()
        if self._poller.is_alive():
            self._poller.join()
        if self.learning is not None:
            self.learning.stop()
        if self.canary is not None:
            with suppress(StoreUnavailable):
                self.canary.flush(self.store)
        self.store.close()

    @property
    def store_available(self) -> bool:
        """Whether the store answers, and takes feedback."""
        return self._store_answers and self.store.writable

    def _poll(self) -> None:
        logged = ""
        while not self._stopping.wait(_POLL_SECONDS):
            try:
                self.refresh()
                self.refresh_words()
                if self.canary is not None and monotonic() >= self._next_flush:
                    self.canary.flush(self.store)
                    self._next_flush = monotonic() + _FLUSH_SECONDS
                if not self.store.writable:
                    self.store.try_to_write()
                self._store_answers, logged = True, ""
            except StoreUnavailable:
                self._store_answers = False
            except Exception as error:
                self._store_answers = False
                if logged != (logged := repr(error)):  # once, although every poll may fail
                    _LOG.exception("a refresh from the store failed")

    # Queries.

    def search(self, request: schemas.SearchRequest) -> schemas.SearchResponse:
        """Find the items most similar to a query."""
        return schemas.SearchResponse.model_validate_json(self.search_json(request))

    def search_json(
        self, request: schemas.SearchRequest, snapshot: Snapshot | None = None
    ) -> bytes:
        """Return the response to a search as JSON, without objects for every match.

        Parameters
        ----------
        request : SearchRequest
        snapshot : Snapshot, optional
            That of `fast_snapshot`, with which the store is not read.
        """
        with span("search", k=request.k, filtered=request.filter is not None) as current:
            snapshot = snapshot or self._snapshot_for(request)
            live = snapshot.version.number
            if request.version is None:
                snapshot = self._assigned(request.user, request) or snapshot
            number = snapshot.version.number
            current.set_attribute("likewise.version", number)
            row, text = snapshot.query_row(request), snapshot.query_text(request)
            found = snapshot.search(row, request.k, request.filter, request.id, text)
        matches: list[dict[str, Any]] = [{"id": item.id, "score": score} for item, score in found]
        for _, score in found:
            _check_finite(score)
        if request.rows:
            for match, (item, _) in zip(matches, found, strict=True):
                match["row"] = {name: cell for name, cell in item.row.items() if name != "image"}
        if self.canary is not None and request.version is None:
            self.canary.count(live, number)
        return json.dumps({"matches": matches, "model": number}).encode()

    def fast_snapshot(self, request: schemas.SearchRequest) -> Snapshot | None:
        """Return the snapshot of a search that takes less time than passing it to another thread.

        It is None for other searches.
        """
        if self.is_stale:  # the store must be read
            return None
        snapshot = self.snapshot  # read last: it has every change that `is_stale` knows of
        known = request.id is None or str(request.id) in snapshot.catalog.by_id
        plain = request.text is None and request.version is None and request.filter is None
        if snapshot.index.store.plan.folded is None:  # every item is scored by itself
            return None
        shown = (snapshot, self.candidate)
        if request.vector is None and any(s and s.version.weight > 0 for s in shown):
            return None  # words are compared
        n_numbers = len(snapshot.catalog) * (snapshot.n_item_features or 0)
        return snapshot if known and plain and n_numbers <= _MAX_INLINE_NUMBERS else None

    def _assigned(self, user: str | None, query: schemas.QueryValue) -> Snapshot | None:
        """Return the candidate if it answers a user's query."""
        candidate, canary = self.candidate, self.canary
        return candidate if candidate and canary and canary.takes(user, query) else None

    def score(self, request: schemas.ScoreRequest) -> schemas.ScoreResponse:
        """Score items for a query."""
        snapshot = self._snapshot_for(request, *request.items)
        items = [snapshot.catalog.item(name) for name in request.items]
        rows = np.array([snapshot.catalog.row_numbers[str(item.id)] for item in items])
        text = snapshot.query_text(request)
        scores = snapshot.scores(snapshot.query_row(request), rows, text).tolist()
        pairs = zip(items, scores, strict=True)
        return schemas.ScoreResponse(scores=_matches(pairs), model=snapshot.version.number)

    def explain(self, request: schemas.ExplainRequest) -> schemas.ExplainResponse:
        """Explain the score of an item for a query."""
        snapshot = self._snapshot_for(request, request.item)
        item = snapshot.catalog.item(request.item)
        row, text = snapshot.query_row(request), snapshot.query_text(request)
        explanation = snapshot.explain(row, item, request.top, text)
        _check_finite(explanation.score)
        return schemas.ExplainResponse(
            score=explanation.score,
            terms=[schemas.Term(**term._asdict()) for term in explanation],
            rest=explanation.rest,
            model=snapshot.version.number,
        )

    def _snapshot_for(self, query: schemas.Query, *names: ItemId) -> Snapshot:
        """Return the snapshot for a query; refresh first if it names an unknown item."""
        wanted = names if query.id is None else (query.id, *names)
        by_id = self.current_snapshot().catalog.by_id
        if any(str(name) not in by_id for name in wanted):
            self.refresh()
        return self.snapshot_at(query.version)

    def served_recall(self, n_queries: int, k: int) -> schemas.ServedRecall:
        """Measure the share of the best items that a search finds."""
        snapshot = self.snapshot
        items = snapshot.catalog.items
        names = [str(items[row].id) for row in snapshot.catalog.sample(n_queries)]
        recall = snapshot.index.served_recall(names, k)
        return schemas.ServedRecall(
            recall=recall, k=k, n_queries=len(names), engine=snapshot.index.engine
        )

    # Feedback.

    def feedback(self, request: schemas.FeedbackRequest) -> int:
        """Write feedback to the journal, and return the number of its comparisons."""
        self.check_learning()
        key, digest = request.key or f"auto-{token_hex(16)}", request_digest(request)
        known = self.store.accepted_count(key, digest) if request.key is not None else None
        if known is not None:
            return known
        pages = to_pages(
            request,
            self.item,
            self._query_converter(texts_of(request)),
            lambda click: self._ranked_by(click, request.user),
            self._lexical_scores(),
        )
        with span("journal", pages=len(pages)) as current:
            accepted = self.store.append(key, digest, pages, request.user)
            current.set_attribute("likewise.comparisons", accepted)
        self._wake_learner()
        return accepted

    def _query_converter(
        self, texts: Sequence[str]
    ) -> Callable[[schemas.QueryValue], int | list[float] | TextQuery]:
        """Return a function from queries to what pages hold; the texts are encoded together."""
        rows = self.model.vectorize_texts(texts) if texts else ()
        vectors = dict(zip(texts, rows, strict=True))

        def convert(query: schemas.QueryValue) -> int | list[float] | TextQuery:
            snapshot = self.snapshot
            if query.id is not None:
                snapshot.check_id_queries()
                return self.item(query.id).revision
            if query.text is not None:
                row = snapshot.check_query(vectors[query.text][None])[0]
                return TextQuery(text_digest(query.text), row.tolist())
            assert query.vector is not None
            snapshot.check_query(np.array([query.vector], dtype=np.float32))
            return query.vector

        return convert

    def _lexical_scores(self) -> Callable[[schemas.QueryValue, Sequence[int]], Any]:
        """Return a function from a query and revisions to lexical scores; None without them."""
        snapshot = self.snapshot

        def scores(query: schemas.QueryValue, shown: Sequence[int]) -> tuple[float, ...] | None:
            text = query.text
            if query.id is not None:
                text = self.model.item_text(self.item(query.id).row)
            if snapshot.lexical is None or text is None:
                return None
            found = snapshot.lexical.scores_of(text, shown)
            return found if any(found) else None

        return scores

    def _ranked_by(self, click: schemas.Click, user: str | None) -> int | None:
        """Return the version that ranked a page, if it is known or an A/B test needs it."""
        if click.model is not None:
            if click.model > self.last_version:
                self.refresh()
            if click.model > self.last_version:
                raise InvalidRequest(f"model {click.model} is not a version of this server.")
            return click.model
        if self.canary is None:
            return None
        return (self._assigned(user, query_of(click.query)) or self.snapshot).version.number

    def compare_canary(self) -> schemas.Canary | None:
        """Return the searches and clicks of the live version and of the candidates after it."""
        if self.canary is None:
            return None
        self.canary.flush(self.store)
        candidate = self.candidate
        number = None if candidate is None else candidate.version.number
        live = self.snapshot.version.number
        return compare_arms(self.store, live, number, self.canary.share)

    def undo(self, key: str) -> int:
        """Undo feedback, and return the number of its comparisons."""
        undone = self.store.undo(key)
        self._wake_learner()
        return undone

    def forget(self, user: str) -> int:
        """Undo all feedback of a user, and return the number of its comparisons."""
        undone = self.store.forget(user)
        self._wake_learner()
        return undone

    def check_learning(self) -> None:
        """Raise an error if the model cannot learn."""
        if self.model.no_learning_reason is not None:
            raise NotSupported(self.model.no_learning_reason)

    def _wake_learner(self) -> None:
        if self.learning is not None:
            self.learning.wake()

    # Items and versions.

    def item(self, name: ItemId) -> StoredItem:
        """Return an item, also one that another server has just added."""
        if str(name) not in self.current_snapshot().catalog.by_id:
            self.refresh()
        return self.snapshot.catalog.item(name)

    def put_items(self, items: Sequence[schemas.NewItem], *, add: bool) -> int:
        """Add items, or replace them."""
        if len({str(item.id) for item in items}) < len(items):
            raise InvalidRequest("items contains an id twice; ids must be unique.")
        width = self.snapshot.n_item_features
        rows = self.model.convert_items(items)
        for name, vector, _ in rows:
            if width is not None and len(vector) != width:
                raise InvalidRequest(
                    f"item {name!r} has {len(vector)} features, but the others have {width}."
                )
        changed = self.store.put_items(rows, add=add, replace=not add)
        self._show_change()
        return changed

    def remove_item(self, name: ItemId) -> None:
        """Remove an item."""
        self.store.remove_item(name)
        self._show_change()

    def make_live(self, version: int, *, rollback: bool) -> int:
        """Make a version live."""
        if version > 2**31:
            raise NotFound(f"there is no version {version}.")
        self.store.make_live(version, rollback=rollback)
        self._show_change()
        return version

    def _show_change(self) -> None:
        """Refresh after a committed change; if that fails, the next poll does it."""
        self.announce_change()
        try:
            self.refresh()
        except Exception:
            _LOG.exception("a refresh after a change failed")


def _matches(pairs: Iterable[tuple[StoredItem, float]]) -> list[schemas.Match]:
    matches = [schemas.Match(id=item.id, score=score) for item, score in pairs]
    for match in matches:
        _check_finite(match.score)
    return matches


def _check_finite(score: float) -> None:
    if not isfinite(score):
        raise InvalidRequest("a score overflows: scale the query down.")
