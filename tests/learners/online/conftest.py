"""Data for the online learners."""

import numpy as np
import pytest


@pytest.fixture
def labelled(rng):
    """Return rows in which two of six columns tell the class, and the others drown it."""
    y = np.array(["ash", "beech", "cedar"])[np.arange(400) % 3]
    X = rng.normal(size=(400, 6)) * [1, 1, 3, 3, 3, 3]
    return X + 3 * (y == "ash")[:, None] * [1, 0, 0, 0, 0, 0] + 3 * (y == "cedar")[
        :, None
    ] * np.array([0, 1, 0, 0, 0, 0]), y


@pytest.fixture
def judged(rng):
    """Return grades of 60 queries and 80 items that share half of their features."""
    Q, P = rng.normal(size=(60, 5)), rng.normal(size=(80, 7))
    true = Q[:, :3] @ P[:, :3].T
    order = np.argsort(-true, axis=1)
    grades = np.zeros((60, 80))
    np.put_along_axis(grades, order[:, 4:8], 1, axis=1)
    np.put_along_axis(grades, order[:, :4], 2, axis=1)
    return grades, Q, P
