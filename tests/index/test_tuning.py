"""Approximate engines: held to a recall, tuned to one, and whole in a file."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import likewise as lw
from likewise.index._snapshot import Searching
from likewise.index._tuning import Step, min_effort
from likewise.index.engines import _choice
from likewise.index.engines._faiss import FaissEngine

N_ITEMS, WIDTH = 3000, 16


@pytest.fixture
def cells(monkeypatch):
    """Let faiss use cells at a size that tests can afford."""
    pytest.importorskip("faiss")

    def make(metric, **parts):
        return FaissEngine(metric, n_flat=500, **parts)

    kind = _choice.EngineKind("faiss", ("inner_product", "euclidean"), make, package="faiss")
    monkeypatch.setitem(_choice.ENGINES, "faiss", kind)


@pytest.fixture(params=["faiss", "usearch"])
def engine(request, cells):
    pytest.importorskip(request.param)
    return request.param


def clustered(n, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(42).normal(size=(40, WIDTH)) * 2
    return (centers[rng.integers(40, size=n)] + rng.normal(size=(n, WIDTH))).astype(np.float32)


ITEMS, QUERIES = clustered(N_ITEMS), clustered(100, seed=1)
FORM = np.random.default_rng(7).normal(size=(WIDTH, WIDTH))
SIMILARITIES = [
    lw.Bilinear(FORM),
    lw.Bilinear(FORM, "cosine"),
    lw.Mahalanobis(FORM),
]


@pytest.mark.parametrize("fold", ["auto", "both"])
@pytest.mark.parametrize("similarity", SIMILARITIES, ids=repr)
def test_tuning_reaches_the_recall_that_is_asked_for(engine, similarity, fold):
    index = lw.Index(similarity, engine=engine, fold=fold).add(range(N_ITEMS), ITEMS)
    assert not index.is_exact
    tuned = index.tune(0.95, queries=QUERIES)
    assert tuned.reached
    assert tuned.effort == index.effort
    found, truth = index.search(QUERIES, 10), similarity.neighbors(QUERIES, ITEMS, 10)
    hits = [len(set(a) & set(b)) for a, b in zip(found.ids, truth.ids, strict=True)]
    assert np.mean(hits) / 10 >= 0.95
    assert index.served_recall(QUERIES) == pytest.approx(tuned.recall, abs=1e-9)
    # What is found has its own score, on the similarity's scale, best first.
    expected = similarity.score_pairs(QUERIES.repeat(10, 0), ITEMS[found.ids.ravel().astype(int)])
    assert_allclose(found.scores.ravel(), expected, rtol=2e-3, atol=2e-3)
    assert (np.diff(found.scores) <= 1e-6).all()


def test_more_effort_finds_no_less(engine):
    index = lw.Index(lw.Mahalanobis(1.0), engine=engine).add(range(N_ITEMS), ITEMS)
    store = index.snapshot.store
    recalls = []
    for effort in store.efforts(10)[::4]:
        store.set_effort(effort)
        recalls.append(index.served_recall(QUERIES))
    assert (np.diff(recalls) >= -0.005).all()  # a graph may lose one match in a thousand
    assert recalls[-1] > recalls[0]


def test_removed_and_updated_items_are_not_found_as_they_were(engine):
    s = lw.Mahalanobis(1.0)
    index = lw.Index(s, engine=engine).add(range(N_ITEMS), ITEMS)
    index.remove(range(0, 1000, 2)).update(range(1, 1000, 2), -ITEMS[1:1000:2])
    kept = np.r_[1000:N_ITEMS, 1:1000:2]
    P = np.concatenate([ITEMS[1000:], -ITEMS[1:1000:2]])
    index.tune(0.99, queries=QUERIES)
    found, truth = index.search(QUERIES, 10), s.neighbors(QUERIES, P, 10)
    assert set(found.ids.ravel()) <= set(kept.tolist())
    hits = [len(set(a) & set(kept[b])) for a, b in zip(found.ids, truth.ids, strict=True)]
    assert np.mean(hits) / 10 >= 0.99
    assert len(index) == N_ITEMS - 500


def test_a_filter_leaves_no_place_empty_that_could_be_filled(engine):
    index = lw.Index(lw.Mahalanobis(1.0), engine=engine)
    index.add(range(N_ITEMS), ITEMS, fields={"rare": [n % 100 == 0 for n in range(N_ITEMS)]})
    found = index.search(QUERIES, 25, where={"rare": True})
    assert (found.ids % 100 == 0).all()
    assert np.isfinite(found.scores).all()


def test_a_wide_filter_on_many_items_goes_through_the_engine(engine, monkeypatch):
    from likewise.index import _search

    monkeypatch.setattr(_search, "_MAX_SCORED", 10)
    index = lw.Index(lw.Mahalanobis(1.0), engine=engine)
    index.add(range(N_ITEMS), ITEMS, fields={"third": [n % 3 == 0 for n in range(N_ITEMS)]})
    index.snapshot.store.set_effort(200)
    found = index.search(QUERIES, 10, where={"third": True})
    truth = lw.Mahalanobis(1.0).neighbors(QUERIES, ITEMS[::3], 10).ids * 3
    hits = [len(set(a) & set(b)) for a, b in zip(found.ids, truth, strict=True)]
    assert np.mean(hits) / 10 >= 0.9
    assert (found.ids % 3 == 0).all()


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=repr)
def test_a_file_keeps_answers_and_effort(engine, similarity, tmp_path):
    index = lw.Index(similarity, engine=engine).add(range(N_ITEMS), ITEMS)
    index.remove(range(100, 200))
    index.tune(0.97, queries=QUERIES)
    index.save(tmp_path / "index")
    loaded = lw.load(tmp_path / "index")
    assert (loaded.engine, loaded.effort, len(loaded)) == (engine, index.effort, N_ITEMS - 100)
    for k in (1, 10):
        before, after = index.search(QUERIES, k), loaded.search(QUERIES, k)
        assert_array_equal(before.ids, after.ids)
        assert_allclose(before.scores, after.scores, rtol=1e-6, atol=1e-6)
    # What was mapped from the file can be changed, and the file stays as it was.
    loaded.add(["new"], QUERIES[:1] * 3).remove([0]).update([1], ITEMS[:1])
    assert loaded.search(QUERIES[:1], 1, where=["new", 0]).ids.tolist() == [["new"]]
    assert len(loaded) == N_ITEMS - 100
    again = lw.load(tmp_path / "index")
    assert_array_equal(again.search(QUERIES, 10).ids, index.search(QUERIES, 10).ids)


def test_a_target_that_is_not_reached_is_a_warning(engine, monkeypatch):
    index = lw.Index(lw.Bilinear(FORM), engine=engine).add(range(N_ITEMS), ITEMS)
    kind = type(index.snapshot.store.slots.engine)
    monkeypatch.setattr(kind, "efforts", lambda self, k: [1, 2])
    with pytest.warns(
        UserWarning, match=r"reaches a recall of 0\.\d+ at most, not 1\.0: fold='both'"
    ):
        tuned = index.tune(1.0, queries=QUERIES, k=1 if engine == "faiss" else 10)
    assert not tuned.reached
    assert index.effort == tuned.effort == 2


def test_an_interrupted_tuning_leaves_the_effort_as_it_was(engine, monkeypatch):
    index = lw.Index(lw.Bilinear(FORM), engine=engine).add(range(N_ITEMS), ITEMS)
    before = index.effort
    recall = Searching.recall

    def interrupted(self, *args):
        recall(self, *args)
        raise KeyboardInterrupt

    monkeypatch.setattr(Searching, "recall", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.tune(queries=QUERIES)
    assert index.effort == before


def test_an_effort_outlives_compacting_and_swapping(engine):
    index = lw.Index(lw.Mahalanobis(1.0), engine=engine).add(range(N_ITEMS), ITEMS)
    index.snapshot.store.set_effort(33)
    index.remove(range(1600)).add([9999], ITEMS[:1])
    assert index.effort == 33
    index.swap(lw.Mahalanobis(2.0))
    assert index.effort == 33


def test_an_exact_index_has_nothing_to_tune():
    index = lw.Index(lw.Bilinear(1.0)).add(range(N_ITEMS), ITEMS)
    tuned = index.tune(queries=QUERIES)
    assert (tuned.recall, tuned.effort, tuned.steps, tuned.reached) == (1.0, None, (), True)
    assert "nothing to tune" in str(tuned)
    assert index.served_recall() == 1.0


def test_candidates_that_are_scored_again_are_tuned_by_their_number(engine):
    s = lw.Bilinear(1.0, "dice")
    P, Q = np.abs(ITEMS), np.abs(QUERIES)
    index = lw.Index(s, engine=engine).add(range(N_ITEMS), P)
    assert not index.is_exact
    tuned = index.tune(0.9, queries=Q)
    assert tuned.reached
    assert index.n_candidates == tuned.effort
    expected = s.score_pairs(Q.repeat(10, 0), P[index.search(Q, 10).ids.ravel().astype(int)])
    assert_allclose(index.search(Q, 10).scores.ravel(), expected, rtol=1e-5)


def test_the_minimum_effort_is_found_by_bisection():
    tried = []

    def measure(effort):
        tried.append(effort)
        return Step(effort, effort / 100, 1.0)

    efforts = list(range(0, 101, 5))
    for target in (0.0, 0.03, 0.5, 0.52, 0.97, 1.0):
        tried.clear()
        chosen, steps = min_effort(efforts, target, measure)
        assert chosen.effort == min(e for e in efforts if e / 100 >= target)
        assert len(tried) <= 6
        assert [s.effort for s in steps] == sorted(set(tried))
