"""Features made of a similarity, to be joined with those that rows have by themselves."""

from likewise.features._space import DissimilaritySpace

__all__ = ["DissimilaritySpace"]
