"""Conversion of feedback requests to pages of the journal, and export of the journal."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np

from likewise.server.api._schemas import MAX_COMPARISONS, FeedbackRequest
from likewise.server.store import Entry, InvalidRequest, ItemId, Page, Store, StoredItem
from likewise.supervision import position_weights

_COLUMNS = ("query", "closer", "farther", "weight", "key", "at")


def request_digest(request: FeedbackRequest) -> str:
    """Return a digest of a request without its key and its user."""
    return sha256(request.model_dump_json(exclude={"key", "user"}).encode()).hexdigest()


def to_pages(
    request: FeedbackRequest,
    find_item: Callable[[ItemId], StoredItem],
    n_query_features: int | None,
    *,
    ids_are_queries: bool,
) -> list[Page]:
    """Return the pages of a request, with revisions instead of ids.

    Parameters
    ----------
    request : FeedbackRequest
    find_item : callable
        Returns the item with an id.
    n_query_features : int or None
        Width of a query; None where any width is accepted.
    ids_are_queries : bool
        Whether an item can be a query.
    """

    def convert_query(query: Any) -> Any:
        if not isinstance(query, list):
            if not ids_are_queries:
                raise InvalidRequest("queries of this model are not items: query must be a vector.")
            return find_item(query).revision
        if n_query_features is not None and len(query) != n_query_features:
            raise InvalidRequest(
                f"query has {len(query)} numbers, but the model takes queries of "
                f"{n_query_features}."
            )
        return query

    pages = []
    for triplet in request.triplets:
        if str(triplet.closer) == str(triplet.farther):
            raise InvalidRequest(
                f"closer and farther must be different items, but both are {triplet.closer!r}."
            )
        closer, farther = find_item(triplet.closer).revision, find_item(triplet.farther).revision
        pages.append(Page.from_triplet(convert_query(triplet.query), closer, farther))
    for click in request.clicks:
        query = convert_query(click.query)
        shown = tuple(find_item(name).revision for name in click.shown)
        if len(set(shown)) < len(shown):
            raise InvalidRequest("shown contains an item twice; the items of a page must differ.")
        chose = click.chose if isinstance(click.chose, list) else [click.chose]
        chosen = {find_item(name).revision for name in chose}
        if not chosen <= set(shown):
            raise InvalidRequest("chose contains an item that is not in shown.")
        pages.append(Page(query, shown, tuple(item for item in shown if item in chosen)))
    n_comparisons = sum(page.n_comparisons for page in pages)
    if not n_comparisons:
        raise InvalidRequest("chose contains every item of shown, which compares nothing.")
    if n_comparisons > MAX_COMPARISONS:
        raise InvalidRequest(
            f"the clicks make {n_comparisons} comparisons, but the limit is {MAX_COMPARISONS}."
        )
    return pages


def export_journal(store: Store, format: str) -> Iterator[str]:
    """Yield the comparisons of the journal as CSV or JSON lines, without undone ones."""
    if format == "csv":
        yield ",".join(_COLUMNS) + "\n"
    after, undone = 0, store.undone(2**53)
    while entries := store.entries(after):
        after = entries[-1].number
        kept = [entry for entry in entries if entry.number not in undone]
        ids = store.item_ids(_revisions(kept))
        for entry in kept:
            for page in entry.pages:
                query = ids[page.query] if isinstance(page.query, int) else page.query
                for closer, farther, weight in _comparisons(page):
                    values = (query, ids[closer], ids[farther], weight, entry.key, entry.at)
                    yield _format_line(values, format)


def _comparisons(page: Page) -> Iterator[tuple[int, int, float]]:
    """Yield every chosen item with every other item, weighted by the chosen item's position."""
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


def _format_line(values: tuple[Any, ...], format: str) -> str:
    if format == "jsonl":
        return json.dumps(dict(zip(_COLUMNS, values, strict=True))) + "\n"
    text = io.StringIO()
    cells = [json.dumps(value) if isinstance(value, list) else value for value in values]
    # Spreadsheets interpret a text with such a first character as a formula.
    safe = [f"'{c}" if isinstance(c, str) and c[:1] in "=+-@\t" else c for c in cells]
    csv.writer(text, lineterminator="\n").writerow(safe)
    return text.getvalue()
