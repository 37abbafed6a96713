"""Similarities: small immutable values that score, search, fold and save."""

from likewise._validation import as_objects
from likewise.similarities._base import Foldable, Metric, PreparedItems, Similarity
from likewise.similarities._bilinear import Bilinear
from likewise.similarities._blocks import Distance
from likewise.similarities._columns import (
    DissimilarityColumns,
    dissimilarities,
    exact_scores,
    scores_to_dissimilarities,
)
from likewise.similarities._convert import (
    as_similarity,
    from_callable,
    from_distance,
    set_input_tags,
)
from likewise.similarities._explanation import Explanation, Term
from likewise.similarities._function import Function
from likewise.similarities._kernel import kernel_means
from likewise.similarities._mahalanobis import Mahalanobis
from likewise.similarities._matches import Matches
from likewise.similarities._offsets import ItemOffsets, check_item_ids, with_rows
from likewise.similarities._precomputed import Precomputed
from likewise.similarities._products import rounding_bound, steady_map
from likewise.similarities._ranked import Ranked, similarity_among, underlying_similarity
from likewise.similarities._rows import (
    frozen_map,
    inverse_lengths,
    join_columns,
    lengths,
    map_rows,
    paired_products,
    products,
    ratio,
    sums,
    to_dense,
    to_unit_length,
)
from likewise.similarities._search import (
    NO_ITEM,
    Best,
    BlockScorer,
    best_items,
    items_in_block,
    merge_best,
    sort_best,
    to_matches,
)
from likewise.similarities._transformed import Naive

__all__ = [
    "NO_ITEM",
    "Best",
    "Bilinear",
    "BlockScorer",
    "DissimilarityColumns",
    "Distance",
    "Explanation",
    "Foldable",
    "Function",
    "ItemOffsets",
    "Mahalanobis",
    "Matches",
    "Metric",
    "Naive",
    "Precomputed",
    "PreparedItems",
    "Ranked",
    "Similarity",
    "Term",
    "as_objects",
    "as_similarity",
    "best_items",
    "check_item_ids",
    "dissimilarities",
    "exact_scores",
    "from_callable",
    "from_distance",
    "frozen_map",
    "inverse_lengths",
    "items_in_block",
    "join_columns",
    "kernel_means",
    "lengths",
    "map_rows",
    "merge_best",
    "paired_products",
    "products",
    "ratio",
    "rounding_bound",
    "scores_to_dissimilarities",
    "set_input_tags",
    "similarity_among",
    "sort_best",
    "steady_map",
    "sums",
    "to_dense",
    "to_matches",
    "to_unit_length",
    "underlying_similarity",
    "with_rows",
]
