"""The balance scale, which a rule describes completely."""

from itertools import product

import numpy as np

from likewise.datasets._records import Dataset


def balance() -> Dataset:
    """Return the balance scale data: every arm of a scale, and which way it tips.

    All 5⁴ = 625 combinations of a weight and a distance from 1 to 5 on either side, the last
    attribute changing fastest, as in the UCI file. The scale tips towards the larger product of
    weight and distance and balances where the products are equal.

    Returns
    -------
    Dataset
        `y` is 0 for left (288 rows), 1 for balanced (49) and 2 for right (288).

    Examples
    --------
    >>> from likewise.datasets import balance
    >>> scale = balance()
    >>> scale.X[1], scale.target_names[scale.y[1]]
    (array([1., 1., 1., 2.]), 'R')
    """
    X = np.array(list(product(range(1, 6), repeat=4)), dtype=np.float64)
    left_torque, right_torque = X[:, 0] * X[:, 1], X[:, 2] * X[:, 3]
    return Dataset(
        name="balance",
        X=X,
        y=np.sign(right_torque - left_torque).astype(np.int64) + 1,
        feature_names=("left-weight", "left-distance", "right-weight", "right-distance"),
        target_names=("L", "B", "R"),
    )
