"""A model that takes tables: columns and an estimator on their numbers."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import _files
from likewise.similarities import Explanation, Matches, Similarity
from likewise.tables._columns import Columns


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
            value = getattr(self, name)
            if not isinstance(value, Columns) and (name == "columns" or value is not None):
                raise TypeError(f"{name} must be Columns, but {value!r} was given.")
        if not hasattr(self.estimator, "fit") and not isinstance(self.estimator, Similarity):
            raise TypeError(
                f"estimator must be an estimator or a similarity, but {self.estimator!r} was given."
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
