"""Classifiers that need only a similarity, or a dissimilarity."""

from likewise.classifiers._dboost import DBoost
from likewise.classifiers._similarity import SimilarityClassifier

__all__ = ["DBoost", "SimilarityClassifier"]
