"""Offsets in an index: what is stored moves, what was given comes back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from tests.index.offsets.moved_items import (
    FORM,
    IDS,
    ITEMS,
    KINDS,
    OFFSETS,
    QUERIES,
    WIDTH,
    N,
    as_rows,
    assert_same_answers,
    bits,
    offsets_for,
)

import likewise as lw
from likewise.index.engines import _choice


@pytest.mark.parametrize(("similarity", "options"), KINDS, ids=repr)
def test_an_index_with_offsets_is_one_of_the_moved_items(place, similarity, options):
    moved = OFFSETS.apply(IDS, ITEMS)
    fresh = lw.Index(similarity, **place(), **options).add(IDS, moved)
    plain = lw.Index(similarity, **place(), **options).add(IDS, ITEMS)
    given = lw.Index(similarity, **place(), **options, offsets=OFFSETS).add(IDS, ITEMS)
    later = lw.Index(similarity, **place(), **options).add(IDS, ITEMS)
    assert later.set_offsets(OFFSETS) is later
    for index in (given, later):
        assert index.offsets.ids == OFFSETS.ids
        assert index.ids == IDS
        assert_same_answers(index, fresh)
        assert (index.search(QUERIES, 5).scores != plain.search(QUERIES, 5).scores).any()
        assert_array_equal(index.items(IDS), ITEMS)
        other = offsets_for(IDS[::2], seed=1, gamma=2.0)
        again = lw.Index(similarity, **place(), **options).add(IDS, other.apply(IDS, ITEMS))
        assert_same_answers(index.set_offsets(other), again)
        assert_same_answers(index.set_offsets(None), plain)
        assert index.offsets is None
        assert bits(index.items(IDS)) == bits(plain.items(IDS))


@pytest.mark.parametrize("norm", ["none", "cosine", "dice", "jaccard"])
def test_sparse_items_that_are_held_sparse_move_as_well(norm):
    W = 1.0 if norm in ("dice", "jaccard") else FORM
    # So short that no entry leaves [0, 1], wherever a row points.
    s, P = lw.Bilinear(W, norm), csr_array(np.where(ITEMS > 0.6, np.minimum(ITEMS, 1) / 2, 0))
    gentle = lw.ItemOffsets(IDS[::3], np.eye(4)[np.arange(20) % 4], np.ones(20), 0.3, np.zeros(4))
    moved = gentle.apply(IDS, P)
    fresh, plain = lw.Index(s).add(IDS, moved), lw.Index(s).add(IDS, P)
    Q = np.minimum(QUERIES, 1)
    for index in (
        lw.Index(s, offsets=gentle).add(IDS[:30], P[:30]).add(IDS[30:], P[30:]),
        lw.Index(s).add(IDS, P).set_offsets(gentle),
    ):
        found, expected = index.search(Q, 20), fresh.search(Q, 20)
        assert found.ids.tolist() == expected.ids.tolist()
        assert_allclose(found.scores, expected.scores, rtol=1e-6)
        assert issparse(index.items(IDS))
        assert_array_equal(as_rows(index.items(IDS)), as_rows(P))
        index.set_offsets(None)
        assert bits(index.items(IDS)) == bits(plain.items(IDS))
        assert_array_equal(index.search(Q, 20).scores, plain.search(Q, 20).scores)


def test_dense_items_join_sparse_ones_that_are_moved():
    s = lw.Bilinear(FORM)
    index = lw.Index(s, offsets=OFFSETS).add(IDS[:30], csr_array(ITEMS[:30]))
    index.add(IDS[30:], ITEMS[30:])
    expected = s.neighbors(QUERIES, OFFSETS.apply(IDS, ITEMS), 5)
    assert index.search(QUERIES, 5).ids.tolist() == [[IDS[i] for i in row] for row in expected.ids]
    assert_array_equal(as_rows(index.items(IDS)), ITEMS)


def test_a_stored_id_asks_with_what_was_given(place):
    s = lw.Bilinear(FORM)
    index = lw.Index(s, **place(), offsets=offsets_for(IDS, gamma=3.0)).add(IDS, ITEMS)
    for i in (0, 1, 5):
        by_row = [m for m in index.search(ITEMS[i : i + 1], N).row(0) if m[0] != IDS[i]]
        by_id = index.search(IDS[i], N - 1).row(0)
        assert [name for name, _ in by_id] == [name for name, _ in by_row]
        assert_allclose([x for _, x in by_id], [x for _, x in by_row], rtol=1e-6)
    moved = index.offsets.apply(IDS, ITEMS)
    by_moved = s.neighbors(moved[:9], moved, 5).ids  # what would have been found else
    assert (by_moved != s.neighbors(ITEMS[:9], moved, 5).ids).any()


def test_recall_is_of_what_is_stored(place):
    index = lw.Index(lw.Bilinear(FORM), **place(), offsets=offsets_for(IDS, gamma=3.0))
    index.add(IDS, ITEMS)
    assert index.served_recall(QUERIES) == 1.0
    assert index.served_recall() == 1.0
    assert index.tune(1.0, queries=QUERIES).recall == 1.0


def test_update_and_remove_drop_an_offset_until_others_are_set(place):
    s = lw.Bilinear(FORM)
    at = place()
    index = lw.Index(s, **at, offsets=OFFSETS).add(IDS, ITEMS)
    moved = OFFSETS.apply(IDS, ITEMS)
    index.update([IDS[0]], ITEMS[:1]).remove([IDS[3]]).add([IDS[3]], ITEMS[3:4])
    index.remove([IDS[0], IDS[6]]).add([IDS[0]], ITEMS[:1])
    held = {IDS[0]: ITEMS[0], IDS[3]: ITEMS[3], IDS[9]: moved[9], IDS[1]: ITEMS[1]}
    for name, row in held.items():
        scores = index.search(QUERIES, 1, where=[name]).scores.ravel()
        assert_allclose(scores, s.score(QUERIES, row[None]).ravel(), rtol=1e-5)
    index.set_offsets(OFFSETS).add([IDS[6]], ITEMS[6:7])
    for n in (0, 3, 6, 9):
        scores = index.search(QUERIES, 1, where=[IDS[n]]).scores.ravel()
        assert_allclose(scores, s.score(QUERIES, moved[n : n + 1]).ravel(), rtol=1e-5)


def test_swap_and_a_bigger_engine_keep_offsets_and_originals(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(_choice, "MAX_ITEMS_EXACT", 50)
    index = lw.Index(lw.Mahalanobis(FORM), offsets=OFFSETS).add(IDS[:40], ITEMS[:40])
    assert index.engine == "exact"
    index.add(IDS[40:], ITEMS[40:])
    assert index.engine == "faiss"
    moved = OFFSETS.apply(IDS, ITEMS)
    for s in (lw.Mahalanobis(FORM), lw.Mahalanobis(FORM[:2]), lw.Bilinear(FORM)):
        fresh = lw.Index(s).add(IDS, moved)
        assert_same_answers(index.swap(s), fresh)
        assert_array_equal(index.items(IDS), ITEMS)
    assert_same_answers(index.set_offsets(None), lw.Index(lw.Bilinear(FORM)).add(IDS, ITEMS))


def test_compaction_keeps_offsets_and_originals(engine):
    s = lw.Bilinear(FORM)
    index = lw.Index(s, engine=engine, offsets=OFFSETS).add(IDS, ITEMS)
    index.update([IDS[0]], ITEMS[1:2]).remove(IDS[10:50])
    index.remove(IDS[50:51])  # compacts first
    assert index.offsets is OFFSETS
    kept = [*IDS[1:10], *IDS[51:], IDS[0]]
    assert index.ids == kept
    places = [IDS.index(i) for i in kept]
    rows = OFFSETS.apply(IDS, ITEMS)[places]
    rows[-1] = ITEMS[1]
    assert_same_answers(index, lw.Index(s, engine=engine).add(kept, rows))
    index.add([IDS[12]], ITEMS[12:13])
    assert_array_equal(index.items([IDS[12]]), ITEMS[12:13])
    scores = index.search(QUERIES, 1, where=[IDS[12]]).scores.ravel()
    assert_allclose(scores, s.score(QUERIES, ITEMS[12:13]).ravel(), rtol=1e-5)


def test_double_precision_comes_back_to_the_last_bit():
    P = np.random.default_rng(8).normal(size=(N, WIDTH))
    for metric in ("inner_product", "cosine", "euclidean"):
        s = lw.Mahalanobis(1.0) if metric == "euclidean" else lw.Bilinear(1.0)
        s = lw.Bilinear(1.0, "cosine") if metric == "cosine" else s
        index = lw.Index(s).add(IDS, P).set_offsets(OFFSETS)
        assert bits(index.items(IDS)) == bits(P)
        assert_same_answers(index, lw.Index(s).add(IDS, OFFSETS.apply(IDS, P)))
        assert bits(index.set_offsets(None).items(IDS)) == bits(P)


@pytest.mark.parametrize("sparse", [False, True])
def test_an_export_holds_moved_items(tmp_path, sparse):
    s = lw.Bilinear(FORM)
    items = csr_array(ITEMS) if sparse else ITEMS
    lw.index.export(s, tmp_path, "numpy", IDS, items, offsets=OFFSETS)
    assert_allclose(np.load(tmp_path / "items.npy"), OFFSETS.apply(IDS, ITEMS), rtol=1e-6)
    numbered = offsets_for([0, 5])
    lw.index.export(s, tmp_path, "numpy", items=items, offsets=numbered)
    assert_allclose(np.load(tmp_path / "items.npy"), numbered.apply(range(N), ITEMS), rtol=1e-6)
    with pytest.raises(TypeError, match="offsets must be ItemOffsets"):
        lw.index.export(s, tmp_path, "numpy", IDS, items, offsets=3)
    narrow = lw.ItemOffsets(["i0"], [[1.0, 0.0]], [1.0], 1.0, [0.0, 0.0])
    with pytest.raises(ValueError, match="offsets moves items of 2 columns"):
        lw.index.export(lw.Bilinear(1.0), tmp_path / "none", "numpy", IDS, items, offsets=narrow)
    assert not (tmp_path / "none").exists()
