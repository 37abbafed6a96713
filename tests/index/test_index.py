"""Items come, change and go in any order: the index holds what a plain dict would."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from numpy.testing import assert_allclose, assert_array_equal

import likewise as lw
from likewise._installation import install_hint
from likewise.index.engines import _choice

WIDTH = 3
QUERIES = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [-1.0, 3.0, 1.0]])
SIMILARITIES = [
    lw.Bilinear(1.0),
    lw.Bilinear([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0], [3.0, 0.0, 1.0]]),
    lw.Bilinear([1.0, 2.0, -1.0], norm="cosine"),
    lw.Mahalanobis([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0]]),
    lw.Mahalanobis(2.0),
]
names = st.one_of(st.integers(-3, 8), st.sampled_from(["a", "b", "c", "1"]))
values = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
row = st.lists(values, min_size=WIDTH, max_size=WIDTH)
colours = st.sampled_from(["red", "green", None])


class Store(RuleBasedStateMachine):
    """An index beside a dict of (row, colour) in the order in which items came."""

    engine = "exact"

    def __init__(self):
        super().__init__()
        self.similarity = SIMILARITIES[1]
        self.index = lw.Index(self.similarity, engine=self.engine)
        self.model = {}

    @rule(items=st.dictionaries(names, st.tuples(row, colours), min_size=1, max_size=6))
    def add(self, items):
        if not items.keys().isdisjoint(self.model):
            with pytest.raises(ValueError, match="stored already"):
                self._put(self.index.add, items)
            return
        self._put(self.index.add, items)
        self.model.update(items)

    @rule(items=st.dictionaries(names, st.tuples(row, colours), min_size=1, max_size=3))
    def update(self, items):
        if not items.keys() <= self.model.keys():
            with pytest.raises(ValueError, match="must be stored"):
                self._put(self.index.update, items)
            return
        self._put(self.index.update, items)
        for name, item in items.items():
            del self.model[name]  # what is updated comes again
            self.model[name] = item

    @rule(items=st.dictionaries(names, row, min_size=1, max_size=2))
    def update_without_fields(self, items):
        known = {name: item for name, item in items.items() if name in self.model}
        if known:
            self.index.update(list(known), list(known.values()))
            for name, item in known.items():
                self.model[name] = (item, self.model.pop(name)[1])

    @rule(wanted=st.lists(names, min_size=1, max_size=5, unique=True))
    def remove(self, wanted):
        known = [name for name in wanted if name in self.model]
        if known:
            self.index.remove(known)
            for name in known:
                del self.model[name]

    @rule(similarity=st.sampled_from(SIMILARITIES))
    def swap(self, similarity):
        self.index.swap(similarity)
        self.similarity = similarity

    @precondition(lambda self: self.model)
    @rule(colour=colours)
    def search_among_a_colour(self, colour):
        chosen = [name for name, (_, found) in self.model.items() if found == colour]
        found = self.index.search(QUERIES, 3, where={"colour": colour})
        self._compare(found, chosen)

    @precondition(lambda self: self.model)
    @rule(wanted=st.lists(names, max_size=5, unique=True))
    def search_among_ids(self, wanted):
        chosen = [name for name in self.model if name in wanted]
        self._compare(self.index.search(QUERIES, 3, where=wanted), chosen)

    @invariant()
    def it_holds_what_the_dict_holds(self):
        assert len(self.index) == len(self.model)
        assert self.index.ids == list(self.model)
        for name in (3, "a", "1", 1):
            assert (name in self.index) == (name in self.model)
        if self.model:
            self._compare(self.index.search(QUERIES, 4), list(self.model), k=4)

    def _put(self, method, items):
        rows = [item for item, _ in items.values()]
        method(list(items), rows, fields={"colour": [colour for _, colour in items.values()]})

    def _compare(self, found, chosen, k=3):
        assert found.ids.shape == (len(QUERIES), k)
        if not chosen:
            assert (found.ids == None).all()  # noqa: E711 (elementwise)
            return
        P = np.array([self.model[name][0] for name in chosen])
        expected = self.similarity.neighbors(QUERIES, P, k)
        ids = [[None if i is None else chosen[i] for i in row] for row in expected.ids.tolist()]
        assert found.ids.tolist() == ids
        assert_allclose(found.scores.astype(float), expected.scores.astype(float), atol=1e-9)


class FaissStore(Store):
    """The same through faiss, whose values are of single precision."""

    engine = "faiss"


TestStore = Store.TestCase
TestStore.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestFaissStore = FaissStore.TestCase
TestFaissStore.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)


@pytest.mark.parametrize("engine", ["exact", "faiss", "usearch"])
def test_what_is_removed_is_given_back(rng, engine):
    pytest.importorskip("faiss")
    pytest.importorskip("usearch")
    s, P = lw.Bilinear(1.0), rng.normal(size=(200, 4)).astype(np.float32)
    index = lw.Index(s, engine=engine).add(range(200), P)
    index.remove(range(150))
    index.add([500], P[:1])
    assert len(index.snapshot.store.slots.engine) == 51
    found = index.search(P[190:195], 5)
    kept = np.r_[150:200, 0]
    expected = s.neighbors(P[190:195], P[kept], 5).ids
    assert_array_equal(found.ids, np.r_[150:200, 500][expected])


def test_a_swap_that_leaves_items_as_they_are_rebuilds_nothing(rng):
    P = rng.normal(size=(20, 4))
    index = lw.Index(lw.Bilinear(1.0)).add(range(20), P)
    store = index.snapshot.store
    W = rng.normal(size=(6, 4))
    index.swap(lw.Bilinear(W))
    assert index.snapshot.store.slots is store.slots
    Q = rng.normal(size=(3, 6))
    assert_array_equal(index.search(Q, 4).ids, lw.Bilinear(W).neighbors(Q, P, 4).ids)


def test_a_swap_refuses_items_that_the_metric_cannot_serve(rng):
    P = rng.normal(size=(20, 4))
    index = lw.Index(lw.Bilinear(1.0, "cosine"), metric="cosine").add(range(20), P)
    with pytest.raises(ValueError, match="unit length"):
        index.swap(lw.Bilinear(1.0))
    with pytest.raises(ValueError, match="similarity cannot score the items that are stored"):
        index.swap(lw.Bilinear(np.eye(5)))
    with pytest.raises(ValueError, match="Negative values"):
        index.swap(lw.Bilinear(1.0, "dice"))
    assert index.search(P[:2], 1).ids.tolist() == [[0], [1]]
    assert index.similarity.norm == "cosine"


@pytest.mark.parametrize("past", ["faiss", "usearch"])
def test_auto_grows_from_exact_to_what_is_installed_and_stays_there(rng, monkeypatch, past):
    pytest.importorskip(past)
    monkeypatch.setattr(_choice, "MAX_ITEMS_EXACT", 100)
    if past == "usearch":
        monkeypatch.setitem(_choice.ENGINES, "faiss", _absent(_choice.ENGINES["faiss"]))
    P = rng.normal(size=(150, 4)).astype(np.float32)
    s = lw.Mahalanobis(rng.normal(size=(4, 4)))
    index = lw.Index(s).add(range(90), P[:90], fields={"even": [n % 2 == 0 for n in range(90)]})
    assert (index.engine, index.reason) == (
        "exact",
        "90 items are few enough to score each of them",
    )
    index.update(range(50), P[:50])
    assert index.engine == "exact"
    index.add(range(90, 150), P[90:])
    assert (index.engine, index.reason) == (past, f"150 items are many, and {past} is installed")
    assert (index.search(P, 1).ids[:, 0] == np.arange(150)).mean() > 0.9
    assert set(index.search(P[:1], 9, where={"even": True}).ids[0] % 2) == {0}
    index.remove(range(60)).add([200], P[:1])
    assert index.engine == past


def test_auto_without_faiss_and_usearch_says_what_would_be_faster(rng, monkeypatch):
    monkeypatch.setattr(_choice, "MAX_ITEMS_EXACT", 10)
    for name in ("faiss", "usearch"):
        monkeypatch.setitem(_choice.ENGINES, name, _absent(_choice.ENGINES[name]))
    index = lw.Index(lw.Bilinear(1.0)).add(range(20), rng.normal(size=(20, 3)))
    assert index.engine == "exact"
    assert index.reason.endswith(install_hint("faiss"))


def _absent(kind):
    import dataclasses

    return dataclasses.replace(kind, package="no_such_package_anywhere")
