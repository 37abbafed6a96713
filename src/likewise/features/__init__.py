"""Features computed from a similarity, beside the native features of rows."""

from likewise.features._binarize import MedianBinarizer
from likewise.features._landmarks import LandmarkFeatures, is_labeled, is_table
from likewise.features._space import DissimilaritySpace

__all__ = ["DissimilaritySpace", "LandmarkFeatures", "MedianBinarizer", "is_labeled", "is_table"]
