"""Offsets in an index: what is stored moves, what was given comes back."""

import json
import subprocess
import sys
import textwrap
import threading
from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_array, issparse

import likewise as lw
from likewise.exceptions import ModelFileError
from likewise.index.engines import _choice
from likewise.index.stores import MemoryStore, _table
from likewise.index.stores._slots import Slots

N, WIDTH = 60, 4
_numbers = count()
rng = np.random.default_rng(3)
ITEMS = np.abs(rng.normal(size=(N, WIDTH))).astype(np.float32)
QUERIES = np.abs(rng.normal(size=(9, WIDTH))).astype(np.float32)
FORM = rng.normal(size=(WIDTH, WIDTH))
IDS = [f"i{n}" for n in range(N)]

KINDS = [
    (lw.Bilinear(FORM), {}),
    (lw.Bilinear(FORM), {"fold": "both"}),
    (lw.Bilinear(FORM), {"fold": "rerank"}),
    (lw.Bilinear(FORM, "cosine"), {}),
    (lw.Bilinear(FORM, "cosine"), {"fold": "both"}),
    (lw.Bilinear(FORM, "cosine"), {"metric": "inner_product"}),
    (lw.Mahalanobis(FORM), {}),
    (lw.Mahalanobis(FORM[:2]), {"metric": "inner_product"}),
    (lw.Mahalanobis(FORM), {"fold": "rerank"}),
]


def offsets_for(ids, seed=0, gamma=0.5):
    """Return offsets of non-negative directions, so that every norm can score what they move."""
    directions = np.abs(np.random.default_rng(seed).normal(size=(len(ids), WIDTH)))
    return lw.ItemOffsets(ids, directions, np.ones(len(ids)), gamma, np.zeros(WIDTH))


OFFSETS = offsets_for([*IDS[::3], "not stored"])


@pytest.fixture(params=["exact", "faiss", "usearch"])
def engine(request):
    if request.param != "exact":
        pytest.importorskip(request.param)
    return request.param


@pytest.fixture(params=["exact", "faiss", "usearch", "pgvector"])
def place(request):
    """Return the options of an engine; for pgvector a table that no other test uses."""
    if request.param == "pgvector":
        return in_table(request.getfixturevalue("postgres_url"))
    if request.param != "exact":
        pytest.importorskip(request.param)
    return lambda: {"engine": request.param}


@pytest.fixture
def table(postgres_url):
    return in_table(postgres_url)


def in_table(url):
    return lambda: {"url": url, "table": f"offsets_{next(_numbers)}"}


def as_rows(items):
    return items.toarray() if issparse(items) else np.asarray(items)


def assert_same_answers(index, fresh, k=N):
    """Assert that two indexes find the same, to the last bit: by the engine and by scoring."""
    for where in (None, IDS):
        found, expected = index.search(QUERIES, k, where), fresh.search(QUERIES, k, where)
        if where is None and "usearch" in (index.engine, fresh.engine):
            assert_same_scores(found, expected)
            continue
        assert found.ids.tolist() == expected.ids.tolist()
        assert_array_equal(found.scores, expected.scores)


def assert_same_scores(found, expected):
    """Assert that two graphs agree in what both find: threads build them, each a bit otherwise."""
    for row in range(len(found.ids)):
        scores, others = dict(found.row(row)), dict(expected.row(row))
        common = set(scores) & set(others)
        assert len(common) >= 0.8 * max(len(scores), len(others))
        assert [scores[i] for i in common] == [others[i] for i in common]


def bits(rows):
    rows = as_rows(rows)
    return rows.dtype, rows.tobytes()


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


class Plain:
    """What an index with offsets promises, as plainly as it can be said."""

    def __init__(self):
        self.rows, self.moved, self.offsets, self.dropped = {}, {}, None, set()

    def stored(self, name):
        row = self.rows[name]
        return self.offsets.apply([name], row[None])[0] if self.moved[name] else row

    def add(self, ids, rows):
        for name, row in zip(ids, rows, strict=True):
            self.rows[name] = row
            known = self.offsets is not None and name in self.offsets
            self.moved[name] = known and name not in self.dropped

    def update(self, ids, rows):
        for name, row in zip(ids, rows, strict=True):
            self.rows[name], self.moved[name] = row, False
            self.dropped.add(name)

    def remove(self, ids):
        for name in ids:
            del self.rows[name]
            self.dropped.add(name)

    def set_offsets(self, offsets):
        self.offsets, self.dropped = offsets, set()
        self.moved = {name: offsets is not None and name in offsets for name in self.rows}


def random_changes(index, similarities, seed, tmp_path, n_steps):
    """Yield an index after each of some random changes, and what it should hold."""
    draw = np.random.default_rng(seed)
    plain, names = Plain(), [f"x{n}" for n in range(25)]

    def some(of):
        of = sorted(of)
        return [of[i] for i in draw.permutation(len(of))[: draw.integers(1, 6)]] if of else []

    for _ in range(n_steps):
        step = draw.choice(["add", "add", "update", "remove", "offsets", "none", "swap", "file"])
        if step in ("add", "update"):
            ids = some(set(names) - set(plain.rows) if step == "add" else plain.rows)
            if not ids:
                continue
            rows = np.abs(draw.normal(size=(len(ids), WIDTH))).astype(np.float32)
            getattr(index, step)(ids, rows)
            getattr(plain, step)(ids, rows)
        elif step == "remove" and plain.rows:
            ids = some(plain.rows)
            index.remove(ids)
            plain.remove(ids)
        elif step in ("offsets", "none"):
            gamma = float(draw.choice([0.0, 0.5, 2.0]))
            new = None if step == "none" else offsets_for(some(names), draw.integers(99), gamma)
            index.set_offsets(new)
            plain.set_offsets(new)
        elif step == "swap":
            index.swap(similarities[draw.integers(len(similarities))])
        elif step == "file":
            index.save(tmp_path / "index")
            index = lw.load(tmp_path / "index")
        yield index, plain


def assert_holds(index, plain):
    assert sorted(index.ids) == sorted(plain.rows)
    if not plain.rows:
        return
    names = sorted(plain.rows)
    assert_array_equal(index.items(names), np.stack([plain.rows[name] for name in names]))
    stored = np.stack([plain.stored(name) for name in names])
    # A graph may lose sight of an item once others were taken out; among named ids it does not.
    found = index.search(QUERIES, len(names), names if index.engine == "usearch" else None)
    expected = index.similarity.score(QUERIES.astype(float), stored.astype(float))
    for ids, scores, row in zip(found.ids, found.scores, expected, strict=True):
        by_name = dict(zip(names, row, strict=True))
        assert_allclose(scores, [by_name[name] for name in ids], rtol=1e-4, atol=1e-5)
        assert (np.diff(scores.astype(float)) <= 1e-6).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("fold", ["auto", "both", "rerank"])
def test_random_changes_leave_what_a_plain_model_holds(place, fold, seed, tmp_path):
    similarities = [lw.Bilinear(FORM), lw.Bilinear(FORM.T, "cosine"), lw.Mahalanobis(FORM)]
    index = lw.Index(similarities[seed % 3], **place(), fold=fold)
    n_checked = 0
    for index, plain in random_changes(index, similarities, seed, tmp_path, 40):  # noqa: B020
        assert_holds(index, plain)
        n_checked += any(plain.moved.get(name) for name in plain.rows)
    assert n_checked > 3


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


# files


@pytest.mark.parametrize(("similarity", "options"), KINDS, ids=repr)
def test_a_file_keeps_offsets_originals_and_what_was_dropped(engine, similarity, options, tmp_path):
    index = lw.Index(similarity, engine=engine, **options, offsets=OFFSETS).add(IDS, ITEMS)
    index.remove([IDS[0], IDS[1]]).update([IDS[3]], ITEMS[:1])
    index.save(tmp_path / "index")
    loaded = lw.load(tmp_path / "index")
    assert_same_answers(loaded, index)
    assert_array_equal(loaded.items(IDS[4:]), ITEMS[4:])
    assert loaded.offsets.ids == OFFSETS.ids
    for each in (index, loaded):
        each.add([IDS[0]], ITEMS[:1])  # as it is, because it was removed
    scores = loaded.search(QUERIES, 1, where=[IDS[0]]).scores.ravel()
    assert_allclose(scores, similarity.score(QUERIES, ITEMS[:1]).ravel(), rtol=1e-4, atol=1e-5)
    assert_same_answers(loaded, index)
    assert bits(loaded.set_offsets(None).items(IDS[4:])) == bits(ITEMS[4:])
    loaded.save(tmp_path / "index")
    assert_same_answers(lw.load(tmp_path / "index"), loaded)


def test_sparse_originals_and_an_empty_index_have_files(tmp_path):
    s = lw.Bilinear(FORM)
    lw.Index(s, offsets=OFFSETS).add(IDS, csr_array(ITEMS)).save(tmp_path / "index")
    loaded = lw.load(tmp_path / "index")
    assert_same_answers(loaded, lw.Index(s).add(IDS, OFFSETS.apply(IDS, csr_array(ITEMS))))
    assert_array_equal(as_rows(loaded.set_offsets(None).items(IDS)), ITEMS)
    empty = lw.Index(s, offsets=OFFSETS).add(IDS[:1], ITEMS[:1]).remove(IDS[:1])
    empty.save(tmp_path / "index")
    loaded = lw.load(tmp_path / "index").add(IDS, ITEMS)
    moved = OFFSETS.apply(IDS, ITEMS)
    moved[0] = ITEMS[0]
    assert_same_answers(loaded, lw.Index(s).add(IDS, moved))


def tampered(path, change):
    """Write a file anew, with its arrays and parameters changed."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        header = dict(file.metadata())
    arrays = {name: array.copy() for name, array in load_file(path).items()}
    parameters = json.loads(header["parameters"])
    change(arrays, parameters)
    save_file(arrays, path, metadata={**header, "parameters": json.dumps(parameters)})


def set_array(name, value):
    def change(arrays, parameters):
        found = [key for key in arrays if key.startswith(f"{name}#")]
        assert found, sorted(arrays)
        arrays[found[0]] = np.ascontiguousarray(value(arrays[found[0]]))

    return change


def without(*names):
    def change(arrays, parameters):
        for name in names:
            del parameters[name]

    return change


def nan_in(rows):
    rows[0, 0] = np.nan
    return rows


def as_json(value):
    return lambda a: np.frombuffer(json.dumps(value).encode(), np.uint8)


@pytest.mark.parametrize(
    "change",
    [
        set_array("originals", lambda a: a[:-1]),
        set_array("originals", lambda a: a[:, :-1]),
        set_array("originals", lambda a: a.ravel()),
        set_array("originals", nan_in),
        set_array("moved", lambda a: a[:-1]),
        set_array("moved", lambda a: a[::-1]),
        set_array("moved", lambda a: a + N),
        set_array("moved", lambda a: a - 3),
        set_array("moved", lambda a: a + 1),
        set_array("moved", lambda a: np.zeros_like(a)),
        set_array("moved", lambda a: a.astype(np.float64)),
        set_array("moved", lambda a: a[:, None]),
        set_array("moved", lambda a: a[:0]),
        set_array("dropped", as_json(["i1"])),
        set_array("dropped", as_json([["i0"]])),
        set_array("dropped", as_json({"i0": 1})),
        set_array("dropped", lambda a: a[:-1]),
        set_array("directions", lambda a: a[:, :-1]),
        set_array("directions", lambda a: a[:-1]),
        set_array("directions", nan_in),
        set_array("center", lambda a: a[:-1]),
        without("moved"),
        without("originals"),
        without("offsets"),
        without("offsets", "dropped"),
        lambda arrays, parameters: parameters.update(offsets=5),
        lambda arrays, parameters: parameters.update(moved=[0]),
        lambda arrays, parameters: parameters.update(originals="x"),
        lambda arrays, parameters: parameters.update(dropped="x"),
    ],
)
@pytest.mark.parametrize("kind", ["exact", "usearch"])
def test_parts_that_do_not_belong_together_are_refused(tmp_path, change, kind):
    pytest.importorskip("usearch")
    path = tmp_path / "index"
    index = lw.Index(lw.Bilinear(1.0), engine=kind, offsets=OFFSETS).add(IDS, ITEMS)
    index.remove(IDS[6:7]).save(path)
    lw.load(path)
    tampered(path, change)
    with pytest.raises(ModelFileError, match="is not a readable model"):
        lw.load(path)


def test_offsets_of_another_width_in_a_file_are_refused(tmp_path):
    path = tmp_path / "index"
    lw.Index(lw.Bilinear(1.0), offsets=offsets_for(["elsewhere"])).add(IDS, ITEMS).save(path)

    def narrow(arrays, parameters):
        for name in ("directions", "center"):
            found = next(key for key in arrays if key.startswith(name))
            arrays[found] = np.ascontiguousarray(arrays[found][..., :-1])

    tampered(path, narrow)
    with pytest.raises(ModelFileError, match="offsets moves items of 3 columns, but the items hav"):
        lw.load(path)


def test_a_file_without_offsets_has_no_parts_of_them(tmp_path):
    index = lw.Index(lw.Bilinear(1.0), offsets=OFFSETS).add(IDS, ITEMS).set_offsets(None)
    assert not {"offsets", "dropped", "moved", "originals"} & set(index._parts_for_file())


# what is refused


def test_other_things_than_offsets_are_refused(place):
    s = lw.Bilinear(FORM)
    index = lw.Index(s, **place()).add(IDS, ITEMS)
    for wrong in ({"i0": 1}, 0.5, "offsets", OFFSETS.directions):
        with pytest.raises(TypeError, match="offsets must be ItemOffsets, such as a learner's"):
            index.set_offsets(wrong)
        with pytest.raises(TypeError, match="offsets must be ItemOffsets, such as a learner's"):
            lw.Index(s, **place(), offsets=wrong)
    narrow = lw.ItemOffsets(["i0"], [[1.0, 0.0]], [1.0], 1.0, [0.0, 0.0])
    with pytest.raises(ValueError, match="offsets moves items of 2 columns, but the items have 4"):
        index.set_offsets(narrow)
    with pytest.raises(ValueError, match=r"offsets moves items of 2 columns, which Bilinear\(W=4"):
        lw.Index(s, **place(), offsets=narrow)
    late = lw.Index(lw.Bilinear(1.0), **place(), offsets=narrow)
    with pytest.raises(ValueError, match="offsets moves items of 2 columns, but the items have 4"):
        late.add(IDS, ITEMS)
    assert len(late) == 0
    assert index.offsets is None
    assert_same_answers(index, lw.Index(s, **place()).add(IDS, ITEMS))


def test_a_similarity_of_objects_has_no_offsets():
    s = lw.from_callable(lambda a, b: -abs(len(a) - len(b)))
    with pytest.raises(ValueError, match=r"offsets needs a similarity that takes rows of numbers"):
        lw.Index(s, offsets=OFFSETS)
    index = lw.Index(s).add(["i0"], ["text"])
    with pytest.raises(ValueError, match=r"but .* takes objects"):
        index.set_offsets(OFFSETS)
    with pytest.raises(ValueError, match=r"but .* takes objects"):
        lw.Index(lw.Bilinear(1.0), offsets=OFFSETS).swap(s)
    assert index.search(["four"], 1).ids.tolist() == [["i0"]]


def test_items_that_would_move_beyond_what_a_norm_takes_are_refused():
    s = lw.Bilinear(1.0, "dice")
    back = lw.ItemOffsets(["i0"], [[-9.0, 0, 0, 0]], [1.0], 1.0, np.zeros(4))
    index = lw.Index(s).add(IDS, ITEMS)
    before = index.search(QUERIES, 5)
    with pytest.raises(ValueError, match="offsets must move items to vectors that"):
        index.set_offsets(back)
    with pytest.raises(ValueError, match="offsets must move items to vectors that"):
        lw.Index(s, offsets=back).add(IDS, ITEMS)
    assert index.offsets is None
    assert_array_equal(index.search(QUERIES, 5).scores, before.scores)
    moved = lw.Index(lw.Bilinear(1.0), offsets=back).add(IDS, ITEMS)
    with pytest.raises(ValueError, match="similarity cannot score the items that are stored"):
        moved.swap(s)
    original = lw.ItemOffsets(["i0"], [[9.0, 9, 9, 9]], [1.0], 1.0, np.zeros(4))
    moved = lw.Index(lw.Bilinear(1.0), offsets=original).add(["i0"], -ITEMS[:1])
    with pytest.raises(ValueError, match="similarity cannot score the items that are stored"):
        moved.swap(s)


# searches and interruptions meanwhile


def test_an_interrupted_change_of_offsets_leaves_what_was(engine, monkeypatch):
    s = lw.Bilinear(FORM)
    index = lw.Index(s, engine=engine, offsets=OFFSETS).add(IDS, ITEMS)
    fresh = lw.Index(s, engine=engine).add(IDS, OFFSETS.apply(IDS, ITEMS))

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    steps = [(MemoryStore, "_put"), (MemoryStore, "originals"), (Slots, "append"), (Slots, "moved")]
    for owner, step in steps:
        with monkeypatch.context() as patch:
            patch.setattr(owner, step, interrupted)
            for new in (None, offsets_for(IDS, 5)):
                with pytest.raises(KeyboardInterrupt):
                    index.set_offsets(new)
        assert index.offsets is OFFSETS
        assert_same_answers(index, fresh)
        assert_array_equal(index.items(IDS), ITEMS)


@pytest.mark.parametrize("step", ["_put", "engine"])
def test_an_interrupted_add_does_not_mix_up_originals(engine, monkeypatch, step):
    s = lw.Bilinear(FORM)
    index = lw.Index(s, engine=engine, offsets=OFFSETS).add(IDS[:30], ITEMS[:30])
    what = _choice.ENGINES[engine].make if step == "engine" else MemoryStore
    method = getattr(what, "add" if step == "engine" else step)

    def interrupted(*args, **kwargs):
        method(*args, **kwargs)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(what, "add" if step == "engine" else step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.add(IDS[30:], -ITEMS[30:])
    index.add(IDS[30:], ITEMS[30:])
    assert_array_equal(index.items(IDS), ITEMS)
    assert_same_answers(index, lw.Index(s, engine=engine).add(IDS, OFFSETS.apply(IDS, ITEMS)))


def test_searches_during_changes_of_offsets_see_one_state(place):
    s = lw.Bilinear(FORM)
    at = place()
    index = lw.Index(s, **at).add(IDS, ITEMS)
    choices = [None, OFFSETS, offsets_for(IDS, seed=7, gamma=2.0)]
    states = [ITEMS if each is None else each.apply(IDS, ITEMS) for each in choices]
    expected = [[s.score(Q, P) for Q in (QUERIES, ITEMS[:9])] for P in states]

    def is_of(found, scores):
        places = np.array([[IDS.index(i) for i in row] for row in found.ids])
        true = np.take_along_axis(scores, places, axis=1)
        return np.allclose(found.scores.astype(float), true, rtol=1e-4, atol=1e-5)

    wrong, done = [], threading.Event()

    def search():
        try:
            while not done.is_set():
                for which, queries in enumerate((QUERIES, IDS[:9])):
                    found = index.search(queries, 10)
                    if not any(is_of(found, each[which]) for each in expected):
                        wrong.append(found)
                if not (index.items(IDS) == ITEMS).all():
                    wrong.append("items")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(12):
        index.set_offsets(choices[turn % 3])
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []


# pgvector


def test_another_process_knows_the_offsets_of_a_table(table):
    at, s = table(), lw.Bilinear(FORM)
    index = lw.Index(s, **at).add(IDS[:30], ITEMS[:30]).set_offsets(OFFSETS)
    index.remove([IDS[6]])
    code = """
        import sys
        import numpy as np
        import likewise as lw
        index = lw.Index(lw.Bilinear(1.0), url=sys.argv[1], table=sys.argv[2])
        assert "not stored" in index.offsets
        rows = np.array(eval(sys.argv[3]), np.float32)
        index.add([f"i{n}" for n in range(30, 60)], rows[30:]).add(["i6"], rows[6:7])
        index.update(["i9"], rows[9:10]).remove(["i12"])
    """
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *at.values(),
         repr(ITEMS.tolist())],
        check=True,
    )  # fmt: skip
    index.add([IDS[12]], ITEMS[12:13])
    moved = OFFSETS.apply(IDS, ITEMS)
    moved[[6, 9, 12]] = ITEMS[[6, 9, 12]]
    order = [*IDS[:6], *IDS[7:12], *IDS[13:], IDS[6], IDS[12]]
    rows = moved[[IDS.index(i) for i in order]]
    assert_same_answers(index, lw.Index(s, **table()).add(order, rows))
    assert_array_equal(index.items(IDS), ITEMS)
    other = lw.Index(s, **at)
    plain = lw.Index(s, **table()).add(order, ITEMS[[IDS.index(i) for i in order]])
    assert_same_answers(other.set_offsets(None), plain)
    assert index.offsets is None
    assert index.add(["not stored"], ITEMS[:1]).offsets is None


def test_offsets_that_another_process_sets_during_an_add_are_applied(table, monkeypatch):
    at, s = table(), lw.Mahalanobis(FORM)
    index, other = lw.Index(s, **at).add(IDS[:30], ITEMS[:30]), lw.Index(s, **at)
    create, left = _table.Table.create, [OFFSETS, None, OFFSETS]

    def late(self, *args, **kwargs):
        if left:
            other.set_offsets(left.pop())
        create(self, *args, **kwargs)

    monkeypatch.setattr(_table.Table, "create", late)
    index.add(IDS[30:], ITEMS[30:])
    assert left == []
    moved = OFFSETS.apply(IDS, ITEMS)
    assert_same_answers(index, lw.Index(s, **table()).add(IDS, moved))
    assert_array_equal(index.items(IDS), ITEMS)


def test_an_opened_table_keeps_its_offsets_or_takes_those_given(table, tmp_path):
    at, s = table(), lw.Bilinear(FORM)
    early = lw.Index(s, **at, offsets=OFFSETS)
    early.save(tmp_path / "index")
    assert lw.load(tmp_path / "index").offsets.ids == OFFSETS.ids
    assert early.offsets is OFFSETS
    early.add(IDS, ITEMS).remove([IDS[0]])
    fresh = lw.Index(s, **table()).add(IDS[1:], OFFSETS.apply(IDS, ITEMS)[1:])
    assert_same_answers(lw.Index(s, **at), fresh)
    same = lw.Index(s, **at, offsets=OFFSETS)  # those that it has: what was dropped stays so
    assert same.add([IDS[0]], ITEMS[:1]).search(ITEMS[:1], 1, [IDS[0]]).scores[0, 0] == (
        pytest.approx(s.score(ITEMS[:1], ITEMS[:1])[0, 0], rel=1e-5)
    )
    other = offsets_for(IDS[::2], seed=4)
    order = [*IDS[1:], IDS[0]]
    moved = other.apply(order, np.roll(ITEMS, -1, axis=0))
    assert_same_answers(lw.Index(s, **at, offsets=other), lw.Index(s, **table()).add(order, moved))
    assert early.offsets.ids == other.ids
    early.save(tmp_path / "index")
    assert lw.load(tmp_path / "index").offsets.ids == other.ids


def test_a_table_of_an_earlier_version_takes_offsets(table, postgres_url):
    import psycopg

    at, s = table(), lw.Bilinear(FORM)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        index = lw.Index(s, **at).add(IDS, ITEMS)
        columns = "select column_name from information_schema.columns where table_name = %s"
        names = {row[0] for row in db.execute(columns, (at["table"],)).fetchall()}
        assert names == {"slot", "id", "embedding", "fields"}
        index.set_offsets(OFFSETS)
        query = f"select count(original), count(*) from {at['table']}"
        assert db.execute(query).fetchone() == (20, N)
        db.execute(f"drop table {at['table']}")
        # A table of the same name has nothing to do with the one that is gone.
        again = lw.Index(s, **at).add(IDS, ITEMS)
        assert again.offsets is None
        assert_same_answers(again, lw.Index(s, **table()).add(IDS, ITEMS))


@pytest.mark.parametrize("step", ["move", "save_offsets", "add_originals", "lock"])
def test_an_interrupted_change_leaves_the_table_as_it_was(table, monkeypatch, step):
    at, s = table(), lw.Mahalanobis(FORM)
    index = lw.Index(s, **at).add(IDS, ITEMS)
    method = getattr(_table.Table, step)

    def interrupted(self, *args, **kwargs):
        method(self, *args, **kwargs)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_table.Table, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.set_offsets(OFFSETS)
    assert index.offsets is None
    assert_same_answers(index, lw.Index(s, **table()).add(IDS, ITEMS))
    fresh = lw.Index(s, **table()).add(IDS, OFFSETS.apply(IDS, ITEMS))
    assert_same_answers(index.set_offsets(OFFSETS), fresh)


def test_a_graph_in_a_table_holds_moved_items(table, monkeypatch):
    monkeypatch.setattr(_table, "_MIN_GRAPH_ROWS", 50)
    at, s = table(), lw.Bilinear(FORM)
    index = lw.Index(s, **at).add(IDS, ITEMS)
    assert not index.is_exact
    index.set_offsets(OFFSETS)
    expected = s.neighbors(QUERIES, OFFSETS.apply(IDS, ITEMS), 5)
    found = index.search(QUERIES, 5)
    assert found.ids.tolist() == [[IDS[i] for i in row] for row in expected.ids]
    assert_allclose(found.scores.astype(float), expected.scores, rtol=1e-4)


# exports


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
