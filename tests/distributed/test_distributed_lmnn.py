"""LMNN in blocks: the same targets, impostors, costs and gradients as on one machine."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.distributed.inline import InlineExecutor, run_inline

import likewise as lw
from likewise.distributed import _blocks, _impostors, _margins, _search, run_on
from likewise.distributed._columns import Columns, describe_columns
from likewise.distributed._rows import RowBlocks
from likewise.distributed._sources import load_rows
from likewise.learners.lmnn import standardize
from likewise.learners.lmnn._impostors import ImpostorSearch
from likewise.learners.lmnn._objective import Margins

GIVEN = {"max_iter": 15, "tol": 0.01}


@pytest.fixture(scope="module")
def some(digits):
    X, y = digits
    return X[:700, 1:31] + np.arange(30), y[:700]


@pytest.fixture
def pieces(some, tmp_path):
    """Return the rows in three files, of which none can be opened at any row."""
    import pyarrow
    import pyarrow.parquet

    for number, part in enumerate(np.array_split(some[0], 3)):
        table = pyarrow.table({f"x{i:02}": part[:, i] for i in range(30)})
        pyarrow.parquet.write_table(table, tmp_path / f"{number}.parquet")
    return tmp_path


@pytest.fixture
def small_groups(monkeypatch):
    monkeypatch.setattr(_margins, "_ANCHORS_IN_GROUP", 250)


def test_columns_and_targets_are_those_of_one_machine(some, pieces):
    X, y = some
    columns = describe_columns(InlineExecutor(), RowBlocks(pieces, "X", InlineExecutor()))
    assert_allclose(columns.mean, X.mean(axis=0))
    assert_allclose(columns.scale, np.where(X.std(axis=0) > 1e-9, X.std(axis=0), 1))
    euclidean = lw.as_similarity("euclidean")
    expected = lw.supervision.target_neighbors(euclidean, X, X, y, 3)
    with run_inline():
        found = lw.supervision.target_neighbors(euclidean, pieces, pieces, y, 3)
    assert_array_equal(found[0], expected[0])
    assert_allclose(found[1], expected[1])


def test_targets_of_small_classes_are_those_of_one_machine(some, tmp_path, monkeypatch):
    """In memory and in a file, where rows are taken in the order of their classes."""
    monkeypatch.setattr(_blocks, "_ROWS_IN_BLOCK", 150)
    X, y = some[0], np.where(np.arange(len(some[1])) % 100 == 7, 10, some[1])
    y[3] = 11  # alone in its class
    np.save(tmp_path / "rows.npy", X)
    euclidean = lw.as_similarity("euclidean")
    with pytest.warns(UserWarning, match="fewer than 9 rows in class"):
        expected = lw.supervision.target_neighbors(euclidean, X, X, y, 8)
    for rows in (X, tmp_path / "rows.npy"):
        with run_inline(), pytest.warns(UserWarning, match="fewer than 9 rows in class"):
            found = lw.supervision.target_neighbors(euclidean, rows, rows, y, 8)
        assert_array_equal(found[0], expected[0])
        assert_allclose(found[1], expected[1])


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([300, 300, 300], [300, 300, 300]),  # whole classes
        ([40, 30, 20, 300, 5], [90, 300, 5]),  # small ones together
        ([1000, 80], [334, 334, 332, 80]),  # a large one in parts
        ([7], [7]),
    ],
)
def test_blocks_of_classes_are_neither_small_nor_large(sizes, expected, monkeypatch):
    monkeypatch.setattr(_search, "_ROWS_OF_CLASSES", 80)
    blocks = _search.class_blocks(np.repeat(np.arange(len(sizes)), sizes), max_rows=400)
    assert [block.start for block in blocks] == np.cumsum([0, *expected])[:-1].tolist()
    assert blocks[-1].stop == sum(sizes)


def test_reordered_rows_are_those_of_the_order(some, tmp_path, rng):
    X, order = some[0], rng.permutation(len(some[0]))
    np.save(tmp_path / "rows.npy", X)
    for given in (X, tmp_path / "rows.npy"):
        executor = InlineExecutor()

        def loaded(part, executor=executor):
            return executor.result(executor.submit(load_rows, part))

        rows = RowBlocks(given, "X", executor)
        reordered = rows.reordered(order)
        assert rows.reordered(order.copy()) is reordered
        assert_array_equal(loaded(reordered.part(slice(5, 90))), X[order[5:90]])
        assert_array_equal(loaded(reordered.all()), X[order])
        assert_array_equal(reordered[np.array([7, 3, 7])], X[order[[7, 3, 7]]])
        assert_array_equal(loaded(rows.reordered(order[::-1]).all()), X[order[::-1]])


def test_groups_have_about_as_many_edges_each(some, monkeypatch, rng):
    monkeypatch.setattr(_margins, "_ANCHORS_IN_GROUP", 250)
    monkeypatch.setattr(_margins, "_ANCHORS_IN_COUNT", 8)
    executor = InlineExecutor()
    rows = RowBlocks(some[0], "X", executor)
    columns = describe_columns(executor, rows)
    anchors, targets = np.arange(700), np.zeros((700, 2), np.int64)
    margins = _margins.DistributedMargins(executor, rows, columns, anchors, targets, 1.0)
    n_edges = rng.integers(0, 100, 88) + 50 * (np.arange(88) < 20)
    groups = margins.balanced_groups(n_edges)
    assert [g.start for g in groups] + [700] == [0] + [g.stop for g in groups]
    of_anchors = np.repeat(n_edges / 8, 8)[:700] + 2
    sizes = [of_anchors[group].sum() for group in groups]
    assert len(sizes) == 3
    assert max(sizes) - min(sizes) < 2 * (n_edges.max() + 16)
    everything_in_the_last = np.zeros(88)
    everything_in_the_last[-1] = 1e9
    assert margins.balanced_groups(everything_in_the_last) == [slice(0, 700)]


@pytest.mark.parametrize("n_shares", [1, 2, 5, 40])
@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_shares_of_the_search_have_about_as_many_pairs_each(rng, n_shares, n_classes):
    labels = np.sort(rng.integers(0, n_classes, 500))
    shares = _impostors.search_shares(labels, n_shares)
    assert [share.start for share in shares] + [500] == [0] + [share.stop for share in shares]
    compared = np.triu(labels[:, None] != labels).sum(axis=1)
    sizes = [compared[share].sum() for share in shares]
    assert max(sizes) <= compared.sum() / n_shares + compared.max()


def test_impostors_do_not_depend_on_the_number_of_workers(some, rng):
    labels = np.sort(np.unique(some[1], return_inverse=True)[1])
    anchors, targets = np.arange(700), rng.integers(0, 700, (700, 3))
    one = Margins(some[0], anchors, targets, 1.0)
    L = 0.1 * np.eye(30)
    ImpostorSearch(one, labels, None).renew(L)
    for n_workers in (1, 2, 5):
        executor = InlineExecutor()
        executor.n_workers = n_workers
        columns = Columns(np.zeros(30), np.ones(30), np.float64)
        rows = RowBlocks(some[0], "X", executor)
        several = _margins.DistributedMargins(executor, rows, columns, anchors, targets, 1.0)
        assert len(several.copies) == n_workers
        _impostors.DistributedImpostorSearch(several, columns, labels, None).renew(L)
        [found] = several.parts
        for part, expected in zip(found.value._impostors, one._impostors, strict=True):
            assert_array_equal(part, expected)


@pytest.mark.parametrize(
    ("c", "n_anchors", "n_groups", "in_pieces"),
    [(0.2, 250, 3, True), (1.0, 70, 10, True), (0.2, 250, 3, False), (1.0, 70, 10, False)],
)
def test_cost_gradient_and_bound_are_sums_over_groups(
    some, pieces, monkeypatch, rng, c, n_anchors, n_groups, in_pieces
):
    monkeypatch.setattr(_margins, "_ANCHORS_IN_GROUP", n_anchors)
    X, y = some
    labels = np.unique(y, return_inverse=True)[1]
    executor = InlineExecutor()
    rows = RowBlocks(pieces if in_pieces else X, "X", executor)
    columns = describe_columns(executor, rows)
    targets = lw.supervision.target_neighbors(lw.as_similarity("euclidean"), X, X, y, 3)[0]
    anchors = np.arange(len(X))
    one = Margins(standardize(X, columns.mean, columns.scale), anchors, targets, c)
    several = _margins.DistributedMargins(executor, rows, columns, anchors, targets, c)
    assert len(several.groups) == n_groups
    assert bool(several.copies) == (n_groups == 3 and not in_pieces)
    search = ImpostorSearch(one, labels, None)
    in_blocks = _impostors.DistributedImpostorSearch(several, columns, labels, None)
    L = np.eye(30) * 0.3 + 0.01 * rng.normal(size=(30, 30))
    assert in_blocks.best_scale(L) == pytest.approx(search.best_scale(L), rel=1e-6)
    assert in_blocks.renew(L) == pytest.approx(search.renew(L))
    assert several.n_impostors == one.n_impostors > 0
    for found, expected in zip(
        (*several.cost_and_gradient(L, 0.1), *several.dual(L, 0.1)),
        (*one.cost_and_gradient(L, 0.1), *one.dual(L, 0.1)),
        strict=True,
    ):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert in_blocks.renew(L, max_pairs=1) == np.inf
    assert several.n_impostors == one.n_impostors


@pytest.mark.filterwarnings("ignore:LMNN has not converged")
@pytest.mark.parametrize("bytes_in_copy", [0, 10**6])
def test_the_map_is_that_of_one_machine(
    client, some, pieces, small_groups, tmp_path, monkeypatch, bytes_in_copy
):
    monkeypatch.setattr(_margins, "_BYTES_IN_COPY", bytes_in_copy)
    X, y = some
    file = tmp_path.with_suffix(".npy")  # not in the folder of the pieces
    np.save(file, X)
    one = lw.LMNN(**GIVEN).fit(X, y)
    for rows in (X, file, pieces):
        with run_on(client):
            found = lw.LMNN(**GIVEN).fit(rows, y)
        assert found.objective_ == pytest.approx(one.objective_, rel=1e-6)
        assert_allclose(found.components_, one.components_, atol=1e-4)
    assert found.history_[0]["impostors"] == one.history_[0]["impostors"]


@pytest.mark.filterwarnings("ignore:LMNN has not converged")
def test_comparisons_and_other_starts_are_learned_from(client, some, pieces, rng):
    X, y = some
    triplets = lw.supervision.LabelTriplets(y).draw(2000, rng)
    one = lw.LMNN(**GIVEN).fit_triplets(triplets, X)
    with run_on(client):
        found = lw.LMNN(**GIVEN).fit_triplets(triplets, pieces)
    assert found.objective_ == pytest.approx(one.objective_, rel=1e-3)
    given = {**GIVEN, "init": "pca", "n_components": 5}
    one = lw.LMNN(**given).fit(X, y)
    with run_inline():
        found = lw.LMNN(**given).fit(pieces, y)
        assert found.objective_ == pytest.approx(one.objective_, rel=1e-3)
        with pytest.raises(ValueError, match="'lda' needs rows in memory"):
            lw.LMNN(init="lda").fit(pieces, y)


def test_the_duality_gap_is_known_wherever_the_rows_are(tmp_path):
    data = lw.datasets.load("iris")
    with run_inline():
        found = lw.LMNN().fit(data.X, data.y)
        np.save(tmp_path / "rows.npy", data.X)
        from_file = lw.LMNN().fit(tmp_path / "rows.npy", data.y)
    assert 0 <= found.duality_gap_ < 0.01
    with pytest.raises(AttributeError, match="computed inside run_on"):
        _ = from_file.duality_gap_
    with run_inline():
        assert from_file.duality_gap_ == pytest.approx(found.duality_gap_, abs=1e-6)


@pytest.mark.filterwarnings("ignore:LMNN has not converged")
def test_a_killed_worker_changes_nothing(client, some, small_groups):
    X, y = some
    with run_inline():
        undisturbed = lw.LMNN(**GIVEN).fit(X, y)
    pids = client.run(os.getpid)
    killed = []

    def kill():
        until = time.monotonic() + 30
        while time.monotonic() < until:
            for address, keys in client.processing().items():
                if any(key.startswith("cost_and_gradient") for key in keys):
                    os.kill(pids[address], signal.SIGKILL)
                    killed.append(address)
                    return

    thread = threading.Thread(target=kill)
    thread.start()
    with run_on(client):
        found = lw.LMNN(**GIVEN).fit(X, y)
    thread.join()
    assert killed
    assert_array_equal(found.components_, undisturbed.components_)


def test_weights_are_those_of_one_machine_but_not_zeros(some, small_groups, rng):
    X, y = some
    weights = rng.choice([0.5, 1.0, 4.0], len(y))
    alone = lw.LMNN(tol=0.01).fit(X, y, sample_weight=weights)
    with run_inline():
        blocks = lw.LMNN(tol=0.01).fit(X, y, sample_weight=weights)
        weights[3] = 0
        with pytest.raises(ValueError, match=r"sample_weight holds zeros.* other rows alone"):
            lw.LMNN().fit(X, y, sample_weight=weights)
    assert_allclose(blocks.objective_, alone.objective_, rtol=1e-6)
    assert_allclose(blocks.components_, alone.components_, rtol=1e-3, atol=1e-6)
