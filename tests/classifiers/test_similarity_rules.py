"""The three rules of SimilarityClassifier are what their words and formulas say."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests import strategies
from tests.oracles import energy as energy_oracle
from tests.oracles import similarities as similarity_oracle
from tests.oracles import voting as oracle
from threadpoolctl import threadpool_limits

import likewise as lw
from likewise.classifiers import _rules
from likewise.similarities import _search

RULES = ("majority", "symmetric", "energy")
every_rule = pytest.mark.parametrize("rule", RULES)
short_classes = pytest.mark.filterwarnings("ignore:fewer than")


@st.composite
def problems(draw):
    """Return test rows, training rows, labels of 2 to 4 classes (also of one row), and k."""
    width = draw(st.integers(1, 3))
    tests = draw(strategies.tables(st.integers(1, 5), st.just(width)))
    rows = draw(strategies.tables(st.integers(2, 12), st.just(width)))
    names = draw(hnp.arrays(np.int64, len(rows), elements=st.integers(0, 3)))
    names[:2] = 0, 1
    labels = np.unique(names, return_inverse=True)[1]
    return tests, rows, labels, draw(st.integers(1, len(rows)))


def small_blocks():
    """Cut every search and every block of energies into pieces of one or two rows."""
    return (
        mock.patch.object(_rules, "_DISTANCES_IN_BLOCK", 5),
        mock.patch.multiple(
            _search, _QUERIES_IN_BLOCK=2, _ITEMS_IN_BLOCK=3, _SCORES_IN_BLOCK=3, _ITEMS_IN_CHUNK=4
        ),
    )


def assert_best_of(expected, predicted, tolerance=1e-9):
    """Check that the predicted class has the highest score, or one that rounding cannot tell."""
    chosen = expected[np.arange(len(expected)), predicted]
    slack = tolerance * (1 + np.abs(expected).max(axis=1))
    assert (chosen >= expected.max(axis=1) - slack).all()


@given(problem=problems())
def test_majority_shrinks_a_tied_neighbourhood_by_one(problem):
    tests, rows, labels, k = problem
    expected = oracle.majority(
        similarity_oracle.mahalanobis(1.0, tests, rows), labels, k, labels.max() + 1
    )
    fitted = lw.SimilarityClassifier(n_neighbors=k).fit(rows, labels)
    assert_allclose(fitted.predict_proba(tests), expected, rtol=1e-15)
    assert_array_equal(fitted.predict(tests), expected.argmax(axis=1))


@pytest.mark.parametrize("rule", ["symmetric", "symmetric_mean"])
@given(problem=problems())
def test_symmetric_takes_the_class_with_the_largest_summed_similarity(rule, problem):
    tests, rows, labels, k = problem
    scores = similarity_oracle.mahalanobis(1.0, tests, rows)
    mean = rule == "symmetric_mean"
    expected = oracle.symmetric(scores, labels, k, labels.max() + 1, mean=mean)
    fitted = lw.SimilarityClassifier(n_neighbors=k, rule=rule).fit(rows, labels)
    assert_best_of(expected, fitted.predict(tests))
    shares = oracle.shares_of(expected if mean else expected / k)
    assert_allclose(fitted.predict_proba(tests), shares, atol=1e-12)


@short_classes
@pytest.mark.parametrize("c", [0.0, 0.2, 1.0, 7.0])
@given(problem=problems())
def test_energy_is_the_printed_rule(c, problem):
    tests, rows, labels, k = problem
    expected = -energy_oracle.energies(tests, rows, labels, k, c)
    fitted = lw.SimilarityClassifier(n_neighbors=k, rule="energy", c=c).fit(rows, labels)
    assert_best_of(expected, fitted.predict(tests))
    assert_allclose(fitted.predict_proba(tests), oracle.shares_of(expected), atol=1e-9)


@short_classes
@every_rule
@given(problem=problems())
def test_shares_sum_to_one_and_the_predicted_class_has_the_largest(rule, problem):
    tests, rows, labels, k = problem
    fitted = lw.SimilarityClassifier(n_neighbors=k, rule=rule).fit(rows, labels)
    shares, predicted = fitted.predict_proba(tests), fitted.predict(tests)
    assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    assert (shares >= 0).all()
    assert_array_equal(shares[np.arange(len(tests)), predicted], shares.max(axis=1))


@short_classes
@pytest.mark.parametrize("c", [0.2, 7.0])
def test_random_rows_in_a_learned_metric_follow_the_rules(c, rng):
    L = rng.normal(size=(3, 4))
    tests, rows = rng.normal(size=(30, 4)), rng.normal(size=(60, 4))
    labels = rng.permutation(np.repeat([0, 1, 2, 3], [30, 20, 9, 1]))
    scores = similarity_oracle.mahalanobis(L, tests, rows)
    expected = {
        "majority": oracle.majority(scores, labels, 5, 4),
        "symmetric": oracle.symmetric(scores, labels, 5, 4),
        "energy": -energy_oracle.energies(tests @ L.T, rows @ L.T, labels, 5, c),
    }
    for rule in RULES:
        clf = lw.SimilarityClassifier(
            similarity=lw.Mahalanobis(L), n_neighbors=5, rule=rule, c=c
        ).fit(rows, labels)
        assert_array_equal(clf.predict(tests), expected[rule].argmax(axis=1))


@pytest.mark.parametrize("name", ["cosine", "dot", "dice", "jaccard"])
def test_random_rows_follow_the_rules_under_similarities_without_a_distance(name, rng):
    tests, rows = rng.random(size=(30, 4)), rng.random(size=(50, 4))
    labels = rng.permutation(np.repeat([0, 1, 2], [25, 22, 3]))
    W = 2.0 if name == "dice" else 1.0
    norm = "none" if name == "dot" else name
    scores = similarity_oracle.bilinear(W, norm, tests, rows)
    for rule in ("majority", "symmetric"):
        expected = getattr(oracle, rule)(scores, labels, 5, 3)
        clf = lw.SimilarityClassifier(similarity=name, n_neighbors=5, rule=rule).fit(rows, labels)
        assert_array_equal(clf.predict(tests), expected.argmax(axis=1))


@short_classes
@every_rule
@given(problem=problems())
def test_blocks_do_not_change_the_answer(rule, problem):
    tests, rows, labels, k = problem
    clf = lw.SimilarityClassifier(n_neighbors=k, rule=rule, c=0.5)
    whole = clf.fit(rows, labels).predict_proba(tests)
    one, other = small_blocks()
    with one, other:
        assert_allclose(clf.fit(rows, labels).predict_proba(tests), whole, rtol=1e-12)


@every_rule
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_thread_answers_as_two_do(rule, form, dtype, rng):
    rows, tests = rng.normal(size=(80, 37)).astype(dtype), rng.normal(size=(50, 37)).astype(dtype)
    labels = rng.integers(3, size=80)
    answers = []
    one, other = small_blocks()
    for n_threads in (1, 2):
        with one, other, threadpool_limits(n_threads, user_api="blas"):
            fitted = lw.SimilarityClassifier(rule=rule).fit(form(rows), labels)
            answers.append(fitted.predict_proba(form(tests)))
    assert answers[0].tobytes() == answers[1].tobytes()


@every_rule
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_single_precision_answer_alike(rule, form, dtype, rng):
    """The rows are eighths, exact in single precision: no form has an excuse."""
    rows, tests = rng.integers(-8, 9, size=(40, 5)) / 8, rng.integers(-8, 9, size=(30, 5)) / 8
    labels = rng.integers(3, size=40)
    clf = lw.SimilarityClassifier(rule=rule)
    expected = clf.fit(rows, labels).predict_proba(tests)
    found = clf.fit(form(rows.astype(dtype)), labels).predict_proba(form(tests.astype(dtype)))
    assert_allclose(found, expected, atol=1e-5)


def test_two_against_two_is_decided_by_three():
    """Nearest first b a a b: four tie two to two, three say a."""
    rows, labels = [[1.0], [2.0], [3.0], [4.0], [9.0]], ["b", "a", "a", "b", "b"]
    fitted = lw.SimilarityClassifier(n_neighbors=4).fit(rows, labels)
    assert_allclose(fitted.predict_proba([[0.0]]), [[2 / 3, 1 / 3]])
    assert fitted.predict([[0.0]]) == ["a"]


def test_one_neighbour_each_is_decided_by_the_nearest():
    rows, labels = [[3.0], [2.0], [1.0]], ["a", "b", "c"]
    fitted = lw.SimilarityClassifier(n_neighbors=3).fit(rows, labels)
    assert_array_equal(fitted.predict_proba([[0.0]]), [[0, 0, 1]])


def test_symmetric_looks_at_each_class_by_itself():
    """The nearest three are mostly a, but the three nearest of b are nearer in sum."""
    rows = [[1.0], [1.5], [9.0], [2.0], [2.1], [2.2]]
    labels = ["a", "a", "a", "b", "b", "b"]
    by = {
        rule: lw.SimilarityClassifier(rule=rule).fit(rows, labels).predict([[0.0]])[0]
        for rule in ("majority", "symmetric")
    }
    assert by == {"majority": "a", "symmetric": "b"}


@pytest.mark.parametrize(
    ("rule", "by_distance", "by_cosine"),
    [("symmetric", "many", "many"), ("symmetric_mean", "many", "few")],
)
def test_a_mean_neither_favors_nor_punishes_a_small_class(rule, by_distance, by_cosine):
    """One row at squared distance 4 against three at 1; one near cosine against three far ones."""
    rows, labels = [[1.0], [-1.0], [1.0], [2.0]], ["many", "many", "many", "few"]
    fitted = lw.SimilarityClassifier(rule=rule).fit(rows, labels)
    assert fitted.predict([[0.0]]) == [by_distance]
    fitted = lw.SimilarityClassifier(similarity="cosine", rule=rule).fit(
        [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 0.1]], labels
    )
    assert fitted.predict([[1.0, 0.0]]) == [by_cosine]


def test_energy_by_hand():
    """d(t, ·) = 1, 4 to class a; 9 to class b; T(a₁) at 1; k = 1, c = 2.

    E(a) = 1 + 2·0 + 2·0: b is farther than 1 + 1, and b has no target to invade.
    E(b) = 9 + 2·((1 + 9 − 1) + (1 + 9 − 4)) + 2·((1 + 1 − 1) + 0) = 41.
    """
    rows, labels = [[1.0], [2.0], [-3.0]], ["a", "a", "b"]
    clf = lw.SimilarityClassifier(n_neighbors=1, rule="energy", c=2.0)
    with pytest.warns(UserWarning, match=r"fewer than 2 rows in class b \(1\)"):
        clf.fit(rows, labels)
    shares = clf.predict_proba([[0.0]])[0]
    assert_allclose(np.log(shares[0]) - np.log(shares[1]), 41 - 1)


def test_energy_takes_a_precomputed_distance_as_d(rng):
    rows, tests, labels = rng.normal(size=(20, 3)), rng.normal(size=(9, 3)), np.arange(20) % 2
    by_rows = lw.SimilarityClassifier(rule="energy", c=0.2).fit(rows, labels)
    by_matrix = lw.SimilarityClassifier(
        similarity="precomputed_distance", rule="energy", c=0.2
    ).fit(energy_oracle.squared_distances(rows, rows), labels)
    matrix = energy_oracle.squared_distances(tests, rows)
    assert_allclose(by_matrix.predict_proba(matrix), by_rows.predict_proba(tests), atol=1e-9)
