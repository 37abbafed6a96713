"""What learners of a linear map share: moments, optimizer, initial maps, pairs, the transform."""

from likewise.learners.linear_map._columns import (
    ColumnMoments,
    column_moments,
    combined_moments,
    dense_rows,
    is_constant,
)
from likewise.learners.linear_map._descent import descend
from likewise.learners.linear_map._lbfgs import LBFGS
from likewise.learners.linear_map._pairwise import (
    OnlinePairwiseLearner,
    PairwiseLearner,
    differing,
    distance_percentiles,
)
from likewise.learners.linear_map._roots import inverse_covariance_root, inverse_root, map_of
from likewise.learners.linear_map._starting_map import check_n_components, starting_map
from likewise.learners.linear_map._transform import (
    BilinearTransformer,
    MahalanobisTransformer,
    map_checked,
)

__all__ = [
    "LBFGS",
    "BilinearTransformer",
    "ColumnMoments",
    "MahalanobisTransformer",
    "OnlinePairwiseLearner",
    "PairwiseLearner",
    "check_n_components",
    "column_moments",
    "combined_moments",
    "dense_rows",
    "descend",
    "differing",
    "distance_percentiles",
    "inverse_covariance_root",
    "inverse_root",
    "is_constant",
    "map_checked",
    "map_of",
    "starting_map",
]
