"""Everything a server does, without HTTP: searches, feedback, items, versions."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from math import isfinite
from secrets import token_hex
from threading import Event, Lock, Thread
from time import sleep
from typing import Any

import numpy as np

from likewise._files import to_bytes
from likewise.index import Index
from likewise.server._catalogue import Catalogue
from likewise.server._live import Live, Version, fields_of
from likewise.server._served import Served, begun, open_model
from likewise.server._settings import Settings
from likewise.server.api import _schemas as schemas
from likewise.server.api._feedback import digest_of, pages_of
from likewise.server.api._schemas import MOST_FEATURES
from likewise.server.learning._start import BASE
from likewise.server.learning._worker import LearningProcess
from likewise.server.store._open import open_store
from likewise.server.store._records import (
    ItemId,
    NotPossibleError,
    NotThereError,
    Pulse,
    StoreAwayError,
    StoredItem,
    WrongRequestError,
)

_LOOK_EVERY = 0.1  # seconds between looks at what others have changed in the store
_QUICK = 2_000_000  # numbers to look at: about half a millisecond


class Service:
    """A model, its items and its store, and a learner beside them.

    Parameters
    ----------
    settings : Settings
    learns : bool, default=True
        Whether to start a learner.
    """

    def __init__(self, settings: Settings, *, learns: bool = True) -> None:
        self.settings = settings
        self.served = open_model(
            settings.model, r=settings.r, image_shape=settings.image_shape, label=settings.label
        )
        self.store = open_store(settings.place, schema=settings.schema)
        try:
            self._begin()
            base = self._version(BASE)
            self._index = base.index(settings.engine, Catalogue())
            self.live = Live(self.served, base, Catalogue())
            self._following = Lock()
            self.follow()
        except BaseException:
            self.store.close()
            raise
        self.store_is_there = True
        self._stopping = Event()
        self._follower = Thread(target=self._follow, name="following", daemon=True)
        self.learning: LearningProcess | None = None
        if learns and self.why_not is None:
            self.learning = LearningProcess(settings.place, settings.schema)

    def start(self) -> None:
        """Begin to learn and to follow the store."""
        self._follower.start()
        if self.learning is not None:
            self.learning.start()

    def stop(self) -> None:
        """End, with everything written down."""
        self._stopping.set()
        if self._follower.is_alive():
            self._follower.join()
        if self.learning is not None:
            self.learning.stop()
        self.store.close()

    # Begin, and follow.

    def _begin(self) -> None:
        """Take up the store, or fill a new one."""
        digest = sha256(self.settings.model.read_bytes()).hexdigest()
        known = self.store.note("model")
        if known is not None and known != digest:
            raise ValueError(
                f"the store {self._place} belongs to another model than {self.settings.model}: "
                "give another --store."
            )
        items = _read_items(self.settings, self.served)
        if known is None:
            width = self.served.n_item_features or (len(items[0][0][1]) if items else None)
            if width is None:
                raise ValueError("items are needed: the model does not say how wide they are.")
            if width > MOST_FEATURES:
                raise ValueError(f"the items have {width} features; at most {MOST_FEATURES} do.")
            start = None
            if self.served.learner is not None:
                learner = begun(self.served.learner, self.served.n_query_features or width, width)
                start = to_bytes(learner)
            self.store.begin({"model": digest}, to_bytes(self.served.similarity), start)
        self.store.choose_learner(self.settings.learner)
        if items is not None:
            rows, file_digest = items
            self.store.put_items(rows, digest=file_digest)

    @property
    def _place(self) -> str:
        # A database's address may hold a password.
        return "in PostgreSQL" if self.store.kind == "postgresql" else self.settings.place

    def _follow(self) -> None:
        while not self._stopping.wait(_LOOK_EVERY):
            try:
                self.follow()
                self.store_is_there = True
            except StoreAwayError:
                self.store_is_there = False

    def follow(self) -> Pulse:
        """Take over what has changed in the store: items, and the live version."""
        with self._following:
            pulse, live = self.store.pulse(), self.live
            catalogue, what = live.catalogue, live.what
            if pulse.change != catalogue.change:
                catalogue = self._changed(catalogue)
            if pulse.live != what.number:
                what = self._version(pulse.live)
                self._index = self._index_by(what, catalogue)
            if catalogue is not live.catalogue or what is not live.what:
                # One assignment: whoever searches has the old one or the new one, whole.
                self.live = Live(self.served, what, catalogue)
            return pulse

    def _index_by(self, what: Version, catalogue: Catalogue) -> Index:
        """Return the index of a version that becomes live.

        Where no item moves, the similarity of the index is exchanged. Else another index is filled
        beside it, so that no search sees a new similarity with old offsets.
        """
        if what.offsets is None and self.live.what.offsets is None:
            return self._index.swap(what.similarity)
        return what.index(self.settings.engine, catalogue)

    def _changed(self, catalogue: Catalogue) -> Catalogue:
        """Return the catalogue as the store has it now, and bring the index there."""
        came, went, change = self.store.items_since(catalogue.change)
        replaced, revisions = {str(item.id) for item in came}, set(went)
        gone = [
            name
            for name, item in catalogue.items.items()
            if item.revision in revisions and name not in replaced
        ]
        for known in (False, True):
            items = [item for item in came if (str(item.id) in catalogue.items) is known]
            if items:
                put = self._index.update if known else self._index.add
                rows = np.array([item.vector for item in items])
                put([str(item.id) for item in items], rows, fields_of(items))
        if gone:
            self._index.remove(gone)
        return catalogue.after(came, set(gone), change)

    @lru_cache(maxsize=4)  # noqa: B019 (a server has one service)
    def _version(self, number: int) -> Version:
        return Version.read(number, self.store.files(number))

    def at(self, version: int | None) -> Live:
        """Return what answers now, or what would with another version."""
        live = self.live
        if version is None or version == live.version:
            return live
        return self._at(version, live.catalogue)

    @lru_cache(maxsize=2)  # noqa: B019 (a server has one service)
    def _at(self, version: int, catalogue: Catalogue) -> Live:
        return Live(self.served, self._version(version), catalogue)

    @property
    def why_not(self) -> str | None:
        """Why nothing can be learned; None where it can."""
        return self.served.why_not

    # Ask.

    def search(self, asked: schemas.SearchRequest) -> schemas.SearchAnswer:
        """Find the items most alike to a query."""
        live = self._knowing(asked)
        own = None if asked.id is None else str(asked.id)
        live, found = self._find(live, live.query_row(asked), asked.k + 1, asked.filter)
        items = live.catalogue.items
        kept = [(items[name], score) for name, score in found if name != own and name in items]
        return schemas.SearchAnswer(matches=_matches(kept[: asked.k]), model=live.version)

    def is_quick(self, asked: schemas.SearchRequest) -> bool:
        """Tell whether a search takes less time than handing it to another thread and back."""
        live = self.live
        known = asked.id is None or str(asked.id) in live.catalogue.items
        plain = asked.text is None and asked.version is None and asked.filter is None
        return known and plain and len(live.catalogue) * (live.n_item_features or 0) <= _QUICK

    def _find(
        self, live: Live, row: np.ndarray, k: int, where: dict[str, Any] | None
    ) -> tuple[Live, list[tuple[str, float]]]:
        """Search; return also what has searched, since another version may have come meanwhile."""
        if live.version != self.live.version:
            return live, _searched(self._index_of(live.version, live.catalogue), row, k, where)
        while True:
            live, index = self.live, self._index
            if index.similarity is live.similarity:
                found = _searched(index, row, k, where)
                if index.similarity is live.similarity:
                    return live, found
            sleep(0.001)  # the one has been exchanged, the other is about to be

    @lru_cache(maxsize=2)  # noqa: B019 (a server has one service)
    def _index_of(self, version: int, catalogue: Catalogue) -> Index:
        """Return the items under another version than the live one."""
        return self._version(version).index("exact", catalogue)

    def score(self, asked: schemas.ScoreRequest) -> schemas.ScoreAnswer:
        """Score some items with a query."""
        live = self._knowing(asked, *asked.items)
        items = [live.catalogue.item(name) for name in asked.items]
        scores = live.scores(live.query_row(asked), live.what.moved(items))[0].tolist()
        pairs = zip(items, scores, strict=True)
        return schemas.ScoreAnswer(scores=_matches(pairs), model=live.version)

    def explain(self, asked: schemas.ExplainRequest) -> schemas.ExplainAnswer:
        """Say why an item scores as it does."""
        live = self._knowing(asked, asked.item)
        item = live.catalogue.item(asked.item)
        why = live.explain(live.query_row(asked), item, asked.top)
        if not isfinite(why.score):
            raise WrongRequestError(
                "the score is beyond the range of numbers: scale the query down."
            )
        return schemas.ExplainAnswer(
            score=why.score,
            terms=[schemas.Term(**term._asdict()) for term in why],
            rest=why.rest,
            model=live.version,
        )

    def _knowing(self, asked: schemas.Query, *names: ItemId) -> Live:
        """Return what answers a query; where it names an unknown item, look for it first."""
        wanted = names if asked.id is None else (asked.id, *names)
        if any(str(name) not in self.live.catalogue.items for name in wanted):
            self.follow()
        return self.at(asked.version)

    def served_recall(self, n_queries: int, k: int) -> schemas.ServedRecall:
        """Measure the share of the truly best items that a search finds."""
        live = self.live
        names = [str(live.catalogue.list[place].id) for place in live.catalogue.sample(n_queries)]
        return schemas.ServedRecall(
            recall=self._index.served_recall(names, k),
            k=k,
            n_queries=len(names),
            engine=self.engine,
        )

    @property
    def engine(self) -> str:
        """What searches."""
        return self._index.engine

    # Teach.

    def feedback(self, body: schemas.FeedbackRequest) -> int:
        """Write feedback down; return how many comparisons it makes."""
        self.refuse_unless_learning()
        key, digest = body.key or f"auto-{token_hex(16)}", digest_of(body)
        known = self.store.known_answer(key, digest) if body.key is not None else None
        if known is not None:
            return known
        live = self.live
        pages = pages_of(
            body,
            self.item,
            self.served.n_query_features or live.n_item_features,
            ids_are_queries=live.items_are_queries,
        )
        accepted = self.store.append(key, digest, pages)
        self._wake()
        return accepted

    def undo(self, key: str) -> int:
        """Take feedback back; return how many comparisons it made."""
        undone = self.store.undo(key)
        self._wake()
        return undone

    def refuse_unless_learning(self) -> None:
        """Say why nothing can be learned, where nothing can."""
        if self.why_not is not None:
            raise NotPossibleError(self.why_not)

    def _wake(self) -> None:
        if self.learning is not None:
            self.learning.wake()

    # Items and versions.

    def item(self, name: ItemId) -> StoredItem:
        """Return an item, also one that came a moment ago."""
        if str(name) not in self.live.catalogue.items:
            self.follow()
        return self.live.catalogue.item(name)

    def put_items(self, new: Sequence[schemas.NewItem], *, add: bool) -> int:
        """Add items, or replace them."""
        if len({str(item.id) for item in new}) < len(new):
            raise WrongRequestError("items holds an id twice; ids must differ.")
        width = self.live.n_item_features
        rows = []
        for item in new:
            name, vector, row = self.served.new_item(item.id, item.vector, item.row)
            if width is not None and len(vector) != width:
                raise WrongRequestError(
                    f"item {name!r} has {len(vector)} features, but the others have {width}."
                )
            rows.append((name, vector, row))
        changed = self.store.put_items(rows, add=add, replace=not add)
        self.follow()
        return changed

    def remove_item(self, name: ItemId) -> None:
        """Take an item out."""
        self.store.remove_item(name)
        self.follow()

    def make_live(self, version: int, *, back: bool) -> int:
        """Let a version answer from now on."""
        if version > 2**31:
            raise NotThereError(f"there is no version {version}.")
        self.store.make_live(version, back=back)
        return self.follow().live


def _read_items(settings: Settings, served: Served) -> tuple[list[Any], str] | None:
    """Return the items of the file, and what tells it from another; None where there is none."""
    from likewise.tables import read_table

    if settings.items is None:
        return None
    table = read_table(settings.items)
    path = settings.items
    told = path.read_bytes() if path.is_file() else str(path).encode()
    rows = table.rows
    if settings.label is None and table.labels is not None and hasattr(rows, "append_column"):
        import pyarrow

        rows = rows.append_column(table.target, pyarrow.array(table.labels.tolist()))
    return list(served.new_items(rows)), sha256(told).hexdigest()


def _searched(
    index: Index, row: np.ndarray, k: int, where: dict[str, Any] | None
) -> list[tuple[str, float]]:
    if not len(index):
        return []
    try:
        return index.search(row, min(k, len(index)), where).row(0)
    except ValueError as error:  # an unknown column in `where`, or numbers beyond all measure
        raise WrongRequestError(str(error)) from error


def _matches(pairs: Iterable[tuple[StoredItem, float]]) -> list[schemas.Match]:
    matches = [schemas.Match(id=item.id, score=score) for item, score in pairs]
    if not all(isfinite(match.score) for match in matches):
        raise WrongRequestError("the scores are beyond the range of numbers: scale the query down.")
    return matches
