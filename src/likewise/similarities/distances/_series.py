"""Dynamic time warping of series.

Implemented here because dtaidistance 2.5.1 returns infinity for a few pairs of short series in a
thousand, and aeon installs half a gigabyte of dependencies.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import kernels
from likewise._validation import as_objects, check_number, check_whole_number
from likewise.similarities._blocks import Distance, NamePair


@dataclass(frozen=True, eq=False)
class SeriesDistance(Distance):
    """Dynamic time warping: √Σ|aᵢ − bⱼ|² along the best alignment.

    Series are 1-D arrays, or (length, n_channels) arrays, of any lengths.

    Parameters
    ----------
    window : float or int, optional
        Sakoe–Chiba window: the largest shift of an alignment, as a share of the longer
        series (0.1) or as a number of frames (5). Series whose lengths differ by more may shift by
        that difference. By default any shift is allowed.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.as_similarity("dtw").distance([[1.0, 2.0, 3.0]], [[1.0, 1.0, 2.0, 3.0]])
    array([[0.]])
    >>> lw.distances.SeriesDistance(window=0).distance([[0.0, 0.0, 1.0]], [[0.0, 1.0, 1.0]])
    array([[1.]])
    """

    window: float | int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.window, float):
            check_number(self.window, "window", minimum=0, maximum=1)
        elif self.window is not None:
            check_whole_number(self.window, "window", minimum=0)

    def check_queries(self, Q: Any, name: str = "Q") -> list[np.ndarray]:
        """Return a list of series, all 1-D or all with the same number of channels."""
        entries = enumerate(as_objects(Q, name))
        series = [_as_series(entry, number, name) for number, entry in entries]
        for number, one in enumerate(series):
            if one.shape[1:] != series[0].shape[1:]:
                raise ValueError(
                    f"'dtw' compares series with the same number of channels, but entry {number} "
                    f"of {name} has shape {one.shape} and entry 0 has shape {series[0].shape}."
                )
        return series

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Warp every pair of series."""
        if left[0].shape[1:] != right[0].shape[1:]:
            raise ValueError(
                f"'dtw' compares series with the same number of channels, but {name_pair(0, 0)} "
                f"have shapes {left[0].shape} and {right[0].shape}."
            )
        out = np.empty((len(left), len(right)))
        window = 1.0 if self.window is None else self.window
        share, frames = (window, 0) if isinstance(window, float) else (0.0, window)
        kernels.dtw_distances(*_concatenated(left), *_concatenated(right), share, frames, out)
        return out


def _as_series(entry: Any, number: int, name: str) -> np.ndarray:
    try:
        series = np.asarray(entry, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"'dtw' compares series of numbers, but entry {number} of {name} is a "
            f"{type(entry).__name__}."
        ) from error
    if series.ndim not in (1, 2) or series.size == 0:
        raise ValueError(
            f"'dtw' compares series of numbers, but entry {number} of {name} has shape "
            f"{series.shape}."
        )
    if not np.isfinite(series).all():
        raise ValueError(f"entry {number} of {name} holds NaN or infinity; it must be finite.")
    return series


def _concatenated(series: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return all frames in one array, and the offsets at which series begin and end."""
    frames = np.concatenate([one.reshape(len(one), -1) for one in series])
    return frames, np.cumsum([0, *map(len, series)])
