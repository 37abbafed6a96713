"""The exact engine, and faiss while it is flat, find what `similarity.neighbors` finds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import likewise as lw
from likewise.index.engines import ENGINES

NORMS = ("none", "cosine", "dice", "jaccard")


def assert_like_neighbors(index, similarity, Q, P, k, *, names=None, atol=1e-9):
    """Compare ids, in order, and scores."""
    expected = similarity.neighbors(Q, P, k)
    found = index.search(Q, k)
    ids = expected.ids if names is None else np.asarray(names, dtype=object)[expected.ids]
    assert_array_equal(found.ids, ids)
    assert_allclose(found.scores.astype(float), expected.scores.astype(float), atol=atol, rtol=1e-6)


def rows(rng, n, width, dtype=np.float64):
    """Return rows in [0, 1] with duplicates and zero rows."""
    made = rng.random((n, width)).astype(dtype)
    made[n // 2] = made[0]
    made[n // 3] = 0
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("form", ["number", "diagonal", "square", "rectangular"])
def test_every_norm_and_form_is_searched_as_neighbors_does(rng, norm, form, dtype):
    if (form, norm) == ("rectangular", "jaccard"):
        pytest.skip("jaccard compares feature by feature")
    W = {
        "number": 0.7,
        "diagonal": rng.normal(size=6),
        "square": rng.normal(size=(6, 6)),
        "rectangular": rng.normal(size=(6, 9)),
    }[form]
    s = lw.Bilinear(W, norm=norm)
    Q, P = rows(rng, 21, 6, dtype), rows(rng, 150, 9 if form == "rectangular" else 6, dtype)
    atol = 1e-6 if dtype == np.float32 else 1e-9
    index = lw.Index(s, engine="exact").add(range(150), P)
    for k in (1, 7, 150, 153):
        assert_like_neighbors(index, s, Q, P, k, atol=atol)
    assert index.is_exact


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", [None, "inner_product"])
@pytest.mark.parametrize("shape", [(), (5,), (5, 5), (2, 5)], ids=str)
@pytest.mark.parametrize("engine", ["exact", "faiss"])
def test_a_mahalanobis_distance_is_searched_as_neighbors_does(rng, engine, shape, metric, dtype):
    if engine == "faiss":
        pytest.importorskip("faiss")
    s = lw.Mahalanobis(rng.normal(size=shape))
    Q, P = rows(rng, 9, 5, dtype), rows(rng, 120, 5, dtype)
    Q[3] = P[5]
    index = lw.Index(s, engine=engine, metric=metric).add(range(120), P)
    for k in (1, 10, 120):
        assert_like_neighbors(index, s, Q, P, k, atol=1e-5 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("metric", [None, "inner_product", "cosine", "euclidean"])
@pytest.mark.parametrize("norm", ["none", "cosine"])
def test_every_metric_serves_items_of_unit_length(rng, norm, metric):
    s = lw.Bilinear(rng.normal(size=(4, 6)), norm=norm)
    Q, P = rng.normal(size=(8, 4)), rng.normal(size=(90, 6))
    P /= np.linalg.norm(P, axis=1, keepdims=True)
    index = lw.Index(s, engine="exact", metric=metric).add(range(90), P)
    assert_like_neighbors(index, s, Q, P, 9)
    assert_array_equal(index.items([3, 5]), P[[3, 5]])


@pytest.mark.parametrize("norm", ["none", "cosine"])
@pytest.mark.parametrize("form", ["number", "diagonal", "square", "rectangular"])
def test_folding_both_sides_changes_nothing(rng, norm, form):
    W = {
        "number": -0.7,
        "diagonal": rng.normal(size=6),
        "square": rng.normal(size=(6, 6)),
        "rectangular": rng.normal(size=(6, 3)),
    }[form]
    s = lw.Bilinear(W, norm=norm)
    Q, P = rng.normal(size=(8, 6)), rows(rng, 90, 3 if form == "rectangular" else 6)
    assert_like_neighbors(lw.Index(s, fold="both").add(range(90), P), s, Q, P, 11)


@pytest.mark.parametrize(
    "similarity",
    [lw.Bilinear(np.eye(7)[::-1]), lw.Bilinear(2.0, "cosine"), lw.Mahalanobis(np.arange(1.0, 8.0))],
    ids=repr,
)
def test_sparse_rows_on_either_side_are_as_dense_ones(rng, similarity):
    P, Q = rows(rng, 80, 7), rows(rng, 12, 7)
    P[P < 0.6] = 0
    for items in (P, csr_array(P)):
        index = lw.Index(similarity).add(range(50), items[:50])
        index.add(range(50, 65), csr_array(P[50:65])).add(range(65, 80), P[65:])
        for queries in (Q, csr_array(Q)):
            found, expected = index.search(queries, 6), similarity.neighbors(Q, P, 6)
            assert_array_equal(found.ids, expected.ids)
            assert_allclose(found.scores, expected.scores, atol=1e-9)


@pytest.mark.parametrize("norm", ["dice", "jaccard"])
def test_sparse_items_join_dense_ones_of_a_norm_that_does_not_fold(rng, norm):
    s, P = lw.Bilinear(1.0, norm), rows(rng, 40, 5)
    index = lw.Index(s).add(range(20), P[:20]).add(range(20, 40), csr_array(P[20:]))
    assert_like_neighbors(index, s, P, P, 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ["exact", "faiss"])
def test_data_far_from_the_origin_keep_their_order(rng, engine, dtype):
    if engine == "faiss":
        pytest.importorskip("faiss")
    P = (rng.normal(size=(2000, 8)) + 3e4).astype(np.float32).astype(dtype)
    Q = (rng.normal(size=(20, 8)) + 3e4).astype(np.float32).astype(dtype)
    s = lw.Mahalanobis(rng.normal(size=(8, 8)))
    index = lw.Index(s, engine=engine).add(range(2000), P)
    assert_array_equal(index.search(Q, 10).ids, s.neighbors(Q, P, 10).ids)


def test_a_form_that_cancels_keeps_its_order_in_single_precision(rng):
    W = np.outer(rng.normal(size=6), np.ones(6)) * 1e4 + rng.normal(size=(6, 6))
    P = rng.normal(size=(500, 6)).astype(np.float32)
    P -= P.mean(axis=1, keepdims=True)
    Q = rng.normal(size=(12, 6)).astype(np.float32)
    s = lw.Bilinear(W)
    for fold in ("query", "both"):
        index = lw.Index(s, fold=fold).add(range(500), P)
        assert_array_equal(index.search(Q, 10).ids, s.neighbors(Q, P, 10).ids)


@pytest.mark.parametrize("similarity", [lw.Bilinear(1.0), lw.Mahalanobis(1.0)], ids=repr)
def test_large_numbers_do_not_overflow_in_single_precision(rng, similarity):
    P = (rng.normal(size=(60, 3)) * 1e25).astype(np.float32)
    index = lw.Index(similarity).add(range(60), P)
    assert_array_equal(index.search(P[:5], 4).ids, similarity.neighbors(P[:5], P, 4).ids)


@pytest.mark.parametrize(
    "similarity", [lw.Bilinear(1.0), lw.Bilinear(1.0, "cosine"), lw.Mahalanobis(1.0)], ids=repr
)
@pytest.mark.parametrize("engine", ["exact", "faiss"])
def test_of_equal_items_those_that_came_first_are_found(engine, similarity):
    if engine == "faiss":
        pytest.importorskip("faiss")
    P = np.tile([[1.0, 2.0, 0.5], [0.0, 1.0, 3.0]], (400, 1))
    Q = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0], [0.3, 0.1, 0.1]])
    index = lw.Index(similarity, engine=engine).add(range(800), P)
    for k in (3, 500):
        assert_like_neighbors(index, similarity, Q, P, k)


def test_a_learned_map_ties_equal_items_to_the_last_bit(rng):
    P = np.repeat(rng.normal(size=(37, 11)), 23, axis=0)[rng.permutation(37 * 23)]
    Q = rng.normal(size=(15, 11))
    for s in (lw.Mahalanobis(rng.normal(size=(7, 11))), lw.Bilinear(rng.normal(size=(11, 11)))):
        assert_like_neighbors(lw.Index(s).add(range(len(P)), P), s, Q, P, 60, atol=0)


def test_objects_are_scored_one_and_all():
    s = lw.from_callable(lambda a, b: len(set(a) & set(b)))
    words = ["pear", "apple", "peach", "fig", "fig", "apricot", "lime"]
    index = lw.Index(s).add(range(4), words[:4]).add(range(4, 7), words[4:])
    assert_like_neighbors(index, s, ["grape", "plum"], words, 3)
    index.remove([2]).update([0], ["grape"])
    assert index.search(["grape"], 2).row(0) == [(0, 5.0), (1, 3.0)]
    assert index.items([4, 0]) == ["fig", "grape"]
    assert index.served_recall(k=2) == 1.0


def test_a_ranked_similarity_is_served(rng):
    P, Q = rng.normal(size=(60, 4)), rng.normal(size=(7, 4))
    s = lw.Ranked(P, lw.Mahalanobis(1.0))
    assert_like_neighbors(lw.Index(s).add(range(60), P), s, Q, P, 5)


def test_places_without_an_item_are_none_and_minus_infinity(rng):
    index = lw.Index(lw.Bilinear(1.0)).add(["a", "b"], rng.normal(size=(2, 3)))
    found = index.search(rng.normal(size=(2, 3)), 4)
    assert found.ids.shape == found.scores.shape == (2, 4)
    assert (found.ids[:, 2:] == None).all()  # noqa: E711 (elementwise)
    assert (found.scores[:, 2:] == -np.inf).all()


def test_a_stored_id_finds_others_and_not_itself(rng):
    P = rng.normal(size=(30, 4))
    P[7] = P[3]
    index = lw.Index(lw.Mahalanobis(1.0)).add([f"i{n}" for n in range(30)], P)
    assert index.search("i3", 1).row(0) == [("i7", 0.0)]
    both = index.search(["i3", "i7"], 29)
    assert set(both.ids[0]) == {f"i{n}" for n in range(30)} - {"i3"}
    assert both.ids[1, 0] == "i3"


def test_many_queries_with_equal_scores_take_little_memory(rng):
    import tracemalloc

    P = rng.normal(size=(20_000, 16)).astype(np.float32)
    index = lw.Index(lw.Bilinear(1.0)).add(range(len(P)), P)
    zeros = np.zeros((300, 16), np.float32)
    index.search(zeros, 3)
    tracemalloc.start()
    found = index.search(zeros, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert_array_equal(found.ids, np.tile(np.arange(3), (300, 1)))
    assert peak < 100e6  # all candidates of all queries at once would be 700 MB


@pytest.mark.parametrize("norm", ["none", "cosine"])
def test_flat_faiss_is_exact(rng, norm):
    pytest.importorskip("faiss")
    s = lw.Bilinear(rng.normal(size=(5, 7)), norm=norm)
    Q, P = rng.normal(size=(30, 5)), rows(rng, 400, 7, np.float32)
    index = lw.Index(s, engine="faiss").add(range(400), P)
    assert index.is_exact
    for k in (1, 10, 400, 402):
        assert_like_neighbors(index, s, Q, P, k, atol=1e-6)


@pytest.mark.parametrize("fold", ["auto", "rerank"])
@pytest.mark.parametrize("engine", ["exact", "faiss", "usearch"])
def test_all_candidates_scored_again_are_all_items(rng, engine, fold):
    pytest.importorskip("faiss")
    pytest.importorskip("usearch")
    s = lw.Bilinear(1.0, "dice") if fold == "auto" else lw.Bilinear(rng.normal(size=(5, 5)))
    P, Q = rows(rng, 60, 5, np.float32), rows(rng, 6, 5, np.float32)
    index = lw.Index(s, engine=engine, fold=fold).add(range(60), P)
    index.n_candidates = 60
    if engine == "usearch":
        index.snapshot.store.set_effort(200)
    assert_like_neighbors(index, s, Q, P, 5, atol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner_product"])
def test_rounding_of_earlier_vectors_counts_after_more_precise_ones(metric, rng):
    engine, vectors = ENGINES["exact"].make(metric), rng.normal(size=(9, 3))
    engine.add(vectors, dtype=np.float32)
    before = engine.error_bounds(vectors[:1])
    engine.add(vectors, dtype=np.float64)
    assert engine.error_bounds(vectors[:1]) >= before
