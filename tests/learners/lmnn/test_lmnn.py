"""What LMNN learns, from labels and from triplets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from tests.oracles import energy
from tests.oracles import lmnn as oracle

import likewise as lw
from likewise.learners.lmnn import LargeMarginProblem
from likewise.supervision import target_neighbors


def LMNN(n_neighbors=2, **parameters):
    """Return a learner on one thread, which is quicker for few rows."""
    return lw.LMNN(n_neighbors, **{"n_jobs": 1, **parameters})


@pytest.fixture
def rows(rng):
    y = np.array(["a", "b", "c"])[np.arange(45) % 3]
    return rng.normal(size=(45, 4)) * [1, 1, 1, 8] + (y == "a")[:, None] * [2, 0, 0, 0], y


def euclidean_targets(X, y, k):
    return target_neighbors(lw.as_similarity("euclidean"), X, X, y, k)[0]


def printed_objective(lmnn, X, y, k=2, c=1.0):
    targets = energy.targets(energy.squared_distances(X, X), y, k)
    return oracle.objective(lmnn.components_, X, *oracle.label_triplets(y, targets), c)


def test_wine_comes_close_to_its_optimum():
    data = lw.datasets.load("wine")
    lmnn = lw.LMNN(3, c=1.0, tol=1e-4).fit(StandardScaler().fit_transform(data.X), data.y)
    assert lmnn.objective_ <= 417.9
    assert lmnn.duality_gap_ <= 1e-3


@pytest.mark.parametrize("c", [0.2, 7.0])
@pytest.mark.parametrize("n_components", [None, 2])
def test_the_objective_is_the_printed_one_at_the_map(rows, c, n_components):
    lmnn = LMNN(c=c, n_components=n_components).fit(*rows)
    assert_allclose(lmnn.objective_, printed_objective(lmnn, *rows, c=c), rtol=1e-9)
    assert lmnn.components_.shape == (n_components or 4, 4)
    assert lmnn.n_iter_ >= 1


@pytest.mark.parametrize("offset", [0.0, 5.0])
@pytest.mark.parametrize("scale", [1e-3, 0.1, 10.0, 1e4])
def test_the_unit_of_the_rows_does_not_matter(rows, scale, offset):
    X, y = rows
    Y = scale * (X + offset)
    usual, other = LMNN().fit(X, y), LMNN().fit(Y, y)
    assert_allclose(other.objective_, usual.objective_, rtol=1e-6)
    before = usual.similarity_.neighbors(X, X, 3, exclude_self=True)
    after = other.similarity_.neighbors(Y, Y, 3, exclude_self=True)
    assert_array_equal(after.ids, before.ids)
    assert_allclose(after.scores, before.scores, rtol=1e-3, atol=1e-4)


def test_the_order_of_the_rows_does_not_matter(rows, rng):
    """Sums in another order round otherwise, and descents that part by that meet again."""
    X, y = rows
    order = rng.permutation(len(X))
    one, other = (LMNN(tol=1e-5, max_iter=1000).fit(X[o], y[o]) for o in (slice(None), order))
    assert_allclose(other.objective_, one.objective_, rtol=2e-5)
    M, N = (lmnn.components_.T @ lmnn.components_ for lmnn in (one, other))
    assert np.linalg.norm(M - N) <= 1e-2 * np.linalg.norm(M)


def test_in_the_order_of_labels_it_is_the_same_problem(rng):
    labels = np.array([2, 0, 1, 0, 2, 1, 0])
    targets = np.array([[4, -1], [3, 6], [5, -1], [6, 1], [0, -1], [2, -1], [1, 3]])
    weights = rng.random(7)
    given = LargeMarginProblem(None, labels, np.arange(7), targets, None, 1.0, weights)
    ordered, order = given.in_label_order()
    assert_array_equal(order, [1, 3, 6, 2, 5, 0, 4])
    assert_array_equal(ordered.labels, labels[order])
    assert_array_equal(ordered.weights, weights[order])
    for place, row in enumerate(order):
        back = [-1 if target < 0 else order[target] for target in ordered.targets[place]]
        assert_array_equal(back, targets[row])
    comparisons = given._replace(labels=None)
    assert comparisons.in_label_order() == (comparisons, None)


def test_the_number_of_threads_changes_no_bit(rng, two_threads):
    y = rng.integers(0, 3, 1500)
    X = rng.normal(size=(1500, 4)) + y[:, None]
    maps = {lw.LMNN(1, tol=0.01, n_jobs=n).fit(X, y).components_.tobytes() for n in (1, 2, None)}
    assert len(maps) == 1


def test_a_second_fit_gives_the_same_bits(rows):
    lmnn = LMNN()
    first = lmnn.fit(*rows).components_.tobytes()
    assert lmnn.fit(*rows).components_.tobytes() == first


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_precision_of_the_rows_is_kept(rows, dtype):
    X, y = rows
    lmnn = LMNN().fit(X.astype(dtype), y)
    assert lmnn.components_.dtype == lmnn.transform(X.astype(dtype)).dtype == dtype
    assert_allclose(lmnn.objective_, LMNN().fit(X, y).objective_, rtol=1e-3)
    assert_allclose(lmnn.objective_, printed_objective(lmnn, X.astype(dtype), y), rtol=1e-4)


def test_whole_numbers_are_taken_as_double(rows):
    assert LMNN().fit((9 * rows[0]).astype(int), rows[1]).components_.dtype == np.float64


def test_default_targets_given_are_the_default(rows):
    X, y = rows
    given = LMNN().fit(X, y, target_neighbors=euclidean_targets(X, y, 2))
    assert_array_equal(given.components_, LMNN().fit(X, y).components_)


def test_targets_are_used_as_given(rows, rng):
    X, y = rows
    targets = np.array([rng.choice(np.flatnonzero(y == own), 1) for own in y])
    targets[targets[:, 0] == np.arange(len(y))] = -1
    lmnn = LMNN().fit(X, y, targets)
    parts = oracle.label_triplets(y, targets)
    assert_allclose(lmnn.objective_, oracle.objective(lmnn.components_, X, *parts, 1.0), rtol=1e-9)
    assert lmnn.objective_ < oracle.objective(LMNN().fit(X, y).components_, X, *parts, 1.0)


@pytest.mark.parametrize("c", [0.2, 7.0])
def test_triplets_are_pulled_once_a_pair_and_pushed_each(rng, c):
    X = rng.normal(size=(20, 3))
    triplets = np.array([rng.choice(20, 3, replace=False) for _ in range(50)])
    triplets = np.vstack([triplets, triplets[:5]])  # said twice counts twice
    lmnn = LMNN(c=c).fit_triplets(triplets, X)
    pairs = {(i, j) for i, j, _ in triplets.tolist()}
    expected = oracle.objective(lmnn.components_, X, pairs, triplets.tolist(), c)
    assert_allclose(lmnn.objective_, expected, rtol=1e-9)
    shuffled = LMNN(c=c).fit_triplets(rng.permutation(triplets), X)
    assert_allclose(shuffled.objective_, lmnn.objective_, rtol=1e-12)


def test_triplets_that_one_column_explains_are_satisfied(rng):
    X = rng.normal(size=(40, 4)) * [1, 9, 9, 9]
    triplets = []
    while len(triplets) < 300:
        i, j, n = rng.choice(40, 3, replace=False)
        near, far = abs(X[i, 0] - X[j, 0]), abs(X[i, 0] - X[n, 0])
        if near + 0.2 < far:
            triplets.append([i, j, n])
    i, j, n = np.array(triplets).T
    lmnn = LMNN(c=50.0, max_iter=1000).fit_triplets(triplets, X)
    s = lmnn.similarity_
    assert (s.score_pairs(X[i], X[j]) > s.score_pairs(X[i], X[n])).mean() >= 0.99
    euclid = lw.as_similarity("euclidean")
    assert (euclid.score_pairs(X[i], X[j]) > euclid.score_pairs(X[i], X[n])).mean() < 0.75


def test_label_triplets_and_labels_are_one_problem(rows):
    X, y = rows
    _, triplets = oracle.label_triplets(y, euclidean_targets(X, y, 2))
    by_triplets = LMNN(tol=1e-5, max_iter=1000).fit_triplets(triplets, X)
    by_labels = LMNN(tol=1e-5, max_iter=1000).fit(X, y)
    assert_allclose(by_triplets.objective_, by_labels.objective_, rtol=1e-4)


@pytest.mark.parametrize("init", ["identity", "pca", "array"])
def test_every_start_leads_to_the_same_optimum(rows, rng, init):
    start = rng.normal(size=(4, 4)) if init == "array" else init
    found = LMNN(init=start, tol=1e-5, max_iter=2000).fit(*rows)
    assert_allclose(found.objective_, LMNN(tol=1e-5, max_iter=2000).fit(*rows).objective_, 1e-4)


def test_lda_starts_with_a_component_less_than_classes(rows):
    lmnn = LMNN(init="lda").fit(*rows)
    assert lmnn.components_.shape == (2, 4)
    assert lmnn.history_[0]["objective"] >= lmnn.objective_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_goes_on_where_the_last_fit_ended(rows):
    lmnn = LMNN(max_iter=4, warm_start=True).fit(*rows)
    for _ in range(3):
        before = lmnn.objective_
        lmnn.fit(*rows)
        assert_allclose(lmnn.history_[0]["objective"], before, rtol=1e-9)
        assert lmnn.objective_ <= before * (1 + 1e-9)
    cold = LMNN(max_iter=4).fit(*rows).fit(*rows)
    assert lmnn.objective_ < cold.objective_


def test_too_few_steps_are_told():
    data = lw.datasets.load("wine")
    with pytest.warns(ConvergenceWarning, match="LMNN has not converged in 7 steps: raise max_it"):
        lmnn = LMNN(max_iter=7).fit(data.X, data.y)
    assert lmnn.n_iter_ == 7
    assert lmnn.objective_ < lmnn.history_[0]["objective"]


def test_the_history_tells_how_it_went(rows):
    lmnn = LMNN(tol=1e-4).fit(*rows)
    iterations, objectives, impostors, seconds = (
        [milestone[name] for milestone in lmnn.history_]
        for name in ("iteration", "objective", "impostors", "seconds")
    )
    assert iterations[0] == 0
    assert iterations[-1] == lmnn.n_iter_
    assert (np.diff(iterations) >= 0).all()
    assert (np.diff(seconds) >= 0).all()
    assert min(impostors) > 0
    assert min(objectives) == lmnn.objective_
    assert objectives[0] > lmnn.objective_


def test_the_map_is_the_similarity(rows):
    X, y = rows
    lmnn = LMNN(n_components=3).fit(X, y)
    Z = lmnn.transform(X)
    assert_allclose(Z, X @ lmnn.components_.T)
    expected = np.sqrt(energy.squared_distances(Z, Z))
    assert_allclose(lmnn.similarity_.distance(X, X), expected, atol=1e-6)
    assert_array_equal(lmnn.similarity_.L, lmnn.components_)


@pytest.mark.parametrize("n_components", [None, 2])
def test_rows_the_energy_rule_and_the_learner_agree(rows, n_components):
    X, y = rows
    learned = LMNN(n_components=n_components).fit(X, y).similarity_
    parameters = {"rule": "energy", "n_neighbors": 2, "c": 0.5}
    whole = lw.SimilarityClassifier(learner=LMNN(n_components=n_components), **parameters)
    apart = lw.SimilarityClassifier(similarity=learned, **parameters)
    tests = X + 0.3
    found, expected = (each.fit(X, y).predict_proba(tests) for each in (whole, apart))
    assert_array_equal(found, expected)


@pytest.mark.parametrize("scale", [lambda X: X, StandardScaler().fit_transform])
def test_the_defaults_converge_on_correlated_features(scale):
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    lmnn = lw.LMNN().fit(scale(X), y)  # a warning would be an error
    assert lmnn.n_iter_ < 100
    assert lmnn.duality_gap_ < 0.01


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_learned_from_as_dense_ones(rng, dtype):
    X, y = rng.normal(size=(60, 5)).astype(dtype), np.arange(60) % 3
    X[rng.random(X.shape) < 0.5] = 0
    dense, sparse = lw.LMNN().fit(X, y), lw.LMNN().fit(csr_array(X), y)
    assert sparse.components_.dtype == dtype
    assert_array_equal(sparse.components_, dense.components_)
    assert_allclose(sparse.transform(csr_array(X)), dense.transform(X), rtol=1e-5, atol=1e-6)
    triplets = [[0, 3, 1], [1, 4, 2]]
    assert_array_equal(
        lw.LMNN().fit_triplets(triplets, csr_array(X)).components_,
        lw.LMNN().fit_triplets(triplets, X).components_,
    )


def test_sparse_rows_that_are_too_wide_are_refused():
    with pytest.raises(ValueError, match=r"2001 features.* limit is 2000.* as by TruncatedSVD"):
        lw.LMNN().fit(csr_array((4, 2001)), [0, 0, 1, 1])


def test_the_weighted_objective_is_the_printed_one_and_near_its_optimum(rows, rng):
    X, y = rows
    weights = rng.choice([0.2, 1.0, 5.0], len(y))
    lmnn = LMNN().fit(X, y, sample_weight=weights)
    parts = oracle.label_triplets(y, euclidean_targets(X, y, 2))
    relative = weights / weights.mean()
    expected = oracle.objective(lmnn.components_, X, *parts, 1.0, weights=relative)
    assert_allclose(lmnn.objective_, expected, rtol=1e-9)
    assert lmnn.duality_gap_ < 0.01
    plain = LMNN().fit(X, y)
    assert expected < oracle.objective(plain.components_, X, *parts, 1.0, weights=relative)


def test_given_targets_of_weight_zero_are_missing_targets(rows):
    X, y = rows
    targets = euclidean_targets(X, y, 2)
    weights = np.ones(len(y))
    weights[[3, 10]] = 0
    kept = np.flatnonzero(weights)
    number = np.full(len(y), -1)
    number[kept] = np.arange(len(kept))
    found = LMNN().fit(X, y, targets, sample_weight=weights)
    expected = LMNN().fit(X[kept], y[kept], np.where(targets < 0, -1, number[targets])[kept])
    assert_array_equal(found.components_, expected.components_)
