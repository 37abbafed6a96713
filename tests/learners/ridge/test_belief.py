"""RidgeBelief: margins and their variance, against the formula in plain NumPy."""

import numpy as np
import pytest
from scipy.stats import norm

import likewise as lw
from likewise.exceptions import ModelFileError
from likewise.learners import RidgeBelief


def plain(Q, M, W0, alpha):
    """Return W, A and the variance as they are defined."""
    A = np.linalg.inv(Q.T @ Q + alpha * np.eye(Q.shape[1]))
    W = A @ (Q.T @ M + alpha * W0)
    variance = (1 + ((M - Q @ W) ** 2).sum()) / ((1 + len(Q)) * M.shape[1])
    return W, A, variance


@pytest.mark.parametrize("n_queries", [0, 1, 3, 20])
def test_it_is_the_posterior_of_ridge_regression(rng, n_queries):
    Q, M, W0 = (rng.normal(size=shape) for shape in ((n_queries, 5), (n_queries, 4), (5, 4)))
    belief = RidgeBelief.learned(Q, M, W0, alpha=2.0)
    W, A, variance = plain(Q, M, W0, 2.0)
    np.testing.assert_allclose(belief.W, W, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(belief.A, A, rtol=1e-5, atol=1e-6)
    assert belief.variance == pytest.approx(variance)


@pytest.mark.parametrize("normalize", [True, False])
def test_confidence_is_the_probability_of_a_positive_margin(rng, normalize):
    W, A = rng.normal(size=(5, 4)), np.diag([0.1, 0.5, 1.0, 2.0, 0.0])
    belief = RidgeBelief(W, A, 0.3, normalize)
    Q, P = rng.normal(size=(6, 5)), rng.normal(size=(7, 4))
    triplets = np.column_stack([rng.integers(6, size=20), *rng.integers(7, size=(2, 20))])
    triplets = triplets[triplets[:, 1] != triplets[:, 2]]

    def scaled(row):
        return row / np.linalg.norm(row) if normalize else row

    expected = []
    for q, closer, farther in triplets:
        query, p = scaled(Q[q]), scaled(P[closer]) - scaled(P[farther])
        deviation = np.sqrt(0.3 * (query @ A @ query) * (p @ p))
        expected.append(norm.cdf(query @ W @ p / deviation))
    np.testing.assert_allclose(belief.confidence(triplets, Q, P), expected, rtol=1e-6)
    certainty = np.abs(norm.ppf(expected))
    best = belief.most_informative(triplets, Q, P, n=3)
    np.testing.assert_array_equal(best, triplets[np.argsort(certainty, kind="stable")[:3]])


def test_what_was_asked_about_becomes_certain(rng):
    Q = rng.normal(size=(1, 3))
    Q /= np.linalg.norm(Q)
    rows = np.vstack([Q, rng.normal(size=(2, 3))])
    before = RidgeBelief.learned(Q[:0], Q[:0], np.eye(3), alpha=10.0)
    after = RidgeBelief.learned(np.repeat(Q, 50, 0), np.repeat(Q, 50, 0), np.eye(3), alpha=10.0)
    sure = [abs(b.confidence([[0, 1, 2]], rows)[0] - 0.5) for b in (before, after)]
    assert sure[1] > sure[0]


def test_a_zero_row_is_asked_about_last(rng):
    belief = RidgeBelief(np.eye(3), np.eye(3), 1.0)
    rows = np.vstack([np.zeros(3), rng.normal(size=(3, 3))])
    candidates = [[0, 1, 2], [1, 2, 3]]
    assert belief.most_informative(candidates, rows, n=1).tolist() == [[1, 2, 3]]
    assert belief.confidence([[0, 1, 2]], rows)[0] == 0.5


def test_it_is_kept_in_a_file(tmp_path, rng):
    belief = RidgeBelief(rng.normal(size=(3, 2)), np.eye(3), 0.25, False)
    lw.save(belief, tmp_path / "belief.safetensors")
    again = lw.load(tmp_path / "belief.safetensors")
    np.testing.assert_array_equal(again.W, belief.W)
    assert (again.variance, again.normalize, repr(again)) == (0.25, False, repr(belief))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"W": np.ones(3)}, "W must be a matrix"),
        ({"W": np.full((3, 2), np.nan)}, "W holds NaN"),
        ({"A": np.eye(2)}, r"A must have shape \(3, 3\)"),
        ({"variance": -1.0}, "variance must be"),
        ({"variance": np.inf}, "variance must be finite"),
        ({"normalize": 1}, "normalize must be True or False"),
    ],
)
def test_what_does_not_fit_is_refused(change, sentence):
    parts = {"W": np.ones((3, 2)), "A": np.eye(3), "variance": 1.0}
    with pytest.raises((ValueError, TypeError), match=sentence):
        RidgeBelief(**{**parts, **change})


def test_a_file_with_odd_arrays_is_refused(tmp_path, monkeypatch):
    belief = RidgeBelief(np.ones((3, 2)), np.eye(3), 1.0)
    object.__setattr__(belief, "A", np.eye(2))
    lw.save(belief, tmp_path / "odd.safetensors")
    with pytest.raises(ModelFileError, match="A must have shape"):
        lw.load(tmp_path / "odd.safetensors")
