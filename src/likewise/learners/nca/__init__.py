"""Neighborhood components analysis (Goldberger et al., 2005) and its form for regression, MLKR."""

from likewise.learners.nca._mlkr import MLKR
from likewise.learners.nca._nca import NCA

__all__ = ["MLKR", "NCA"]
