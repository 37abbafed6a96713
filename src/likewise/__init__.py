"""Teach a computer what *similar* means, and put it to work where you already are.

``import likewise as lw`` costs next to nothing: each name below is loaded when it is first used.
"""

from typing import TYPE_CHECKING, Any

from likewise._lazy import attach

if TYPE_CHECKING:
    from likewise import datasets as datasets
    from likewise import distributed as distributed
    from likewise import exceptions as exceptions
    from likewise import index as index
    from likewise import metrics as metrics
    from likewise import selection as selection
    from likewise import supervision as supervision
    from likewise import tables as tables
    from likewise._files import load as load
    from likewise._files import save as save
    from likewise._progress import show_progress as show_progress
    from likewise.classifiers import BalancedWinnow as BalancedWinnow
    from likewise.classifiers import DBoost as DBoost
    from likewise.classifiers import SimilarityClassifier as SimilarityClassifier
    from likewise.classifiers import SimilarityFeatureClassifier as SimilarityFeatureClassifier
    from likewise.classifiers import SimilarityRegressor as SimilarityRegressor
    from likewise.classifiers import Winnow as Winnow
    from likewise.evaluation import Comparison as Comparison
    from likewise.evaluation import Goodness as Goodness
    from likewise.evaluation import RetrievalReport as RetrievalReport
    from likewise.evaluation import compare as compare
    from likewise.evaluation import evaluate_retrieval as evaluate_retrieval
    from likewise.evaluation import goodness as goodness
    from likewise.features import DissimilaritySpace as DissimilaritySpace
    from likewise.features import LandmarkFeatures as LandmarkFeatures
    from likewise.features import MedianBinarizer as MedianBinarizer
    from likewise.index import Index as Index
    from likewise.learners import AROMA as AROMA
    from likewise.learners import ITML as ITML
    from likewise.learners import LEGO as LEGO
    from likewise.learners import LMNN as LMNN
    from likewise.learners import MCML as MCML
    from likewise.learners import MLKR as MLKR
    from likewise.learners import MMC as MMC
    from likewise.learners import NCA as NCA
    from likewise.learners import OASIS as OASIS
    from likewise.learners import POLA as POLA
    from likewise.learners import RCA as RCA
    from likewise.learners import RidgeSimilarity as RidgeSimilarity
    from likewise.learners import SiLA as SiLA
    from likewise.matching import Matcher as Matcher
    from likewise.similarities import Bilinear as Bilinear
    from likewise.similarities import Explanation as Explanation
    from likewise.similarities import Foldable as Foldable
    from likewise.similarities import ItemOffsets as ItemOffsets
    from likewise.similarities import Mahalanobis as Mahalanobis
    from likewise.similarities import Matches as Matches
    from likewise.similarities import Naive as Naive
    from likewise.similarities import Precomputed as Precomputed
    from likewise.similarities import Ranked as Ranked
    from likewise.similarities import Similarity as Similarity
    from likewise.similarities import as_similarity as as_similarity
    from likewise.similarities import distances as distances
    from likewise.similarities import from_callable as from_callable
    from likewise.similarities import from_distance as from_distance

_HOMES = {
    name: home
    for home, names in {
        "_files": "load save",
        "_progress": "show_progress",
        "classifiers": (
            "BalancedWinnow DBoost SimilarityClassifier SimilarityFeatureClassifier "
            "SimilarityRegressor Winnow"
        ),
        "datasets": "datasets",
        "distributed": "distributed",
        "evaluation": "Comparison Goodness RetrievalReport compare evaluate_retrieval goodness",
        "exceptions": "exceptions",
        "features": "DissimilaritySpace LandmarkFeatures MedianBinarizer",
        "index": "Index index",
        "learners": "AROMA ITML LEGO LMNN MCML MLKR MMC NCA OASIS POLA RCA RidgeSimilarity SiLA",
        "matching": "Matcher",
        "metrics": "metrics",
        "selection": "selection",
        "similarities": (
            "Bilinear Explanation Foldable ItemOffsets Mahalanobis Matches Naive Precomputed "
            "Ranked Similarity as_similarity from_callable from_distance"
        ),
        "similarities.distances": "distances",
        "supervision": "supervision",
        "tables": "tables",
    }.items()
    for name in names.split()
}

_load, __dir__ = attach(__name__, _HOMES)

if TYPE_CHECKING:
    __version__: str
else:  # hidden from type checkers, for which it would make every misspelled name an Any

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("likewise")
        return _load(name)
