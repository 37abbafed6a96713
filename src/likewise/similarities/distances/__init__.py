"""Dissimilarities: how unlike two things are, by name, by a function of them, or as a matrix.

Nothing is assumed of one but that it gives numbers that are not negative. A provider is a file.
"""

from likewise.similarities.distances._base import Dissimilarity
from likewise.similarities.distances._callable import CallableDistance
from likewise.similarities.distances._columns import Columns
from likewise.similarities.distances._convert import as_dissimilarity, names
from likewise.similarities.distances._images import ImageDistance, TangentDistance
from likewise.similarities.distances._matrix import MatrixDistance, check_square
from likewise.similarities.distances._sequences import AlignmentDistance
from likewise.similarities.distances._series import SeriesDistance
from likewise.similarities.distances._strings import StringDistance
from likewise.similarities.distances._transport import TransportDistance
from likewise.similarities.distances._vectors import VectorDistance
from likewise.similarities.distances._wrappers import (
    QuantizedDistance,
    RankedDistance,
    quantize,
    ranked,
)

__all__ = [
    "AlignmentDistance",
    "CallableDistance",
    "Columns",
    "Dissimilarity",
    "ImageDistance",
    "MatrixDistance",
    "QuantizedDistance",
    "RankedDistance",
    "SeriesDistance",
    "StringDistance",
    "TangentDistance",
    "TransportDistance",
    "VectorDistance",
    "as_dissimilarity",
    "check_square",
    "names",
    "quantize",
    "ranked",
]
