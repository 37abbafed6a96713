"""Search, evaluation, classification and features of rows in blocks: as on one machine."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import likewise as lw


@pytest.fixture(scope="module")
def learned(digits):
    return lw.AROMA(dtype="float64").fit_triplets(
        lw.supervision.LabelTriplets(digits[1]).draw(2000, np.random.default_rng(1)), digits[0]
    )


def test_neighbours_are_those_of_one_machine(client, laid_out, digits, learned):
    expected = learned.similarity_.neighbors(digits[0], digits[0], 7, exclude_self=True)
    found = lw.distributed.neighbors(
        learned, laid_out, laid_out, 7, exclude_self=True, client=client
    )
    assert_array_equal(found.ids, expected.ids)
    assert_allclose(found.scores, expected.scores, rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("similarity", ["euclidean", "cosine", "jaccard"])
def test_threads_find_the_same_without_dask(folder, digits, similarity, n_jobs):
    X = digits[0] / 16
    np.save(folder / "small.npy", X)
    expected = lw.as_similarity(similarity).neighbors(X[:100], X, 5)
    found = lw.distributed.neighbors(similarity, X[:100], folder / "small.npy", 5, n_jobs=n_jobs)
    assert_array_equal(found.ids, expected.ids)
    assert_array_equal(found.scores, expected.scores)


def test_ties_between_parts_go_to_the_lower_row():
    from scipy.sparse import csr_array

    pieces = [csr_array(np.ones((4, 2))) for _ in range(3)]
    found = lw.distributed.neighbors("cosine", pieces, pieces, 12, exclude_self=True)
    expected = lw.as_similarity("cosine").neighbors(
        np.ones((12, 2)), np.ones((12, 2)), 12, exclude_self=True
    )
    assert found.ids.tolist() == expected.ids.tolist()


def test_a_few_queries_are_searched_by_all_workers(client, digits):
    X = np.tile(digits[0], (12, 1))  # several blocks of items
    expected = lw.as_similarity("euclidean").neighbors(X[:3], X, 20)
    found = lw.distributed.neighbors("euclidean", X[:3], X, 20, client=client)
    assert_array_equal(found.ids, expected.ids)


def test_evaluation_is_that_of_one_machine(client, laid_out, digits, learned, monkeypatch):
    from likewise.evaluation import _ranking

    X, y = digits
    expected = lw.evaluate_retrieval(learned, X, labels=y, depth=30)
    monkeypatch.setattr(_ranking, "_QUERIES_IN_BLOCK", 300)
    found = lw.distributed.evaluate_retrieval(learned, laid_out, labels=y, depth=30, client=client)
    assert_array_equal(found.queries, expected.queries)
    for measure, values in expected.per_query.items():
        assert_allclose(found.per_query[measure], values, rtol=1e-12, err_msg=measure)


def test_evaluation_takes_grades_and_leaves_out_who_has_none(client, digits, rng):
    X = digits[0]
    grades = rng.integers(0, 3, (40, 200)) * (rng.random((40, 200)) < 0.05)
    grades[7] = 0
    expected = lw.evaluate_retrieval("cosine", X[:40], X[40:240], relevance=grades, depth=50)
    found = lw.distributed.evaluate_retrieval(
        "cosine", X[:40], X[40:240], relevance=grades, depth=50, client=client
    )
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
    found = lw.distributed.evaluate_retrieval("cosine", X, **arguments, client=client)
    assert found.means() == expected.means()
    assert found.seen.means() == expected.seen.means()
    assert found.new.means() == expected.new.means()


@pytest.mark.parametrize("rule", ["majority", "symmetric", "energy"])
def test_predictions_are_those_of_one_machine(client, folder, digits, rule):
    X, y = digits
    np.save(folder / "queries.npy", X[500:])
    plain = lw.SimilarityClassifier(n_neighbors=4, rule=rule).fit(X[:500], y[:500])
    spread = lw.distributed.SimilarityClassifier(n_neighbors=4, rule=rule, client=client)
    spread.fit(X[:500], y[:500])
    assert_array_equal(spread.predict(folder / "queries.npy"), plain.predict(X[500:]))
    assert_allclose(spread.predict_proba(X[500:600]), plain.predict_proba(X[500:600]))


def test_training_rows_may_lie_anywhere(client, laid_out, digits):
    X, y = digits
    plain = lw.SimilarityClassifier(n_neighbors=5).fit(X, y)
    spread = lw.distributed.SimilarityClassifier(n_neighbors=5, client=client).fit(laid_out, y)
    assert_array_equal(spread.predict(laid_out), plain.predict(X))
    assert_array_equal(spread.kneighbors().ids, plain.kneighbors().ids)


def test_a_classifier_is_saved_as_the_plain_one(client, digits, tmp_path):
    X, y = digits
    spread = lw.distributed.SimilarityClassifier(n_neighbors=1, client=client).fit(X, y)
    lw.save(spread, tmp_path / "knn.safetensors")
    stored = lw.load(tmp_path / "knn.safetensors")
    assert type(stored) is lw.SimilarityClassifier
    assert_array_equal(stored.predict(X[:50]), y[:50])


def test_landmark_features_are_those_of_one_machine(client, laid_out, place, digits):
    X = digits[0]
    boolean = 0.1 if place == "npy" else None
    given = {"n_landmarks": 20, "sample_size": 300, "random_state": 0, "boolean": boolean}
    expected = lw.LandmarkFeatures(**given).fit(X).transform(X)
    maker = lw.distributed.LandmarkFeatures(**given, client=client).fit(laid_out)
    found = maker.transform(laid_out)
    if place.startswith("dask"):
        assert found.shape == expected.shape
        parts = [found.blocks[i].compute(scheduler="sync") for i in range(found.numblocks[0])]
        found = np.vstack([p.toarray() if hasattr(p, "toarray") else p for p in parts])
    found = found.toarray() if hasattr(found, "toarray") else found
    assert_allclose(found, expected, atol=1e-12)


def test_landmark_features_are_written_block_by_block(client, folder, digits, tmp_path):
    maker = lw.distributed.LandmarkFeatures("cosine", 10, random_state=0, client=client)
    maker.fit(folder / "rows.npy")
    written = maker.transform(folder / "rows.npy", out=tmp_path / "features.npy")
    assert isinstance(written, np.memmap)
    assert_allclose(written, maker.transform(digits[0]))


def test_what_cannot_be_done_in_blocks_is_refused_with_a_sentence(folder, digits, tmp_path):
    import dask.array

    rows = folder / "rows.npy"
    with pytest.raises(ValueError, match="sample_size must be given"):
        lw.distributed.LandmarkFeatures().fit(rows)
    with pytest.raises(ValueError, match=r"kmeans.* needs rows in memory"):
        lw.distributed.LandmarkFeatures("cosine", select="kmeans++").fit(rows)
    maker = lw.distributed.LandmarkFeatures("cosine").fit(rows)
    with pytest.raises(ValueError, match=r"out must be an \.npy file"):
        maker.transform(rows, out=tmp_path / "features.csv")
    with pytest.raises(ValueError, match="must take rows of numbers"):
        lw.distributed.neighbors(lw.from_callable(max), rows, rows, 1)
    unknown = dask.array.from_array(digits[0], chunks=500)
    unknown = unknown[unknown[:, 5] > 3]
    with pytest.raises(ValueError, match="blocks of unknown size"):
        lw.distributed.neighbors("cosine", unknown, rows, 1)
    np.save(tmp_path / "narrow.npy", digits[0][:, :3])
    with pytest.raises(ValueError, match="pieces of 3 and 64 columns"):
        lw.distributed.neighbors("cosine", [tmp_path / "narrow.npy", rows], rows, 1)
    with pytest.raises(ValueError, match="has no column 'weight'"):
        lw.distributed.read_parquet(folder / "rows", ["weight"])


def test_sparse_files_and_lists_in_parquet_are_rows(digits, tmp_path):
    import pyarrow
    import pyarrow.parquet
    from scipy.sparse import csr_array, save_npz

    X = digits[0]
    save_npz(tmp_path / "a.npz", csr_array(X[:400]))
    save_npz(tmp_path / "b.npz", csr_array(X[400:]))
    table = pyarrow.table({"vector": list(X)})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    expected = lw.as_similarity("cosine").neighbors(X, X, 3)
    for rows in ([tmp_path / "a.npz", tmp_path / "b.npz"], tmp_path / "rows.parquet"):
        found = lw.distributed.neighbors("cosine", rows, rows, 3)
        assert_allclose(found.scores, expected.scores, rtol=1e-12)


def test_a_part_of_a_mapped_file_is_that_part(client, folder, digits):
    part = np.load(folder / "rows.npy", mmap_mode="r")[100:400][50:]
    expected = lw.as_similarity("euclidean").neighbors(digits[0][150:400], digits[0], 2)
    found = lw.distributed.neighbors("euclidean", part, folder / "rows.npy", 2, client=client)
    assert_array_equal(found.ids, expected.ids)


@pytest.mark.filterwarnings("ignore:what was learned does not clearly beat its start:UserWarning")
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
