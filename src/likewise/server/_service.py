"""The server without HTTP: searches, feedback, items and versions."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from math import isfinite
from secrets import token_hex
from threading import Event, Lock, Thread
from typing import Any

import numpy as np

from likewise._files import to_bytes
from likewise.server._model import ServedModel, initialize_learner, open_model
from likewise.server._settings import Settings
from likewise.server._snapshot import Catalog, Snapshot, Version, item_fields
from likewise.server.api import _schemas as schemas
from likewise.server.api._feedback import request_digest, to_pages
from likewise.server.learning._initial import BASE_VERSION
from likewise.server.learning._worker import LearningProcess
from likewise.server.store import (
    InvalidRequest,
    ItemId,
    NotFound,
    NotSupported,
    StoredItem,
    StoreStatus,
    StoreUnavailable,
    open_store,
)

_POLL_SECONDS = 0.1
_MAX_INLINE_NUMBERS = 2_000_000  # a search over so many numbers takes about half a millisecond


class Service:
    """A model, its items and its store, with a learning process beside them.

    Parameters
    ----------
    settings : Settings
    learns : bool, default=True
        Whether to start a learning process.
    """

    def __init__(self, settings: Settings, *, learns: bool = True) -> None:
        self.settings = settings
        self.model = open_model(
            settings.model, r=settings.r, image_shape=settings.image_shape, label=settings.label
        )
        self.store = open_store(settings.location, schema=settings.schema)
        try:
            self._initialize()
            version, catalog = self._version(BASE_VERSION), Catalog()
            self._index = version.build_index(settings.engine, catalog)
            self.snapshot = Snapshot(self.model, version, catalog, self._index.snapshot)
            self._refreshing = Lock()
            self.refresh()
        except BaseException:
            self.store.close()
            raise
        self._store_answers = True
        self._stopping = Event()
        self._poller = Thread(target=self._poll, name="store-polling", daemon=True)
        self.learning: LearningProcess | None = None
        if learns and self.model.no_learning_reason is None:
            self.learning = LearningProcess(settings.location, settings.schema)

    def start(self) -> None:
        """Start learning, and polling the store."""
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
        self.store.close()

    # The store, and snapshots of it.

    @property
    def store_available(self) -> bool:
        """Whether the store answers, and takes feedback."""
        return self._store_answers and self.store.writable

    def _initialize(self) -> None:
        """Check that the store belongs to the model, or fill a new store."""
        digest = sha256(self.settings.model.read_bytes()).hexdigest()
        known = self.store.note("model")
        if known is not None and known != digest:
            # The address of a database may contain a password.
            in_postgres = self.store.kind == "postgresql"
            location = "in PostgreSQL" if in_postgres else self.settings.location
            raise ValueError(
                f"the store {location} belongs to another model than {self.settings.model}: "
                "give another --store."
            )
        items = _read_items(self.settings, self.model)
        if known is None:
            width = self.model.n_item_features or (len(items[0][0][1]) if items else None)
            if width is None:
                raise ValueError("items are needed: the model does not define their width.")
            if width > schemas.MAX_FEATURES:
                raise ValueError(
                    f"items have {width} features, but the limit is {schemas.MAX_FEATURES}."
                )
            state = None
            if self.model.learner is not None:
                n_query = self.model.n_query_features or width
                state = to_bytes(initialize_learner(self.model.learner, n_query, width))
            self.store.initialize({"model": digest}, to_bytes(self.model.similarity), state)
        self.store.set_learner(self.settings.learner)
        if items is not None:
            rows, file_digest = items
            self.store.put_items(rows, digest=file_digest)

    def _poll(self) -> None:
        while not self._stopping.wait(_POLL_SECONDS):
            try:
                self.refresh()
                if not self.store.writable:
                    self.store.try_to_write()
                self._store_answers = True
            except StoreUnavailable:
                self._store_answers = False

    def refresh(self) -> StoreStatus:
        """Load changed items and a new live version from the store into a new snapshot."""
        with self._refreshing:
            status, snapshot = self.store.status(), self.snapshot
            catalog, version = snapshot.catalog, snapshot.version
            if status.change != catalog.change:
                catalog = self._update_items(catalog)
            if status.live != version.number:
                version = self._version(status.live)
                self._update_version(version, catalog)
            if catalog is not snapshot.catalog or version is not snapshot.version:
                # Atomic: a search sees the old snapshot or the new one.
                self.snapshot = Snapshot(self.model, version, catalog, self._index.snapshot)
            return status

    def _update_version(self, version: Version, catalog: Catalog) -> None:
        """Index the items under a new version; where no item moves, swap the similarity."""
        if version.offsets is None and self.snapshot.version.offsets is None:
            self._index.swap(version.similarity)
        else:
            self._index = version.build_index(self.settings.engine, catalog)

    def _update_items(self, catalog: Catalog) -> Catalog:
        """Apply the store's changes to the index, and return the new catalog."""
        added, retired, change = self.store.items_since(catalog.change)
        replaced, retired_revisions = {str(item.id) for item in added}, set(retired)
        removed = [
            name
            for name, item in catalog.by_id.items()
            if item.revision in retired_revisions and name not in replaced
        ]
        for exists, put in ((False, self._index.add), (True, self._index.update)):
            items = [item for item in added if (str(item.id) in catalog.by_id) is exists]
            if items:
                rows = np.array([item.vector for item in items])
                put([str(item.id) for item in items], rows, item_fields(items))
        if removed:
            self._index.remove(removed)
        return catalog.updated(added, set(removed), change)

    @lru_cache(maxsize=4)  # noqa: B019 (a server has one service)
    def _version(self, number: int) -> Version:
        return Version.from_files(number, self.store.version_files(number))

    def snapshot_at(self, version: int | None) -> Snapshot:
        """Return the present items under a version; None is the live one."""
        snapshot = self.snapshot
        if version is None or version == snapshot.version.number:
            return snapshot
        return self._snapshot_at(version, snapshot.catalog)

    @lru_cache(maxsize=2)  # noqa: B019 (a server has one service)
    def _snapshot_at(self, number: int, catalog: Catalog) -> Snapshot:
        return Snapshot(self.model, self._version(number), catalog)

    # Queries.

    def search(self, request: schemas.SearchRequest) -> schemas.SearchResponse:
        """Find the items most similar to a query."""
        snapshot = self._snapshot_for(request)
        own = None if request.id is None else str(request.id)
        matches = snapshot.search(snapshot.query_row(request), request.k + 1, request.filter)
        others = [(item, score) for item, score in matches if str(item.id) != own]
        return schemas.SearchResponse(
            matches=_matches(others[: request.k]), model=snapshot.version.number
        )

    def is_fast(self, request: schemas.SearchRequest) -> bool:
        """Whether a search takes less time than passing it to another thread."""
        snapshot = self.snapshot
        known = request.id is None or str(request.id) in snapshot.catalog.by_id
        plain = request.text is None and request.version is None and request.filter is None
        if snapshot.index.store.plan.folded is None:  # every item is scored by itself
            return False
        n_numbers = len(snapshot.catalog) * (snapshot.n_item_features or 0)
        return known and plain and n_numbers <= _MAX_INLINE_NUMBERS

    def score(self, request: schemas.ScoreRequest) -> schemas.ScoreResponse:
        """Score items for a query."""
        snapshot = self._snapshot_for(request, *request.items)
        items = [snapshot.catalog.item(name) for name in request.items]
        rows = snapshot.version.item_rows(items)
        scores = snapshot.similarity.score(snapshot.query_row(request), rows)[0].tolist()
        pairs = zip(items, scores, strict=True)
        return schemas.ScoreResponse(scores=_matches(pairs), model=snapshot.version.number)

    def explain(self, request: schemas.ExplainRequest) -> schemas.ExplainResponse:
        """Explain the score of an item for a query."""
        snapshot = self._snapshot_for(request, request.item)
        item = snapshot.catalog.item(request.item)
        explanation = snapshot.explain(snapshot.query_row(request), item, request.top)
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
        if any(str(name) not in self.snapshot.catalog.by_id for name in wanted):
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
        snapshot = self.snapshot
        pages = to_pages(
            request,
            self.item,
            self.model.n_query_features or snapshot.n_item_features,
            ids_are_queries=snapshot.items_are_queries,
        )
        accepted = self.store.append(key, digest, pages, request.user)
        self._wake_learner()
        return accepted

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
        if str(name) not in self.snapshot.catalog.by_id:
            self.refresh()
        return self.snapshot.catalog.item(name)

    def put_items(self, items: Sequence[schemas.NewItem], *, add: bool) -> int:
        """Add items, or replace them."""
        if len({str(item.id) for item in items}) < len(items):
            raise InvalidRequest("items contains an id twice; ids must be unique.")
        width = self.snapshot.n_item_features
        rows = []
        for item in items:
            name, vector, row = self.model.convert_item(item.id, item.vector, item.row)
            if width is not None and len(vector) != width:
                raise InvalidRequest(
                    f"item {name!r} has {len(vector)} features, but the others have {width}."
                )
            rows.append((name, vector, row))
        changed = self.store.put_items(rows, add=add, replace=not add)
        self.refresh()
        return changed

    def remove_item(self, name: ItemId) -> None:
        """Remove an item."""
        self.store.remove_item(name)
        self.refresh()

    def make_live(self, version: int, *, rollback: bool) -> int:
        """Make a version live."""
        if version > 2**31:
            raise NotFound(f"there is no version {version}.")
        self.store.make_live(version, rollback=rollback)
        return self.refresh().live


def _read_items(settings: Settings, model: ServedModel) -> tuple[list[Any], str] | None:
    """Return the items of the file and its digest; None if there is no file."""
    from likewise.tables import read_table

    if settings.items is None:
        return None
    table = read_table(settings.items)
    path = settings.items
    content = path.read_bytes() if path.is_file() else str(path).encode()
    rows = table.rows
    if settings.label is None and table.labels is not None and hasattr(rows, "append_column"):
        import pyarrow

        rows = rows.append_column(table.target, pyarrow.array(table.labels.tolist()))
    return list(model.convert_table(rows)), sha256(content).hexdigest()


def _matches(pairs: Iterable[tuple[StoredItem, float]]) -> list[schemas.Match]:
    matches = [schemas.Match(id=item.id, score=score) for item, score in pairs]
    for match in matches:
        _check_finite(match.score)
    return matches


def _check_finite(score: float) -> None:
    if not isfinite(score):
        raise InvalidRequest("a score overflows: scale the query down.")
