"""Classify rows that need not be here by the most similar training rows."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from likewise import classifiers
from likewise._validation import check_same_length, check_whole_number
from likewise.distributed._client import HasClient
from likewise.distributed._executor import mapped
from likewise.distributed._rows import RowBlocks, labels_here
from likewise.distributed._search import Found, Search, neighbors_of, similarity_of_rows
from likewise.distributed._sources import MemoryRows, Source, as_source, lies_elsewhere, load_rows
from likewise.metrics import majority_votes
from likewise.similarities import Matches, matches_of


class SimilarityClassifier(HasClient, classifiers.SimilarityClassifier):
    """`likewise.SimilarityClassifier` for rows in blocks, on a Dask cluster or on threads.

    Parameters
    ----------
    learner, similarity, n_neighbors, rule, c
        As in `likewise.SimilarityClassifier`. A learner is fitted where the training rows are in
        memory, or takes rows as they are, as those of `likewise.distributed` do.
    client : distributed.Client or address of a scheduler, optional
        Threads of this process by default.
    n_jobs : int, optional
        Threads, where there is no client.

    Notes
    -----
    `predict` takes rows as `likewise.distributed.neighbors` does, and returns what the plain
    classifier returns. Under the majority rule the training rows may lie anywhere, too; the other
    rules need them all at once, so that they must fit into the memory of a worker, and of this
    process at `fit`.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("wine")
    >>> knn = lw.distributed.SimilarityClassifier(similarity="cosine", n_neighbors=5, n_jobs=2)
    >>> knn.fit(data.X, data.y).predict(data.X[:3])
    array([0, 0, 0])
    """

    _PLAIN: ClassVar = classifiers.SimilarityClassifier
    _OURS: ClassVar = ("client", "n_jobs")

    def __init__(
        self,
        learner: Any = None,
        similarity: Any = "euclidean",
        n_neighbors: int = 3,
        rule: str = "majority",
        c: float = 1.0,
        *,
        client: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(learner, similarity, n_neighbors, rule, c)
        self.client = client
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> "SimilarityClassifier":
        """Learn the similarity, where there is a learner, and keep the rows or where they lie.

        Parameters
        ----------
        X : rows, as `likewise.distributed.neighbors` takes them
        y : array of shape (n_rows,), Dask array, .npy file or column of `read_parquet`
        """
        if not lies_elsewhere(X):
            super().fit(X, y)
            return self
        source, labels = as_source(X, "X"), labels_here(y, "y")
        if self.rule != "majority":
            with self._connected() as executor:
                X = RowBlocks(source, "X", executor)[np.arange(source.shape[0])]
            super().fit(X, labels)
            return self
        self._fit_where_they_lie(X, source, labels)
        return self

    def _fit_where_they_lie(self, X: Any, source: Source, y: np.ndarray) -> None:
        """Keep where the rows lie instead of the rows."""
        check_whole_number(self.n_neighbors, "n_neighbors")
        check_same_length(source, "X", y, "y")
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y has one class, {classes[0]!s}; at least two classes are needed.")
        self._check_enough_rows(len(y))
        base = self._given_similarity()
        learner = None if base is not None else clone(self.learner).fit(X, y)
        self.similarity_ = similarity_of_rows(learner if base is None else base)
        self.learner_, self.similarities_, self.radii_ = learner, None, None
        self.classes_, self.labels_, self.items_ = classes, labels, source
        self.n_features_in_ = source.shape[1]

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> Matches:
        """Find the training rows most similar to each row; see `likewise.SimilarityClassifier`."""
        check_is_fitted(self)
        if not self._searches_blocks():
            return super().kneighbors(X, n_neighbors)
        k = check_whole_number(
            self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors"
        )
        rows = self.items_ if X is None else self._source_of(X)
        with self._connected() as executor:
            items = RowBlocks(self.items_, "X", executor)
            queries = items if X is None else RowBlocks(rows, "X", executor)
            return neighbors_of(
                executor, self.similarity_, queries, items, k, exclude_self=X is None
            )

    def _searches_blocks(self) -> bool:
        return self.similarity_ is not None and self.similarity_.takes == "rows"

    def _source_of(self, X: Any) -> Source:
        if not lies_elsewhere(X):
            return MemoryRows(self._check_rows(X))
        source = as_source(X, "X")
        if source.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {source.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return source

    def _class_scores(self, X: Any) -> np.ndarray:
        """Return a score for each row and class."""
        found = self._by_blocks(X, best_only=False)
        return super()._class_scores(X) if found is None else found

    def _best_classes(self, X: Any) -> np.ndarray:
        """Return the best class of each row: the scores of many rows may not fit here."""
        found = self._by_blocks(X, best_only=True)
        return super()._best_classes(X) if found is None else found

    def _by_blocks(self, X: Any, *, best_only: bool) -> np.ndarray | None:
        """Let workers score block by block; None where rows are not what is compared."""
        check_is_fitted(self)
        one_each = self.similarities_ is not None
        if not (one_each or self._searches_blocks()):
            return None
        self._check_enough_rows(len(self.labels_))
        source = self._source_of(X)
        with self._connected() as executor:
            queries = RowBlocks(source, "X", executor)
            if self.rule == "majority" and not one_each:
                items = RowBlocks(self.items_, "X", executor)
                search = Search(executor, self.similarity_, queries, items, exclude_self=False)
                k, labels = self.n_neighbors, executor.share(self.labels_)
                task = k, len(items), labels, len(self.classes_), best_only
                found = search.each(queries.blocks, k, finish_votes, [task] * len(queries.blocks))
                return np.concatenate(list(found))
            fitted = executor.share(self._fitted_plain())
            scored = ((fitted, part, best_only) for part in queries.parts())
            return np.concatenate(list(mapped(executor, score_part, scored)))

    def _state_for_file(self) -> Any:
        return self._fitted_plain()._state_for_file()


def finish_votes(
    found: Found, k: int, n_items: int, labels: np.ndarray, n_classes: int, best_only: bool
) -> np.ndarray:
    """Let the nearest rows of a block of queries vote."""
    ids = matches_of(found.best, k, n_items, None, found.dtype).ids
    votes = majority_votes(labels[ids], n_classes)
    return votes.argmax(axis=1) if best_only else votes


def score_part(fitted: Any, part: Any, best_only: bool) -> np.ndarray:
    """Return the class scores of a block by the plain classifier, or only the best class."""
    X = load_rows(part, "X")
    return np.asarray(fitted._best_classes(X) if best_only else fitted._class_scores(X))
