"""An index in a file: as it was, or refused."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests.index_files import set_array, tampered

import likewise as lw
from likewise.exceptions import ModelFileError

ITEMS = np.abs(np.random.default_rng(3).normal(size=(40, 4)))
QUERIES = np.abs(np.random.default_rng(4).normal(size=(6, 4)))
SIMILARITIES = [
    lw.Bilinear(1.0),
    lw.Bilinear(np.arange(16.0).reshape(4, 4), "cosine"),
    lw.Bilinear([1.0, 2.0, 3.0, 4.0], "dice"),
    lw.Mahalanobis(np.arange(12.0).reshape(3, 4)),
    lw.Ranked(ITEMS, "cosine"),
]


@pytest.fixture(params=["exact", "faiss", "usearch"])
def engine(request):
    if request.param != "exact":
        pytest.importorskip(request.param)
    return request.param


def written(index, path):
    index.save(path)
    return lw.load(path)


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=repr)
def test_a_file_gives_back_the_index(engine, similarity, tmp_path):
    index = lw.Index(similarity, engine=engine)
    index.add(range(30), ITEMS[:30], fields={"x": [n % 3 for n in range(30)]})
    index.add([f"i{n}" for n in range(10)], ITEMS[30:], fields={"y": ["é", None] * 5})
    index.remove([3, "i4"]).update([5], ITEMS[:1])
    index.n_candidates = 35
    loaded = written(index, tmp_path / "index")
    assert (loaded.ids, loaded.engine, loaded.is_exact, loaded.n_candidates) == (
        index.ids,
        engine,
        index.is_exact,
        35,
    )
    for where in (None, {"x": [0, 1]}, {"y": "é"}, [5, 6, "i1"]):
        before, after = (one.search(QUERIES, 8, where=where) for one in (index, loaded))
        assert before.ids.tolist() == after.ids.tolist()
        assert_allclose(before.scores, after.scores, rtol=1e-6, atol=1e-6)
    assert_allclose(loaded.items(["i1", 0]), ITEMS[[31, 0]], rtol=1e-6)
    loaded.add(["new"], ITEMS[:1]).remove([0]).swap(lw.Mahalanobis(1.0))
    assert loaded.search(ITEMS[:1], 1).ids.tolist() in ([[5]], [["new"]])
    twice = written(loaded, tmp_path / "index")
    assert twice.ids == loaded.ids


def test_sparse_items_and_an_empty_index_have_files(tmp_path):
    s = lw.Bilinear(1.0)
    index = lw.Index(s).add(range(40), csr_array(ITEMS))
    loaded = written(index, tmp_path / "index")
    assert_array_equal(loaded.search(QUERIES, 5).ids, s.neighbors(QUERIES, ITEMS, 5).ids)
    loaded.add([99], ITEMS[:1])
    empty = written(lw.Index(s, fold="both"), tmp_path / "index")
    assert len(empty) == 0
    assert empty.add(range(40), ITEMS).search(QUERIES, 5).ids.shape == (6, 5)


def test_a_function_has_no_file(tmp_path):
    index = lw.Index(lw.from_callable(max)).add([1], ["a"])
    with pytest.raises(TypeError, match=r"cannot hold|cannot be stored"):
        index.save(tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_a_file_cut_short_is_refused(engine, tmp_path):
    path = tmp_path / "index"
    lw.Index(lw.Mahalanobis(1.0), engine=engine).add(range(40), ITEMS).save(path)
    whole = path.read_bytes()
    for size in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError, match="is not a readable model"):
            lw.load(path)


def set_parameter(name, value):
    def change(arrays, parameters):
        parameters[name] = value

    return change


def test_a_flipped_bit_in_a_graph_is_found(tmp_path):
    pytest.importorskip("usearch")
    path = tmp_path / "index"
    lw.Index(lw.Bilinear(1.0), engine="usearch").add(range(40), ITEMS).save(path)
    tampered(path, set_array("arrays.graph", lambda a: np.r_[a[:-1], a[-1] ^ 1]))
    with pytest.raises(ModelFileError, match="its graph is damaged"):
        lw.load(path)


@pytest.mark.parametrize(
    "change",
    [
        set_array("ids", lambda a: a[:-1]),
        set_array("ids", lambda a: np.frombuffer(b'{"a": 1}', np.uint8)),
        set_array("ids", lambda a: np.frombuffer(json.dumps([1.5] * 40).encode(), np.uint8)),
        set_array("ids", lambda a: np.frombuffer(json.dumps([1] * 40).encode(), np.uint8)),
        set_array("ids", lambda a: np.frombuffer(json.dumps([1, 2]).encode(), np.uint8)),
        set_array("fields", lambda a: np.frombuffer(b"[]", np.uint8)),
        set_array("fields", lambda a: np.frombuffer(b'{"x": [1]}', np.uint8)),
        set_array("slots", lambda a: a - 1),
        set_array("slots", lambda a: a + 1),
        set_array("slots", lambda a: a[::-1]),
        set_array("slots", lambda a: np.zeros_like(a)),
        set_array("slots", lambda a: a.astype(float)),
        set_array("slots", lambda a: a[:, None]),
        set_array("items", lambda a: a[:-1]),
        set_array("items", lambda a: a[:, :-1]),
        set_parameter("n_slots", "many"),
        set_parameter("n_slots", -1),
        set_parameter("arrays", 5),
        set_parameter("effort", "much"),
        set_parameter("effort", -3),
        set_parameter("n_candidates", 0),
        set_parameter("engine", "quick"),
        set_parameter("fold", "x"),
        set_parameter("similarity", 5),
    ],
)
@pytest.mark.parametrize("kind", ["exact", "usearch"])
def test_parts_that_do_not_belong_together_are_refused(tmp_path, change, kind):
    pytest.importorskip("usearch")
    path = tmp_path / "index"
    s = lw.Mahalanobis(np.eye(4))
    lw.Index(s, engine=kind).add(range(40), ITEMS, fields={"x": [1] * 40}).save(path)
    tampered(path, change)
    with pytest.raises(ModelFileError, match="is not a readable model"):
        lw.load(path)
