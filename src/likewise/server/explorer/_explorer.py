"""The explorer's data: neighbors before and after learning, a map, and quality."""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np

from likewise._threads import limit_threads, single_threaded_blas
from likewise.evaluation import align_map, goodness, plane_map
from likewise.server._service import Service
from likewise.server._snapshot import Catalog, Snapshot
from likewise.server.api import _schemas as schemas
from likewise.server.explorer import _views as views
from likewise.server.explorer._display import TextColumns, text_columns
from likewise.server.learning._baseline import BaselineComparison, compare_with_baseline
from likewise.server.learning._initial import BASE_VERSION
from likewise.server.store import ItemId, StoredItem, StoreUnavailable

_LOG = logging.getLogger("likewise.server")
_MAX_MAP_ITEMS, _MAX_GOODNESS_ITEMS, _MAX_CURVE_POINTS = 1_000, 2_000, 200
_RECALL_QUERIES, _RECALL_AT = 100, 10
_MAX_OUTCOMES = 20
_MAX_TEXT = 4_000  # characters of a text
_DISPLAY_SAMPLE = 200  # items that decide which columns are their title and text
_MAX_LABELS = 0.8  # different labels for each item, if they are classes
_MapPoint = tuple[ItemId, Any, Any]  # an item before and after learning


class Explorer:
    """Answers the explorer's requests; long computations run once for each state."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="explorer")
        self._lock = Lock()
        self._results: dict[str, tuple[Any, Future[Any] | None]] = {}
        self._description: tuple[Catalog | None, TextColumns, bool] = None, TextColumns(), False

    def close(self) -> None:
        """Stop computing."""
        self._pool.shutdown(cancel_futures=True)

    def view(self, item: StoredItem, *, with_row: bool = False) -> schemas.ItemView:
        """Return an item for display; `with_row` with all of its cells."""
        model = self._service.model
        image = model.image(item.row, item.vector)
        label = item.row.get(model.label) if model.label is not None else None
        row = {key: value for key, value in item.row.items() if key != "image" or image is None}
        title, text, cells = self.text_columns.split(row)
        kind: Any = "image" if image is not None else "row" if text is None else "text"
        if kind == "row" and not row:
            row = {f"x{place}": float(x) for place, x in enumerate(item.vector[:20])}
        shown = row if with_row or kind == "row" else cells if kind == "text" else None
        return schemas.ItemView(
            id=item.id,
            kind=kind,
            image=image,
            title=title if kind == "text" else None,
            text=text[:_MAX_TEXT] if kind == "text" and text is not None else None,
            row=shown,
            label=None if label is None else str(label),
        )

    @property
    def text_columns(self) -> TextColumns:
        """The columns of the present items that are their title and their text."""
        return self._described()[0]

    @property
    def label_repeats(self) -> bool:
        """Whether items share labels, as the members of a class do."""
        return self._described()[1]

    def _described(self) -> tuple[TextColumns, bool]:
        """Describe the first of the present items, once."""
        catalog = self._service.snapshot.catalog
        known, columns, repeats = self._description
        if known is not catalog:
            model = self._service.model
            rows = [item.row for item in catalog.items[:_DISPLAY_SAMPLE]]
            columns = text_columns(rows, model.label, model.item_text_columns)
            labels = [] if model.label is None else [str(row.get(model.label)) for row in rows]
            repeats = len(set(labels)) <= _MAX_LABELS * len(labels)
            self._description = catalog, columns, repeats
        return columns, repeats

    def neighbors(self, name: ItemId, k: int) -> views.Neighbors:
        """Return an item's neighbors before and after learning, with their ranks in both."""
        item = self._service.item(name)
        live = self._service.snapshot
        base = self._service.snapshot_at(BASE_VERSION)
        items, own_row = live.catalog.items, live.catalog.row_numbers[str(item.id)]
        asked = schemas.QueryValue(id=item.id)
        query, rows = live.query_row(asked), np.arange(len(items))
        with limit_threads(1):
            scores = [s.scores(query, rows, s.query_text(asked)) for s in (base, live)]
        for each in scores:
            each[own_row] = -np.inf  # an item is not a neighbor of itself
        orders = [np.argsort(-each, kind="stable") for each in scores]
        ranks = [np.empty_like(order) for order in orders]
        for rank, order in zip(ranks, orders, strict=True):
            rank[order] = np.arange(1, len(order) + 1)

        def ranked(side: int) -> list[views.RankedNeighbor]:
            return [
                views.RankedNeighbor(
                    item=self.view(items[row]),
                    score=float(scores[side][row]),
                    rank=int(ranks[side][row]),
                    other_rank=int(ranks[1 - side][row]),
                )
                for row in orders[side][: min(k, len(orders[side]) - 1)]
            ]

        return views.Neighbors(
            item=self.view(item, with_row=True),
            base=ranked(0),
            learned=ranked(1),
            base_model=BASE_VERSION,
            model=live.version.number,
        )

    def map(self, by: str | None = None) -> views.Map:
        """Return items in the plane before and after learning, labeled by a column."""
        live = self._service.snapshot
        base = self._service.snapshot_at(BASE_VERSION)
        state = live.version.number, live.catalog.change
        points = self._cached("map", state, lambda: self._map_points(base, live), empty=[])
        cells = self._cells(points or [], by or self._service.model.label, live)
        known = [cell for cell in cells if cell is not None]
        return views.Map(
            status="computing" if points is None else "ready",
            points=[
                views.Point(
                    id=name, before=before, after=after, label=None if cell is None else str(cell)
                )
                for (name, before, after), cell in zip(points or [], cells, strict=True)
            ],
            numeric=bool(known) and all(_is_number(cell) for cell in known),
            n_items=len(live.catalog),
            base_model=BASE_VERSION,
            model=live.version.number,
        )

    def _map_points(self, base: Snapshot, live: Snapshot) -> list[_MapPoint]:
        sample = live.catalog.sample(_MAX_MAP_ITEMS)
        if len(sample) < 3 or not live.items_are_queries:
            return []
        rows = live.catalog.rows[sample]
        before = _unit_map(base.similarity.score(rows, rows))
        after = align_map(_unit_map(live.similarity.score(rows, live.item_rows[sample])), before)
        ids = [live.catalog.items[row].id for row in sample]
        return list(zip(ids, before.tolist(), after.tolist(), strict=True))

    def _cells(self, points: list[_MapPoint], by: str | None, live: Snapshot) -> list[Any]:
        """Return the cells of a column; None for items that were removed since."""
        items = (live.catalog.by_id.get(str(name)) for name, _, _ in points)
        return [None if item is None or by is None else item.row.get(by) for item in items]

    def quality(self) -> views.Quality:
        """Return gains and losses on held-out queries, and the history of candidates."""
        service = self._service
        live, base = service.snapshot, service.snapshot_at(BASE_VERSION)
        evaluated = [v for v in reversed(service.store.versions()) if v.verdict is not None]
        position = evaluated[-1].position if evaluated else 0
        state = live.version.number, live.catalog.change, position
        computed = self._cached("quality", state, lambda: self._evaluate(base, live), empty={})
        has_canary = service.settings.canary > 0
        canary = None
        if has_canary:
            n_searches = sum(service.store.searches().values())
            counted = service.store.status().acknowledged, n_searches, live.version.number
            canary = self._cached("canary", counted, service.compare_canary, empty=False)
        lessons = [
            views.GateResult(
                position=v.position,
                version=v.number,
                threshold=v.verdict.threshold,
                promoted=v.promoted is not None,
                **{
                    kind: schemas.Evaluation.model_validate(getattr(v.verdict, kind))
                    for kind in ("overall", "seen", "new")
                },
            )
            for v in evaluated
            if v.verdict is not None
        ]
        progress = [
            views.Progress(position=position, asked=predicted, right=correct)
            for position, predicted, correct in service.store.progress()
        ]
        is_computing = computed is None or (has_canary and canary is None)
        return views.Quality(
            status="computing" if is_computing else "ready",
            canary=canary or None,
            lessons=lessons,
            progress=progress,
            base_model=BASE_VERSION,
            model=live.version.number,
            **(computed or {}),
        )

    def _evaluate(self, base: Snapshot, live: Snapshot) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if len(live.catalog) == 0 or not live.items_are_queries:
            return fields
        comparison = None
        if self._service.model.no_learning_reason is None:
            comparison = compare_with_baseline(self._service.store, live.version.number)
        if comparison is not None:
            before, after = comparison.before, comparison.after
            won, lost = (before <= 0) & (after > 0), (before > 0) & (after <= 0)
            fields |= {
                "standing": {
                    kind: dict(zip(("base", "live", "error", "n"), outcome, strict=True))
                    for kind, outcome in comparison.outcomes.items()
                },
                "held_out": len(comparison.triplets),
                "n_won": int(won.sum()),
                "n_lost": int(lost.sum()),
                "won": self._outcomes(comparison, np.flatnonzero(won)),
                "lost": self._outcomes(comparison, np.flatnonzero(lost)),
                "goodness": _goodness("comparisons", before, after),
            }
        by_label = self._goodness_of_labels(base, live)
        fields["goodness"] = by_label or fields.get("goodness")
        fields["served"] = self._service.served_recall(_RECALL_QUERIES, _RECALL_AT)
        return fields

    def _outcomes(self, comparison: BaselineComparison, rows: np.ndarray) -> list[views.Outcome]:
        """Return the comparisons with the largest change whose items still exist."""
        by_revision = {item.revision: item for item in self._service.snapshot.catalog.items}
        outcomes: list[views.Outcome] = []
        changes = np.abs(comparison.after - comparison.before)[rows]
        for row in rows[np.argsort(-changes, kind="stable")]:
            items = [by_revision.get(r) for r in comparison.triplets[row] if r is not None]
            if len(items) < 3 or None in items:
                continue
            query, closer, farther = (self.view(item) for item in items if item is not None)
            outcomes.append(
                views.Outcome(
                    query=query,
                    closer=closer,
                    farther=farther,
                    margin_before=float(comparison.before[row]),
                    margin_after=float(comparison.after[row]),
                )
            )
            if len(outcomes) == _MAX_OUTCOMES:
                break
        return outcomes

    def _goodness_of_labels(self, base: Snapshot, live: Snapshot) -> views.Goodness | None:
        label = self._service.model.label
        sample = live.catalog.sample(_MAX_GOODNESS_ITEMS)
        labels = np.array([str(live.catalog.items[row].row.get(label)) for row in sample])
        if label is None or not 1 < len(set(labels)) < len(labels):
            return None
        rows = live.catalog.rows[sample]
        # Versions differ in scale, so that only the order of their scores can be compared.
        both = [goodness(s.similarity, rows, labels, form="rank") for s in (base, live)]
        before, after = (one.margins[~np.isnan(one.margins)] for one in both)
        return _goodness("labels", before, after, (both[0].sentence, both[1].sentence))

    def _cached(self, name: str, state: Any, compute: Callable[[], Any], empty: Any) -> Any:
        """Return the newest result, and compute the one of this state; None until there is one.

        A computation that fails is not repeated for its state, and its result is `empty`.
        """
        with self._lock:
            known, future = self._results.get(name, (None, None))
            failed, result = False, None
            if future is not None and future.done():
                failed = future.exception() is not None  # the store did not answer
                result = None if failed else future.result()
            if future is None or (future.done() and (failed or known != state)):
                self._results[name] = state, self._pool.submit(_run, name, compute, empty)
            return result


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _run(name: str, compute: Callable[[], Any], empty: Any) -> Any:
    """Return a result, computed on one thread; if that fails, log the error and return `empty`."""
    try:
        with limit_threads(1), single_threaded_blas():
            return compute()
    except StoreUnavailable:  # the next request tries again
        raise
    except Exception:
        _LOG.exception("the computation of %s failed", name)
        return empty


def _goodness(
    of: Any, before: np.ndarray, after: np.ndarray, sentences: tuple[str, str] | None = None
) -> views.Goodness:
    if sentences is None:
        first, second = (f"{np.mean(side > 0):.0%} in the right order" for side in (before, after))
        sentences = first, second
    return views.Goodness(
        of=of,
        before=_curve(before),
        after=_curve(after),
        said_before=sentences[0],
        said_after=sentences[1],
    )


def _curve(margins: np.ndarray) -> views.Curve:
    """Return margins in descending order against the share that reaches them."""
    ordered = -np.sort(-margins)
    n_points = min(_MAX_CURVE_POINTS, len(ordered))
    rows = np.unique(np.linspace(0, len(ordered) - 1, n_points).astype(int))
    return views.Curve(
        x=((rows + 1) / len(ordered)).tolist(), y=ordered[rows].astype(float).tolist()
    )


def _unit_map(scores: np.ndarray) -> np.ndarray:
    """Return a map of rows with coordinates from -1 to 1."""
    points = plane_map(scores)[0]
    return points / (np.abs(points).max() or 1.0)
