"""What learners of a linear map share: moments, optimizer, initial maps and the transform."""

from likewise.learners.linear_map._columns import (
    ColumnMoments,
    column_moments,
    combined_moments,
    is_constant,
)
from likewise.learners.linear_map._lbfgs import LBFGS
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
    "check_n_components",
    "column_moments",
    "combined_moments",
    "is_constant",
    "map_checked",
    "starting_map",
]
