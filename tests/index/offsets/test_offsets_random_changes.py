"""An index with offsets after random changes, beside a plain model of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.index.offsets.moved_items import FORM, QUERIES, WIDTH, offsets_for

import likewise as lw


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
