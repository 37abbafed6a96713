"""The bounds that let SiLA skip a row never lie above its margin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likewise import kernels


def margins(scores, labels, targets, weights, k):
    """Return Σ of the targets' scores − Σ of the k highest of other classes, row by row."""
    found = []
    for i, row in enumerate(scores):
        others = np.sort(row[labels != labels[i]])[::-1][:k]
        found.append(row[targets[i]][weights[i] > 0].sum() - others.sum())
    return np.array(found)


@given(seed=st.integers(0, 10_000), symmetric=st.booleans(), norm=st.sampled_from([0, 1]))
def test_lowered_bounds_stay_below_the_margins(seed, symmetric, norm):
    rng = np.random.default_rng(seed)
    n, k, n_classes = 14, int(rng.integers(1, 4)), 3
    labels = np.sort(np.append([0, 0, 1, 1, 2, 2], rng.integers(n_classes, size=n - 6)))
    segments = np.searchsorted(labels, np.arange(n_classes + 1))
    targets = np.array([rng.choice(np.flatnonzero(labels == c), k) for c in labels])
    present = rng.random((n, k)) < 0.8
    sizes = rng.random(n) + 0.1 if norm else np.zeros(n)
    N = sizes[:, None] + sizes if norm else np.ones((n, n))
    weights = present / np.take_along_axis(N, targets, axis=1)
    reach = np.array([(0, c, c + 1, n_classes) for c in range(n_classes)])
    n_others = np.minimum(k, np.array([(labels != c).sum() for c in labels]))
    other = labels[:, None] != labels
    smallest = np.where(other, N, np.inf).min(axis=1)
    largest = np.where(other, N, 0).max(axis=1)

    scores = rng.normal(size=(n, n))
    bounds = margins(scores / N, labels, targets, weights, k)
    for _ in range(4):
        left, right = rng.normal(size=n), rng.normal(size=n) + rng.integers(-2, 3)
        scores = scores + np.outer(left, right)
        if symmetric:
            scores = scores + np.outer(right, left)
        kernels.lower_bounds(
            left, right, symmetric, segments, reach, labels, targets, weights, 1 / smallest,
            1 / largest, n_others, bounds,
        )  # fmt: skip
        assert (bounds <= margins(scores / N, labels, targets, weights, k)).all()


def test_a_change_of_the_targets_alone_is_known_exactly():
    """Two rows a class; what is added touches no pair of different classes."""
    labels, segments = np.array([0, 0, 1, 1]), np.array([0, 2, 4])
    targets, weights = np.array([[1], [0], [3], [2]]), np.ones((4, 1))
    reach = np.array([(0, 0, 1, 2), (0, 1, 2, 2)])
    left, right = np.array([1.0, 1.0, 0.0, 0.0]), np.array([2.0, 2.0, 0.0, 0.0])
    bounds = np.zeros(4)
    kernels.lower_bounds(left, right, False, segments, reach, labels, targets, weights,
                         np.ones(4), np.ones(4), np.ones(4, int), bounds)  # fmt: skip
    assert np.allclose(bounds, [2, 2, 0, 0], atol=1e-9)
