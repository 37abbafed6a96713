"""The objectives of NCA and MLKR, against the formulas as printed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests.oracles import nca as oracle
from threadpoolctl import threadpool_limits

from likewise._threads import limit_threads
from likewise.learners.nca import _gradient
from likewise.learners.nca._gradient import evaluate
from likewise.learners.nca._objective import (
    ClassAccuracy,
    ClassLikelihood,
    KernelRegression,
    has_mate,
)
from likewise.learners.nca._rows import StandardizedRows, column_scale

KINDS = ("likelihood", "accuracy", "regression")


class Case:
    """Rows in order of their classes, with doubles, a class of one row, and uneven weights."""

    def __init__(self, rng, n_rows=37):
        self.labels = np.sort(np.append(rng.integers(0, 4, n_rows - 1), 9))
        X = rng.normal(size=(n_rows, 5)) * [1, 1, 1, 8, 0.01] + 30
        X[3], X[5] = X[0], X[n_rows // 2]
        self.scale = column_scale(X)
        self.X = X
        self.standardized = (X - self.scale.mean) / self.scale.deviation
        self.weights = rng.uniform(0.2, 5, n_rows)
        self.targets = np.stack([X[:, 0], rng.normal(size=n_rows)], axis=1) - X[:, 0].mean()
        self.L = rng.normal(size=(3, 5))

    def expected(self, kind, L):
        if kind == "regression":
            return (
                oracle.regression(L, self.standardized, self.targets, self.weights),
                oracle.regression_gradient(L, self.standardized, self.targets, self.weights),
            )
        known = self.standardized, self.labels, self.weights
        return getattr(oracle, kind)(L, *known), oracle.class_gradient(L, *known, kind)

    def found(self, kind, L, dtype=np.float64, sparse=False):
        objective = {
            "likelihood": lambda: ClassLikelihood(self.labels),
            "accuracy": lambda: ClassAccuracy(self.labels),
            "regression": lambda: KernelRegression(self.targets),
        }[kind]()
        rows = StandardizedRows(csr_array(self.X) if sparse else self.X, self.scale, dtype)
        anchors = np.arange(len(self.X))
        if kind != "regression":
            anchors = anchors[has_mate(self.labels)]
        return evaluate(objective, rows, self.weights, anchors, L)


@pytest.mark.parametrize("kind", KINDS)
def test_the_oracle_agrees_with_finite_differences(rng, kind):
    case = Case(rng, n_rows=11)
    L = 0.5 * case.L
    value, gradient = case.expected(kind, L)
    numeric = np.empty_like(L)
    for entry in np.ndindex(*L.shape):
        up, down = L.copy(), L.copy()
        up[entry] += 1e-5
        down[entry] -= 1e-5
        numeric[entry] = (case.expected(kind, up)[0] - case.expected(kind, down)[0]) / 2e-5
    assert np.isfinite(value)
    assert_allclose(gradient, numeric, rtol=0, atol=1e-8 * np.abs(gradient).max())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_components", [2, 3])  # of five columns: each has its own products
@pytest.mark.parametrize("size", [0.01, 0.4, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_value_and_gradient_are_the_printed_ones(rng, kind, size, n_components, sparse):
    case = Case(rng)
    L = size * case.L[:n_components]
    value, gradient = case.expected(kind, L)
    found = case.found(kind, L, sparse=sparse)
    assert_allclose(found[0], value, rtol=1e-9)
    assert_allclose(found[1], gradient, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n_components", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_comes_close(rng, kind, n_components):
    case = Case(rng)
    L = 0.4 * case.L[:n_components]
    value, gradient = case.expected(kind, L)
    found = case.found(kind, L, np.float32)
    assert_allclose(found[0], value, rtol=1e-5)
    assert_allclose(found[1], gradient, atol=1e-5 * np.abs(gradient).max())


@pytest.mark.parametrize("kind", KINDS)
def test_products_of_far_rows_are_in_double_precision(rng, kind):
    """Squares of 1e6 leave few digits of a distance of 1 in single precision."""
    case = Case(rng)
    case.standardized += np.where(np.arange(len(case.X)) < 20, 0, 1e3)[:, None]
    case.X = case.standardized * case.scale.deviation + case.scale.mean
    value, gradient = case.expected(kind, 0.4 * case.L)
    found = case.found(kind, 0.4 * case.L, np.float32)
    assert_allclose(found[0], value, rtol=1e-3)
    assert_allclose(found[1], gradient, atol=1e-3 * np.abs(gradient).max())


def test_a_class_out_of_reach_keeps_a_finite_likelihood_and_pulls(rng):
    """exp(−d) underflows: the row's nearest rows are all of another class."""
    case = Case(rng)
    case.labels = np.repeat([0, 1], [2, 35])
    case.standardized[0] = case.standardized[5] + 1e-3
    case.standardized[1] = 60.0
    case.X = case.standardized * case.scale.deviation + case.scale.mean
    value, gradient = case.expected("likelihood", case.L)
    assert value < -200
    found = case.found("likelihood", case.L, np.float32)
    assert_allclose(found[0], value, rtol=1e-4)
    assert_allclose(found[1], gradient, atol=1e-4 * np.abs(gradient).max())


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_and_shares_change_no_more_than_rounding(rng, monkeypatch, kind):
    case = Case(rng, n_rows=150)
    value, gradient = case.found(kind, case.L)
    monkeypatch.setattr(_gradient, "_MIN_ANCHORS_IN_BLOCK", 4)
    monkeypatch.setattr(_gradient, "_ELEMENTS_IN_BLOCK", 7 * 150)
    monkeypatch.setattr(_gradient, "_MIN_ANCHORS_IN_SHARE", 10)
    found = case.found(kind, case.L)
    assert_allclose(found[0], value, rtol=1e-13)
    assert_allclose(found[1], gradient, rtol=1e-10, atol=1e-12)


def test_the_number_of_threads_changes_no_bit(rng):
    case = Case(rng, n_rows=700)
    seen = set()
    for blas in (1, 2):
        for own in (None, 1, 2):
            with threadpool_limits(blas, user_api="blas"), limit_threads(own):
                value, gradient = case.found("likelihood", case.L, np.float32)
                seen.add((value, gradient.tobytes()))
    assert len(seen) == 1


def test_without_a_gradient_the_value_is_the_same(rng):
    case = Case(rng)
    rows = StandardizedRows(case.X, case.scale, np.float64)
    anchors = np.flatnonzero(has_mate(case.labels))
    arguments = ClassAccuracy(case.labels), rows, case.weights, anchors, case.L
    value, gradient = evaluate(*arguments, gradient=False)
    assert value == evaluate(*arguments)[0]
    assert not gradient.any()


def test_rows_alone_in_their_class_have_no_mate():
    assert_array_equal(has_mate(np.array([0, 0, 1, 2, 2, 2, 5])), [1, 1, 0, 1, 1, 1, 0])
    assert_array_equal(has_mate(np.array([4])), [0])


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_are_standardized_and_constants_recognized(rng, sparse):
    X = rng.normal(size=(2500, 4)) * [1, 1e4, 1e-4, 0] + [0, 1e5, 1e-3, 0.1]
    scale = column_scale(csr_array(X) if sparse else X)
    assert_allclose(scale.mean, X.mean(axis=0), rtol=1e-9, atol=1e-12)
    assert_array_equal(scale.varies, [True, True, True, False])
    assert_allclose(scale.deviation[:3], X.std(axis=0)[:3], rtol=1e-6)
    assert scale.deviation[3] == 1
