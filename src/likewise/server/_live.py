"""What answers at one moment: a version of the similarity, and the items."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.server._catalogue import Catalogue
from likewise.server._records import WrongRequestError
from likewise.server._served import Served
from likewise.server._wire import Query
from likewise.similarities import Similarity


@dataclass(frozen=True, eq=False)
class Live:
    """A version and the items it compares; whoever has begun with it goes on with it."""

    served: Served
    version: int
    similarity: Similarity
    catalogue: Catalogue

    def query_row(self, asked: Query) -> np.ndarray:
        """Return the numbers of a query, one row."""
        served = self.served
        if asked.id is not None:
            if not self.items_are_queries:
                raise WrongRequestError("queries of this model are not items: give a vector.")
            return self.catalogue.item(asked.id).vector[None]
        if asked.text is not None:
            row = served.query_of_text(asked.text)[None]
        else:
            row = np.array([asked.vector], dtype=np.float32)
            width = served.n_query_features or self.n_item_features
            if row.shape[1] != width:
                raise WrongRequestError(
                    f"vector has {row.shape[1]} numbers, but the model takes queries of {width}."
                )
        try:
            checked: np.ndarray = self.similarity.check_queries(row, "vector")
        except ValueError as error:
            raise WrongRequestError(str(error)) from error
        return checked

    @property
    def n_item_features(self) -> int | None:
        """Width of the items."""
        if self.served.n_item_features is not None:
            return self.served.n_item_features
        return len(self.catalogue.list[0].vector) if len(self.catalogue) else None

    @property
    def items_are_queries(self) -> bool:
        """Whether an item can be a query."""
        if self.served.query_columns is not None:
            return False
        width = self.served.n_query_features
        return width is None or width == self.n_item_features

    def scores(self, rows: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Score rows of queries with rows of items."""
        return self.similarity.score(rows, items)

    def explain(self, row: np.ndarray, item: np.ndarray, top: int) -> Any:
        """Say which features made a score."""
        names = (
            self.served.names_of_features(row.shape[1], of_queries=True),
            self.served.names_of_features(len(item), of_queries=False),
        )
        return self.similarity.explain(row, item[None], *names, top)
