"""From what a request says to what the journal keeps, and back for export."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np

from likewise.server._records import ItemId, StoredItem, WrongRequestError
from likewise.server._store import Store
from likewise.server._wire import MOST_TRIPLETS, FeedbackRequest
from likewise.supervision import click_triplets

Find = Callable[[ItemId], StoredItem]
_COLUMNS = ("query", "closer", "farther", "weight", "key", "at")


def digest_of(body: FeedbackRequest) -> str:
    """Return what tells one request from another, whatever its key."""
    return sha256(body.model_dump_json(exclude={"key"}).encode()).hexdigest()


def triplets_of(
    body: FeedbackRequest, find: Find, n_query: int | None, *, ids_are_queries: bool
) -> list[tuple[Any, int, int, float]]:
    """Return comparisons as the journal keeps them: items by revision, queries maybe as vectors.

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

    found = []
    for triplet in body.triplets:
        if str(triplet.closer) == str(triplet.farther):
            raise WrongRequestError(
                f"closer and farther are both {triplet.closer!r}, and must be two items."
            )
        pair = find(triplet.closer).revision, find(triplet.farther).revision
        found.append((query_of(triplet.query), *pair, 1.0))
    for click in body.clicks:
        query = query_of(click.query)
        shown = [find(name).revision for name in click.shown]
        chose = click.chose if isinstance(click.chose, list) else [click.chose]
        chosen = {find(name).revision for name in chose}
        if not chosen <= set(shown):
            raise WrongRequestError("chose names an item that is not among those shown.")
        for closer, farther, weight in _of_click(shown, chosen):
            found.append((query, closer, farther, weight))
    if not found:
        raise WrongRequestError("every item that was shown was chosen: that compares nothing.")
    if len(found) > MOST_TRIPLETS:
        raise WrongRequestError(
            f"the clicks make {len(found)} comparisons, and {MOST_TRIPLETS} at a time are taken."
        )
    return found


def _of_click(shown: list[int], chosen: set[int]) -> Iterator[tuple[int, int, float]]:
    impressions = [
        (0, 0, revision, place, int(revision in chosen)) for place, revision in enumerate(shown, 1)
    ]
    triplets, weights = click_triplets(np.array(impressions))
    for (_, closer, farther), weight in zip(triplets.tolist(), weights.tolist(), strict=True):
        yield closer, farther, weight


def exported(store: Store, form: str) -> Iterator[str]:
    """Yield the journal as CSV or as lines of JSON, without what was taken back."""
    if form == "csv":
        yield ",".join(_COLUMNS) + "\n"
    after, undone = 0, store.undone(2**53)
    while entries := store.entries(after):
        after = entries[-1].number
        kept = [entry for entry in entries if entry.number not in undone]
        names = store.names(_revisions(kept))
        for entry in kept:
            for query, closer, farther, weight in entry.triplets:
                asked = names[query] if isinstance(query, int) else query
                values = (asked, names[closer], names[farther], weight, entry.key, entry.at)
                yield _line(values, form)


def _revisions(entries: Iterable[Any]) -> list[int]:
    return [
        part
        for entry in entries
        for triplet in entry.triplets
        for part in triplet[:3]
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
