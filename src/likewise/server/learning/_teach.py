"""The comparison that is most worth asking a person about."""

from threading import Lock
from typing import Any

import numpy as np

from likewise._files import from_bytes
from likewise._threads import limit_threads
from likewise.server._live import Live
from likewise.server.learning._ridge import belief
from likewise.server.learning._start import Start
from likewise.server.store import Store
from likewise.server.store._records import NotPossibleError

_POOL = 600


class Teacher:
    """Asks questions about the items of a store, as its learner sees them.

    Parameters
    ----------
    store : Store
    seed : optional
        For questions that can be repeated.
    """

    def __init__(self, store: Store, seed: Any = None) -> None:
        self._store = store
        self._rng = np.random.default_rng(seed)
        self._lock = Lock()
        self._known: tuple[int, Any] = (-1, None)

    def learner(self) -> Any:
        """Return what the learner believes, as it was last written down."""
        entry = self._store.checkpoint_entry()
        if entry != self._known[0]:
            checkpoint = self._store.checkpoint()
            if checkpoint is None:
                raise NotPossibleError("nothing can be learned here.")
            begun = checkpoint.entry > 0 or self._store.note("learner") == "aroma"
            believed = (
                from_bytes(checkpoint.state) if begun else belief(None, Start.of(self._store), 0)
            )
            self._known = checkpoint.entry, believed
        return self._known[1]

    def question(self, live: Live, strategy: str) -> tuple[tuple[int, int, int], float]:
        """Return places of a query and of two items, and how sure it is that the first is closer.

        Parameters
        ----------
        live : Live
        strategy : {"informative", "random"}
        """
        if not live.items_are_queries:
            raise NotPossibleError("queries of this model are not items: there is none to show.")
        if len(live.catalogue) < 3:
            raise NotPossibleError("three items at least are needed to compare.")
        with self._lock, limit_threads(1):
            learner = self.learner()
            candidates = drawn(len(live.catalogue), self._rng)
            if strategy == "informative":
                candidates = learner.most_informative(candidates, live.catalogue.rows, n=1)
            chosen = candidates[:1]
            # Which of two is left must tell nothing about what the learner thinks.
            if self._rng.random() < 0.5:
                chosen = chosen[:, [0, 2, 1]]
            confidence = float(learner.confidence(chosen, live.catalogue.rows)[0])
        query, left, right = chosen[0].tolist()
        return (query, left, right), confidence


def drawn(n_items: int, rng: np.random.Generator, n: int = _POOL) -> np.ndarray:
    """Draw comparisons of three different items each."""
    triplets = rng.integers(n_items, size=(2 * n, 3))
    a, b, c = triplets.T
    return np.asarray(triplets[(a != b) & (a != c) & (b != c)][:n])
