"""An index: items under ids, searched by a learned similarity through an engine."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import RLock
from typing import Any

from likewise import _files
from likewise._validation import check_choice, check_number, check_whole_number
from likewise._warnings import warn
from likewise.index._checks import check_ids, check_items
from likewise.index._offsets import check_offsets
from likewise.index._snapshot import IndexReader, Snapshot
from likewise.index._tuning import Tuning, tune
from likewise.index._where import Where, check_fields
from likewise.index.engines import ENGINES, EngineOptions
from likewise.index.stores import OutdatedSnapshotError, Store, open_store
from likewise.similarities import ItemOffsets, Matches, as_similarity

ENGINE_NAMES = ("auto", *ENGINES, "pgvector")
_N_CANDIDATES = 100


class Index(IndexReader):
    """Items under ids, and a search for those most similar to a query.

    Parameters
    ----------
    similarity : str, Similarity, callable or fitted learner
        As in `likewise.as_similarity`.
    engine : {"auto", "exact", "faiss", "usearch", "pgvector"}, default="auto"
        The engine that searches. "auto" is "pgvector" with a `url`; otherwise it is "exact" up to
        about 200,000 items, and faiss or usearch beyond that, if they are installed. The attributes
        `engine` and `reason` show the choice.
    url, table : str, optional
        For pgvector: the address of the database, and the name of the table, by default
        "likewise_items".
    fold : {"auto", "query", "both", "rerank"}, default="auto"
        How the similarity is folded into the engine. "query" maps queries only: items stay the same
        when the similarity is swapped. "both" also maps items, by factors of W with equal singular
        values or by L: the recall of approximate engines is higher, but a swap maps all items
        again. With "rerank" the engine finds candidates by plain vectors, which are scored again.
        "auto" is "query" where that is exact, "both" for a Mahalanobis distance, and "rerank" for
        similarities that do not fold.
    metric : {"inner_product", "cosine", "euclidean"}, optional
        The metric that the engine computes; by default one that serves the similarity exactly.
    offsets : ItemOffsets, optional
        Offsets of the items, as for `set_offsets`. With pgvector, None keeps the offsets of an
        existing table.

    Examples
    --------
    >>> import likewise as lw
    >>> s = lw.Bilinear([[1.0, 0.5], [0.0, 1.0]])
    >>> index = lw.Index(s).add(["a", "b", "c"], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> index.search([[1.0, 0.0]], k=2).row(0)
    [('c', 1.5), ('a', 1.0)]

    Another similarity for the same items:

    >>> index.swap(lw.Bilinear(1.0)).search([[1.0, 0.0]], k=2).row(0)
    [('a', 1.0), ('c', 1.0)]

    A stored id as the query, which is not among its own matches:

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
        check_choice(engine, "engine", ENGINE_NAMES)
        if engine == "auto" and url is not None:
            engine = "pgvector"
        if engine == "pgvector" and url is None:
            raise ValueError("url is needed for the engine 'pgvector': postgresql://...")
        if engine != "pgvector" and (url is not None or table is not None):
            raise ValueError(f"url and table are for the engine 'pgvector', not {engine!r}.")
        self._options = EngineOptions(engine, fold, metric)
        self._lock = RLock()  # held by changes
        store = open_store(similarity, self._options, offsets, url, table or "likewise_items")
        self._snapshot = Snapshot(store, _N_CANDIDATES)

    @property
    def snapshot(self) -> Snapshot:
        """The index as it is now, for searches that later changes must not affect."""
        return self._snapshot

    @property
    def n_candidates(self) -> int:
        """Number of an engine's candidates that are scored again, with `fold="rerank"`."""
        return self._snapshot.n_candidates

    @n_candidates.setter
    def n_candidates(self, n_candidates: int) -> None:
        number = check_whole_number(n_candidates, "n_candidates")
        with self._lock:
            self._snapshot = replace(self._snapshot, n_candidates=number)

    def add(self, ids: Any, items: Any, fields: Mapping[str, Any] | None = None) -> "Index":
        """Store new items.

        If anything is wrong or the call is interrupted, none of them is stored. Items that have an
        offset are moved by it, unless they were removed since the offsets were set.

        Parameters
        ----------
        ids : sequence of str or int
            Unique, and not stored yet.
        items : rows of numbers, or objects where the similarity takes those
        fields : mapping of str to sequences, optional
            Strings, numbers or booleans, one for each item, for searches with `where`.
        """
        listed = check_ids(ids)
        named = check_fields(fields, len(listed))
        return self._change(
            lambda store: store.add(listed, self._checked(items, len(listed)), named)
        )

    def update(self, ids: Any, items: Any, fields: Mapping[str, Any] | None = None) -> "Index":
        """Replace stored items; parameters as in `add`. Without `fields` theirs are kept.

        The new items are stored as given: offsets were learned for the previous vectors and are
        dropped until offsets are set again.
        """
        listed = check_ids(ids)
        named = None if fields is None else check_fields(fields, len(listed))
        return self._change(
            lambda store: store.update(listed, self._checked(items, len(listed)), named)
        )

    def remove(self, ids: Any) -> "Index":
        """Remove stored items, and drop their offsets until offsets are set again."""
        listed = check_ids(ids)
        return self._change(lambda store: store.remove(listed))

    def swap(self, similarity: Any) -> "Index":
        """Search by another similarity from now on, among the same items.

        Where queries alone are folded, only the similarity changes. Otherwise the items are mapped
        again, into a copy that replaces the old one when it is complete. Searches in progress use
        the old similarity. Offsets stay the same.
        """
        swapped = as_similarity(similarity)

        def change(store: Store) -> Store:
            check_offsets(store.offsets.offsets, swapped, None)
            return store.swap(swapped)

        return self._change(change)

    def set_offsets(self, offsets: ItemOffsets | None) -> "Index":
        """Move the items that have an offset, from the vectors that were given.

        Searches then find ``offsets.apply(ids, items)``. Queries do not change, so engines and
        folds are as exact as before. A stored id as a query stands for the item as it was given.
        None restores all items, bit for bit: the originals of moved items are kept.

        All items are stored again, in a copy that replaces the old one when it is complete;
        searches in progress use the old one. With pgvector only moved items are written, in one
        transaction: ``embedding`` then holds the moved items and ``original`` the given ones. The
        offsets are stored in the table ``likewise_offsets``, and other processes apply them too.

        Parameters
        ----------
        offsets : ItemOffsets or None
            As wide as the items. Items that are not stored yet are moved when they are added.

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

        def change(store: Store) -> Store:
            check_offsets(offsets, self.similarity, self._width())
            return store.set_offsets(offsets)

        return self._change(change)

    def _change(self, change: Callable[[Store], Store]) -> "Index":
        """Replace the snapshot by one with the changed store."""
        with self._lock:
            previous = self._snapshot.store
            store = change(previous)
            self._snapshot = replace(self._snapshot, store=store)
            store.release(previous)
        return self

    def _checked(self, items: Any, n_ids: int) -> Any:
        return check_items(self.similarity, items, n_ids, self._width())

    def _width(self) -> int | None:
        with self._snapshot.store.reading() as reader:
            return reader.width

    def search(self, queries: Any, k: int = 10, where: Where = None) -> Matches:
        """Find the `k` most similar items of each query.

        Parameters
        ----------
        queries : rows of queries, or stored ids
            An id, or a list of ids, finds items similar to the stored ones, which are left out.
        k : int, default=10
        where : mapping, sequence of ids or SQL, optional
            The items to search among: those whose fields have the given values (or one of a list
            of values), those with the given ids or, with pgvector, those that satisfy a condition
            in SQL.

        Returns
        -------
        Matches
            Ids and scores of the similarity, best first; None and −inf where there are fewer than
            `k` items.
        """
        while True:
            snapshot = self._snapshot
            try:
                return snapshot.search(queries, k, where)
            except OutdatedSnapshotError:
                with self._lock:  # wait for a swap in progress, and search again
                    if snapshot is self._snapshot:
                        raise

    def tune(self, recall: float = 0.95, queries: Any = None, k: int = 10) -> Tuning:
        """Set the minimum effort with which searches reach a recall.

        Parameters
        ----------
        recall : float, default=0.95
            The share of the `k` best items to find, on average.
        queries, k : as in `served_recall`

        Returns
        -------
        Tuning
            The measurements and the choice; if no effort reaches the recall, the most thorough one,
            with a warning.
        """
        target = check_number(recall, "recall", minimum=0.0, exclusive=True, maximum=1)
        k = check_whole_number(k, "k")
        tuning, self.n_candidates = tune(self._snapshot, target, queries, k)
        if not tuning.reached:
            warn(
                f"the engine {self.engine!r} reaches a recall of {tuning.recall:.3f} at most, not "
                f"{target}: fold='both' or engine='exact' reach more.",
            )
        return tuning

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file; `likewise.load` opens it.

        The file is replaced in one step, and a process that has the old one open can continue to
        read it. For pgvector the file holds the address of the table, without a password.
        """
        _files.save(self, path)

    def _parts_for_file(self) -> dict[str, Any]:
        with self._lock:
            return {
                "similarity": self.similarity,
                "engine": self._options.engine,
                "fold": self._options.fold,
                "metric": self._options.metric,
                "n_candidates": self.n_candidates,
                "effort": self.effort,
                **self._snapshot.store.for_file(),
            }

    @classmethod
    def _from_file(cls, **parts: Any) -> "Index":
        names = ("similarity", "engine", "fold", "metric", "url", "table", "offsets")
        index = cls(**{name: parts.pop(name) for name in names if name in parts})
        index.n_candidates = parts.pop("n_candidates")
        effort = parts.pop("effort")
        if parts:
            index._change(lambda store: store.restored(parts))
        if effort is not None:
            index._snapshot.store.set_effort(check_whole_number(effort, "effort"))
        return index
