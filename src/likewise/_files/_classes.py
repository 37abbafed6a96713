"""The classes that a model file can name, and the attributes that it can set."""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from likewise.exceptions import ModelFileError

# Attributes that `fit` sets, which a file stores and restores.
FITTED_NAME = re.compile(r"[A-Za-z][a-z0-9_]*_")

# The only classes that a file can name, with the subpackages that define them.
HOMES = {
    name: home
    for home, names in {
        "classifiers": (
            "BalancedWinnow DBoost SimilarityClassifier SimilarityFeatureClassifier "
            "SimilarityRegressor Winnow"
        ),
        "features": "DissimilaritySpace LandmarkFeatures MedianBinarizer",
        "index": "Index",
        "learners": (
            "AROMA DiagonalState FactoredState FullState ITML LEGO LMNN MCML MLKR MMC NCA OASIS "
            "OasisState POLA RCA RidgeBelief RidgeSimilarity SiLA"
        ),
        "matching": "Calibration Candidates Guess Matcher PairLearner PairModel",
        "similarities": "Bilinear ItemOffsets Mahalanobis Naive Precomputed Ranked",
        "similarities.distances": (
            "AlignmentDistance FuzzyImageDistance ImageDistance QuantizedDistance SeriesDistance "
            "StringDistance TangentDistance TransportDistance VectorDistance"
        ),
        "tables": "Columns TableModel",
    }.items()
    for name in names.split()
}


class _Former(NamedTuple):
    """Replacement for a class of earlier files."""

    home: str
    name: str
    renamed: Mapping[str, str]
    added: Mapping[str, Any]


_FORMER = {
    "FromDissimilarity": _Former("similarities", "as_similarity", {"dissimilarity": "source"}, {}),
    "MatrixDistance": _Former("similarities", "Precomputed", {}, {"is_distance": True}),
    "QuantizedDistance": _Former(
        "similarities.distances", "QuantizedDistance", {"base": "similarity"}, {}
    ),
    "RankedDistance": _Former(
        "similarities", "Ranked", {"base": "similarity", "sample": "S"}, {"ties": "average"}
    ),
}


def class_named(name: Any) -> type:
    """Return the class of this name, if a file may name it."""
    if name not in HOMES:
        raise ModelFileError(f"it holds a {str(name)[:40]!r}, which this likewise does not know.")
    found: type = getattr(import_module(f"likewise.{HOMES[name]}"), name)
    return found


def builder(name: Any) -> Callable[[dict[str, Any]], Any]:
    """Return the function that builds an object of this class from the parameters in a file."""
    if not isinstance(name, str) or name not in _FORMER:
        kind = class_named(name)
        build = getattr(kind, "_from_file", kind)
        return lambda parameters: build(**parameters)
    former = _FORMER[name]
    build = getattr(import_module(f"likewise.{former.home}"), former.name)
    return lambda parameters: build(
        **{former.renamed.get(key, key): value for key, value in parameters.items()},
        **former.added,
    )
