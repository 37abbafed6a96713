"""Histograms and images by the work of moving one onto the other, with POT."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import as_objects
from likewise.exceptions import require_extra
from likewise.similarities.distances._base import Dissimilarity, NamePair


@dataclass(frozen=True, eq=False)
class TransportDistance(Dissimilarity):
    """Earth mover's distance: the least mass × way from one histogram to the other, in cells.

    Histograms are arrays of masses that are not negative, 1-D or 2-D, all of one shape; each is
    taken to have mass 1 in all.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.distances.as_dissimilarity("emd").pairwise([[1.0, 0.0, 0.0]], [[0.0, 1.0, 1.0]])
    array([[1.5]])
    """

    def check(self, X: Any, name: str = "X") -> np.ndarray:
        """Return histograms of mass 1 as one array."""
        require_extra("ot", "transport", "the distance 'emd'")
        try:
            masses = np.array([np.asarray(h, dtype=np.float64) for h in as_objects(X, name)])
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"'emd' compares histograms of one shape, but {name} holds something else: {error}"
            ) from error
        if masses.ndim not in (2, 3):
            raise ValueError(
                "'emd' compares 1-D or 2-D histograms, but those of "
                f"{name} are {masses.ndim - 1}-D."
            )
        flat = masses.reshape(len(masses), -1)
        total = flat.sum(axis=1)
        bad = ~(np.isfinite(total) & (total > 0) & (flat >= 0).all(axis=1))
        if bad.any():
            raise ValueError(
                f"'emd' needs masses that are finite, not negative and not all zero, but entry "
                f"{np.flatnonzero(bad)[0]} of {name} has others."
            )
        return masses / total.reshape(-1, *[1] * (masses.ndim - 1))

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Ask POT."""
        import ot

        if left.shape[1:] != right.shape[1:]:
            raise ValueError(
                f"'emd' compares histograms of one shape, but those of {name_pair(0, 0)} have "
                f"shapes {left.shape[1:]} and {right.shape[1:]}."
            )
        cells = np.indices(left.shape[1:]).reshape(left.ndim - 1, -1).T
        ways = np.sqrt(((cells[:, None] - cells[None]) ** 2).sum(axis=2))
        flat_left, flat_right = (side.reshape(len(side), -1) for side in (left, right))
        found = np.array([[float(ot.emd2(a, b, ways)) for b in flat_right] for a in flat_left])
        return np.maximum(found, 0.0)  # the solver's rounding
