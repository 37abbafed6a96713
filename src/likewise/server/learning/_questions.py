"""The selection of the comparison to ask a person next."""

from threading import Lock
from typing import Any

import numpy as np

from likewise._files import from_bytes
from likewise._threads import limit_threads
from likewise.server._snapshot import Snapshot
from likewise.server.learning._initial import InitialModel
from likewise.server.learning._ridge import learn_belief
from likewise.server.store import NotSupported, Store

_N_CANDIDATES = 600


class QuestionSelector:
    """Selects questions about items by the learner's uncertainty.

    Parameters
    ----------
    store : Store
    seed : optional
        Seed of the random candidates.
    """

    def __init__(self, store: Store, seed: Any = None) -> None:
        self._store = store
        self._rng = np.random.default_rng(seed)
        self._lock = Lock()
        self._cached: tuple[int, Any] = (-1, None)

    def learner(self) -> Any:
        """Return the learner's belief at its last checkpoint."""
        entry = self._store.checkpoint_entry()
        if entry != self._cached[0]:
            checkpoint = self._store.checkpoint()
            if checkpoint is None:
                raise NotSupported("the model cannot learn.")
            if checkpoint.entry > 0 or self._store.note("learner") == "aroma":
                belief = from_bytes(checkpoint.state)
            else:
                belief = learn_belief(None, InitialModel.from_store(self._store), 0)
            self._cached = checkpoint.entry, belief
        return self._cached[1]

    def select(self, snapshot: Snapshot, strategy: str) -> tuple[tuple[int, int, int], float]:
        """Return the rows of a query and two items, and the probability that the first is closer.

        Parameters
        ----------
        snapshot : Snapshot
        strategy : {"informative", "random"}
        """
        catalog = snapshot.catalog
        if not snapshot.items_are_queries:
            raise NotSupported("queries of this model are not items: there are none to show.")
        if len(catalog) < 3:
            raise NotSupported(f"at least 3 items are needed, but there are {len(catalog)}.")
        with self._lock, limit_threads(1):
            learner = self.learner()
            triplets = draw_triplets(len(catalog), self._rng)
            if strategy == "informative":
                triplets = learner.most_informative(triplets, catalog.rows, n=1)
            chosen = triplets[:1]
            # The order of the two items must not reveal the prediction.
            if self._rng.random() < 0.5:
                chosen = chosen[:, [0, 2, 1]]
            confidence = float(learner.confidence(chosen, catalog.rows)[0])
        query, left, right = chosen[0].tolist()
        return (query, left, right), confidence


def draw_triplets(n_items: int, rng: np.random.Generator, n: int = _N_CANDIDATES) -> np.ndarray:
    """Draw triplets of three different items."""
    triplets = rng.integers(n_items, size=(2 * n, 3))
    a, b, c = triplets.T
    return np.asarray(triplets[(a != b) & (a != c) & (b != c)][:n])
