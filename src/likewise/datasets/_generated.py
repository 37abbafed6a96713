"""Data sets made here: the balance scale by its rule, and two at random.

The random sets are those of Rwebangira and Blum (CMU-CS-09-107, sections 4.1.1 and 4.1.2).
"""

from itertools import product
from typing import TypeAlias

import numpy as np

from likewise._validation import check_whole_number
from likewise.datasets._records import Dataset

RandomState: TypeAlias = int | np.random.RandomState | None


def balance() -> Dataset:
    """Return the balance scale data: weights and distances, and the side that goes down.

    All 5⁴ = 625 combinations of a weight and a distance from 1 to 5 on either side, the last
    attribute changing fastest, as in the UCI file. The side with the larger product of weight
    and distance goes down; equal products balance.

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


def circle(n_samples: int = 1000, random_state: RandomState = None) -> Dataset:
    """Draw points in a square, labeled by whether they lie in a disc of half its area.

    No line separates the classes, but similarity to a few landmarks does.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points, uniform in [-1, 1]².
    random_state : int, RandomState instance or None, default=None
        The same seed gives the same points.

    Returns
    -------
    Dataset
        `y` is 1 for a point inside the disc x₁² + x₂² < 2/π, else 0.

    Examples
    --------
    >>> from likewise.datasets import circle
    >>> points = circle(500, random_state=0)
    >>> points.X.shape, points.target_names
    ((500, 2), ('outside', 'inside'))
    """
    from sklearn.utils import check_random_state

    check_whole_number(n_samples, "n_samples")
    random = check_random_state(random_state)
    X = random.uniform(-1.0, 1.0, size=(n_samples, 2))
    squared_radius = 2.0 / np.pi  # the disc's area, pi r², is 2, half of the square's 4
    return Dataset(
        name="circle",
        X=X,
        y=((X**2).sum(axis=1) < squared_radius).astype(np.int64),
        feature_names=("x1", "x2"),
        target_names=("outside", "inside"),
    )


def blobs_and_line(
    n_samples: int = 1000,
    *,
    n_features: int = 20,
    n_centers: int = 40,
    n_flips: int = 1,
    random_state: RandomState = None,
) -> Dataset:
    """Draw boolean vectors, half of them labeled by a line, half by their blob.

    Centers are drawn uniformly and get random labels. Then a coin is flipped for each row.
    Heads: a random boolean vector, labeled by its first bit. Tails: a random center with some
    bits flipped, labeled as the center. The native features can classify the first half and
    similarity to landmarks the second; only both together classify all rows.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows, n in the paper.
    n_features : int, default=20
        Number of bits, d in the paper, which does not state it.
    n_centers : int, default=40
        Number of blobs, k in the paper, which does not state it.
    n_flips : int, default=1
        Number of bits flipped in a copy of a center, r in the paper, which does not
        state it.
    random_state : int, RandomState instance or None, default=None
        The same seed gives the same rows.

    Returns
    -------
    Dataset
        `X` holds 0 and 1, `y` 0 and 1 (−1 and +1 in the paper). In `extra`: ``center``, the
        number of each row's center, −1 for heads; ``centers`` and ``center_labels``.

    Examples
    --------
    >>> from likewise.datasets import blobs_and_line
    >>> mixed = blobs_and_line(6, n_features=4, n_centers=2, random_state=0)
    >>> mixed.X.shape, mixed.extra["center"]
    ((6, 4), array([-1,  0,  0, -1,  0,  1]))
    """
    from sklearn.utils import check_random_state

    check_whole_number(n_samples, "n_samples")
    check_whole_number(n_features, "n_features")
    check_whole_number(n_centers, "n_centers")
    check_whole_number(n_flips, "n_flips", minimum=0)
    if n_flips > n_features:
        raise ValueError(
            f"n_flips must be at most n_features, {n_features}, but {n_flips} was given."
        )
    random = check_random_state(random_state)
    centers = random.randint(2, size=(n_centers, n_features)).astype(bool)
    center_labels = random.randint(2, size=n_centers).astype(np.int64)

    heads = random.randint(2, size=n_samples).astype(bool)
    center = random.randint(n_centers, size=n_samples).astype(np.int64)
    line = random.randint(2, size=(n_samples, n_features)).astype(bool)
    blobs = centers[center] ^ _flips(random, n_samples, n_features, n_flips)
    X = np.where(heads[:, np.newaxis], line, blobs)
    return Dataset(
        name="blobs_and_line",
        X=X.astype(np.float64),
        y=np.where(heads, X[:, 0], center_labels[center]).astype(np.int64),
        extra={
            "center": np.where(heads, -1, center),
            "centers": centers.astype(np.float64),
            "center_labels": center_labels,
        },
    )


def _flips(
    random: np.random.RandomState, n_samples: int, n_features: int, n_flips: int
) -> np.ndarray:
    """Return a mask with `n_flips` bits set in each row, all choices equally likely."""
    columns = random.uniform(size=(n_samples, n_features)).argsort(axis=1)[:, :n_flips]
    mask = np.zeros((n_samples, n_features), dtype=bool)
    np.put_along_axis(mask, columns, True, axis=1)
    return mask
