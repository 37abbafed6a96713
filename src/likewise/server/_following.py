"""Snapshots of a store that follow its items, its live version and its newest candidate."""

from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from time import monotonic

from likewise.server._canary import Canary
from likewise.server._lexical import LexicalIndex
from likewise.server._model import ServedModel
from likewise.server._served import ServedVersion
from likewise.server._settings import Settings
from likewise.server._shared import SharedMemory
from likewise.server._snapshot import Catalog, Snapshot, Version
from likewise.server.learning._initial import BASE_VERSION
from likewise.server.store import Store, StoredItem, StoreStatus

_WORDS_PAUSE = 10  # times as long as indexing all words takes, between two times


class StoreFollower:
    """The present state of a store in memory.

    Parameters
    ----------
    settings : Settings
    model : ServedModel
    store : Store
    memory : SharedMemory, optional
        Tells of changes that other workers have made.

    Attributes
    ----------
    snapshot : Snapshot
        The items under the live version.
    candidate : Snapshot or None
        The items under the candidate of a canary.
    canary : Canary or None
    last_version : int
        Number of the newest version.
    """

    def __init__(
        self, settings: Settings, model: ServedModel, store: Store, memory: SharedMemory | None
    ) -> None:
        self.settings, self.model, self.store = settings, model, store
        self.canary = Canary(settings.canary) if settings.canary > 0 else None
        self._memory, self._seen_change = memory, 0
        self._live = self._serve(self._version(BASE_VERSION), Catalog())
        self._candidate: ServedVersion | None = None
        self._candidate_of = (0, 0)  # the newest and the live version when it was looked for
        self._refreshing = Lock()
        self._hybrid = settings.hybrid is not None
        self._lexical: LexicalIndex | None = None
        self._words_of, self._next_words = -1, 0.0
        self.snapshot = self._live.snapshot(Catalog())
        self.candidate: Snapshot | None = None
        self.last_version = self.refresh().last_version
        self.refresh_words()
        catalog = self.snapshot.catalog
        if self._hybrid and len(catalog) and not any(model.item_text(i.row) for i in catalog.items):
            raise ValueError(
                f"hybrid search needs texts in the column {model.encoded_column!r} of the items: "
                "name it by --text-column."
            )
        if self.snapshot.version.weight > 0 and not self._hybrid:
            raise ValueError(
                f"version {self.snapshot.version.number}, which is live, uses the words of the "
                "items: --hybrid is needed."
            )

    def refresh(self) -> StoreStatus:
        """Load changed items, a new live version and a new candidate from the store."""
        with self._refreshing:
            # Read first, so that a later change is seen by the next request.
            change = 0 if self._memory is None else self._memory.change
            # All reads precede all changes of indexes, which a failing read thus leaves unchanged.
            status, catalog = self.store.status(), self.snapshot.catalog
            is_changed = status.change != catalog.change
            items = self.store.items_since(catalog.change) if is_changed else None
            is_switched = status.live != self._live.version.number
            live = self._version(status.live) if is_switched else self._live.version
            of = status.last_version, status.live
            looks = self.canary is not None and self._candidate_of != of
            candidate = self._read_candidate() if looks else None
            if items is not None:
                catalog = self._update_items(catalog, *items)
            if is_switched:
                self._live.switch(live, catalog)
            if looks:
                self._set_candidate(candidate, catalog)
                self._candidate_of = of
            self._publish(catalog)
            self._seen_change, self.last_version = change, status.last_version
            return status

    def _read_candidate(self) -> Version | None:
        """Return the newest candidate; None if there is none."""
        number = self.store.candidate()
        return None if number is None else self._version(number)

    def _set_candidate(self, version: Version | None, catalog: Catalog) -> None:
        """Index a candidate, or none, beside the live version."""
        if version is None:
            self._candidate = None
        elif self._candidate is None:
            self._candidate = self._serve(version, catalog)
        elif version.number != self._candidate.version.number:
            self._candidate.switch(version, catalog)

    def _publish(self, catalog: Catalog) -> None:
        """Replace the snapshots that have changed; a search sees the old one or the new one."""
        for name, served in (("snapshot", self._live), ("candidate", self._candidate)):
            shown: Snapshot | None = getattr(self, name)
            if served is None:
                setattr(self, name, None)
            elif (
                shown is None
                or shown.version is not served.version
                or shown.catalog is not catalog
                or shown.lexical is not self._lexical
            ):
                setattr(self, name, served.snapshot(catalog, self._lexical))

    def refresh_words(self) -> None:
        """Index the words of changed items, unless that was done recently."""
        catalog = self.snapshot.catalog
        if self._hybrid and catalog.change != self._words_of and monotonic() >= self._next_words:
            started = monotonic()
            self._lexical = self._index_words(catalog)
            self._words_of = catalog.change
            finished = monotonic()
            self._next_words = finished + _WORDS_PAUSE * (finished - started)
            with self._refreshing:
                self._publish(self.snapshot.catalog)

    def _index_words(self, catalog: Catalog) -> LexicalIndex:
        items = catalog.items
        texts = [self.model.item_text(item.row) or "" for item in items]
        return LexicalIndex([item.revision for item in items], texts)

    def _serve(self, version: Version, catalog: Catalog) -> ServedVersion:
        return ServedVersion(self.model, version, catalog, self.settings.engine)

    @property
    def is_stale(self) -> bool:
        """Whether another worker has changed items or the live version since the last refresh."""
        return self._memory is not None and self._memory.change != self._seen_change

    def announce_change(self) -> None:
        """Let the next request to any worker see a change of items or of the live version."""
        if self._memory is not None:
            self._memory.announce_change()

    def _update_items(
        self, catalog: Catalog, added: Sequence[StoredItem], retired: Sequence[int], change: int
    ) -> Catalog:
        """Apply the store's changes to the indexes, and return the new catalog."""
        replaced, retired_revisions = {str(item.id) for item in added}, set(retired)
        removed = [
            name
            for name, item in catalog.by_id.items()
            if item.revision in retired_revisions and name not in replaced
        ]
        for served in (self._live, self._candidate):
            if served is not None:
                served.update(catalog, added, removed)
        return catalog.updated(added, set(removed), change)

    @lru_cache(maxsize=4)  # noqa: B019 (a server has one service)
    def _version(self, number: int) -> Version:
        return Version.from_files(number, self.store.version_files(number))

    def current_snapshot(self) -> Snapshot:
        """Return the live snapshot, with every change that a worker has answered."""
        if self.is_stale:
            self.refresh()
        return self.snapshot

    def snapshot_at(self, version: int | None) -> Snapshot:
        """Return the present items under a version; None is the live one."""
        snapshot = self.snapshot
        if version is None or version == snapshot.version.number:
            return snapshot
        return self._snapshot_at(version, snapshot.catalog, snapshot.lexical)

    @lru_cache(maxsize=2)  # noqa: B019 (a server has one service)
    def _snapshot_at(self, number: int, catalog: Catalog, lexical: LexicalIndex | None) -> Snapshot:
        return Snapshot(self.model, self._version(number), catalog, lexical=lexical)
