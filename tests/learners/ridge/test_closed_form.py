import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from tests.oracles import ridge as oracle

from likewise.learners.ridge._closed_form import (
    ItemScores,
    RidgePath,
    label_form,
    label_path,
    offset_directions,
    relevance_path,
)

KINDS = [np.asarray, csr_array]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=["dense", "sparse"])


def sides(rng, n, m, p, n_items=9):
    """Return queries, items and graded relevance; some rows are zero, some queries unjudged."""
    Q, P = rng.normal(size=(n, m)), rng.normal(size=(n_items, p))
    Q[0], P[1] = 0, 0
    grades = rng.integers(0, 4, size=(n, n_items)) * (rng.random((n, n_items)) < 0.4)
    grades[1] = 0
    return Q, P, grades.astype(float)


@each_kind
@pytest.mark.parametrize(("n", "m", "p"), [(6, 4, 4), (4, 12, 5), (30, 5, 7), (2, 3, 3)])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_the_path_is_the_printed_ridge_at_every_penalty(rng, kind, n, m, p, alpha):
    Q, P, grades = sides(rng, n, m, p)
    grades[0, 0] = 1
    W0 = rng.normal(size=(m, p))
    path = relevance_path(csr_array(grades), kind(Q), kind(P), W0)
    wanted = oracle.form(Q, P, grades, W0, alpha)
    assert_allclose(W0 + path.solution(alpha), wanted, atol=1e-9)
    asked = rng.normal(size=(3, m))
    predicted = path.predict(path.project(kind(asked)), alpha)
    assert_allclose(asked @ W0 + predicted, asked @ wanted, atol=1e-9)


def test_an_infinite_penalty_is_the_start(rng):
    path = RidgePath(rng.normal(size=(5, 3)), rng.normal(size=(5, 4)))
    assert (path.solution(np.inf) == 0).all()
    assert (path.predict(path.project(np.ones((2, 3))), np.inf) == 0).all()


@each_kind
@pytest.mark.parametrize("local", [False, True])
def test_directions_are_as_printed(rng, kind, local):
    Q, P, grades = sides(rng, 8, 4, 4)
    W0 = rng.normal(size=(4, 4))
    c, counts, center = oracle.directions(Q, grades, W0, P if local else None)
    found = offset_directions(csr_array(grades), kind(Q), W0, kind(P) if local else None)
    judged = np.flatnonzero(counts)
    assert found.rows.tolist() == judged.tolist()
    directions = found.directions
    assert_allclose(
        directions if isinstance(directions, np.ndarray) else directions.toarray(),
        c[judged],
        atol=1e-12,
    )
    assert_allclose(found.counts, counts[judged])
    assert_allclose(found.center, center, atol=1e-12)


@pytest.mark.parametrize("local", [False, True])
def test_directions_of_sparse_queries_at_the_identity_stay_sparse(rng, local):
    Q, P, grades = sides(rng, 8, 4, 4)
    Q *= rng.random(Q.shape) < 0.5
    near = csr_array(P) if local else None
    found = offset_directions(csr_array(grades), csr_array(Q), np.array(1.0), near).directions
    wanted, counts, _ = oracle.directions(Q, grades, np.eye(4), P if local else None)
    assert not isinstance(found, np.ndarray)
    assert_allclose(found.toarray(), wanted[np.flatnonzero(counts)], atol=1e-12)


@each_kind
@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_scores_of_moved_items_are_those_of_items_moved_by_hand(rng, kind, scale):
    Q, P, grades = sides(rng, 8, 4, 4)
    P = oracle.unit(P) * scale
    c, _, _ = oracle.directions(Q, grades, np.eye(4))
    moved = offset_directions(csr_array(grades), Q, np.eye(4))
    mapped, gammas = rng.normal(size=(5, 4)), (0.0, 0.3, 2.0)
    scores = ItemScores(kind(P), moved)
    columns = rng.integers(len(P), size=5)
    everything = list(scores.all(mapped, gammas))
    pairs = list(scores.pairs(mapped, columns, gammas))
    for gamma, found, paired in zip(gammas, everything, pairs, strict=True):
        wanted = mapped @ oracle.moved(P, c, gamma).T
        assert_allclose(found, wanted, atol=1e-12)
        assert_allclose(paired, wanted[np.arange(5), columns], atol=1e-12)


@each_kind
@pytest.mark.parametrize("n", [6, 40])
def test_the_form_of_labels_is_as_printed(rng, kind, n):
    X, y = rng.normal(size=(n, 8)), np.arange(n) % 3
    weights = rng.random(n) + 0.1
    for alpha in (0.1, 3.0):
        plain = label_form(label_path(kind(X), y, np.ones(n)), alpha)
        assert_allclose(plain, oracle.labels(X, y, alpha), atol=1e-9)
        weighted = label_form(label_path(kind(X), y, weights), alpha)
        assert_allclose(weighted, oracle.labels(X, y, alpha, weights), atol=1e-9)


def test_whole_weights_are_repeated_rows(rng):
    X, y, counts = rng.normal(size=(12, 4)), np.arange(12) % 3, rng.integers(1, 4, size=12)
    weighted = label_form(label_path(X, y, counts.astype(float)), 1.0)
    repeated = np.repeat(np.arange(12), counts)
    again = label_form(label_path(X[repeated], y[repeated], np.ones(len(repeated))), 1.0)
    assert_allclose(weighted, again, atol=1e-12)
