"""The operators of pgvector."""

from typing import NamedTuple

from likewise.similarities import Metric


class PgvectorOperator(NamedTuple):
    """The operator of a metric, and the operator class of an index for it."""

    symbol: str
    index_class: str


PGVECTOR_OPERATORS: dict[Metric, PgvectorOperator] = {
    "inner_product": PgvectorOperator("<#>", "vector_ip_ops"),
    "cosine": PgvectorOperator("<=>", "vector_cosine_ops"),
    "euclidean": PgvectorOperator("<->", "vector_l2_ops"),
}
