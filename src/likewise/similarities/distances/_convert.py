"""Names, functions and dissimilarities, all as a dissimilarity."""

from collections.abc import Callable
from functools import partial
from typing import Any

from likewise._validation import unknown_name
from likewise.similarities.distances import _strings, _vectors
from likewise.similarities.distances._base import Dissimilarity
from likewise.similarities.distances._callable import CallableDistance
from likewise.similarities.distances._images import ImageDistance, TangentDistance
from likewise.similarities.distances._matrix import MatrixDistance
from likewise.similarities.distances._sequences import AlignmentDistance
from likewise.similarities.distances._series import SeriesDistance
from likewise.similarities.distances._transport import TransportDistance

_NAMED: dict[str, Callable[[], Dissimilarity]] = {
    **{name: partial(_vectors.VectorDistance, name) for name in _vectors.NAMES},
    "tangent": TangentDistance,
    "image": ImageDistance,
    **{name: partial(_strings.StringDistance, name) for name in _strings.NAMES},
    "dtw": SeriesDistance,
    "smith_waterman": AlignmentDistance,
    "emd": TransportDistance,
    "precomputed": MatrixDistance,
}


def names() -> list[str]:
    """Return the names that `as_dissimilarity` knows.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.distances.names()[:4]
    ['euclidean', 'cityblock', 'cosine', 'hamming']
    """
    return list(_NAMED)


def as_dissimilarity(source: Any) -> Dissimilarity:
    """Return what `source` says about unlikeness as a dissimilarity.

    Parameters
    ----------
    source : str, callable, or Dissimilarity
        One of `names()`; a function of two objects that gives a number, not negative; or a
        dissimilarity, returned as it is.

    Returns
    -------
    Dissimilarity

    Examples
    --------
    >>> import likewise as lw
    >>> by_length = lw.distances.as_dissimilarity(lambda a, b: abs(len(a) - len(b)))
    >>> by_length.pairwise(["fig"], ["date", "banana"])
    array([[1., 3.]])
    """
    if isinstance(source, Dissimilarity):
        return source
    if isinstance(source, str):
        if source not in _NAMED:
            raise unknown_name(source, "dissimilarity", _NAMED)
        return _NAMED[source]()
    if callable(source) and not isinstance(source, type):
        return CallableDistance(source)
    raise TypeError(
        "dissimilarity must be a name, a function of two objects or a dissimilarity, but "
        f"{source!r} was given."
    )
