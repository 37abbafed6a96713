"""RCA: its closed form, its invariance, the contract of learners, and bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts import cases, checks
from tests.oracles import rca as oracle

import likewise as lw


@pytest.fixture
def rows(rng):
    y = np.array(["ash", "beech", "cedar"])[np.arange(60) % 3]
    X = rng.normal(size=(60, 4)) * [1, 5, 0.2, 1] + (y == "ash")[:, None] * [2, 0, 0, 0]
    return X, y


@parametrize_with_checks([lw.RCA()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", checks.SIMILARITY, ids=lambda check: check.__name__)
def test_what_is_learned_keeps_the_contract_of_similarities(rows, check):
    X, y = rows
    learned = lw.RCA().fit(X, y).similarity_
    check(cases.Case("RCA", learned, X[:7], X[7:16], serves=("euclidean", "inner_product")))


@pytest.mark.parametrize("as_rows", [np.asarray, csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_metric_is_the_inverse_of_the_covariance_within_classes(rows, as_rows, weighted, rng):
    X, y = rows
    weights = rng.integers(0, 4, 60).astype(float) if weighted else None
    rca = lw.RCA().fit(as_rows(X), y, sample_weight=weights)
    expected = oracle.covariance(X, y, weights)
    assert_allclose(rca.covariance_, expected, atol=1e-10)
    L = rca.components_
    assert_allclose(L.T @ L, np.linalg.inv(expected), rtol=1e-7, atol=1e-9)
    assert_allclose(oracle.covariance(rca.transform(X), y, weights), np.eye(4), atol=1e-7)


def test_distances_do_not_depend_on_the_units_of_the_features(rows, rng):
    X, y = rows
    A = rng.normal(size=(4, 4))
    plain, mapped = lw.RCA().fit(X, y), lw.RCA().fit(X @ A, y)
    expected = plain.similarity_.distance(X[:5], X)
    assert_allclose(mapped.similarity_.distance(X[:5] @ A, X @ A), expected, atol=1e-6)


def test_components_are_those_of_fisher(rows):
    """The kept directions have the largest ratio of total to within variance."""
    X, y = rows
    rca = lw.RCA(2).fit(X, y)
    total = oracle.covariance(X, np.zeros(60))
    ratios = np.linalg.eigvals(np.linalg.solve(oracle.covariance(X, y), total)).real
    found = np.diag(rca.components_ @ total @ rca.components_.T)
    assert_allclose(found, np.sort(ratios)[::-1][:2])
    within = rca.components_ @ oracle.covariance(X, y) @ rca.components_.T
    assert_allclose(within, np.eye(2), atol=1e-9)


def test_shrinkage_moves_the_covariance_towards_the_identity(rows):
    X, y = rows
    C = oracle.covariance(X, y)
    half = lw.RCA(shrinkage=0.5).fit(X, y).covariance_
    assert_allclose(half, 0.5 * C + 0.5 * np.trace(C) / 4 * np.eye(4))
    whole = lw.RCA(shrinkage=1).fit(X, y).components_
    assert_allclose(whole, whole[0, 0] * np.eye(4), atol=1e-12)


def test_a_direction_without_variation_has_the_smallest_variance(rows):
    X, y = rows
    constant = np.column_stack([X, np.ones(60)])
    L = lw.RCA().fit(constant, y).components_
    smallest = np.linalg.eigvalsh(oracle.covariance(X, y))[0]
    assert_allclose(L[4], [0, 0, 0, 0, smallest**-0.5], atol=1e-8)


def test_a_classifier_takes_it_and_a_file_holds_it(rows, tmp_path):
    X, y = rows
    clf = lw.SimilarityClassifier(learner=lw.RCA()).fit(X, y)
    lw.save(clf, tmp_path / "rca.safetensors")
    assert_array_equal(lw.load(tmp_path / "rca.safetensors").predict(X), clf.predict(X))
    lw.save(clf.learner_, tmp_path / "learner.safetensors")
    loaded = lw.load(tmp_path / "learner.safetensors")
    assert_array_equal(loaded.transform(X), clf.learner_.transform(X))


def test_it_helps_where_a_class_varies_without_reason():
    wine = lw.datasets.load("wine")
    plain, learned = (
        lw.SimilarityClassifier(learner=learner)
        .fit(wine.X[::2], wine.y[::2])
        .score(wine.X[1::2], wine.y[1::2])
        for learner in (None, lw.RCA())
    )
    assert learned > plain + 0.15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shrinkage": 2}, "shrinkage must be"),
        ({"n_components": 9}, "n_components is 9, but X has only 4 features"),
        ({"n_components": 0}, "n_components must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(rows, options, message):
    with pytest.raises(ValueError, match=message):
        lw.RCA(**options).fit(*rows)


def test_rows_without_variation_within_classes_are_refused():
    with pytest.raises(ValueError, match="a single row of each class"):
        lw.RCA().fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="X does not vary within any class"):
        lw.RCA().fit(np.eye(2)[[0, 0, 1, 1]], [0, 0, 1, 1])
