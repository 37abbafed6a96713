"""The numbers behind the report: neighbors, telling examples and the learned matrix."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from likewise._validation import Rows, is_sparse, n_rows, take
from likewise.similarities import Bilinear, Mahalanobis, Similarity

MAX_QUERIES = 1000


def neighbor_rows(
    similarity: Similarity, X: Rows, items: Rows | None, queries: np.ndarray, k: int
) -> np.ndarray:
    """Return the row numbers of the `k` most similar rows of each query, never the query itself."""
    if items is not None:
        matches = similarity.neighbors(take(X, queries), items, min(k, n_rows(items)))
        return matches.ids.astype(np.int64)
    k = min(k, n_rows(X) - 1)
    ids = similarity.neighbors(take(X, queries), X, k + 1).ids.astype(np.int64)
    is_query = ids == queries[:, None]
    is_query[~is_query.any(axis=1), -1] = True  # among many equal rows, drop the last
    return ids[~is_query].reshape(len(queries), k)


class Example(NamedTuple):
    """One query, and its neighbors before and after."""

    query: int
    before: np.ndarray
    after: np.ndarray


def telling_examples(
    queries: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    y: np.ndarray | None,
    max_examples: int = 4,
) -> list[Example]:
    """Return the queries whose neighbors changed most, including one that got worse.

    With labels a change is the gain in neighbors of the query's own class. Classes take turns.
    """
    stayed = (before[:, :, None] == after[:, None, :]).any(axis=2).sum(axis=1)
    moved = before.shape[1] - stayed
    if y is None:
        order = np.argsort(-moved, kind="stable")[:max_examples]
        return [Example(int(queries[i]), before[i], after[i]) for i in order if moved[i]]
    own = y[queries]
    gain = (y[after] == own[:, None]).sum(axis=1) - (y[before] == own[:, None]).sum(axis=1)
    order = np.lexsort((-moved, -gain))
    chosen = _in_turns(order[(gain[order] >= 0) & (moved[order] > 0)], own)[: max_examples - 1]
    worse = [i for i in order[::-1][:1] if gain[i] < 0]
    return [Example(int(queries[i]), before[i], after[i]) for i in [*chosen, *worse]]


def _in_turns(order: np.ndarray, labels: np.ndarray) -> list[int]:
    """Return the best of every class first, then the second of every class, and so on."""
    counts: dict[Any, int] = {}
    turns = []
    for place, i in enumerate(order):
        label = labels[i].item() if hasattr(labels[i], "item") else labels[i]
        counts[label] = counts.get(label, 0) + 1
        turns.append((counts[label], place, int(i)))
    return [i for _, _, i in sorted(turns)]


@dataclass(frozen=True)
class LearnedMatrix:
    """The learned matrix, scaled to one standard deviation of each feature."""

    matrix: np.ndarray
    rows: np.ndarray  # feature numbers of the queries, and of the items
    columns: np.ndarray
    one_kind: bool  # queries and items have the same features
    symmetric: bool
    of_distance: bool

    def without(self, features: Collection[int]) -> "LearnedMatrix | None":
        """Return the matrix without some features of both sides; None where none is left."""
        kept = [np.array([f not in features for f in side]) for side in (self.rows, self.columns)]
        if not (kept[0].any() and kept[1].any()):
            return None
        matrix = self.matrix[np.ix_(*kept)]
        return replace(self, matrix=matrix, rows=self.rows[kept[0]], columns=self.columns[kept[1]])

    def single_features(self, n: int = 5) -> list[tuple[int, int, float]]:
        """Return the `n` strongest single features, each with itself, and their weights."""
        if not self.one_kind:
            return []
        return self._strongest(np.diag(np.diag(self.matrix)), n)

    def pairs(self, n: int = 10) -> list[tuple[int, int, float]]:
        """Return the `n` strongest pairs of features and their weights, strongest first."""
        matrix = self.matrix
        if self.one_kind:
            matrix = matrix - np.diag(np.diag(matrix))
        if self.symmetric:  # both orders count as one pair
            matrix = 2 * np.triu(matrix)
        return self._strongest(matrix, n)

    def _strongest(self, matrix: np.ndarray, n: int) -> list[tuple[int, int, float]]:
        order = np.argsort(-np.abs(matrix), axis=None, kind="stable")[:n]
        places = zip(*np.unravel_index(order, matrix.shape), strict=True)
        return [
            (int(self.rows[i]), int(self.columns[j]), float(matrix[i, j]))
            for i, j in places
            if matrix[i, j]
        ]


def learned_matrix(
    similarity: Similarity, X: Rows, items: Rows | None, max_features: int = 400
) -> LearnedMatrix | None:
    """Return M = LᵀL or W, each entry times the deviations of its two features.

    Weights of raw features have units and cannot be compared. Of more than `max_features` features
    the strongest are kept. None for a similarity without a learned matrix.
    """
    if isinstance(similarity, Mahalanobis):
        raw, left, right = similarity.L, _deviations(X), _deviations(X)
    elif isinstance(similarity, Bilinear):
        raw, left = similarity.W, _root_mean_squares(X)
        right = left if items is None else _root_mean_squares(items)
    else:
        return None
    if raw.ndim == 0:  # Euclidean distance, cosine: not learned
        return None
    if raw.ndim == 1:
        raw = np.diag(raw)
    if isinstance(similarity, Mahalanobis):
        mapped = raw * left
        rows = columns = _largest((mapped**2).sum(axis=0), max_features)
        return LearnedMatrix(mapped[:, rows].T @ mapped[:, rows], rows, columns, True, True, True)
    of_rows = np.einsum("ij,ij->i", raw, raw) * left**2
    of_columns = np.einsum("ij,ij->j", raw, raw) * right**2
    if items is None and raw.shape[0] == raw.shape[1]:
        rows = columns = _largest(of_rows + of_columns, max_features)
    else:
        rows, columns = _largest(of_rows, max_features), _largest(of_columns, max_features)
    matrix = left[rows, None] * raw[np.ix_(rows, columns)] * right[columns]
    one_kind = items is None
    return LearnedMatrix(
        matrix, rows, columns, one_kind, one_kind and similarity.is_symmetric, False
    )


def feature_weights(similarity: Similarity, X: Rows, items: Rows | None, side: int) -> Any:
    """Return how much each feature counts: of a distance its share of the mean squared distance.

    `side` is 0 for the features of the queries, 1 for those of the items. None for objects, which
    have no features.
    """
    rows = X if side == 0 or items is None else items
    if np.ndim(rows) != 2 and not is_sparse(rows):
        return None
    if isinstance(similarity, Mahalanobis):
        mapped = np.atleast_1d(similarity.L) * _deviations(rows)
        return (mapped**2).sum(axis=0) if mapped.ndim == 2 else mapped**2
    if isinstance(similarity, Bilinear):
        W, sizes = similarity.W, _root_mean_squares(rows)
        if items is None and (W.ndim < 2 or W.shape[0] == W.shape[1]):
            return (np.diag(W) if W.ndim == 2 else np.atleast_1d(W)) * sizes**2
        if W.ndim == 2:
            return np.sqrt((W**2).sum(axis=1 - side)) * sizes
    return _deviations(rows) ** 2


def strongest_directions(similarity: Similarity, X: Rows, n: int = 4) -> np.ndarray | None:
    """Return the `n` directions in which rows differ most after a learned map, in units of X."""
    if not isinstance(similarity, Mahalanobis) or similarity.L.ndim < 2:
        return None
    return np.asarray(np.linalg.svd(similarity.L * _deviations(X), full_matrices=False)[2][:n])


def _largest(sizes: np.ndarray, n: int) -> np.ndarray:
    return np.sort(np.argsort(-sizes, kind="stable")[:n])


def _deviations(X: Rows) -> np.ndarray:
    if not is_sparse(X):
        return np.asarray(X.std(axis=0, dtype=np.float64))
    means = np.asarray(X.mean(axis=0)).ravel()
    return np.sqrt(np.maximum(_root_mean_squares(X) ** 2 - means**2, 0))


def _root_mean_squares(X: Rows) -> np.ndarray:
    squares = X.multiply(X) if is_sparse(X) else np.square(X, dtype=np.float64)
    return np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
