"""From what a request says to what the journal keeps, and back for export."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np

from likewise.server.api._schemas import MOST_COMPARISONS, FeedbackRequest
from likewise.server.store import Store
from likewise.server.store._records import Entry, ItemId, Page, StoredItem, WrongRequestError
from likewise.supervision import position_weights

Find = Callable[[ItemId], StoredItem]
_COLUMNS = ("query", "closer", "farther", "weight", "key", "at")


def digest_of(body: FeedbackRequest) -> str:
    """Return what tells one request from another, whatever its key."""
    return sha256(body.model_dump_json(exclude={"key"}).encode()).hexdigest()


def pages_of(
    body: FeedbackRequest, find: Find, n_query: int | None, *, ids_are_queries: bool
) -> list[Page]:
    """Return pages as the journal keeps them: items by revision, queries maybe as vectors.

    Parameters
    ----------
    body : FeedbackRequest
    find : callable from an id to its item
    n_query : int or None
        Width of a query; None where any will do.
    ids_are_queries : bool
        Whether an item can be a query.
    """

    def query_of(given: Any) -> Any:
        if not isinstance(given, list):
            if not ids_are_queries:
                raise WrongRequestError(
                    "queries of this model are not items: query must be a vector."
                )
            return find(given).revision
        if n_query is not None and len(given) != n_query:
            raise WrongRequestError(
                f"query has {len(given)} numbers, but the model takes queries of {n_query}."
            )
        return given

    pages = []
    for triplet in body.triplets:
        if str(triplet.closer) == str(triplet.farther):
            raise WrongRequestError(
                f"closer and farther are both {triplet.closer!r}, and must be two items."
            )
        closer, farther = find(triplet.closer).revision, find(triplet.farther).revision
        pages.append(Page.of_two(query_of(triplet.query), closer, farther))
    for click in body.clicks:
        query = query_of(click.query)
        shown = tuple(find(name).revision for name in click.shown)
        if len(set(shown)) < len(shown):
            raise WrongRequestError("shown names an item twice; the items of a page must differ.")
        chose = click.chose if isinstance(click.chose, list) else [click.chose]
        chosen = {find(name).revision for name in chose}
        if not chosen <= set(shown):
            raise WrongRequestError("chose names an item that is not among those shown.")
        pages.append(Page(query, shown, tuple(item for item in shown if item in chosen)))
    n_comparisons = sum(page.n_comparisons for page in pages)
    if not n_comparisons:
        raise WrongRequestError("every item that was shown was chosen: that compares nothing.")
    if n_comparisons > MOST_COMPARISONS:
        raise WrongRequestError(
            f"the clicks make {n_comparisons} comparisons; {MOST_COMPARISONS} is the limit."
        )
    return pages


def exported(store: Store, form: str) -> Iterator[str]:
    """Yield the comparisons of the journal as CSV or JSON lines, without what was taken back."""
    if form == "csv":
        yield ",".join(_COLUMNS) + "\n"
    after, undone = 0, store.undone(2**53)
    while entries := store.entries(after):
        after = entries[-1].number
        kept = [entry for entry in entries if entry.number not in undone]
        names = store.names(_revisions(kept))
        for entry in kept:
            for page in entry.pages:
                asked = names[page.query] if isinstance(page.query, int) else page.query
                for closer, farther, weight in _comparisons(page):
                    values = (asked, names[closer], names[farther], weight, entry.key, entry.at)
                    yield _line(values, form)


def _comparisons(page: Page) -> Iterator[tuple[int, int, float]]:
    """Yield every chosen item with every other, weighted by the place where it was chosen."""
    weights = position_weights(np.arange(1, len(page.shown) + 1)).tolist()
    chosen = set(page.chosen)
    for closer, weight in zip(page.shown, weights, strict=True):
        if closer in chosen:
            for farther in page.shown:
                if farther not in chosen:
                    yield closer, farther, weight


def _revisions(entries: Iterable[Entry]) -> list[int]:
    return [
        part
        for entry in entries
        for page in entry.pages
        for part in (page.query, *page.shown)
        if isinstance(part, int)
    ]


def _line(values: tuple[Any, ...], form: str) -> str:
    if form == "jsonl":
        return json.dumps(dict(zip(_COLUMNS, values, strict=True))) + "\n"
    text = io.StringIO()
    cells = [json.dumps(value) if isinstance(value, list) else value for value in values]
    # A spreadsheet takes a text that begins so for a formula.
    safe = [f"'{c}" if isinstance(c, str) and c[:1] in "=+-@\t" else c for c in cells]
    csv.writer(text, lineterminator="\n").writerow(safe)
    return text.getvalue()
