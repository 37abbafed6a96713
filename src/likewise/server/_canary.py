"""An A/B test: a share of the searches is answered by a candidate, and both sides are compared."""

from collections import Counter
from hashlib import sha256
from math import sqrt
from threading import Lock

import numpy as np

from likewise.server.api import _schemas as schemas
from likewise.server.store import Store


class Canary:
    """Assigns searches to the candidate, and counts them.

    Parameters
    ----------
    share : float
        The share of users, or of queries without a user, that the candidate answers.
    """

    def __init__(self, share: float) -> None:
        self.share = share
        self._lock = Lock()
        self._counted: Counter[tuple[int, int]] = Counter()

    def takes(self, user: str | None, query: schemas.QueryValue) -> bool:
        """Tell whether the candidate answers: always the same for a user, or else for a query."""
        digest = sha256(_content(user, query)).digest()
        return int.from_bytes(digest[:8], "big") < self.share * 2**64

    def count(self, live: int, version: int) -> None:
        """Count a search that a version has answered."""
        with self._lock:
            self._counted[live, version] += 1

    def flush(self, store: Store) -> None:
        """Add the counts to those in the store."""
        with self._lock:
            counted, self._counted = self._counted, Counter()
        if counted:
            try:
                store.count_searches(counted)
            except OSError:
                with self._lock:
                    self._counted += counted
                raise


def _content(user: str | None, query: schemas.QueryValue) -> bytes:
    if user is not None:
        return f"user {user}".encode()
    if query.vector is not None:
        return b"vector " + np.asarray(query.vector, dtype="<f4").tobytes()
    return f"id {query.id}".encode() if query.text is None else f"text {query.text}".encode()


def compare_arms(store: Store, live: int, candidate: int | None, share: float) -> schemas.Canary:
    """Return the searches and clicks of both sides since the live version became live."""
    promoted = {v.number: v.promoted for v in store.versions() if v.promoted is not None}
    last_promoted, since = max(promoted), promoted[live]
    ranks: dict[bool, list[float]] = {True: [], False: []}
    clicks: Counter[bool] = Counter()
    undone, after = store.undone(2**53), store.first_entry_since(since)
    while entries := store.entries(after):
        after = entries[-1].number
        for entry in entries:
            for page in entry.pages if entry.number not in undone else ():
                if page.model is not None and (page.model == live or page.model > last_promoted):
                    is_live = page.model == live
                    first = min(page.shown.index(item) for item in page.chosen)
                    ranks[is_live].append(1 / (1 + first))
                    clicks[is_live] += len(page.chosen)
    searches = Counter[bool]()
    for (served_live, version), n in store.searches().items():
        if served_live == live:
            searches[version == live] += n
    arms = {
        is_live: _arm(version, searches[is_live], clicks[is_live], ranks[is_live])
        for is_live, version in ((True, live), (False, candidate))
    }
    return schemas.Canary(share=share, live=arms[True], candidate=arms[False])


def _arm(version: int | None, searches: int, clicks: int, ranks: list[float]) -> schemas.Arm:
    n = len(ranks)
    return schemas.Arm(
        version=version,
        searches=searches,
        pages=n,
        clicks=clicks,
        mrr=float(np.mean(ranks)) if n else None,
        error=float(np.std(ranks, ddof=1)) / sqrt(n) if n > 1 else None,
    )
