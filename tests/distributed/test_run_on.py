"""Search, evaluation, classification and features inside `run_on`: as on one machine."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.distributed.inline import run_inline

import likewise as lw
from likewise._execution import current_backend
from likewise.distributed import _run, run_on
from likewise.distributed._executor import Executor
from likewise.exceptions import ClusterLostError


@pytest.fixture(scope="module")
def learned(digits):
    return lw.AROMA(dtype="float64").fit_triplets(
        lw.supervision.LabelTriplets(digits[1]).draw(2000, np.random.default_rng(1)), digits[0]
    )


def test_neighbors_are_those_of_one_machine(client, laid_out, digits, learned):
    expected = learned.similarity_.neighbors(digits[0], digits[0], 7, exclude_self=True)
    with run_on(client):
        found = learned.similarity_.neighbors(laid_out, laid_out, 7, exclude_self=True)
    assert_array_equal(found.ids, expected.ids)
    assert_allclose(found.scores, expected.scores, rtol=1e-12)


@pytest.mark.parametrize("similarity", ["euclidean", "cosine", "jaccard"])
def test_every_kind_of_similarity_finds_the_same(client, folder, digits, similarity):
    X = digits[0] / 16
    np.save(folder / "small.npy", X)
    compared = lw.as_similarity(similarity)
    expected = compared.neighbors(X[:100], X, 5)
    with run_on(client):
        found = compared.neighbors(X[:100], folder / "small.npy", 5)
    assert_array_equal(found.ids, expected.ids)
    assert_array_equal(found.scores, expected.scores)


def test_ties_between_parts_go_to_the_lower_row():
    from scipy.sparse import csr_array

    pieces = [csr_array(np.ones((4, 2))) for _ in range(3)]
    cosine = lw.as_similarity("cosine")
    expected = cosine.neighbors(np.ones((12, 2)), np.ones((12, 2)), 12, exclude_self=True)
    with run_inline():
        found = cosine.neighbors(pieces, pieces, 12, exclude_self=True)
    assert found.ids.tolist() == expected.ids.tolist()


def test_a_few_queries_are_searched_by_all_workers(client, digits):
    X = np.tile(digits[0], (12, 1))  # several blocks of items
    euclidean = lw.as_similarity("euclidean")
    expected = euclidean.neighbors(X[:3], X, 20)
    with run_on(client):
        found = euclidean.neighbors(X[:3], X, 20)
    assert_array_equal(found.ids, expected.ids)


def test_a_call_is_made_on_every_worker(client):
    client.wait_for_workers(2)
    executor = Executor(client)
    found = [executor.result(handle) for handle in executor.submit_to_all(os.getpid)]
    assert sorted(found) == sorted(client.run(os.getpid).values())


def test_objects_in_memory_are_searched_in_this_process(client):
    words = lw.from_callable(lambda a, b: float(a[0] == b[0]))
    with run_on(client):
        found = words.neighbors(["ant", "bee"], ["bear", "ape"], 1)
    assert found.ids.ravel().tolist() == [1, 0]


def test_evaluation_is_that_of_one_machine(client, laid_out, digits, learned, monkeypatch):
    from likewise.evaluation import _ranking

    X, y = digits
    expected = lw.evaluate_retrieval(learned, X, labels=y, depth=30)
    monkeypatch.setattr(_ranking, "_QUERIES_IN_BLOCK", 300)
    with run_on(client):
        found = lw.evaluate_retrieval(learned, laid_out, labels=y, depth=30)
    assert_array_equal(found.queries, expected.queries)
    for measure, values in expected.per_query.items():
        assert_allclose(found.per_query[measure], values, rtol=1e-12, err_msg=measure)


def test_evaluation_takes_grades_and_leaves_out_queries_without_any(client, digits, rng):
    X = digits[0]
    grades = rng.integers(0, 3, (40, 200)) * (rng.random((40, 200)) < 0.05)
    grades[7] = 0
    given = {"relevance": grades, "depth": 50}
    expected = lw.evaluate_retrieval("cosine", X[:40], X[40:240], **given)
    with run_on(client):
        found = lw.evaluate_retrieval("cosine", X[:40], X[40:240], **given)
    assert found.n_unjudged == expected.n_unjudged >= 1
    assert found.means() == expected.means()


@pytest.mark.parametrize("by_labels", [False, True])
def test_seen_and_new_items_are_measured_as_on_one_machine(client, digits, by_labels, monkeypatch):
    from likewise.evaluation import _ranking

    X, y = digits[0][:300], digits[1][:300]
    truth = {"labels": y} if by_labels else {"relevance": y[:, None] == y}
    arguments = {**truth, "trained_on": np.arange(300) < 100, "depth": 5}
    expected = lw.evaluate_retrieval("cosine", X, **arguments)
    monkeypatch.setattr(_ranking, "_QUERIES_IN_BLOCK", 80)
    with run_on(client):
        found = lw.evaluate_retrieval("cosine", X, **arguments)
    assert found.means() == expected.means()
    assert found.seen.means() == expected.seen.means()
    assert found.new.means() == expected.new.means()


@pytest.mark.parametrize("rule", ["majority", "symmetric", "energy", "softmax"])
def test_predictions_are_those_of_one_machine(client, folder, digits, rule):
    X, y = digits
    np.save(folder / "queries.npy", X[500:])
    plain = lw.SimilarityClassifier(n_neighbors=4, rule=rule).fit(X[:500], y[:500])
    predicted, shares = plain.predict(X[500:]), plain.predict_proba(X[500:600])
    with run_on(client):
        there = lw.SimilarityClassifier(n_neighbors=4, rule=rule).fit(X[:500], y[:500])
        assert_array_equal(there.predict(folder / "queries.npy"), predicted)
        assert_allclose(there.predict_proba(X[500:600]), shares)
    assert_array_equal(there.predict(X[500:]), predicted)


@pytest.mark.parametrize("weights", ["uniform", "distance", "kernel"])
def test_predicted_numbers_are_those_of_one_machine(client, folder, digits, weights):
    X, y = digits
    of_rows = 1.0 + np.arange(len(X)) % 3
    np.save(folder / "queries.npy", X[500:])
    model = lw.SimilarityRegressor(weights=weights).fit(X[:500], y[:500], of_rows[:500])
    expected = model.predict(X[500:])
    with run_on(client):
        there = lw.SimilarityRegressor(weights=weights).fit(X[:500], y[:500], of_rows[:500])
        assert_allclose(there.predict(folder / "queries.npy"), expected)
        whole = lw.SimilarityRegressor(weights=weights).fit(folder / "rows.npy", y, of_rows)
        found = whole.predict(X[:20])
    model.fit(X, y, of_rows)
    assert_allclose(found, model.predict(X[:20]))


def test_rows_of_weight_zero_are_left_out_of_a_file(client, folder, digits):
    X, y = digits
    weights = (np.arange(len(X)) % 2).astype(float)
    expected = lw.SimilarityClassifier().fit(X[1::2], y[1::2]).predict(X[:100])
    with run_on(client):
        there = lw.SimilarityClassifier().fit(folder / "rows.npy", y, weights)
        assert_array_equal(there.predict(X[:100]), expected)


@pytest.mark.parametrize("rule", ["symmetric", "energy", "softmax"])
def test_rules_that_need_all_rows_read_them_at_fit(client, folder, digits, rule):
    X, y = digits
    expected = lw.SimilarityClassifier(rule=rule).fit(X, y).predict(X[:100])
    with run_on(client):
        there = lw.SimilarityClassifier(rule=rule).fit(folder / "rows.npy", y)
    assert isinstance(there.items_, np.ndarray)
    assert_array_equal(there.predict(X[:100]), expected)


def test_training_rows_may_be_in_any_source(client, laid_out, digits):
    X, y = digits
    plain = lw.SimilarityClassifier(n_neighbors=5).fit(X, y)
    expected, neighbors = plain.predict(X), plain.kneighbors().ids
    with run_on(client):
        there = lw.SimilarityClassifier(n_neighbors=5).fit(laid_out, y)
        assert_array_equal(there.predict(laid_out), expected)
        assert_array_equal(there.kneighbors().ids, neighbors)


def test_training_rows_in_a_file_are_not_read_outside_the_block(client, folder, digits):
    with run_on(client):
        there = lw.SimilarityClassifier().fit(folder / "rows.npy", digits[1])
    with pytest.raises(TypeError, match="read by workers, inside run_on"):
        there.predict(digits[0])


def test_a_classifier_fitted_on_a_cluster_is_saved_like_any_other(client, digits, tmp_path):
    X, y = digits
    with run_on(client):
        lw.save(lw.SimilarityClassifier(n_neighbors=1).fit(X, y), tmp_path / "knn.safetensors")
    stored = lw.load(tmp_path / "knn.safetensors")
    assert type(stored) is lw.SimilarityClassifier
    assert_array_equal(stored.predict(X[:50]), y[:50])


def test_landmark_features_are_those_of_one_machine(client, laid_out, place, digits):
    X = digits[0]
    boolean = 0.1 if place == "npy" else None
    given = {"n_landmarks": 20, "sample_size": 300, "random_state": 0, "boolean": boolean}
    expected = lw.LandmarkFeatures(**given).fit(X).transform(X)
    with run_on(client):
        found = lw.LandmarkFeatures(**given).fit(laid_out).transform(laid_out)
    if place.startswith("dask"):
        assert found.shape == expected.shape
        parts = [found.blocks[i].compute(scheduler="sync") for i in range(found.numblocks[0])]
        found = np.vstack([p.toarray() if hasattr(p, "toarray") else p for p in parts])
    found = found.toarray() if hasattr(found, "toarray") else found
    assert_allclose(found, expected, atol=1e-12)


def test_landmark_features_are_written_block_by_block(client, folder, digits, tmp_path):
    maker = lw.LandmarkFeatures("cosine", 10, random_state=0)
    with run_on(client):
        maker.fit(folder / "rows.npy")
        written = maker.transform(folder / "rows.npy", out=tmp_path / "features.npy")
    assert isinstance(written, np.memmap)
    assert_allclose(written, maker.transform(digits[0]))
    here = maker.transform(digits[0], out=tmp_path / "here.npy")
    assert isinstance(here, np.memmap)
    assert_allclose(here, written)


def test_requests_that_need_rows_in_memory_are_refused(folder, digits, tmp_path):
    import dask.array

    rows, cosine = folder / "rows.npy", lw.as_similarity("cosine")
    unknown = dask.array.from_array(digits[0], chunks=500)
    unknown = unknown[unknown[:, 5] > 3]
    np.save(tmp_path / "narrow.npy", digits[0][:, :3])
    with run_inline():
        with pytest.raises(ValueError, match="sample_size must be given"):
            lw.LandmarkFeatures().fit(rows)
        with pytest.raises(ValueError, match=r"kmeans.* needs rows in memory"):
            lw.LandmarkFeatures("cosine", select="kmeans++").fit(rows)
        maker = lw.LandmarkFeatures("cosine").fit(rows)
        with pytest.raises(ValueError, match=r"out must be an \.npy file"):
            maker.transform(rows, out=tmp_path / "features.csv")
        with pytest.raises(TypeError, match="Q must be a list of objects or an array"):
            lw.from_callable(max).neighbors(rows, rows, 1)
        with pytest.raises(ValueError, match="blocks of unknown size"):
            cosine.neighbors(unknown, rows, 1)
        with pytest.raises(ValueError, match="parts of 3 and 64 columns"):
            cosine.neighbors([tmp_path / "narrow.npy", rows], rows, 1)
        with pytest.raises(ValueError, match="has no column 'weight'"):
            lw.distributed.read_parquet(folder / "rows", ["weight"])
        with pytest.raises(ValueError, match="'ridge' cannot be fitted on a cluster"):
            lw.AROMA(init="ridge").fit(*digits)
        with pytest.raises(ValueError, match="r must be a number on a cluster, but 'auto' was"):
            lw.AROMA(r="auto").fit(*digits)


def test_remote_rows_are_refused_outside_the_block(folder):
    rows = lw.distributed.read_parquet(folder / "rows")
    with pytest.raises(TypeError, match=r"P must be rows of numbers: .* inside run_on"):
        lw.as_similarity("cosine").neighbors(np.ones((1, 65)), rows, 1)


def test_sparse_files_and_lists_in_parquet_are_rows(digits, tmp_path):
    import pyarrow
    import pyarrow.parquet
    from scipy.sparse import csr_array, save_npz

    X = digits[0]
    save_npz(tmp_path / "a.npz", csr_array(X[:400]))
    save_npz(tmp_path / "b.npz", csr_array(X[400:]))
    table = pyarrow.table({"vector": list(X)})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    cosine = lw.as_similarity("cosine")
    expected = cosine.neighbors(X, X, 3)
    for rows in ([tmp_path / "a.npz", tmp_path / "b.npz"], tmp_path / "rows.parquet"):
        with run_inline():
            found = cosine.neighbors(rows, rows, 3)
        assert_allclose(found.scores, expected.scores, rtol=1e-12)


def test_a_part_of_a_mapped_file_is_that_part(client, folder, digits):
    part = np.load(folder / "rows.npy", mmap_mode="r")[100:400][50:]
    euclidean = lw.as_similarity("euclidean")
    expected = euclidean.neighbors(digits[0][150:400], digits[0], 2)
    with run_on(client):
        found = euclidean.neighbors(part, folder / "rows.npy", 2)
    assert_array_equal(found.ids, expected.ids)


@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
def test_a_grid_search_runs_on_the_dask_backend_of_joblib(client, digits):
    import joblib
    from sklearn.model_selection import GridSearchCV

    X, y = digits
    grid = GridSearchCV(
        lw.SimilarityClassifier(lw.AROMA(n_triplets=1000, random_state=0)),
        {"n_neighbors": [1, 5], "learner__r": [0.1, 1.0]},
        cv=2,
    )
    here = grid.fit(X[:400], y[:400]).cv_results_["mean_test_score"]
    with client.as_current(), joblib.parallel_config("dask"):
        there = grid.fit(X[:400], y[:400]).cv_results_["mean_test_score"]
    assert_allclose(there, here)


def test_the_backend_ends_with_the_block(client):
    with run_on(client) as run:
        assert current_backend() is run
        with run_on(client, rounds=2) as inner:
            assert current_backend() is inner
        assert current_backend() is run
    assert current_backend() is None
    with pytest.raises(RuntimeError, match="on purpose"), run_on(client):
        raise RuntimeError("on purpose")
    assert current_backend() is None


def test_an_address_works_like_a_client(client, digits, triplets):
    with run_on(client.scheduler.address, rounds=1, shard_size=3000) as run:
        found = lw.OASIS().fit_triplets(triplets, digits[0])
        assert run.client is not client
        assert not run.client.direct_to_workers  # which may be out of reach
    assert found.n_triplets_seen_ == 6000
    assert client.status == "running"


def test_a_number_starts_so_many_processes(digits, monkeypatch):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)  # other clusters set it here too
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "1000000")  # what the user sets is kept
    expected = lw.as_similarity("cosine").neighbors(digits[0], digits[0], 3)
    with run_on(1) as run:
        assert len(run.client.nthreads()) == 1
        assert run.client.direct_to_workers  # results do not pass through the scheduler
        # With Dask's value, workers would clear the pages of every array anew.
        names = "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"
        values = [set(run.client.run(os.environ.get, name).values()) for name in names]
        assert values == [{str(64 << 20)}, {"1000000"}]
        found = lw.as_similarity("cosine").neighbors(digits[0], digits[0], 3)
    assert run.client.status == "closed"
    assert_array_equal(found.ids, expected.ids)


def test_workers_that_do_not_start_are_an_error(client, monkeypatch):
    monkeypatch.setattr(_run, "_SECONDS_TO_START", 1)
    there = len(client.nthreads())
    sentence = f"{there} of {there + 1} worker processes started within 1 s"
    with pytest.raises(ClusterLostError, match=sentence):
        _run.wait_for_workers(client, there + 1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"shard_size": 0}, "shard_size must be at least 1"),
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"rounds": 1.5}, "rounds must be a whole number"),
        ({"resume": True}, "checkpoint is None"),
        ({"client": 3.0}, "client must be a dask.distributed Client"),
        ({"client": None}, "client must be a dask.distributed Client"),
        ({"client": True}, "client must be a dask.distributed Client"),
        ({"client": 0}, "client must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(client, change, sentence):
    with (
        pytest.raises((TypeError, ValueError), match=sentence),
        run_on(**{"client": client, **change}),
    ):
        pass


def test_a_missing_scheduler_is_an_error():
    import dask

    soon = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with (
        soon,
        pytest.raises(ClusterLostError, match="there is no scheduler at tcp"),
        run_on("tcp://127.0.0.1:1"),
    ):
        pass
