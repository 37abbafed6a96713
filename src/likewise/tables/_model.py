"""A model that takes tables: columns and an estimator on their numbers."""

import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import _files
from likewise._validation import is_sparse
from likewise.classifiers import SimilarityClassifier, SimilarityRegressor
from likewise.similarities import Explanation, Matches, Similarity
from likewise.tables._columns import Columns
from likewise.tables._duplicates import row_digests


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """Fitted columns and a fitted estimator in one object that takes tables.

    Attributes
    ----------
    columns : Columns
        Encoding of tables; of the items, where queries have their own columns.
    estimator : fitted estimator or Similarity
        A classifier, such as `SimilarityClassifier` with its reference rows and labels, a learner,
        or a similarity.
    query_columns : Columns or None
        Encoding of queries, where they differ from the items.
    target : str or None
        Name of the column of the labels.
    training_rows : uint64 array or None
        Digests of the encoded rows that the estimator was fitted to (`row_digests`).

    Examples
    --------
    >>> import likewise as lw
    >>> wine = lw.tables.read_table("wine")
    >>> columns = lw.tables.Columns().fit(wine.rows)
    >>> knn = lw.SimilarityClassifier(learner=lw.LMNN())
    >>> model = lw.tables.TableModel(columns, knn.fit(columns.transform(wine.rows), wine.labels))
    >>> model.predict(wine.rows)[:2]
    array(['class_0', 'class_0'], dtype='<U7')
    >>> model.score(wine.rows[:2], wine.rows[:3]).shape
    (2, 3)
    """

    columns: Columns
    estimator: Any
    query_columns: Columns | None = None
    target: str | None = None
    training_rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("columns", "query_columns"):
            value = getattr(self, name)
            if not isinstance(value, Columns) and (name == "columns" or value is not None):
                raise TypeError(f"{name} must be Columns, but {value!r} was given.")
        if not hasattr(self.estimator, "fit") and not isinstance(self.estimator, Similarity):
            raise TypeError(
                f"estimator must be an estimator or a similarity, but {self.estimator!r} was given."
            )
        digests = self.training_rows
        if digests is not None and (
            not isinstance(digests, np.ndarray) or digests.dtype != np.uint64 or digests.ndim != 1
        ):
            raise TypeError(
                f"training_rows must be a 1-D array of uint64, as row_digests returns it, but "
                f"{digests!r:.100} was given."
            )

    @property
    def similarity_(self) -> Similarity:
        """The similarity of the estimator; an estimator without one is refused."""
        similarity = getattr(self.estimator, "similarity_", self.estimator)
        if not isinstance(similarity, Similarity):
            raise ValueError(
                f"the model is a {type(self.estimator).__name__}, which predicts but has no "
                "similarity to score or search with."
            )
        return similarity

    def transform(self, rows: Any) -> Any:
        """Return the rows of a table as numbers."""
        return self.columns.transform(rows)

    def transform_queries(self, rows: Any, *, absent: str = "refuse") -> Any:
        """Return queries as numbers; as `transform` where they have the columns of the items.

        With ``absent="impute"`` columns that the queries do not have are imputed like missing
        cells.
        """
        return (self.query_columns or self.columns).transform(rows, absent=absent)

    def score(self, queries: Any, items: Any) -> np.ndarray:
        """Return the similarity of every row of one table with every row of another."""
        return self.similarity_.score(self.transform_queries(queries), self.transform(items))

    def predict(self, rows: Any) -> np.ndarray:
        """Return the class of each row, or its number if the model was fitted on numbers."""
        if not hasattr(self.estimator, "predict"):
            raise ValueError("the model was fitted without labels and has no classes to predict.")
        predicted: np.ndarray = self.estimator.predict(self.transform(rows))
        return predicted

    def predict_proba(self, rows: Any) -> np.ndarray:
        """Return the probability of each class, in the order of `classes_`."""
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(
                f"the model is a {type(self.estimator).__name__}, which has no probabilities."
            )
        probabilities: np.ndarray = self.estimator.predict_proba(self.transform(rows))
        return probabilities

    def is_training_row(self, rows: Any) -> np.ndarray | None:
        """Return whether each row equals one that the estimator was fitted to.

        Rows are equal if they are encoded to the same numbers: ids and other columns that the model
        does not use may differ.

        Returns
        -------
        bool array of shape (n_rows,), or None
            None if the model has neither `training_rows` nor an estimator that keeps its rows.
        """
        known = self.training_rows
        if known is None:
            known = self._item_digests()
        return None if known is None else np.isin(row_digests(self.transform(rows)), known)

    def predict_left_out(self, rows: Any) -> np.ndarray | None:
        """Return predictions for training rows, each without itself among the nearest rows.

        The similarity has learned from these rows too: the predictions are not a test.

        Parameters
        ----------
        rows : training rows (`is_training_row`), in any order

        Returns
        -------
        ndarray of shape (n_rows,), or None
            None if the estimator does not predict by votes or means of the nearest rows.
        """
        known = self._item_digests()
        by_votes = getattr(self.estimator, "rule", "majority") == "majority"
        if known is None or not by_votes or self.estimator.weights == "kernel":
            return None
        if self.estimator.similarity_ is None or len(known) < 2:
            return None
        places: dict[int, list[int]] = {}
        for place, digest in enumerate(known.tolist()):
            places.setdefault(digest, []).append(place)
        numbers, n_used = [], Counter[int]()
        for digest in row_digests(self.transform(rows)).tolist():
            copies = places[digest]
            numbers.append(copies[min(n_used[digest], len(copies) - 1)])
            n_used[digest] += 1
        predicted: np.ndarray = self.estimator.predict(None)
        return predicted[numbers]

    def _item_digests(self) -> np.ndarray | None:
        """Return the digests of the rows that the estimator keeps; None if it keeps none."""
        if not isinstance(self.estimator, SimilarityClassifier | SimilarityRegressor):
            return None
        items = self.estimator.items_
        is_matrix = is_sparse(items) or (isinstance(items, np.ndarray) and items.ndim == 2)
        return row_digests(items) if is_matrix else None

    @property
    def classes_(self) -> np.ndarray:
        """The classes of the estimator."""
        classes: np.ndarray = self.estimator.classes_
        return classes

    def neighbors(self, queries: Any, items: Any, k: int, *, exclude_self: bool = False) -> Matches:
        """Return the `k` rows of `items` that are most similar to each query."""
        return self.similarity_.neighbors(
            self.transform_queries(queries), self.transform(items), k, exclude_self=exclude_self
        )

    def explain(self, query: Any, item: Any, top: int | None = 10) -> Explanation:
        """Return the contributions of features to the score of two tables of one row each."""
        q, p = self.transform_queries(query), self.transform(item)
        return self.similarity_.explain(
            q,
            p,
            (self.query_columns or self.columns).feature_names_,
            self.columns.feature_names_,
            top,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file; `likewise.load` reads it back."""
        _files.save(self, path)

    def __repr__(self) -> str:
        n_features = len(self.columns.feature_names_)
        return f"TableModel({n_features} features, {type(self.estimator).__name__})"
