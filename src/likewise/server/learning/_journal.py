"""The journal in memory: its pages without undone ones, and the vectors of their items."""

from array import array
from collections.abc import Sequence

import numpy as np

from likewise.server.learning._gate import split_of
from likewise.server.learning._initial import InitialModel
from likewise.server.learning._pages import Pages
from likewise.server.store import Entry, Page, Store
from likewise.similarities import to_unit_length

QueryKey = int | bytes  # a revision, or the float32 bytes of a vector


class JournalCache:
    """All pages of a journal up to an entry.

    Parameters
    ----------
    store : Store
    normalize : bool
        Whether rows are scaled to unit length.
    """

    def __init__(self, store: Store, *, normalize: bool) -> None:
        self._store, self._normalize = store, normalize
        self._queries: dict[QueryKey, int] = {}
        self._entry, self._first, self._query = array("q"), array("q"), array("q")
        self._page, self._revision, self._chosen = array("q"), array("q"), array("b")
        self._lexical = array("f")
        self._undone: set[int] = set()
        self._vectors: dict[int, np.ndarray] = {}
        self._splits: dict[int, int] = {}

    @classmethod
    def load(cls, store: Store, initial: InitialModel, last_entry: int) -> "JournalCache":
        """Return the journal of a store up to an entry."""
        journal = cls(store, normalize=initial.normalize)
        number = 0
        while number < last_entry:
            for entry in store.entries(number, min(256, last_entry - number)):
                journal.add(entry)
                number = entry.number
        return journal

    def add(self, entry: Entry) -> None:
        """Add the pages of an entry, or undo an earlier entry."""
        if entry.undoes is not None:
            self._undone.add(entry.undoes)
        for page in entry.pages:
            key = page.query if isinstance(page.query, int) else _vector_bytes(page.query)
            number = len(self._query)
            self._entry.append(entry.number)
            self._first.append(entry.first)
            self._query.append(self._queries.setdefault(key, len(self._queries)))
            chosen = set(page.chosen)
            self._page.extend([number] * len(page.shown))
            self._revision.extend(page.shown)
            self._chosen.extend(revision in chosen for revision in page.shown)
            self._lexical.extend(page.lexical or [0.0] * len(page.shown))

    def is_undone(self, entry: int) -> bool:
        """Tell whether an entry was undone."""
        return entry in self._undone

    def pages(self) -> Pages:
        """Return all pages; the order of queries and items does not depend on undone pages."""
        entry, first, query = (np.array(a) for a in (self._entry, self._first, self._query))
        page, revision = np.array(self._page), np.array(self._revision)
        kept = ~np.isin(entry, list(self._undone))
        shown = kept[page] if len(page) else np.zeros(0, dtype=bool)
        keys = list(self._queries)
        used = sorted({keys[number] for number in query[kept].tolist()}, key=_sort_key)
        row_of = np.zeros(len(keys), dtype=np.int64)
        row_of[[self._queries[key] for key in used]] = np.arange(len(used))
        revisions, item = np.unique(revision[shown], return_inverse=True)
        self._load([*revisions.tolist(), *(key for key in used if isinstance(key, int))])
        return Pages(
            Q=self._stack([self._query_row(key) for key in used]),
            P=self._stack([self._vectors[number] for number in revisions.tolist()]),
            query_revisions=[key if isinstance(key, int) else None for key in used],
            revisions=revisions,
            query_splits=np.array([self._query_split(key) for key in used], dtype=np.int64),
            item_splits=np.array([self._splits[n] for n in revisions.tolist()], dtype=np.int64),
            first=first[kept],
            query=row_of[query[kept]],
            page=(np.cumsum(kept) - 1)[page[shown]],
            item=item.ravel(),
            chosen=np.array(self._chosen, dtype=bool)[shown],
            lexical=np.array(self._lexical, dtype=np.float64)[shown],
        )

    def comparisons(self, pages: Sequence[Page]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return every chosen item with every other as triplets, and their queries and items."""
        rows = [
            (number, closer, farther)
            for number, page in enumerate(pages)
            for closer in page.chosen
            for farther in page.shown
            if farther not in page.chosen
        ]
        return self.triplets(pages, rows)

    def triplets(
        self, pages: Sequence[Page], rows: Sequence[tuple[int, int, int]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return triplets of row numbers, and the unscaled queries and items that they refer to.

        Parameters
        ----------
        pages : sequence of Page
        rows : sequence of (page number, revision of the closer item, of the farther item)
        """
        self._load([revision for page in pages for revision in _revisions(page)])
        used = dict.fromkeys(revision for row in rows for revision in row[1:])
        row_of = {revision: row for row, revision in enumerate(used)}
        queries = [
            self._vectors[page.query] if isinstance(page.query, int) else page.query
            for page in pages
        ]
        return (
            np.array([(page, row_of[c], row_of[f]) for page, c, f in rows], dtype=np.int64),
            np.array(queries, dtype=np.float32),
            np.array([self._vectors[revision] for revision in row_of], dtype=np.float32),
        )

    def is_held_out(self, page: Page, revision: int, split: int) -> bool:
        """Tell whether a page's query or an item belongs to a split."""
        query = page.query
        query_split = self._splits[query] if isinstance(query, int) else split_of(query)
        return split in (query_split, self._splits[revision])

    def _load(self, revisions: list[int]) -> None:
        missing = [number for number in revisions if number not in self._vectors]
        self._vectors.update(self._store.vectors(missing))
        ids = self._store.item_ids(missing)
        self._splits.update({number: split_of(name) for number, name in ids.items()})

    def _query_row(self, key: QueryKey) -> np.ndarray:
        return self._vectors[key] if isinstance(key, int) else np.frombuffer(key, dtype="<f4")

    def _query_split(self, key: QueryKey) -> int:
        return self._splits[key] if isinstance(key, int) else split_of(self._query_row(key))

    def _stack(self, rows: list[np.ndarray]) -> np.ndarray:
        if not rows:
            return np.zeros((0, 0))
        stacked = np.array(rows, dtype=np.float64)
        return to_unit_length(stacked) if self._normalize else stacked


def _revisions(page: Page) -> tuple[int, ...]:
    return (*page.shown, page.query) if isinstance(page.query, int) else page.shown


def _vector_bytes(vector: list[float]) -> bytes:
    return np.asarray(vector, dtype="<f4").tobytes()


def _sort_key(key: QueryKey) -> tuple[int, int, bytes]:
    return (0, key, b"") if isinstance(key, int) else (1, 0, key)
