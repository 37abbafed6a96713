"""An index: items under ids, searched by a learned similarity through an engine."""

import os
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from threading import RLock
from time import perf_counter
from typing import Any

from likewise import _files
from likewise._progress import LongWork
from likewise._validation import check_choice, check_number, check_whole_number, is_sparse, n_rows
from likewise.index._checks import (
    check_ids,
    check_items,
    is_id,
    of_stored_items,
    refuse_known,
    refuse_unknown,
)
from likewise.index._file import index_from_parts, parts_of_index
from likewise.index._fold_plan import Serving, plan
from likewise.index._offsets import ActiveOffsets, OffsetsChanged, check_offsets
from likewise.index._snapshot import Snapshot
from likewise.index._tuning import Step, Tuning, least_effort
from likewise.index._where import Where, check_fields
from likewise.index.engines._engine import Store
from likewise.index.engines._kinds import ALL_METRICS, KINDS, chosen_kind
from likewise.index.stores._memory import Embedded
from likewise.similarities import ItemOffsets, Matches, Similarity, as_similarity

_CANDIDATES = 100
_ATTEMPTS = 10  # to store items moved by offsets that other processes may change meanwhile


class Index:
    """Items under ids, and the most similar of them for a query.

    Parameters
    ----------
    similarity : str, Similarity, callable or fitted learner
        As in `likewise.as_similarity`.
    engine : {"auto", "exact", "faiss", "usearch", "pgvector"}, default="auto"
        What searches. "auto" is exact up to about 200,000 items, and beyond that what is
        installed; with `url` it is pgvector. `engine` and `reason` say what was chosen, and why.
    url, table : str, optional
        For pgvector: the database, and the name of the table in it ("likewise_items").
    fold : {"auto", "query", "both", "rerank"}, default="auto"
        How the similarity is put into the engine. "query": items stay as they are through every
        `swap`. "both": items are mapped as well, by halves of W that share its spread or by L,
        which an approximate engine finds better, and which a swap must do again. "rerank": the
        engine finds candidates by plain vectors, and they are scored again. "auto" is "query"
        where that is exact, "both" for a Mahalanobis distance, and "rerank" for what does not fold.
    metric : {"inner_product", "cosine", "euclidean"}, optional
        What the engine is to compute; by default what serves the similarity exactly.
    offsets : ItemOffsets, optional
        Moves the items that it knows before they are stored, as `set_offsets` does. With
        pgvector None leaves the table's own offsets as they are.

    Examples
    --------
    >>> import likewise as lw
    >>> s = lw.Bilinear([[1.0, 0.5], [0.0, 1.0]])
    >>> index = lw.Index(s).add(["a", "b", "c"], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> index.search([[1.0, 0.0]], k=2).row(0)
    [('c', 1.5), ('a', 1.0)]

    A new similarity on the same items:

    >>> index.swap(lw.Bilinear(1.0)).search([[1.0, 0.0]], k=2).row(0)
    [('a', 1.0), ('c', 1.0)]

    A stored id asks for the items most alike to it, and is not among them:

    >>> index.search("b", k=1).row(0)
    [('c', 1.0)]
    """

    def __init__(
        self,
        similarity: Any,
        engine: str = "auto",
        *,
        url: str | None = None,
        table: str | None = None,
        fold: str = "auto",
        metric: str | None = None,
        offsets: ItemOffsets | None = None,
    ) -> None:
        similarity = as_similarity(similarity)
        check_offsets(offsets, similarity, None)
        check_choice(engine, "engine", ("auto", *KINDS, "pgvector"))
        if engine == "auto" and url is not None:
            engine = "pgvector"
        if engine == "pgvector" and url is None:
            raise ValueError("url is needed for the engine 'pgvector': postgresql://...")
        if engine != "pgvector" and (url is not None or table is not None):
            raise ValueError(f"url and table are for the engine 'pgvector', not {engine!r}.")
        self._asked = engine
        self._fold, self._metric = fold, metric
        self._url, self._table = url, table or "likewise_items"
        self._lock = RLock()
        self.n_candidates = _CANDIDATES
        self._live = self._begun(similarity, 0, ActiveOffsets(offsets), sparse=False)

    def _begun(
        self, similarity: Similarity, n_items: int, offsets: ActiveOffsets, *, sparse: bool
    ) -> Snapshot:
        """Return an empty store for a similarity, or the table as it is."""
        if self._asked == "pgvector":
            from likewise.index.stores._postgres import PgvectorStore

            serving = plan(similarity, self._fold, self._metric, ALL_METRICS, "pgvector")
            assert self._url is not None
            store: Store = PgvectorStore(self._url, self._table, serving, offsets.offsets)
            return Snapshot(serving, store, "pgvector", "a url was given")
        can_fold = similarity.takes == "rows" and not sparse
        kind, reason = chosen_kind(self._asked, n_items, can_fold=can_fold)
        serving = plan(similarity, self._fold, self._metric, kind.metrics, kind.name)
        if sparse:
            if kind.name != "exact":
                raise ValueError(
                    f"items is sparse, which the engine {kind.name!r} cannot hold: use "
                    "engine='exact', or items.toarray()."
                )
            serving = Serving(similarity, None, "inner_product", "given")
        make = None if serving.by is None else lambda **parts: kind.make(serving.metric, **parts)
        # An engine that shifts vectors does not give them back to the last bit.
        keeps_items = serving.stored != "given" or serving.metric == "euclidean"
        embedded = Embedded(make, keeps_items=keeps_items, offsets=offsets)
        return Snapshot(serving, embedded, kind.name, reason)

    @property
    def snapshot(self) -> Snapshot:
        """The index as it is now, which later changes do not change.

        A table of PostgreSQL is shared with other processes: its snapshot is taken by each search.
        """
        store = self._live.store
        if isinstance(store, Embedded):
            store = copy(store)
        return replace(self._live, store=store, n_candidates=self.n_candidates)

    @property
    def similarity(self) -> Similarity:
        """What searches are by."""
        return self._live.serving.similarity

    @property
    def engine(self) -> str:
        """The engine that searches."""
        return self._live.engine

    @property
    def reason(self) -> str:
        """Why it is that engine."""
        return self._live.reason

    @property
    def is_exact(self) -> bool:
        """Whether every search finds the best items for sure."""
        return self._live.store.is_exact and not self._live.serving.reranks

    @property
    def effort(self) -> int | None:
        """How thorough the engine searches: cells of faiss, the reach of a graph; None if exact."""
        return self._live.store.effort

    @property
    def offsets(self) -> ItemOffsets | None:
        """What moves the items that it knows, as set last."""
        return self._live.store.offsets.offsets

    @property
    def ids(self) -> list[Any]:
        """The ids of all items, in the order in which they came."""
        return self._live.store.ids

    def __len__(self) -> int:
        return len(self._live.store)

    def __contains__(self, identifier: object) -> bool:
        return is_id(identifier) and bool(self._live.store.known([identifier]))

    def __repr__(self) -> str:
        return f"Index({len(self)} items, engine={self.engine!r}, {self.similarity!r})"

    def add(self, ids: Any, items: Any, fields: Mapping[str, Any] | None = None) -> "Index":
        """Store new items.

        All of them are stored or, if anything is wrong or interrupts, none. Items that the
        offsets know are moved by them, unless they were removed since the offsets were set.

        Parameters
        ----------
        ids : sequence of str or int
            Unique, and not stored yet.
        items : rows of numbers, or objects where the similarity takes those
        fields : mapping of str to sequences, optional
            Text, numbers or booleans beside each item, for searches with `where`.
        """
        return self._put(ids, items, fields, new=True)

    def update(self, ids: Any, items: Any, fields: Mapping[str, Any] | None = None) -> "Index":
        """Replace stored items; parameters as in `add`. Without `fields` theirs are kept.

        What replaces an item is stored as it is: the item's offset was learned for another vector,
        and is dropped until offsets are set again.
        """
        return self._put(ids, items, fields, new=False)

    def _put(self, ids: Any, items: Any, fields: Any, *, new: bool) -> "Index":
        listed = check_ids(ids)
        named = check_fields(fields, len(listed))
        with self._lock:
            store = self._live.store
            checked = check_items(self.similarity, items, len(listed), store.width)
            if new:
                if store.width is None and self.similarity.takes == "rows":
                    check_offsets(self.offsets, self.similarity, checked.shape[1])
                refuse_known(listed, store)
            else:
                refuse_unknown(listed, store)
                if fields is None:
                    named = store.fields(store.slots_of(listed))
            self._compact()
            live, checked = self._ready_for(checked, len(listed) if new else 0)
            if new:
                _add(live, listed, checked, named)
            else:
                live.store.put(listed, checked, live.serving.folded(checked), named, new=False)
            self._live = live
        return self

    def _ready_for(self, items: Any, n_new: int) -> tuple[Snapshot, Any]:
        """Return what is to hold the items, and the items as it holds them."""
        live = self._live
        if not isinstance(live.store, Embedded):
            return live, items.toarray() if is_sparse(items) else items
        offsets = live.store.offsets
        if live.store.is_empty:
            return self._begun(self.similarity, n_new, offsets, sparse=is_sparse(items)), items
        if live.store.holds_sparse:
            return live, _as_csr(items)
        if is_sparse(items):
            items = items.toarray()
        n_items = len(live.store) + n_new
        kind, _ = chosen_kind(self._asked, n_items, can_fold=self.similarity.takes == "rows")
        # It moves once, from exact to what many items want: not back, and forth again.
        if live.engine == "exact" and kind.name != "exact":
            live = self._moved(self._begun(self.similarity, n_items, offsets, sparse=False))
        return live, items

    def _moved(self, begun: Snapshot, *, from_originals: bool = False) -> Snapshot:
        """Fill an empty store with what is stored now.

        Items that offsets have moved stay so; with `from_originals` all of them are moved anew, by
        the offsets of the store that is filled.
        """
        store = self._live.store
        assert isinstance(store, Embedded)
        with LongWork("moving items", total=len(store), unit="items") as work:
            for slots, rows in store.blocks():
                names, fields = store.names(slots).tolist(), store.fields(slots)
                if from_originals:
                    _add(begun, names, store.given(slots), fields)
                else:
                    folded, moved = begun.serving.folded(rows), store.moved(slots)
                    begun.store.put(names, rows, folded, fields, new=True, moved=moved)
                work.advance(len(slots))
        if begun.engine == self._live.engine:
            begun.store.effort = store.effort
        return begun

    def _compact(self) -> None:
        """Give back what removed items hold; before a change, so that nothing is half done."""
        store = self._live.store
        if isinstance(store, Embedded) and len(store) and store.wants_compacting:
            sparse = store.holds_sparse
            begun = self._begun(self.similarity, len(store), store.offsets, sparse=sparse)
            self._live = self._moved(begun)

    def remove(self, ids: Any) -> "Index":
        """Take stored items away, and drop their offsets until offsets are set again."""
        listed = check_ids(ids)
        with self._lock:
            refuse_unknown(listed, self._live.store)
            self._compact()
            self._live.store.remove(listed)
        return self

    def items(self, ids: Any) -> Any:
        """Return stored items as they were given, without their offsets.

        An engine other than the exact one that holds items as they are has them in float32.
        """
        listed = check_ids(ids)
        with self._live.store.reading() as store:
            refuse_unknown(listed, store)
            return store.given(store.slots_of(listed))

    def set_offsets(self, offsets: ItemOffsets | None) -> "Index":
        """Move the items that `offsets` knows, from where they were before any offsets.

        What is searched then are `offsets.apply(ids, items)`; queries do not change, so that every
        engine and every fold stays as exact as it was. A stored id is asked for with the item as
        it was given. None puts all items back, bit for bit: the items that were moved are kept
        as they were given.

        All items are stored again, beside the old ones, which serve until all are there; searches
        that run go on with what they began with. With pgvector only the items that move are
        written, in one transaction. The table then has p' in ``embedding``, and in ``original``
        the items as they were given; the offsets lie in the table ``likewise_offsets``, from where
        other processes know them: what they add is moved as well.

        Parameters
        ----------
        offsets : ItemOffsets or None
            As wide as the items. Ids that are not stored are moved when they are added.

        Examples
        --------
        >>> import likewise as lw
        >>> index = lw.Index(lw.Bilinear(1.0)).add(["a", "b"], [[1.0, 0.0], [2.0, 0.0]])
        >>> offsets = lw.ItemOffsets(["a"], [[0.0, 1.0]], [1.0], 1.0, [0.0, 0.0])
        >>> index.set_offsets(offsets).search([[0.0, 1.0]], k=1).ids.tolist()
        [['a']]
        >>> index.items(["a"])
        array([[1., 0.]])
        """
        with self._lock:
            live = self._live
            check_offsets(offsets, self.similarity, live.store.width)
            active = ActiveOffsets(offsets)
            if not isinstance(live.store, Embedded):
                live.store.set_offsets(offsets)  # type: ignore[attr-defined]
            elif live.store.is_empty or not live.store.changes_with(active):
                live.store.offsets = active
            else:
                sparse, n_items = live.store.holds_sparse, len(live.store)
                begun = self._begun(self.similarity, n_items, active, sparse=sparse)
                self._live = self._moved(begun, from_originals=True)
        return self

    def swap(self, similarity: Any) -> "Index":
        """Search by another similarity from now on, on the same items.

        Where items stay as they are (a bilinear form folded into the query) this only exchanges
        the similarity. Else the items are mapped again, beside the old ones, which serve until
        all are there. Searches that run go on with what they began with. Offsets stay as they are.
        """
        similarity = as_similarity(similarity)
        with self._lock:
            live = self._live
            offsets = live.store.offsets
            check_offsets(offsets.offsets, similarity, None)
            if live.engine == "pgvector":
                serving = plan(similarity, self._fold, self._metric, ALL_METRICS, "pgvector")
                store = live.store.served_by(serving)  # type: ignore[attr-defined]
                self._live = Snapshot(serving, store, live.engine, live.reason)
                return self
            if not len(live.store):
                self._live = self._begun(similarity, 0, offsets, sparse=False)
                return self
            sparse = live.store.holds_sparse  # type: ignore[attr-defined]
            begun = self._begun(similarity, len(live.store), offsets, sparse=sparse)
            _refuse_items(live, begun.serving)
            if live.serving.same_items(begun.serving) and begun.engine == live.engine:
                self._live = Snapshot(begun.serving, live.store, live.engine, live.reason)
            else:
                self._live = self._moved(begun)
        return self

    def search(self, queries: Any, k: int = 10, where: Where = None) -> Matches:
        """Find the `k` items most alike to each query.

        Parameters
        ----------
        queries : rows of queries, or stored ids
            One id or a list of them asks for items like the stored ones, which are left out.
        k : int, default=10
        where : mapping, sequence of ids or SQL, optional
            Which items may be found: those whose fields have the given values (or one of a list
            of values), those with the given ids, or, with pgvector, those for which a condition
            in SQL holds.

        Returns
        -------
        Matches
            Ids and scores, on the similarity's own scale, best first; None and −inf where there
            are fewer than `k` items.
        """
        while True:
            live = self._live
            try:
                return replace(live, n_candidates=self.n_candidates).search(queries, k, where)
            except ValueError:
                with self._lock:  # a swap that goes on is waited for; after one, it is asked again
                    if live is self._live:
                        raise

    def served_recall(self, queries: Any = None, k: int = 10) -> float:
        """Return which share of the `k` truly best items a search finds, on average.

        Parameters
        ----------
        queries : rows of queries, or stored ids, optional
            Real queries tell most. By default some stored items are asked for.
        k : int, default=10
        """
        return self.snapshot.served_recall(queries, k)

    def tune(self, recall: float = 0.95, queries: Any = None, k: int = 10) -> Tuning:
        """Find the least effort with which a search finds a share of the truly best items.

        Parameters
        ----------
        recall : float, default=0.95
            The share of the `k` best items that is wanted, on average.
        queries, k : as in `served_recall`

        Returns
        -------
        Tuning
            What was tried, and what was chosen; if nothing reaches the recall, the most thorough,
            with a warning.
        """
        target = check_number(recall, "recall", minimum=0.0, exclusive=True)
        if target > 1:
            raise ValueError(f"recall must be at most 1, but {recall} was given.")
        k = check_whole_number(k, "k")
        with self._live.reading() as live:
            Q, own = live.asked(queries)
            truth = live.truth(Q, own, k)
            efforts = live.efforts(k)
            if not efforts:
                return Tuning(target, live.recall(Q, own, k, truth, self.n_candidates), None)

            def measure(effort: int) -> Step:
                self._set_effort(live, effort)
                begin = perf_counter()
                served = live.recall(Q, own, k, truth, self.n_candidates)
                return Step(effort, served, n_rows(Q) / (perf_counter() - begin))

            before = live.store.effort, self.n_candidates
            try:
                chosen, steps = least_effort(efforts, target, measure)
            except BaseException:
                live.store.effort, self.n_candidates = before
                raise
            self._set_effort(live, chosen.effort)
        if chosen.recall < target:
            warnings.warn(
                f"the engine {live.engine!r} serves a recall of {chosen.recall:.3f} at most, not "
                f"{target}: fold='both' or engine='exact' serve more.",
                UserWarning,
                stacklevel=2,
            )
        return Tuning(target, chosen.recall, chosen.effort, steps)

    def _set_effort(self, live: Snapshot, effort: int) -> None:
        """Set how many candidates are scored again, or how thorough the engine searches."""
        if live.serving.reranks:
            self.n_candidates = effort
            if not live.store.is_exact:
                within = live.store.efforts(effort)
                live.store.effort = min((e for e in within if e >= effort), default=within[-1])
        else:
            live.store.effort = effort

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file; `likewise.load` opens it.

        The file is whole or not there, and a process that reads the old one goes on reading it.
        For pgvector the file says where the table is, without a password.
        """
        _files.save(self, path)

    def _parts_for_file(self) -> dict[str, Any]:
        with self._lock:
            return parts_of_index(self)

    @classmethod
    def _from_file(cls, **parts: Any) -> "Index":
        return index_from_parts(cls, parts)


def _add(live: Snapshot, ids: list[Any], items: Any, fields: Any) -> None:
    """Store new items, moved by the offsets that know them."""
    for _ in range(_ATTEMPTS):
        stored, moved = live.store.offsets.apply(ids, items, live.serving.similarity)
        try:
            live.store.put(ids, stored, live.serving.folded(stored), fields, new=True, moved=moved)
            return
        except OffsetsChanged:
            continue  # by another process: they are applied again, from the items as given
    raise ValueError("offsets are being changed by another process all the time: try again later.")


def _refuse_items(live: Snapshot, serving: Serving) -> None:
    """Refuse stored items that a similarity cannot score, before any work.

    One of the same kind as before differs at most in the width it takes, which one row tells.
    """
    before, similarity = live.serving.similarity, serving.similarity
    norms = [getattr(each, "norm", None) for each in (before, similarity)]
    same_kind = type(before) is type(similarity) and norms[0] == norms[1]
    for slots, rows in live.store.blocks():
        checked = rows[:1] if same_kind else rows
        originals = None if same_kind else live.store.moved(slots).originals  # type: ignore[attr-defined]
        with of_stored_items():
            for each in (checked, originals):
                if each is not None:
                    check_items(similarity, each, n_rows(each))
                    if serving.minds_items:
                        serving.fold_items(each)
        if same_kind:
            return


def _as_csr(rows: Any) -> Any:
    from scipy.sparse import csr_array

    return rows if is_sparse(rows) else csr_array(rows)
