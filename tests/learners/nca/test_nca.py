"""What NCA learns."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from tests.oracles import nca as oracle

import likewise as lw
from likewise.learners.nca import _optimizer


def accuracy(learned, X, y):
    """Return the share of rows whose nearest other row has their class."""
    nearest = learned.similarity_.neighbors(X, X, 1, exclude_self=True).ids[:, 0]
    return float(np.mean(np.asarray(y)[nearest] == y))


@pytest.fixture
def rows(rng):
    """Return three classes that differ in one column of four, the one that varies least."""
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) * [0.3, 3, 3, 3] + 5
    X[:, 0] += y
    return X, np.array(["a", "b", "c"])[y]


@pytest.fixture
def many():
    """Return 1,500 rows: more than are fitted at once."""
    return make_classification(
        1500, 12, n_informative=5, n_redundant=2, n_classes=4, random_state=0
    )


@pytest.mark.parametrize("objective", ["likelihood", "accuracy"])
def test_it_finds_the_column_that_tells_classes_apart(rows, objective):
    X, y = rows
    nca = lw.NCA(objective=objective, random_state=0).fit(X, y)
    euclidean = np.mean(y[KNeighborsClassifier(1).fit(X, y).kneighbors(X, 2)[1][:, 1]] == y)
    assert accuracy(nca, X, y) >= 0.9 > 0.6 > euclidean
    assert np.linalg.norm(nca.components_[:, 0]) > 3 * np.linalg.norm(nca.components_[:, 1])


@pytest.mark.parametrize("objective", ["likelihood", "accuracy"])
def test_the_objective_is_the_printed_one_at_the_map(rows, objective, rng):
    X, y = rows
    weights = rng.uniform(0.5, 2, 60)
    nca = lw.NCA(objective=objective, random_state=0).fit(X, y, weights)
    expected = getattr(oracle, objective)(nca.components_, X, y, weights)
    assert_allclose(nca.objective_, expected, rtol=1e-8)
    assert_allclose(nca.history_[-1]["objective"], expected, rtol=1e-8)
    assert [entry["iteration"] for entry in nca.history_] == list(range(1, nca.n_iter_ + 1))


def test_the_gradient_with_its_penalty_is_small_at_the_end(rows):
    X, y = rows
    nca = lw.NCA(alpha=0.1, max_iter=300, random_state=0).fit(X, y)
    deviation = X.std(axis=0)
    L = nca.components_ * deviation
    ones = np.ones(60)
    start = oracle.class_gradient(np.eye(4), X / deviation, y, ones, "likelihood")
    end = oracle.class_gradient(L, X / deviation, y, ones, "likelihood") - 2 * 0.1 * L
    assert np.abs(end).max() < 0.05 * np.abs(start).max()


def test_a_stronger_penalty_gives_a_smaller_map(rows):
    sizes = [np.abs(lw.NCA(alpha=a).fit(*rows).components_).max() for a in (0, 0.01, 1.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2] < sizes[0] / 2


def test_the_default_penalty_is_two_over_the_number_of_rows(rows):
    usual = lw.NCA(random_state=0).fit(*rows)
    assert_array_equal(usual.components_, lw.NCA(alpha=2 / 60).fit(*rows).components_)


def test_it_reaches_the_expected_accuracy_of_scikit_learn(rows):
    X, y = rows
    theirs = NeighborhoodComponentsAnalysis(random_state=0).fit(X, y).components_
    ours = lw.NCA(objective="accuracy", alpha=0).fit(X, y)
    ones = np.ones(60)
    assert ours.objective_ > oracle.accuracy(theirs, X, y, ones) - 0.02


@pytest.mark.parametrize("n_references", [500, 2048, None])
def test_many_rows_are_learned_from_samples(many, n_references):
    X, y = many
    nca = lw.NCA(n_references=n_references, random_state=0).fit(X[:1200], y[:1200])
    after = KNeighborsClassifier(3).fit(nca.transform(X[:1200]), y[:1200])
    before = KNeighborsClassifier(3).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:])
    assert after.score(nca.transform(X[1200:]), y[1200:]) > before + 0.03
    assert nca.n_iter_ == 200
    objectives = [entry["objective"] for entry in nca.history_]
    assert np.mean(objectives[-20:]) > np.mean(objectives[:20]) + 0.05


@pytest.mark.parametrize(
    ("n_rows", "n_references", "drawn"),
    [
        (1000, 300, 1000),
        (1200, 2048, 1000),
        (1200, 1100, 1000),
        (1200, 300, 300),
        (2600, 2048, 1300),
        (2600, 1100, 1100),
        (2600, None, 2600),
        (5000, 2048, 2048),
    ],
)
def test_a_step_draws_at_most_half_of_the_rows_or_a_thousand(
    rng, monkeypatch, n_rows, n_references, drawn
):
    evaluate, sizes = _optimizer.evaluate, set()

    def counted(objective, rows, weights, *arguments, **options):
        sizes.add(len(weights))
        return evaluate(objective, rows, weights, *arguments, **options)

    monkeypatch.setattr(_optimizer, "evaluate", counted)
    X, y = rng.normal(size=(n_rows, 3)), np.arange(n_rows) % 4
    lw.NCA(n_references=n_references, max_iter=2, random_state=0).fit(X, y)
    assert sizes == {drawn}


@pytest.mark.parametrize("n_rows", [300, 1500])
def test_the_unit_of_the_rows_does_not_matter(many, n_rows):
    X, y = many[0][:n_rows], many[1][:n_rows]
    usual = lw.NCA(max_iter=30, random_state=0).fit(X, y)
    other = lw.NCA(max_iter=30, random_state=0).fit(1000 * X + 1e4, y)
    assert_allclose(1000 * other.components_, usual.components_, rtol=0.02, atol=0.02)


def test_the_scale_of_one_column_does_not_matter_from_the_same_start(rows):
    X, y = rows
    factor = np.array([1, 100, 1, 0.01])
    usual = lw.NCA(init=np.eye(4)).fit(X, y)
    other = lw.NCA(init=np.diag(1 / factor)).fit(X * factor, y)
    assert_allclose(other.components_ * factor, usual.components_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("container", [csr_array, csr_matrix])
@pytest.mark.parametrize("n_rows", [300, 1500])
def test_csr_learns_what_dense_rows_learn(many, container, n_rows):
    X, y = np.where(many[0] > 0.5, many[0], 0)[:n_rows], many[1][:n_rows]
    dense = lw.NCA(max_iter=20, random_state=0).fit(X, y)
    sparse = lw.NCA(max_iter=20, random_state=0).fit(container(X), y)
    assert_allclose(sparse.components_, dense.components_, rtol=1e-3, atol=1e-3)
    assert_allclose(sparse.transform(container(X)), sparse.transform(X), rtol=1e-10, atol=1e-12)


def test_csr_starts_at_its_principal_axes(many):
    X, y = np.where(many[0] > 0.5, many[0], 0), many[1]
    dense = lw.NCA(2, max_iter=5, random_state=0).fit(X, y)
    sparse = lw.NCA(2, max_iter=5, random_state=0).fit(csr_array(X), y)
    before = dense.similarity_.score(X[:9], X[:9])
    assert_allclose(sparse.similarity_.score(X[:9], X[:9]), before, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_map_has_the_type_of_the_rows(many, dtype):
    nca = lw.NCA(max_iter=3, random_state=0).fit(many[0].astype(dtype), many[1])
    assert nca.components_.dtype == nca.transform(many[0].astype(dtype)).dtype == dtype


def test_fewer_components_start_at_the_principal_axes(rows):
    X, y = rows
    nca = lw.NCA(2, random_state=0).fit(X, y)
    assert nca.transform(X).shape == (60, 2)
    for init in ("pca", "auto"):  # auto is the former name of identity
        given = lw.NCA(2, init=init, random_state=0).fit(X, y)
        assert_array_equal(nca.components_, given.components_)


@pytest.mark.parametrize("init", ["identity", "pca", "lda", np.diag([3.0, 1, 1, 1])])
def test_starts(rows, init):
    X, y = rows
    assert accuracy(lw.NCA(init=init, random_state=0).fit(X, y), X, y) >= 0.85


@pytest.mark.parametrize("objective", ["likelihood", "accuracy"])
@pytest.mark.parametrize("n_rows", [900, 1500])
def test_a_seed_fixes_every_bit_for_any_number_of_threads(many, two_threads, n_rows, objective):
    X, y = many[0][:n_rows], many[1][:n_rows]

    def map_of(**options):
        nca = lw.NCA(max_iter=5, objective=objective, **options).fit(X, y)
        return nca.components_.tobytes()

    maps = {map_of(n_jobs=n_jobs, random_state=3) for n_jobs in (None, 1, 2)}
    assert len(maps) == 1
    assert map_of(random_state=4) not in maps


@pytest.mark.parametrize("n_rows", [300, 1500])
def test_a_row_of_weight_zero_leaves_no_trace(many, n_rows):
    X, y = many[0][:n_rows].copy(), many[1][:n_rows].copy()
    weights = np.ones(n_rows)
    weights[7], X[7], y[7] = 0, 1e6, 99
    kept = weights > 0
    nca = lw.NCA(max_iter=10, random_state=0)
    with_row = nca.fit(X, y, weights).components_
    assert_array_equal(with_row, nca.fit(X[kept], y[kept]).components_)


def test_weights_matter_only_relative_to_each_other(rows, rng):
    weights = rng.uniform(0.2, 3, 60)
    one = lw.NCA(random_state=0).fit(*rows, weights).components_
    assert_allclose(lw.NCA().fit(*rows, 8 * weights).components_, one, rtol=1e-6, atol=1e-9)
    assert not np.allclose(lw.NCA().fit(*rows).components_, one, rtol=1e-2)


def test_a_class_of_one_row_is_a_neighbor_but_chooses_none(rows):
    X, y = rows[0].copy(), rows[1].astype("<U6")
    y[4] = "lonely"
    nca = lw.NCA(random_state=0).fit(X, y)
    expected = oracle.likelihood(nca.components_, X, y, np.ones(60))
    assert_allclose(nca.objective_, expected, rtol=1e-8)


def test_many_classes_of_two_rows_are_learned_from_the_pairs_that_are_drawn(rng):
    y = np.arange(3000) % 1500
    X = rng.normal(size=(1500, 6))[y] + rng.normal(size=(3000, 6)) * [0.1, 0.1, 0.1, 5, 5, 5]
    nca = lw.NCA(n_references=600, random_state=0).fit(X, y)
    size = np.linalg.norm(nca.components_ * X.std(axis=0), axis=0)
    assert size[:3].min() > 2 * size[3:].max()


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
def test_a_sample_without_any_pair_is_skipped(rng):
    y = np.append(np.arange(1998), [0, 1])
    X = rng.normal(size=(2000, 3))
    nca = lw.NCA(n_references=2, max_iter=4, random_state=0).fit(X, y)
    assert np.isfinite(nca.components_).all()
    assert nca.n_iter_ == 4


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 + 0.1])
def test_a_constant_column_changes_nothing(rows, value):
    X, y = rows
    more = np.hstack([X, np.full((60, 1), value)])
    usual, nca = lw.NCA(random_state=0).fit(X, y), lw.NCA(random_state=0).fit(more, y)
    assert_allclose(nca.objective_, usual.objective_, rtol=1e-3)


def test_rows_that_are_all_alike_leave_nothing_to_learn():
    nca = lw.NCA().fit(np.ones((9, 3)), np.arange(9) % 3)
    assert_allclose(nca.objective_, np.log(2 / 8))
    assert np.isfinite(nca.components_).all()


def test_a_warm_start_goes_on_from_the_last_map(rows):
    nca = lw.NCA(warm_start=True, random_state=0).fit(*rows)
    before = nca.objective_
    nca.set_params(max_iter=1).fit(*rows)
    assert nca.objective_ > before - 1e-3
    assert nca.n_iter_ == 1


def test_memory_does_not_grow_with_the_square_of_the_rows(rng):
    X, y = rng.normal(size=(20_000, 8)).astype(np.float32), np.arange(20_000) % 5
    lw.NCA(max_iter=2).fit(X[:1500], y[:1500])
    tracemalloc.start()
    lw.NCA(max_iter=3, n_references=None, random_state=0).fit(X, y)
    all_references = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    lw.NCA(max_iter=3, random_state=0).fit(X, y)
    sample = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all_references < 20_000 * 20_000 * 4 / 20
    assert sample < 15e6


def test_a_fit_needs_less_than_twice_its_rows_and_a_step_ten_megabytes(rng, monkeypatch):
    X, y = rng.standard_normal((60_000, 50), np.float32), np.arange(60_000) % 10
    lw.NCA(max_iter=1, random_state=0).fit(X[:1500], y[:1500])
    evaluate, steps = _optimizer.evaluate, []

    def measured(*arguments, **options):
        before = tracemalloc.get_traced_memory()[0]
        result = evaluate(*arguments, **options)
        steps.append(tracemalloc.get_traced_memory()[1] - before)
        return result

    tracemalloc.start()
    lw.NCA(max_iter=2, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    monkeypatch.setattr(_optimizer, "evaluate", measured)
    nca = lw.NCA(max_iter=2, random_state=0, warm_start=True)
    nca.components_ = np.eye(50)  # without a search for the scale, which needs more
    tracemalloc.reset_peak()
    nca.fit(X, y)
    tracemalloc.stop()
    assert peak < 2 * X.nbytes
    assert max(steps) < 10e6
