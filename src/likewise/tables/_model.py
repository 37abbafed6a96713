"""A model that takes tables: columns, then what was learned on their numbers."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import _files
from likewise.similarities import Explanation, Matches, Similarity
from likewise.tables._columns import Columns


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """Fitted columns and a fitted estimator, together: give it tables, save it, load it.

    Attributes
    ----------
    columns : Columns
        What is done to a table; to the items, where queries have columns of their own.
    estimator : fitted estimator or Similarity
        A classifier (`SimilarityClassifier`, which holds the reference rows and their labels, or
        another), a learner, or only what was learned.
    query_columns : Columns or None
        What is done to queries, where they are not like the items.
    target : str or None
        Name of the column that was learned.

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

    def __post_init__(self) -> None:
        for name in ("columns", "query_columns"):
            given = getattr(self, name)
            if not isinstance(given, Columns) and (name == "columns" or given is not None):
                raise TypeError(f"{name} must be Columns, but {given!r} was given.")
        if not hasattr(self.estimator, "fit") and not isinstance(self.estimator, Similarity):
            raise TypeError(
                f"estimator must be an estimator or a similarity, but {self.estimator!r} was given."
            )

    @property
    def similarity_(self) -> Similarity:
        """What was learned about likeness; an estimator that has none is refused."""
        found = getattr(self.estimator, "similarity_", self.estimator)
        if not isinstance(found, Similarity):
            raise ValueError(
                f"the model is a {type(self.estimator).__name__}, which classifies but has no "
                "similarity to score or search with."
            )
        return found

    def transform(self, rows: Any) -> Any:
        """Return the rows of a table as numbers."""
        return self.columns.transform(rows)

    def transform_queries(self, rows: Any) -> Any:
        """Return queries as numbers; the same as `transform` where they are like the items."""
        return (self.query_columns or self.columns).transform(rows)

    def score(self, queries: Any, items: Any) -> np.ndarray:
        """Return the similarity of every row of one table with every row of another."""
        return self.similarity_.score(self.transform_queries(queries), self.transform(items))

    def predict(self, rows: Any) -> np.ndarray:
        """Return the class of each row."""
        if not hasattr(self.estimator, "predict"):
            raise ValueError("the model was learned without labels, and has no classes to predict.")
        predicted: np.ndarray = self.estimator.predict(self.transform(rows))
        return predicted

    def neighbors(self, queries: Any, items: Any, k: int, *, exclude_self: bool = False) -> Matches:
        """Find the `k` rows of `items` that are most alike to each query."""
        return self.similarity_.neighbors(
            self.transform_queries(queries), self.transform(items), k, exclude_self=exclude_self
        )

    def explain(self, query: Any, item: Any, top: int | None = 10) -> Explanation:
        """Say which features made the score of two tables of one row each."""
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
