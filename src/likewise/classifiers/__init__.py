"""Classifiers and a regressor based on similarities, distances, or features derived from them."""

from likewise.classifiers._balanced_winnow import BalancedWinnow
from likewise.classifiers._dboost import DBoost
from likewise.classifiers._features import SimilarityFeatureClassifier
from likewise.classifiers._regressor import SimilarityRegressor
from likewise.classifiers._similarity import SimilarityClassifier
from likewise.classifiers._winnow import Winnow

__all__ = [
    "BalancedWinnow",
    "DBoost",
    "SimilarityClassifier",
    "SimilarityFeatureClassifier",
    "SimilarityRegressor",
    "Winnow",
]
