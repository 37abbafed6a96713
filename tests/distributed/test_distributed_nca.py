"""NCA and MLKR on rows that are not in memory: the same samples as on one machine."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.datasets import make_classification, make_friedman1
from tests.distributed.inline import run_inline

import likewise as lw
from likewise.distributed import run_on
from likewise.learners.linear_map import column_moments, combined_moments
from likewise.learners.nca import _optimizer


@pytest.fixture(scope="module")
def classes():
    X, y = make_classification(2600, 12, n_informative=8, n_classes=4, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def numbers():
    return make_friedman1(2400, 8, noise=0.5, random_state=0)


def pieces(X, folder, n_files=4):
    """Write rows into Parquet files, and return their folder."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir()
    for number, part in enumerate(np.array_split(X, n_files)):
        table = pyarrow.table({f"x{i:02}": part[:, i] for i in range(X.shape[1])})
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet", row_group_size=300)
    return folder


def in_place(X, place, folder):
    """Return rows as a source that a cluster reads."""
    if place == "npy":
        np.save(folder / "rows.npy", X)
        return folder / "rows.npy"
    if place == "parquet":
        return pieces(X, folder / "rows")
    if place == "csr":
        return [csr_array(X[:1000]), csr_array(X[1000:])]
    import dask.array

    return dask.array.from_array(X, chunks=(700, -1))


@pytest.mark.parametrize("place", ["npy", "parquet", "dask", "csr"])
def test_the_map_is_that_of_one_machine(client, classes, place, tmp_path):
    X, y = classes
    given = {"n_references": 400, "max_iter": 60, "random_state": 0}
    one = lw.NCA(**given).fit(X, y)
    rows = in_place(X, place, tmp_path)
    with run_on(client):
        found = lw.NCA(**given).fit(rows, y)
    assert [entry["iteration"] for entry in found.history_] == list(range(1, 61))
    assert_allclose(found.components_, one.components_, rtol=1e-3, atol=1e-3)
    assert found.objective_ == pytest.approx(one.objective_, rel=1e-3)
    assert found.n_features_in_ == 12


@pytest.mark.parametrize("steps_per_read", [1, 7, 1000])
def test_the_map_does_not_depend_on_the_samples_read_together(
    classes, steps_per_read, tmp_path, monkeypatch
):
    X, y = classes
    given = {"n_references": 300, "max_iter": 20, "random_state": 1}
    rows = in_place(X, "npy", tmp_path)
    with run_inline():
        expected = lw.NCA(**given).fit(rows, y)
        monkeypatch.setattr(_optimizer, "_BYTES_READ_AHEAD", steps_per_read * 8 * 300 * 12)
        found = lw.NCA(**given).fit(rows, y)
    np.testing.assert_array_equal(found.components_, expected.components_)
    assert found.objective_ == expected.objective_


def test_only_the_samples_come_into_this_process(classes, tmp_path, monkeypatch):
    from likewise.distributed._rows import RowBlocks

    X, y = classes
    read = []
    take = RowBlocks.__getitem__

    def counted(self, index):
        read.append(len(index))
        return take(self, index)

    monkeypatch.setattr(RowBlocks, "__getitem__", counted)
    rows = in_place(X, "npy", tmp_path)
    with run_inline():
        lw.NCA(n_references=100, max_iter=5, random_state=0).fit(rows, y)
    # the scale, five steps together, the final objective
    assert read == [2048, 500, 100]


@pytest.mark.parametrize("init", ["pca", "identity"])
def test_other_starts_and_few_components(classes, tmp_path, init):
    X, y = classes
    given = {"n_components": 3, "init": init, "n_references": 300, "max_iter": 30}
    one = lw.NCA(**given, random_state=0).fit(X, y)
    rows = in_place(X, "parquet", tmp_path)
    with run_inline():
        found = lw.NCA(**given, random_state=0).fit(rows, y)
        mapped = found.transform(rows)
    assert_allclose(found.components_, one.components_, rtol=1e-3, atol=1e-3)
    assert_allclose(mapped, X @ found.components_.T, atol=1e-9)


def test_few_rows_in_a_file_are_fitted_at_once(tmp_path):
    data = lw.datasets.load("iris")
    one = lw.NCA(random_state=0).fit(data.X, data.y)
    rows = in_place(data.X.astype(np.float64), "npy", tmp_path)
    with run_inline():
        found = lw.NCA(n_references=None, random_state=0).fit(rows, data.y)
    assert found.objective_ == pytest.approx(one.objective_, rel=1e-6)


def test_weights_are_those_of_one_machine_but_not_zeros(classes, tmp_path, rng):
    X, y = classes
    weights = rng.choice([0.5, 1.0, 4.0], len(y))
    given = {"n_references": 300, "max_iter": 20, "random_state": 0}
    one = lw.NCA(**given).fit(X, y, sample_weight=weights)
    rows = in_place(X, "npy", tmp_path)
    with run_inline():
        found = lw.NCA(**given).fit(rows, y, sample_weight=weights)
        weights[3] = 0
        with pytest.raises(ValueError, match=r"sample_weight holds zeros.* other rows alone"):
            lw.NCA(**given).fit(rows, y, sample_weight=weights)
    assert_allclose(found.components_, one.components_, rtol=1e-3, atol=1e-3)


def test_what_needs_all_rows_is_refused_before_any_are_read(classes, tmp_path):
    X, y = classes
    rows = in_place(X, "parquet", tmp_path)
    with run_inline():
        for learner in (lw.NCA(n_references=None), lw.MLKR(n_references=None)):
            with pytest.raises(ValueError, match=r"n_references is None.* give a number"):
                learner.fit(rows, y)
        with pytest.raises(ValueError, match="'lda' needs rows in memory"):
            lw.NCA(init="lda").fit(rows, y)
        with pytest.raises(ValueError, match="X has 2600 rows and y has 5"):
            lw.NCA().fit(rows, y[:5])


def test_integers_in_a_file_are_read_as_numbers(tmp_path, rng):
    X, y = rng.integers(0, 9, (1500, 5)), rng.integers(0, 2, 1500)
    given = {"n_references": 200, "max_iter": 10, "random_state": 0}
    rows = in_place(X.astype(np.uint8), "npy", tmp_path)
    with run_inline():
        found = lw.NCA(**given).fit(rows, y)
    expected = lw.NCA(**given).fit(X.astype(np.float64), y).components_
    assert_allclose(found.components_, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("place", ["npy", "dask"])
def test_mlkr_learns_and_predicts_as_on_one_machine(client, numbers, place, tmp_path):
    X, y = numbers
    given = {"n_references": 500, "max_iter": 40, "random_state": 0}
    one = lw.MLKR(**given).fit(X, y)
    rows = in_place(X, place, tmp_path)
    np.save(tmp_path / "numbers.npy", y)
    with run_on(client):
        found = lw.MLKR(**given).fit(rows, tmp_path / "numbers.npy")
        predicted = found.predict(rows)
    assert_allclose(found.components_, one.components_, rtol=1e-3, atol=1e-3)
    assert_allclose(found.embedding_, X @ found.components_.T, atol=1e-9)
    assert_allclose(predicted, found.predict(X), rtol=1e-6)
    assert_allclose(predicted, one.predict(X), rtol=1e-2, atol=1e-2)


def test_numbers_that_are_missing_are_refused(numbers, tmp_path):
    X, y = numbers
    rows = in_place(X, "npy", tmp_path)
    with run_inline(), pytest.raises(ValueError, match="y contains NaN"):
        lw.MLKR().fit(rows, np.where(y > 20, np.nan, y))


def test_moments_of_parts_are_those_of_all_rows(rng):
    X = rng.normal(size=(50, 6)) * [1, 2, 0, 1e3, 1, 1] + [0, 5, 3, 1e6, 0, -1]
    X[rng.random(X.shape) < 0.5] = 0
    X[:, 2] = 3
    parts = np.split(X, [1, 20, 35])
    for form in (np.asarray, csr_array):
        found = combined_moments(column_moments(form(part)) for part in parts)
        assert_allclose(found.mean, X.mean(axis=0))
        assert_allclose(found.deviation, X.std(axis=0), rtol=1e-12, atol=1e-12)
        assert_allclose(found.largest, np.abs(X).max(axis=0))
        assert found.n_rows == 50
