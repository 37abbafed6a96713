"""Series by dynamic time warping.

Ours, because dtaidistance 2.5.1 gives infinity on a few pairs of short series in a thousand, and
aeon brings half a gigabyte.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import kernels
from likewise._validation import as_objects
from likewise.similarities.distances._base import Dissimilarity, NamePair


@dataclass(frozen=True, eq=False)
class SeriesDistance(Dissimilarity):
    """Dynamic time warping without a window: √Σ|aᵢ − bⱼ|² along the best alignment.

    Series are 1-D arrays, or (length, n_channels) arrays, of any lengths.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.distances.as_dissimilarity("dtw").pairwise([[1.0, 2.0, 3.0]], [[1.0, 1.0, 2.0, 3.0]])
    array([[0.]])
    """

    def check(self, X: Any, name: str = "X") -> list[np.ndarray]:
        """Return a list of series, all 1-D or all with as many channels."""
        objects = as_objects(X, name)
        found = [_as_series(entry, number, name) for number, entry in enumerate(objects)]
        for number, series in enumerate(found):
            if series.shape[1:] != found[0].shape[1:]:
                raise ValueError(
                    f"'dtw' compares series with as many channels, but entry {number} of {name} "
                    f"has shape {series.shape} and entry 0 has shape {found[0].shape}."
                )
        return found

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Warp every two series."""
        if left[0].shape[1:] != right[0].shape[1:]:
            raise ValueError(
                f"'dtw' compares series with as many channels, but those of {name_pair(0, 0)} have "
                f"shapes {left[0].shape} and {right[0].shape}."
            )
        out = np.empty((len(left), len(right)))
        kernels.dtw_distances(*_end_to_end(left), *_end_to_end(right), out)
        return out


def _as_series(entry: Any, number: int, name: str) -> np.ndarray:
    try:
        series = np.asarray(entry, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"'dtw' compares series of numbers, but entry {number} of {name} is a "
            f"{type(entry).__name__} that is none."
        ) from error
    if series.ndim not in (1, 2) or series.size == 0:
        raise ValueError(
            f"'dtw' compares series of numbers, but entry {number} of {name} has shape "
            f"{series.shape}."
        )
    if not np.isfinite(series).all():
        raise ValueError(f"entry {number} of {name} holds NaN or infinity; it must be finite.")
    return series


def _end_to_end(series: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return all frames one after another, and where each series begins and the last ends."""
    frames = np.concatenate([one.reshape(len(one), -1) for one in series])
    return frames, np.cumsum([0, *map(len, series)])
