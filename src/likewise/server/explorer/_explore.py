"""What the explorer shows: neighbours that moved, a map, and how good it all is."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np

from likewise._threads import limit_threads, single_threaded_blas
from likewise.evaluation import align_map, goodness, plane_map
from likewise.server._live import Live
from likewise.server._service import Service
from likewise.server.api import _schemas as schemas
from likewise.server.learning._standing import Standing, standing
from likewise.server.learning._start import BASE
from likewise.server.store._records import ItemId, StoredItem

_ON_MAP, _IN_GOODNESS, _ON_CURVE = 1_000, 2_000, 200
_RECALL_QUERIES, _RECALL_AT = 100, 10
_OUTCOMES = 20
_Place = tuple[ItemId, Any, Any]  # of an item: before and after


class Explorer:
    """Answers the explorer's questions; what takes long is computed beside, once for each version.

    Parameters
    ----------
    service : Service
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="exploring")
        self._lock = Lock()
        self._made: dict[str, tuple[Any, Future[Any] | None]] = {}

    def close(self) -> None:
        """Stop computing."""
        self._pool.shutdown(cancel_futures=True)

    def shown(self, item: StoredItem, *, whole: bool = False) -> schemas.Shown:
        """Return an item as a person sees it."""
        served = self._service.served
        kind, image, text = served.shown(item.row, item.vector)
        label = item.row.get(served.label) if served.label is not None else None
        row = {key: value for key, value in item.row.items() if key != "image" or image is None}
        if kind == "row" and not row:
            row = {f"x{place}": float(x) for place, x in enumerate(item.vector[:20])}
        return schemas.Shown(
            id=item.id,
            kind=kind,
            image=image,
            text=text,
            row=row if whole or kind == "row" else None,
            label=None if label is None else str(label),
        )

    def neighbours(self, name: ItemId, k: int) -> schemas.Neighbours:
        """Return an item's neighbours before and after learning, with their ranks in both."""
        item = self._service.item(name)
        live, base = self._service.live, self._service.at(BASE)
        asked = schemas.Query(id=item.id, version=None)
        place = live.catalogue.places[str(item.id)]
        row = live.query_row(asked)
        with limit_threads(1):
            both = [s.scores(row, s.item_rows)[0] for s in (base, live)]
        for scores in both:
            scores[place] = -np.inf  # it is not a neighbour of itself
        orders = [np.argsort(-scores, kind="stable") for scores in both]
        ranks = [np.empty_like(order) for order in orders]
        for rank, order in zip(ranks, orders, strict=True):
            rank[order] = np.arange(1, len(order) + 1)

        def moved(own: int) -> list[schemas.Moved]:
            return [
                schemas.Moved(
                    item=self.shown(live.catalogue.list[other]),
                    score=float(both[own][other]),
                    rank=int(ranks[own][other]),
                    other_rank=int(ranks[1 - own][other]),
                )
                for other in orders[own][: min(k, len(orders[own]) - 1)]
            ]

        return schemas.Neighbours(
            item=self.shown(item, whole=True),
            base=moved(0),
            learned=moved(1),
            base_model=BASE,
            model=live.version,
        )

    def map(self, by: str | None = None) -> schemas.Map:
        """Return items in the plane, before and after learning, labelled by a column."""
        live = self._service.live
        base = self._service.at(BASE)
        found = self._once(
            "map", (live.version, live.catalogue.change), lambda: self._points(base, live)
        )
        return schemas.Map(
            status="computing" if found is None else "ready",
            points=self._labelled(found or [], by or self._service.served.label, live),
            n_items=len(live.catalogue),
            base_model=BASE,
            model=live.version,
        )

    def _points(self, base: Live, live: Live) -> list[_Place]:
        chosen = live.catalogue.sample(_ON_MAP)
        if len(chosen) < 3 or not live.items_are_queries:
            return []
        rows = live.catalogue.rows[chosen]
        before = _unit_map(base.scores(rows, rows))
        after = align_map(_unit_map(live.scores(rows, live.item_rows[chosen])), before)
        names = [live.catalogue.list[place].id for place in chosen]
        return list(zip(names, before.tolist(), after.tolist(), strict=True))

    def _labelled(self, places: list[_Place], by: str | None, live: Live) -> list[schemas.Point]:
        points = []
        for name, before, after in places:
            item = live.catalogue.items.get(str(name))  # None where it has gone since
            said = item.row.get(by) if item is not None and by is not None else None
            said = None if said is None else str(said)
            points.append(schemas.Point(id=name, before=before, after=after, label=said))
        return points

    def quality(self) -> schemas.Quality:
        """Return what was gained and lost on what was held out, and along the way."""
        service = self._service
        live, base = service.live, service.at(BASE)
        marked = [v for v in reversed(service.store.versions()) if v.verdict is not None]
        position = marked[-1].position if marked else 0
        found = self._once(
            "quality",
            (live.version, live.catalogue.change, position),
            lambda: self._judged(base, live),
        )
        lessons = [
            schemas.Lesson(
                position=v.position,
                version=v.number,
                overall=schemas.Judged(**v.verdict.overall._asdict()),
                seen=schemas.Judged(**v.verdict.seen._asdict()),
                new=schemas.Judged(**v.verdict.new._asdict()),
                threshold=v.verdict.threshold,
                promoted=v.promoted is not None,
            )
            for v in marked
            if v.verdict is not None
        ]
        progress = [
            schemas.Progress(position=position, asked=asked, right=right)
            for position, asked, right in service.store.progress()
        ]
        return schemas.Quality(
            status="computing" if found is None else "ready",
            lessons=lessons,
            progress=progress,
            base_model=BASE,
            model=live.version,
            **(found or _NOTHING_JUDGED),
        )

    def _judged(self, base: Live, live: Live) -> dict[str, Any]:
        """Compare the base with what is live: on comparisons held out, on labels, in recall."""
        found = dict(_NOTHING_JUDGED)
        if len(live.catalogue) == 0 or not live.items_are_queries:
            return found
        held = standing(self._service.store, live.version) if self._learns else None
        if held is not None:
            before, after = held.before, held.after
            won, lost = (before <= 0) & (after > 0), (before > 0) & (after <= 0)
            found |= {
                "standing": {
                    kind: dict(zip(("base", "live", "error", "n"), outcome, strict=True))
                    for kind, outcome in held.outcomes.items()
                },
                "held_out": len(held.triplets),
                "n_won": int(won.sum()),
                "n_lost": int(lost.sum()),
                "won": self._outcomes(held, np.flatnonzero(won)),
                "lost": self._outcomes(held, np.flatnonzero(lost)),
                "goodness": _goodness("comparisons", before, after),
            }
        by_label = self._goodness_of_labels(base, live)
        found["goodness"] = by_label or found["goodness"]
        found["served"] = self._service.served_recall(_RECALL_QUERIES, _RECALL_AT)
        return found

    @property
    def _learns(self) -> bool:
        return self._service.why_not is None

    def _outcomes(self, held: Standing, which: np.ndarray) -> list[schemas.Outcome]:
        """Return the comparisons that changed most and whose items are still there."""
        by_revision = {item.revision: item for item in self._service.live.catalogue.list}
        outcomes = []
        changes = np.abs(held.after - held.before)[which]
        for place in which[np.argsort(-changes, kind="stable")]:
            items = [by_revision.get(part) for part in held.triplets[place] if part is not None]
            if len(items) < 3 or None in items:
                continue
            query, closer, farther = (self.shown(item) for item in items if item is not None)
            outcomes.append(
                schemas.Outcome(
                    query=query,
                    closer=closer,
                    farther=farther,
                    margin_before=float(held.before[place]),
                    margin_after=float(held.after[place]),
                )
            )
            if len(outcomes) == _OUTCOMES:
                break
        return outcomes

    def _goodness_of_labels(self, base: Live, live: Live) -> schemas.Goodness | None:
        label = self._service.served.label
        chosen = live.catalogue.sample(_IN_GOODNESS)
        items = [live.catalogue.list[place] for place in chosen]
        labels = np.array([str(item.row.get(label)) for item in items])
        if label is None or not 1 < len(set(labels)) < len(labels):
            return None
        rows = live.catalogue.rows[chosen]
        both = [goodness(s.similarity, rows, labels) for s in (base, live)]
        before, after = (one.margins[~np.isnan(one.margins)] for one in both)
        return _goodness("labels", before, after, (both[0].sentence, both[1].sentence))

    def _once(self, name: str, about: Any, make: Callable[[], Any]) -> Any:
        """Return what was made about something, the latest there is, or None until there is."""
        with self._lock:
            known, made = self._made.get(name, (None, None))
            found = made.result() if made is not None and _is_there(made) else None
            if made is None or (made.done() and (known != about or found is None)):
                self._made[name] = about, self._pool.submit(_alone, make)
            return found


def _is_there(made: Future[Any]) -> bool:
    return made.done() and made.exception() is None


def _alone(make: Callable[[], Any]) -> Any:
    with limit_threads(1), single_threaded_blas():
        return make()


_NOTHING_JUDGED: dict[str, Any] = {
    "goodness": None,
    "served": None,
    "standing": None,
    "held_out": 0,
    "n_won": 0,
    "n_lost": 0,
    "won": [],
    "lost": [],
}


def _goodness(
    of: Any, before: np.ndarray, after: np.ndarray, said: tuple[str, str] | None = None
) -> schemas.Goodness:
    if said is None:
        right = [f"{np.mean(side > 0):.0%} in the right order" for side in (before, after)]
        said = right[0], right[1]
    return schemas.Goodness(
        of=of, before=_curve(before), after=_curve(after), said_before=said[0], said_after=said[1]
    )


def _curve(values: np.ndarray) -> schemas.Curve:
    """Return margins in descending order against the share that reaches them."""
    ordered = -np.sort(-values)
    places = np.unique(np.linspace(0, len(ordered) - 1, min(_ON_CURVE, len(ordered))).astype(int))
    return schemas.Curve(
        x=((places + 1) / len(ordered)).tolist(), y=ordered[places].astype(float).tolist()
    )


def _unit_map(scores: np.ndarray) -> np.ndarray:
    """Return a map of rows whose coordinates reach from -1 to 1 at most."""
    points = plane_map(scores)[0]
    return points / (np.abs(points).max() or 1.0)
