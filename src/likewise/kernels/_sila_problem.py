"""The data of one SiLA problem, in the form that its kernels take."""

from typing import NamedTuple

import numpy as np


class SilaProblem(NamedTuple):
    """Data that is the same for all visits.

    Attributes
    ----------
    norm : int
        0 for N = 1, 1 for Dice, 2 for Jaccard.
    symmetric : bool
        Whether a mistake adds d xᵀ as well as x dᵀ.
    sizes : (n,)
        Sums of the rows.
    original : (n,) int64
        Original row numbers, which break ties.
    segments : (n_segments + 1,) int64
        First row of each class.
    reach, spans : (n_groups, 4) int64
        The segments, and the columns, of the others of a group: from, to, from, to.
    group : (n,) int64
    targets, target_weights : (n, k) int64 and float64
        Weight 1/N; 0 for a missing target.
    row_weights : (n,)
        Factor of the updates of each row, at most 1.
    max_inverse, min_inverse : (n,)
        Bounds of 1/N over a row's others.
    n_others : (n,) int64
        Number of others in a margin.
    """

    norm: int
    symmetric: bool
    sizes: np.ndarray
    original: np.ndarray
    segments: np.ndarray
    reach: np.ndarray
    spans: np.ndarray
    group: np.ndarray
    targets: np.ndarray
    target_weights: np.ndarray
    row_weights: np.ndarray
    max_inverse: np.ndarray
    min_inverse: np.ndarray
    n_others: np.ndarray
