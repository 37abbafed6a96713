"""Problems for online learners, and AROMA's belief as the oracles have it."""

import dataclasses

import numpy as np
from scipy.sparse import csr_array

import likewise as lw

KINDS = {
    "dense-dense": (np.asarray, np.asarray),
    "csr-csr": (csr_array, csr_array),
    "dense-csr": (np.asarray, csr_array),
    "csr-dense": (csr_array, np.asarray),
}
COVARIANCES = ["diagonal", "factored", "full"]


def problem(rng, m=7, n=7, size=400):
    """Return queries, items and triplets, with zero rows and items that are doubles."""
    Q = rng.normal(size=(30, m)) * (rng.random((30, m)) < 0.5)
    P = rng.normal(size=(40, n)) * (rng.random((40, n)) < 0.5)
    Q[3], P[5], P[6], P[8] = 0, 0, 0, P[7]
    triplets = rng.integers([30, 20, 20], size=(size, 3)) + np.array([0, 0, 20])
    triplets[::9, 1:] = [7, 8]  # two rows that are the same
    triplets[4::9, 1:] = [5, 6]  # two zero rows
    return Q, P, triplets


def aroma(covariance="diagonal", **parameters):
    return lw.AROMA(covariance, **{"normalize": False, "dtype": "float64", **parameters})


def start_of(m, n):
    return np.eye(m) if m == n else np.zeros((m, n))


def belief_of(model):
    """Return (W, S), (W, Λ, Σ) or (W, Σ)."""
    return tuple(getattr(model.state_, field.name) for field in dataclasses.fields(model.state_))


def fresh_belief(covariance, m, n):
    W = start_of(m, n)
    starts = {
        "diagonal": (np.ones((m, n)),),
        "factored": (np.eye(m), np.eye(n)),
        "full": (np.eye(m * n),),
    }
    return W, *starts[covariance]
