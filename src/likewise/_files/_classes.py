"""Which classes a model file can name, and which attributes of theirs it can set."""

import re
from importlib import import_module
from typing import Any

from likewise.exceptions import ModelFileError

# What `fit` leaves, and so what a file can hold of an estimator and set.
FITTED_NAME = re.compile(r"[a-z][a-z0-9_]*_")

# The only classes that a file can name. Each lives in the room given here.
HOMES = {
    "AROMA": "learners",
    "AlignmentDistance": "similarities.distances",
    "BalancedWinnow": "classifiers",
    "Bilinear": "similarities",
    "Columns": "tables",
    "DBoost": "classifiers",
    "DiagonalState": "learners",
    "DissimilaritySpace": "features",
    "FactoredState": "learners",
    "FromDissimilarity": "similarities",
    "ImageDistance": "similarities.distances",
    "Index": "index",
    "ItemOffsets": "similarities",
    "LMNN": "learners",
    "LandmarkFeatures": "features",
    "Mahalanobis": "similarities",
    "MatrixDistance": "similarities.distances",
    "MedianBinarizer": "features",
    "Naive": "similarities",
    "OASIS": "learners",
    "OasisState": "learners",
    "Precomputed": "similarities",
    "QuantizedDistance": "similarities.distances",
    "Ranked": "similarities",
    "RankedDistance": "similarities.distances",
    "RidgeBelief": "learners",
    "RidgeSimilarity": "learners",
    "SeriesDistance": "similarities.distances",
    "SiLA": "learners",
    "SimilarityClassifier": "classifiers",
    "SimilarityFeatureClassifier": "classifiers",
    "StringDistance": "similarities.distances",
    "TableModel": "tables",
    "TangentDistance": "similarities.distances",
    "TransportDistance": "similarities.distances",
    "VectorDistance": "similarities.distances",
}


def class_named(name: Any) -> type:
    """Return the class that a file names, if it may."""
    if name not in HOMES:
        raise ModelFileError(f"it holds a {str(name)[:40]!r}, which this likewise does not know.")
    found: type = getattr(import_module(f"likewise.{HOMES[name]}"), name)
    return found
