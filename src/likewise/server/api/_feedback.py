"""Conversion of feedback requests to pages of the journal, and export of the journal."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any

import numpy as np

from likewise.server.api._schemas import (
    MAX_COMPARISONS,
    Click,
    FeedbackRequest,
    Pair,
    QueryValue,
    Triplet,
)
from likewise.server.store import (
    Entry,
    InvalidRequest,
    ItemId,
    Page,
    Store,
    StoredItem,
    TextQuery,
)
from likewise.supervision import position_weights

_COLUMNS = {
    "triplets": ("query", "closer", "farther", "weight", "key", "at"),
    "pairs": ("left_id", "right_id", "label", "key", "at"),
}
_EXACT = ("left_id", "right_id")  # `likewise match` looks for these ids in its tables
_BATCH_SIZE = 5_000  # lines of an export


def request_digest(request: FeedbackRequest) -> str:
    """Return a digest of a request without its key and its user."""
    left_out = {"key", "user"} if request.pairs else {"key", "user", "pairs"}  # as before pairs
    return sha256(request.model_dump_json(exclude=left_out, exclude_none=True).encode()).hexdigest()


def query_of(given: Any) -> QueryValue:
    """Return the query of feedback, which may also be a plain id or a plain vector."""
    if isinstance(given, QueryValue):
        return given
    kind = "vector" if isinstance(given, list) else "id"
    return QueryValue.model_construct(**{kind: given})


def texts_of(request: FeedbackRequest) -> list[str]:
    """Return the distinct texts of a request's queries."""
    parts: list[Triplet | Click | Pair] = [*request.triplets, *request.clicks, *request.pairs]
    queries = (query_of(part.query) for part in parts)
    return list(dict.fromkeys(query.text for query in queries if query.text is not None))


def text_digest(text: str) -> str:
    """Return the name under which the vector of a text is stored."""
    return f"text {sha256(text.encode()).hexdigest()}"


def to_pages(
    request: FeedbackRequest,
    find_item: Callable[[ItemId], StoredItem],
    convert: Callable[[QueryValue], int | list[float] | TextQuery],
    ranked_by: Callable[[Click], int | None],
    lexical_scores: Callable[[QueryValue, Sequence[int]], tuple[float, ...] | None],
) -> list[Page]:
    """Return the pages of a request, with revisions instead of ids.

    Parameters
    ----------
    request : FeedbackRequest
    find_item : callable
        Returns the item with an id.
    convert : callable
        Returns a query as a page holds it.
    ranked_by : callable
        Returns the version that ranked the page of a click, if it is known.
    lexical_scores : callable
        Returns the lexical scores of revisions for a query, if the server has them.
    """
    pages = []
    for triplet in request.triplets:
        if str(triplet.closer) == str(triplet.farther):
            raise InvalidRequest(
                f"closer and farther must be different items, but both are {triplet.closer!r}."
            )
        query = query_of(triplet.query)
        for field, name in (("closer", triplet.closer), ("farther", triplet.farther)):
            if _is_item(query, name):
                raise InvalidRequest(
                    f"query and {field} must be different items, but both are {name!r}."
                )
        closer, farther = find_item(triplet.closer).revision, find_item(triplet.farther).revision
        scores = lexical_scores(query, (closer, farther))
        pages.append(Page(convert(query), (closer, farther), (closer,), lexical=scores))
    for click in request.clicks:
        query = query_of(click.query)
        if any(_is_item(query, name) for name in click.shown):
            raise InvalidRequest(
                f"shown must not contain the item of the query, but it contains {query.id!r}."
            )
        converted = convert(query)
        shown = tuple(find_item(name).revision for name in click.shown)
        if len(set(shown)) < len(shown):
            raise InvalidRequest("shown contains an item twice; the items of a page must differ.")
        chose = click.chose if isinstance(click.chose, list) else [click.chose]
        chosen = {find_item(name).revision for name in chose}
        if not chosen <= set(shown):
            raise InvalidRequest("chose contains an item that is not in shown.")
        chosen_in_order = tuple(item for item in shown if item in chosen)
        scores = lexical_scores(query, shown)
        pages.append(Page(converted, shown, chosen_in_order, ranked_by(click), scores))
    if pages and not any(page.n_comparisons for page in pages):
        raise InvalidRequest("chose contains every item of shown, which compares nothing.")
    pages += _pair_pages(request.pairs, find_item, convert)
    n_judgments = sum(page.n_judgments for page in pages)
    if n_judgments > MAX_COMPARISONS:
        raise InvalidRequest(
            f"the request makes {n_judgments} comparisons, but the limit is {MAX_COMPARISONS}."
        )
    return pages


def _is_item(query: QueryValue, name: ItemId) -> bool:
    """Tell whether a query is the id of an item; ids are the same as numbers and as texts."""
    return query.id is not None and str(query.id) == str(name)


def _pair_pages(
    pairs: Sequence[Pair],
    find_item: Callable[[ItemId], StoredItem],
    convert: Callable[[QueryValue], int | list[float] | TextQuery],
) -> list[Page]:
    """Return two pages for each query, of the items that are the same and of the others.

    One page of both would be comparisons, as many as the product of their numbers.
    """
    judged: dict[str, tuple[Any, dict[int, bool]]] = {}
    for pair in pairs:
        converted, item = convert(query_of(pair.query)), find_item(pair.item).revision
        items = judged.setdefault(repr(converted), (converted, {}))[1]
        if converted == item:
            raise InvalidRequest(
                f"query and item must be different items, but both are {pair.item!r}."
            )
        if items.setdefault(item, pair.same) is not pair.same:
            raise InvalidRequest(f"pairs say that {pair.item!r} is the same and that it is not.")
    pages = []
    for converted, items in judged.values():
        same, others = (tuple(i for i in items if items[i] is kind) for kind in (True, False))
        pages += [Page(converted, same, same)] if same else []
        pages += [Page(converted, others, ())] if others else []
    return pages


def export_journal(store: Store, format: str, kind: str = "triplets") -> Iterator[str]:
    """Yield the comparisons or the pairs of the journal, without undone ones, in batches of lines.

    Parameters
    ----------
    store : Store
    format : {"csv", "jsonl"}
    kind : {"triplets", "pairs"}
        Pairs are in the format of ``likewise match --labels``.
    """
    lines = _export_lines(store, format, kind)
    while batch := list(islice(lines, _BATCH_SIZE)):  # each string costs a change of threads
        yield "".join(batch)


def _export_lines(store: Store, format: str, kind: str) -> Iterator[str]:
    columns = _COLUMNS[kind]
    if format == "csv":
        yield ",".join(columns) + "\n"
    after, undone = 0, store.undone(2**53)
    while entries := store.entries(after):
        after = entries[-1].number
        kept = [entry for entry in entries if entry.number not in undone]
        ids = store.item_ids(_revisions(kept))
        for entry in kept:
            for page in entry.pages:
                query = ids[page.query] if isinstance(page.query, int) else page.query
                found: Iterator[tuple[Any, ...]]
                if kind == "pairs":
                    found = ((ids[item], label) for item, label in _pairs(page))
                else:
                    found = ((ids[c], ids[f], weight) for c, f, weight in _comparisons(page))
                for values in found:
                    yield _format_line(columns, (query, *values, entry.key, entry.at), format)


def _comparisons(page: Page) -> Iterator[tuple[int, int, float]]:
    """Yield every chosen item with every other item, weighted by the chosen item's position."""
    weights = position_weights(np.arange(1, len(page.shown) + 1)).tolist()
    chosen = set(page.chosen)
    for closer, weight in zip(page.shown, weights, strict=True):
        if closer in chosen:
            for farther in page.shown:
                if farther not in chosen:
                    yield closer, farther, weight


def _pairs(page: Page) -> Iterator[tuple[int, int]]:
    """Yield the items of a page that compares nothing, and whether they are as the query."""
    if not page.n_comparisons:
        chosen = set(page.chosen)
        yield from ((item, int(item in chosen)) for item in page.shown)


def _revisions(entries: Iterable[Entry]) -> list[int]:
    return [
        part
        for entry in entries
        for page in entry.pages
        for part in (page.query, *page.shown)
        if isinstance(part, int)
    ]


def _format_line(columns: Sequence[str], values: tuple[Any, ...], format: str) -> str:
    if format == "jsonl":
        return json.dumps(dict(zip(columns, values, strict=True))) + "\n"
    text = io.StringIO()
    cells = [json.dumps(value) if isinstance(value, list) else value for value in values]
    # Spreadsheets interpret a text with such a first character as a formula.
    safe = [
        f"'{cell}"
        if isinstance(cell, str) and cell[:1] in "=+-@\t" and name not in _EXACT
        else cell
        for name, cell in zip(columns, cells, strict=True)
    ]
    csv.writer(text, lineterminator="\n").writerow(safe)
    return text.getvalue()
