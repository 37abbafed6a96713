"""What RidgeSimilarity's reproduction is measured by."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import likewise as lw
from likewise.datasets import Retrieval
from reproduce import _texts, reproduce, ridge

WORDS = ["lift", "drag", "wing", "shock", "heat", "flow", "plate", "cone"]


def small_collection(n_documents=60, n_queries=45):
    """Documents of some words, and queries that share a word with what is relevant to them."""
    rng = np.random.default_rng(0)
    documents = [" ".join(rng.choice(WORDS, 5)) for _ in range(n_documents)]
    asked = rng.integers(n_documents, size=n_queries)
    queries = [f"{documents[number].split()[0]} {rng.choice(WORDS)}" for number in asked]
    grades = rng.integers(1, 5, n_queries - 1).astype(float)
    relevance = csr_array(
        (grades, (np.arange(n_queries - 1), asked[:-1])), shape=(n_queries, n_documents)
    )
    return Retrieval(
        name="cranfield",
        documents=documents,
        queries=queries,
        relevance=relevance,
        document_ids=tuple(map(str, range(n_documents))),
        query_ids=tuple(map(str, range(n_queries))),
        query_is_train=None,
    )


@pytest.fixture
def collection(monkeypatch):
    data = small_collection()
    monkeypatch.setattr(_texts, "load_retrieval", lambda name: data)
    monkeypatch.setattr(
        ridge,
        "load_texts",
        lambda name, seed=0, **options: _texts.load_texts(name, seed, 4, **options),
    )
    _texts._vectors.cache_clear()
    yield data
    _texts._vectors.cache_clear()


def test_texts_are_split_without_queries_that_have_nothing_to_find(collection):
    texts = _texts.load_texts("cranfield", 3, 4)
    assert len(texts.test) == 44 // 3
    assert sorted([*texts.train, *texts.test]) == list(range(44))
    np.testing.assert_allclose(np.linalg.norm(texts.documents, axis=1), 1, rtol=1e-5)
    assert set(texts.relevance.data) == {1.0, 2.0, 3.0, 4.0}
    assert set(_texts.load_texts("cranfield", 3, 4, graded=False).relevance.data) == {1.0}
    assert not np.array_equal(texts.test, _texts.load_texts("cranfield", 4, 4).test)


def test_the_published_split_is_kept_and_other_seeds_draw_one(collection, monkeypatch):
    published = np.arange(45) % 2 == 0
    object.__setattr__(collection, "query_is_train", published)
    monkeypatch.setattr(_texts, "_N_TEST_OF_SCIFACT", 10)
    assert (
        _texts.load_texts("cranfield", 0, 4).train.tolist()
        == np.flatnonzero(published[:44]).tolist()
    )
    assert len(_texts.load_texts("cranfield", 1, 4).test) == 10


def test_ndcg_is_that_of_the_library_by_kind_with_offsets_applied(collection):
    texts = _texts.load_texts("cranfield", 0, 4)
    directions = np.random.default_rng(0).normal(size=(30, 4))
    offsets = lw.ItemOffsets(range(30), directions, np.ones(30), 0.5, np.zeros(4))
    report = lw.evaluate_retrieval(
        "cosine",
        texts.queries[texts.test],
        offsets.apply(range(60), texts.documents),
        relevance=texts.relevance[texts.test],
        trained_on=texts.relevance[texts.train],
        k=10,
    )
    expected = [report["ndcg@10"], report.seen["ndcg@10"], report.new["ndcg@10"]]
    np.testing.assert_allclose(texts.ndcg("cosine", offsets), expected)
    assert not np.allclose(texts.ndcg("cosine"), expected)


def test_random_relevance_has_the_same_items_for_other_queries(collection):
    grades = _texts.load_texts("cranfield", 0, 4).relevance
    shuffled = ridge._shuffled(grades, np.random.default_rng(0))
    assert sorted(shuffled.indices) == sorted(grades.indices)
    assert not np.array_equal(shuffled.indices, grades.indices)
    assert set(shuffled.data) == {1.0, 2.0, 3.0, 4.0}


def test_tables_have_the_gain_over_seen_and_new_items(collection, monkeypatch, tmp_path):
    monkeypatch.setattr(ridge, "_CRANFIELD_SPLITS", 2)
    rows = reproduce("ridge", tmp_path, only="graded")
    by_method = {row.method: row.ours for row in rows}
    for kind in ("overall", "seen", "new"):
        gain = by_method[f"ridge: {kind}"] - by_method[f"cosine: {kind}"]
        assert by_method[f"gain of ridge: {kind}"] == pytest.approx(gain)
    assert (tmp_path / "ridge-gains.png").is_file()


def test_the_notes_say_how_often_the_start_was_kept():
    values = np.zeros((3, 3))
    notes = {row.note for row in ridge._rows("some data", "ridge", values, [True, False, False])}
    assert notes == {"start kept in 2 of 3"}


def test_figures_of_the_reference_stand_beside_ours():
    rows = list(ridge._rows("SciFact, published split", "ridge", np.array([[0.8, 0.9, 0.6]])))
    assert [(row.published, row.ours) for row in rows] == [
        (0.817, 0.8),
        (0.909, 0.9),
        (0.645, 0.6),
    ]


def test_random_relevance_counts_the_draws_that_keep_the_start(collection, monkeypatch):
    monkeypatch.setattr(ridge, "_DRAWS", 3)
    (row,) = ridge.rows("random")
    assert row.ours in (0, 1 / 3, 2 / 3, 1)
    assert f"{round(3 * row.ours)} of 3 draws" in row.note
