"""Beyond one machine: the same names on the workers of a Dask cluster, or on threads.

Each takes what its plain namesake takes, and rows that need not be in memory.
"""

from likewise.distributed._classify import SimilarityClassifier
from likewise.distributed._evaluate import evaluate_retrieval
from likewise.distributed._landmarks import LandmarkFeatures
from likewise.distributed._lmnn import LMNN
from likewise.distributed._online import AROMA, OASIS
from likewise.distributed._parquet import read_parquet
from likewise.distributed._search import neighbors
from likewise.distributed._spread import spread

__all__ = [
    "AROMA",
    "LMNN",
    "OASIS",
    "LandmarkFeatures",
    "SimilarityClassifier",
    "evaluate_retrieval",
    "neighbors",
    "read_parquet",
    "spread",
]
