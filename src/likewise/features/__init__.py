"""Features made of a similarity, to be joined with those that rows have by themselves."""

from likewise.features._binarize import MedianBinarizer
from likewise.features._landmarks import LandmarkFeatures, is_labelled, is_table

__all__ = ["LandmarkFeatures", "MedianBinarizer", "is_labelled", "is_table"]
