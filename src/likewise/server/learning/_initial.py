"""The initial model of a store's learner: the version that the model file contains."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise._files import from_bytes
from likewise._threads import slices
from likewise.server.learning._pages import HeldOutPages, Pages
from likewise.server.store import Store
from likewise.similarities import Bilinear, paired_products

BASE_VERSION = 1  # the version of the model file
_BATCH_SIZE = 8_192


@dataclass(frozen=True, eq=False)
class InitialModel:
    """The similarity from which learning starts.

    Attributes
    ----------
    similarity : Bilinear
    W : float64 array of shape (n_query_features, n_item_features)
    aroma : AROMA
        The learner in the state of the model file.
    lexical : float or None
        The initial weight of the lexical score; None without one.
    """

    similarity: Bilinear
    W: np.ndarray
    aroma: Any
    lexical: float | None = None

    @classmethod
    def from_store(cls, store: Store) -> "InitialModel":
        """Return the initial model of a store."""
        checkpoint = store.checkpoint(initial=True)
        if checkpoint is None:
            raise ValueError("the store has no initial state: its model cannot learn.")
        aroma: Any = from_bytes(checkpoint.state)
        similarity = from_bytes(store.version_files(BASE_VERSION).similarity)
        W = _dense_matrix(similarity, aroma.state_.W.shape)
        return cls(similarity, W, aroma, store.lexical_weight())

    @property
    def normalize(self) -> bool:
        """Whether rows are scaled to unit length."""
        return self.similarity.norm == "cosine"

    @property
    def has_offsets(self) -> bool:
        """Whether items can have offsets, which needs queries as wide as items."""
        return self.W.shape[0] == self.W.shape[1] and bool(self.W.any())

    @cached_property
    def root(self) -> np.ndarray | None:
        """A symmetric A with W = A²; None if W is not symmetric and positive semidefinite."""
        W = self.W
        if W.shape[0] != W.shape[1] or not np.array_equal(W, W.T) or not W.any():
            return None
        diagonal = np.diag(W)
        if np.array_equal(W, np.diag(diagonal)):
            return np.diag(np.sqrt(diagonal)) if (diagonal >= 0).all() else None
        values, vectors = np.linalg.eigh(W)
        if values[0] < -1e-6 * values[-1]:  # of rounding to float32
            return None
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)

    def matrix(self, similarity: Bilinear) -> np.ndarray:
        """Return the W of a version as a float64 matrix."""
        return _dense_matrix(similarity, self.W.shape)

    def to_similarity(self, W: np.ndarray) -> Bilinear:
        """Return a similarity with the norm of the initial one."""
        return Bilinear(W.astype(np.float32), norm=self.similarity.norm)


def _dense_matrix(similarity: Bilinear, shape: tuple[int, ...]) -> np.ndarray:
    """Return W as a matrix, also where it is a number or a diagonal."""
    W = np.array(similarity.W, dtype=np.float64, order="C")
    if W.ndim == 2:
        return W
    matrix = np.zeros(shape)
    np.fill_diagonal(matrix, W)
    return matrix


def matrix_scores(pages: Pages, held_out: HeldOutPages, W: np.ndarray) -> np.ndarray:
    """Return the score qᵀWp of every item shown with its query."""
    mapped = pages.Q[held_out.queries] @ W
    queries, items = held_out.pairs
    scores = np.empty(len(queries))
    for batch in slices(len(queries), _BATCH_SIZE):
        scores[batch] = paired_products(mapped[queries[batch]], pages.P[items[batch]])
    return held_out.expand(scores)
