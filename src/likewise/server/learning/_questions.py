"""The selection of the question to ask a person next."""

from collections import deque
from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy as np

from likewise._files import from_bytes
from likewise._threads import limit_threads
from likewise.server._snapshot import Snapshot
from likewise.server.learning._initial import InitialModel
from likewise.server.learning._journal import JournalCache
from likewise.server.learning._pages import MAX_ASKED, Pages
from likewise.server.learning._ridge import learn_belief
from likewise.server.learning._spaces import Spaces
from likewise.server.store import Entry, NotSupported, Store

_N_CANDIDATES = 600
_MAX_POOL_ITEMS = 2_000  # items that are searched for the nearest
_FIRST_POOL, _MIN_POOL, _MAX_POOL_SHARE = 50, 5, 0.25  # nearest items that are asked about
_POOL_STEP = 1.5
_WANTED = (0.25, 0.4)  # share of the items asked about that are like the query
_RECENT, _PATIENCE = 20, 10  # answers that decide, and between two changes
_MAX_ENTRIES, _REFIT_EVERY = 2_000, 10  # journal entries that questions are selected by


class QuestionSelector:
    """Selects questions about items.

    A learner of pairs needs items that are like the query, but not only the very nearest, which are
    no news. It asks about an item that is near the query by the model file only, and one that is
    near by PLDA of the answers so far only: what both find tells nothing about which is better. So
    many items are near that about a third of them are like the query. AROMA is asked about
    comparisons that it is unsure of.

    Parameters
    ----------
    store : Store
    seed : optional
        Seed of the random candidates.
    """

    def __init__(self, store: Store, seed: Any = None) -> None:
        self._store = store
        self._rng = np.random.default_rng(seed)
        self._lock = Lock()
        self._belief: tuple[int, Any] = (-1, None)
        self._pool = NeighborPool(store)
        self._pairs: PairForm | None = None

    def learner(self) -> Any:
        """Return the learner's belief at its last checkpoint."""
        entry = self._store.checkpoint_entry()
        if entry != self._belief[0]:
            checkpoint = self._store.checkpoint()
            if checkpoint is None:
                raise NotSupported("the model cannot learn.")
            if checkpoint.entry > 0 or self._is_aroma:
                belief = from_bytes(checkpoint.state)
            else:
                belief = learn_belief(None, InitialModel.from_store(self._store), 0)
            self._belief = checkpoint.entry, belief
        return self._belief[1]

    @property
    def _is_aroma(self) -> bool:
        return self._store.note("learner") == "aroma"

    def select(self, snapshot: Snapshot, strategy: str) -> tuple[tuple[int, int, int], float]:
        """Return the rows of a query and two items, and the probability that the first is closer.

        Parameters
        ----------
        snapshot : Snapshot
        strategy : {"informative", "random"}
        """
        catalog = snapshot.catalog
        if not snapshot.items_are_queries:
            raise NotSupported("queries of this model are not items: there are none to show.")
        if len(catalog) < 3:
            raise NotSupported(f"at least 3 items are needed, but there are {len(catalog)}.")
        with self._lock, limit_threads(1):
            learner = self.learner()
            if strategy == "informative" and not self._is_aroma:
                chosen = self._among_nearest(snapshot)
            else:
                triplets = draw_triplets(len(catalog), self._rng)
                if strategy == "informative":
                    triplets = learner.most_informative(triplets, catalog.rows, n=1)
                chosen = triplets[:1]
            # The order of the two items must not reveal the prediction.
            if self._rng.random() < 0.5:
                chosen = chosen[:, [0, 2, 1]]
            confidence = float(learner.confidence(chosen, catalog.rows)[0])
        query, left, right = chosen[0].tolist()
        return (query, left, right), confidence

    def _among_nearest(self, snapshot: Snapshot) -> np.ndarray:
        """Return a random query, and items that only the model file or only PLDA ranks near it."""
        rows, items = snapshot.catalog.rows, snapshot.catalog.items
        n = len(rows)
        query = int(self._rng.integers(n))
        others = np.arange(n)
        if n > _MAX_POOL_ITEMS:
            others = self._rng.choice(n, _MAX_POOL_ITEMS, replace=False)
        others = others[others != query]
        size = self._pool.size(len(others))
        if self._pairs is None:
            self._pairs = PairForm(self._store)
        contenders = self._pairs.contenders(self._rng)
        judged = self._pairs.judged_with(items[query].revision)
        nearest = []
        for similarity in contenders:
            scores = similarity.score(rows[[query]], rows[others])[0]
            ranked = others[np.argsort(-scores, kind="stable")[: size + len(judged) + 1]]
            nearest.append([row for row in ranked.tolist() if items[row].revision not in judged])
        chosen = [query]
        for own, other in (nearest, nearest[::-1]):
            near = [row for row in own if row not in chosen][:size]
            only = [row for row in near if row not in other[:size]]
            chosen.append(int(self._rng.choice(only or near or others[~np.isin(others, chosen)])))
        return np.array([chosen])


class PairForm:
    """The forms that PLDA learns from the newest answers in the journal.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._initial = InitialModel.from_store(store)
        self._spaces = Spaces(store, self._initial)
        self._journal = JournalCache(store, normalize=self._initial.normalize)
        self._entry = max(0, store.last_entry() - _MAX_ENTRIES)
        self._new_entries = _REFIT_EVERY
        self._learned: list[Any] = []
        self._judged = np.zeros((0, 2), dtype=np.int64)

    def contenders(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return the model file's form and a learned one; twice the former until there is one."""
        self._update()
        start = self._initial.similarity
        return start, self._learned[rng.integers(len(self._learned))] if self._learned else start

    def judged_with(self, revision: int) -> set[int]:
        """Return the items judged with an item, on which the learned forms have an answer."""
        return set(self._judged[self._judged[:, 0] == revision, 1].tolist())

    def _update(self) -> None:
        """Learn again after some answers."""
        for entry in _entries(self._store, self._entry):
            self._journal.add(entry)
            self._entry = entry.number
            self._new_entries += 1
        if self._new_entries >= _REFIT_EVERY:
            self._new_entries = 0
            pages = self._journal.pages()
            self._judged, self._learned = np.zeros((0, 2), dtype=np.int64), []
            if not len(pages):
                return
            self._judged = _judged_pairs(pages)
            relevance = pages.relevance()
            if relevance.nnz and self._spaces.ranks:
                maps = self._spaces.maps(pages, relevance, None, self._spaces.ranks)
                self._learned = [self._initial.to_similarity(B @ B.T) for B in maps if B.shape[1]]


def _judged_pairs(pages: Pages) -> np.ndarray:
    """Return the revisions of items that were judged together, in both orders."""
    queries = np.array([r or 0 for r in pages.query_revisions])[pages.query[pages.page]]
    pairs = np.stack([queries, pages.revisions[pages.item]], axis=1)[queries > 0]
    return np.concatenate([pairs, pairs[:, ::-1]])


def _entries(store: Store, after: int) -> Iterator[Entry]:
    """Yield the entries after a number."""
    while entries := store.entries(after):
        yield from entries
        after = entries[-1].number


class NeighborPool:
    """How many of the nearest items questions are drawn from, as answers so far suggest.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._entry = max(0, store.last_entry() - _MAX_ENTRIES)
        self._size = float(_FIRST_POOL)
        self._shares: deque[float] = deque(maxlen=_RECENT)
        self._since = 0  # answers since the last change

    def size(self, n_items: int) -> int:
        """Return the number of nearest items, after the answers in the journal."""
        most = max(2.0, _MAX_POOL_SHARE * n_items)
        for entry in _entries(self._store, self._entry):
            self._entry = entry.number
            for page in entry.pages:
                if len(page.shown) <= MAX_ASKED:
                    self._shares.append(len(page.chosen) / len(page.shown))
                    self._since += 1
                    self._adapt(most)
        return int(np.clip(self._size, min(_MIN_POOL, n_items), most))

    def _adapt(self, most: float) -> None:
        if self._since < _PATIENCE:
            return
        share = float(np.mean(self._shares))
        if share < _WANTED[0]:
            self._size = max(_MIN_POOL, self._size / _POOL_STEP)
        elif share > _WANTED[1]:
            self._size = min(most, self._size * _POOL_STEP)
        self._since = 0


def draw_triplets(n_items: int, rng: np.random.Generator, n: int = _N_CANDIDATES) -> np.ndarray:
    """Draw triplets of three different items."""
    triplets = rng.integers(n_items, size=(2 * n, 3))
    a, b, c = triplets.T
    return np.asarray(triplets[(a != b) & (a != c) & (b != c)][:n])
