"""Optimal transport between histograms and images, with POT."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import as_objects
from likewise.exceptions import require_extra
from likewise.similarities._blocks import Distance, NamePair


@dataclass(frozen=True, eq=False)
class TransportDistance(Distance):
    """Earth mover's distance: the minimal mass × distance, in cells, to turn one into the other.

    Histograms are 1-D or 2-D arrays of non-negative masses, all of the same shape; each is scaled
    to a total mass of 1.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.as_similarity("emd").distance([[1.0, 0.0, 0.0]], [[0.0, 1.0, 1.0]])
    array([[1.5]])
    """

    def check_queries(self, Q: Any, name: str = "Q") -> np.ndarray:
        """Return one array of histograms with mass 1."""
        require_extra("ot", "transport", "the distance 'emd'")
        try:
            masses = np.array([np.asarray(h, dtype=np.float64) for h in as_objects(Q, name)])
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"'emd' compares histograms of the same shape, but those of {name} differ: {error}"
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
            number = np.flatnonzero(bad)[0]
            raise ValueError(
                "'emd' needs masses that are finite, not negative and not all zero, but those of "
                f"entry {number} of {name} are not."
            )
        return masses / total.reshape(-1, *[1] * (masses.ndim - 1))

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Solve the transport problem of every pair."""
        import ot

        if left.shape[1:] != right.shape[1:]:
            raise ValueError(
                f"'emd' compares histograms of the same shape, but {name_pair(0, 0)} have "
                f"shapes {left.shape[1:]} and {right.shape[1:]}."
            )
        cells = np.indices(left.shape[1:]).reshape(left.ndim - 1, -1).T
        costs = np.sqrt(((cells[:, None] - cells[None]) ** 2).sum(axis=2))
        flat_left, flat_right = (side.reshape(len(side), -1) for side in (left, right))
        work = np.array([[float(ot.emd2(a, b, costs)) for b in flat_right] for a in flat_left])
        return np.maximum(work, 0.0)  # rounding of the solver
