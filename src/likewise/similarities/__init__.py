"""What is learned: similarities, small immutable values that score, search, fold and save."""

from likewise._validation import as_objects
from likewise.similarities._base import Foldable, Metric, Similarity
from likewise.similarities._bilinear import Bilinear
from likewise.similarities._convert import NAMED, as_similarity
from likewise.similarities._counts import exact_scores
from likewise.similarities._dissimilarity import FromDissimilarity
from likewise.similarities._explanation import Explanation, Term
from likewise.similarities._function import Function, from_callable, from_distance
from likewise.similarities._mahalanobis import Mahalanobis
from likewise.similarities._matches import Matches
from likewise.similarities._matrix import Precomputed
from likewise.similarities._offsets import (
    ItemOffsets,
    check_item_ids,
    moved_items,
    with_rows,
)
from likewise.similarities._ranked import Naive, Ranked, compared_by, similarity_among
from likewise.similarities._rows import (
    frozen_map,
    inverse_lengths,
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
    joined,
    matches_of,
    rounding_bound,
    steady_map,
)

__all__ = [
    "NAMED",
    "NO_ITEM",
    "Best",
    "Bilinear",
    "BlockScorer",
    "Explanation",
    "Foldable",
    "FromDissimilarity",
    "Function",
    "ItemOffsets",
    "Mahalanobis",
    "Matches",
    "Metric",
    "Naive",
    "Precomputed",
    "Ranked",
    "Similarity",
    "Term",
    "as_objects",
    "as_similarity",
    "best_items",
    "check_item_ids",
    "compared_by",
    "exact_scores",
    "from_callable",
    "from_distance",
    "frozen_map",
    "inverse_lengths",
    "joined",
    "lengths",
    "map_rows",
    "matches_of",
    "moved_items",
    "paired_products",
    "products",
    "ratio",
    "rounding_bound",
    "similarity_among",
    "steady_map",
    "sums",
    "to_dense",
    "to_unit_length",
    "with_rows",
]
