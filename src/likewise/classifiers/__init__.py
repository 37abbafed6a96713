"""Classifiers that need only a similarity."""

from likewise.classifiers._similarity import SimilarityClassifier

__all__ = ["SimilarityClassifier"]
