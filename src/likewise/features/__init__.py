"""Features made of a similarity, to be joined with those that rows have by themselves."""

from likewise.features._binarize import MedianBinarizer
from likewise.features._landmarks import LandmarkFeatures, is_labelled, is_table
from likewise.features._space import DissimilaritySpace

__all__ = ["DissimilaritySpace", "LandmarkFeatures", "MedianBinarizer", "is_labelled", "is_table"]
