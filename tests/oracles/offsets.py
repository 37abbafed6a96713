"""Items that move towards the queries they are relevant to, row by row."""

import numpy as np


def moved(items, directions, gamma):
    """Return |p| · unit(unit(p) + γ c) of every item p and its direction c."""
    rows = []
    for p, c in zip(np.asarray(items, np.float64), np.asarray(directions, np.float64), strict=True):
        rows.append(np.linalg.norm(p) * _unit(_unit(p) + gamma * c))
    return np.array(rows)


def _unit(vector):
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector
