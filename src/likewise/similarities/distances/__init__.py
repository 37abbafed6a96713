"""Named distances: of vectors, images, strings, series, sequences and histograms.

A distance is a similarity that scores −d. Each provider is a file.
"""

from likewise.similarities._blocks import Distance
from likewise.similarities._convert import distance_names as names
from likewise.similarities.distances._images import (
    FuzzyImageDistance,
    ImageDistance,
    TangentDistance,
)
from likewise.similarities.distances._sequences import AlignmentDistance
from likewise.similarities.distances._series import SeriesDistance
from likewise.similarities.distances._strings import STRING_METRICS, StringDistance
from likewise.similarities.distances._transport import TransportDistance
from likewise.similarities.distances._vectors import VECTOR_METRICS, VectorDistance
from likewise.similarities.distances._wrappers import QuantizedDistance, quantize, ranked

__all__ = [
    "STRING_METRICS",
    "VECTOR_METRICS",
    "AlignmentDistance",
    "Distance",
    "FuzzyImageDistance",
    "ImageDistance",
    "QuantizedDistance",
    "SeriesDistance",
    "StringDistance",
    "TangentDistance",
    "TransportDistance",
    "VectorDistance",
    "names",
    "quantize",
    "ranked",
]
