"""Pages of a journal, and pages that only one split may know of."""

import numpy as np

from likewise.server.learning._forms import Forms
from likewise.server.learning._gate import (
    split_of,
)
from likewise.server.learning._initial import InitialModel
from likewise.server.learning._journal import JournalCache
from likewise.server.learning._pages import Pages
from likewise.server.learning._spaces import Spaces
from likewise.server.store import (
    Page,
)


def pages_of(*pages, query_splits=None, item_splits=None, firsts=None, width=3):
    """Return pages given as (query, shown, chosen), by row numbers."""
    rng = np.random.default_rng(0)
    n_queries = 1 + max(query for query, _, _ in pages)
    n_items = 1 + max(item for _, shown, _ in pages for item in shown)
    Q, P = (unit(rng.normal(size=(n, width))) for n in (n_queries, n_items))
    return Pages(
        Q,
        P,
        list(range(n_queries)),
        np.arange(n_items),
        np.zeros(n_queries, int) if query_splits is None else np.array(query_splits),
        np.zeros(n_items, int) if item_splits is None else np.array(item_splits),
        np.arange(len(pages)) if firsts is None else np.array(firsts),
        np.array([query for query, _, _ in pages]),
        np.repeat(np.arange(len(pages)), [len(shown) for _, shown, _ in pages]),
        np.array([item for _, shown, _ in pages for item in shown]),
        np.array([item in chosen for _, shown, chosen in pages for item in shown]),
        np.zeros(sum(len(shown) for _, shown, _ in pages)),
    )


def journal_pages(store, initial):
    """Return all pages of a journal."""
    return JournalCache.load(store, initial, store.entries(0, 1_000)[-1].number).pages()


def forms_of(store):
    """Return the forms that a store's journal trains."""
    initial = InitialModel.from_store(store)
    return Forms(initial, Spaces(store, initial))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def fill_journal(store, extra=(), seed=0):
    rng = np.random.default_rng(seed)
    for number in range(80):
        query, *shown = (rng.choice(150, 6, replace=False) + 1).tolist()
        store.append(str(number), "x", [Page(query, tuple(shown), tuple(shown[:1]))])
    for number, page in enumerate(extra):
        store.append(f"extra {number}", "x", [page])


def of_split(split, n, start=0):
    """Return revisions of items whose ids are in a split."""
    return [number + 1 for number in range(start, 150) if split_of(number) == split][:n]


def intruders(split):
    """Return pages that only a split may know of: by their query, by an item, and all of them."""
    query, item = of_split(split, 2)
    other, third = (of_split((split + 1) % 5, 2), of_split((split + 2) % 5, 3))
    by_query = Page(query, (other[0], *third), (other[0],))
    by_item = Page(other[0], (item, *third), (item,))
    whole = Page(query, (item, *third), (item,))
    return [by_query, by_item, whole]
