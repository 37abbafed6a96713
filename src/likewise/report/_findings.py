"""What the report shows, as numbers: computed from rows, labels and two similarities."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise._validation import Rows, is_sparse, n_rows, take
from likewise.similarities import Bilinear, Mahalanobis, Similarity

MOST_QUERIES = 1000
MOST_ON_MAP = 500


def sampled_rows(n: int, most: int) -> np.ndarray:
    """Return the numbers of at most `most` rows, in order and always the same."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def neighbours(
    similarity: Similarity, X: Rows, items: Rows | None, queries: np.ndarray, k: int
) -> np.ndarray:
    """Return the row numbers of the `k` most alike to each query, never the query itself."""
    if items is not None:
        return _numbers(similarity.neighbors(take(X, queries), items, min(k, n_rows(items))).ids)
    k = min(k, n_rows(X) - 1)
    found = _numbers(similarity.neighbors(take(X, queries), X, k + 1).ids)
    itself = found == queries[:, None]
    itself[~itself.any(axis=1), -1] = True  # many are equal to the query: the last one goes
    return found[~itself].reshape(len(queries), k)


def _numbers(ids: np.ndarray) -> np.ndarray:
    return np.asarray(ids, dtype=np.int64)


class Example(NamedTuple):
    """One query, and its neighbours before and after."""

    query: int
    before: np.ndarray
    after: np.ndarray


def telling_examples(
    queries: np.ndarray, before: np.ndarray, after: np.ndarray, y: np.ndarray | None, most: int = 4
) -> list[Example]:
    """Choose the queries whose neighbours changed most, one that got worse among them.

    With labels a change is in how many neighbours have the query's own label. Classes take turns.
    """
    stayed = (before[:, :, None] == after[:, None, :]).any(axis=2).sum(axis=1)
    moved = before.shape[1] - stayed
    if y is None:
        order = np.argsort(-moved, kind="stable")[:most]
        return [Example(int(queries[i]), before[i], after[i]) for i in order if moved[i]]
    own = y[queries]
    gain = (y[after] == own[:, None]).sum(axis=1) - (y[before] == own[:, None]).sum(axis=1)
    order = np.lexsort((-moved, -gain))
    chosen = _in_turns(order[(gain[order] >= 0) & (moved[order] > 0)], own)[: most - 1]
    worse = [i for i in order[::-1][:1] if gain[i] < 0]
    return [Example(int(queries[i]), before[i], after[i]) for i in [*chosen, *worse]]


def _in_turns(order: np.ndarray, labels: np.ndarray) -> list[int]:
    """Put the best of every class first, then the second of every class, and so on."""
    seen: dict[Any, int] = {}
    turns = []
    for place, i in enumerate(order):
        label = labels[i].item() if hasattr(labels[i], "item") else labels[i]
        seen[label] = seen.get(label, 0) + 1
        turns.append((seen[label], place, int(i)))
    return [i for _, _, i in sorted(turns)]


def flat_map(similarity: Similarity, rows: Rows) -> tuple[np.ndarray, float]:
    """Place rows in the plane by classical scaling; also return the share that the plane keeps.

    The scores among the rows, symmetric and centred both ways, are inner products of centred
    points; the two largest eigenvalues give the best plane. For −d² this is PCA of the mapped rows.
    """
    scores = similarity.score(rows, rows).astype(np.float64)
    scores = (scores + scores.T) / 2
    means = scores.mean(axis=0)
    centred = scores - means - means[:, None] + means.mean()
    values, vectors = np.linalg.eigh(centred)
    spread = np.maximum(values[::-1], 0)
    if len(values) < 2 or not spread[0] > 0:
        return np.zeros((len(centred), 2)), 0.0
    places = vectors[:, :-3:-1] * np.sqrt(spread[:2])
    return places, float(spread[:2].sum() / spread.sum())


def turned_like(places: np.ndarray, model: np.ndarray) -> np.ndarray:
    """Turn or mirror a map, never stretch it, so that it lies as the other does."""
    u, _, v = np.linalg.svd(places.T @ model)
    return np.asarray(places @ u @ v)


@dataclass(frozen=True)
class Learned:
    """The learned matrix, for differences of one typical size in each feature."""

    matrix: np.ndarray
    rows: np.ndarray  # which features of the queries, and of the items, it shows
    columns: np.ndarray
    one_kind: bool  # whether both are the same features
    symmetric: bool
    of_distance: bool

    def is_square_of(self, n_features: int) -> bool:
        """Tell whether all of `n_features` are there, on both sides."""
        return self.matrix.shape == (n_features, n_features)

    def alone(self, most: int = 5) -> list[tuple[int, int, float]]:
        """Return the strongest single features, each with itself, and their weights."""
        if not self.one_kind:
            return []
        return self._strongest(np.diag(np.diag(self.matrix)), most)

    def pairs(self, most: int = 10) -> list[tuple[int, int, float]]:
        """Return the strongest pairs of features and their weights, strongest first."""
        matrix = self.matrix
        if self.one_kind:
            matrix = matrix - np.diag(np.diag(matrix))
        if self.symmetric:  # both orders of a pair are one
            matrix = 2 * np.triu(matrix)
        return self._strongest(matrix, most)

    def _strongest(self, matrix: np.ndarray, most: int) -> list[tuple[int, int, float]]:
        order = np.argsort(-np.abs(matrix), axis=None, kind="stable")[:most]
        found = zip(*np.unravel_index(order, matrix.shape), strict=True)
        return [
            (int(self.rows[i]), int(self.columns[j]), float(matrix[i, j]))
            for i, j in found
            if matrix[i, j]
        ]


def learned_matrix(
    similarity: Similarity, X: Rows, items: Rows | None, most: int = 400
) -> Learned | None:
    """Return M = LᵀL or W, each entry times the spreads of its two features.

    Weights of raw features cannot be compared: they carry units. Of more than `most` features the
    strongest are kept. None for a similarity that has no matrix.
    """
    if isinstance(similarity, Mahalanobis):
        raw, left, right = similarity.L, _deviations(X), _deviations(X)
    elif isinstance(similarity, Bilinear):
        raw, left = similarity.W, _root_mean_squares(X)
        right = left if items is None else _root_mean_squares(items)
    else:
        return None
    if raw.ndim == 0:  # Euclid, cosine: nothing was learned
        return None
    if raw.ndim == 1:
        raw = np.diag(raw)
    if isinstance(similarity, Mahalanobis):
        mapped = raw * left
        rows = columns = _largest((mapped**2).sum(axis=0), most)
        return Learned(mapped[:, rows].T @ mapped[:, rows], rows, columns, True, True, True)
    of_rows = np.einsum("ij,ij->i", raw, raw) * left**2
    of_columns = np.einsum("ij,ij->j", raw, raw) * right**2
    if items is None and raw.shape[0] == raw.shape[1]:
        rows = columns = _largest(of_rows + of_columns, most)
    else:
        rows, columns = _largest(of_rows, most), _largest(of_columns, most)
    matrix = left[rows, None] * raw[np.ix_(rows, columns)] * right[columns]
    one_kind = items is None
    return Learned(matrix, rows, columns, one_kind, one_kind and similarity.is_symmetric, False)


def _largest(sizes: np.ndarray, most: int) -> np.ndarray:
    return np.sort(np.argsort(-sizes, kind="stable")[:most])


def _deviations(X: Rows) -> np.ndarray:
    if not is_sparse(X):
        return np.asarray(X.std(axis=0, dtype=np.float64))
    means = np.asarray(X.mean(axis=0)).ravel()
    return np.sqrt(np.maximum(_root_mean_squares(X) ** 2 - means**2, 0))


def _root_mean_squares(X: Rows) -> np.ndarray:
    squares = X.multiply(X) if is_sparse(X) else np.square(X, dtype=np.float64)
    return np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
