"""Neighborhood components analysis (Goldberger et al., 2005) and its form for regression, MLKR."""

from likewise.learners.nca._bandwidth import class_bandwidth, regression_bandwidth
from likewise.learners.nca._mlkr import MLKR
from likewise.learners.nca._nca import NCA

__all__ = ["MLKR", "NCA", "class_bandwidth", "regression_bandwidth"]
