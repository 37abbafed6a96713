"""MCML: the optimum of its problem, weights, and bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts import cases, checks
from tests.contracts.sample_weights import EQUAL_ROWS_ARE_NEIGHBORS
from tests.oracles import mcml as oracle

import likewise as lw
from likewise.learners.mcml import _mcml as module


@pytest.fixture
def rows(rng):
    y = np.array(["ash", "beech", "cedar"])[np.arange(24) % 3]
    X = rng.normal(size=(24, 3)) * [1, 2, 0.2] + (y == "ash")[:, None] * [2, 0, 0]
    return X, y


def matrix(learner):
    return learner.components_.T @ learner.components_


@parametrize_with_checks([lw.MCML()], expected_failed_checks=lambda _: EQUAL_ROWS_ARE_NEIGHBORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", checks.SIMILARITY, ids=lambda check: check.__name__)
def test_what_is_learned_keeps_the_contract_of_similarities(rows, check):
    X, y = rows
    learned = lw.MCML().fit(X, y).similarity_
    check(cases.Case("MCML", learned, X[:7], X[7:16], serves=("euclidean", "inner_product")))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_conditions_of_the_optimum_hold(rows, weighted, rng):
    X, y = rows
    weights = rng.uniform(0.5, 2, 24) if weighted else None
    mcml = lw.MCML(tol=1e-10).fit(X, y, weights)
    M = matrix(mcml)
    assert_allclose(mcml.objective_, oracle.objective(M, X, y, weights), rtol=1e-8)
    G = oracle.gradient(M, X, y, weights)
    scale = np.linalg.norm(oracle.gradient(0.1 * M, X, y, weights))
    assert np.linalg.eigvalsh(G)[0] > -1e-3 * scale
    assert abs(np.sum(G * M)) < 1e-3 * scale * np.trace(M)


def test_the_descent_of_the_paper_does_not_end_lower(rows):
    X, y = rows
    X = X[:15]
    mcml = lw.MCML(tol=1e-10).fit(X, y[:15])
    reached = oracle.objective(oracle.solve(X, y[:15], 60), X, y[:15])
    assert mcml.objective_ <= reached * (1 + 1e-9)
    assert_allclose(reached, mcml.objective_, rtol=0.02)


@pytest.mark.parametrize("size", [1, 50, 2**18])
def test_the_gradient_is_that_of_finite_differences(rows, rng, monkeypatch, size):
    monkeypatch.setattr(module, "_ELEMENTS_IN_BLOCK", size)
    X, y = rows
    labels = np.unique(y, return_inverse=True)[1]
    labels[0] = 3  # a class of one row
    collapse = module.Collapse(X, labels, rng.uniform(0.5, 2, 24))
    L, direction = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    ahead, behind = (collapse(L + sign * 1e-6 * direction)[0] for sign in (1, -1))
    assert_allclose(np.vdot(collapse(L)[1], direction), (ahead - behind) / 2e-6, rtol=1e-6)


def test_a_class_of_one_row_has_no_term_of_its_own(rows):
    X, y = rows
    y = np.append(y, "dogwood")
    X = np.vstack([X, [0.0, 9.0, 0.0]])
    mcml = lw.MCML().fit(X, y)
    assert_allclose(mcml.objective_, oracle.objective(matrix(mcml), X, y), rtol=1e-8)


def test_distances_do_not_depend_on_the_units_of_the_features(rows, rng):
    X, y = rows
    A = rng.normal(size=(3, 3))
    plain, mapped = lw.MCML(tol=1e-9).fit(X, y), lw.MCML(tol=1e-9).fit(X @ A, y)
    expected = plain.similarity_.distance(X[:5], X)
    assert_allclose(mapped.similarity_.distance(X[:5] @ A, X @ A), expected, rtol=1e-2, atol=1e-2)


def test_csr_gives_the_same(rows):
    X, y = rows
    assert_array_equal(lw.MCML().fit(csr_array(X), y).components_, lw.MCML().fit(X, y).components_)


def test_it_helps_on_iris():
    iris = lw.datasets.load("iris")
    X, y = iris.X, iris.y
    plain, learned = (
        lw.SimilarityClassifier(learner=learner).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
        for learner in (None, lw.MCML())
    )
    assert learned > plain


def test_an_end_before_convergence_is_said(rows):
    with pytest.warns(ConvergenceWarning, match="MCML has not converged in 1 steps"):
        lw.MCML(max_iter=1).fit(*rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_iter": 0}, "max_iter must be at least 1"), ({"tol": -1}, "tol must be finite")],
)
def test_bad_parameters_are_refused(rows, options, message):
    with pytest.raises(ValueError, match=message):
        lw.MCML(**options).fit(*rows)


def test_rows_that_are_too_many_or_alone_are_refused(monkeypatch, rows):
    X, y = rows
    with pytest.raises(ValueError, match="y has a single row of each class"):
        lw.MCML().fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="X does not vary"):
        lw.MCML().fit(np.ones((4, 2)), [0, 1, 0, 1])
    monkeypatch.setattr(module, "_MAX_ROWS", 20)
    with pytest.raises(ValueError, match="X has 24 rows, but MCML compares all rows with all"):
        lw.MCML().fit(X, y)
