"""Cheap families first, more rows with more time, and test rows that decided nothing.

Time is a counter here: every fit takes as many seconds as the test says.
"""

import dataclasses
import threading
from time import sleep

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs

from likewise import kernels
from likewise.selection import FAMILIES, Family, _halving, _split, select
from likewise.selection import _budget as budget_module
from likewise.selection._stage import Stage

CHEAP = [family for family in FAMILIES if family.cheap]


class Clock:
    """Seconds that pass in fits, and a little with every look."""

    now = 0.0

    def __call__(self):
        self.now += 1e-6
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(budget_module, "clock", clock)
    monkeypatch.setattr(_split, "thread_clock", clock)
    return clock


class Slow(ClassifierMixin, BaseEstimator):
    """Predicts by the sign of a column, takes time for each row, and records its rows."""

    def __init__(self, clock=None, seconds=0.0, seen=None, wrong=False):
        self.clock, self.seconds, self.seen, self.wrong = clock, seconds, seen, wrong

    def fit(self, X, y):
        self.clock.now += self.seconds * len(X)
        self.seen.append(set(X[:, 1].tolist()))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        self.seen[-1] = (self.seen[-1], set(X[:, 1].tolist()))
        return self.classes_[((X[:, 0] > 0) != self.wrong).astype(int)]


def slow(clock, seconds, name="slow", *, wrong=False, grid=({"scale": "none"},)):
    """Return a family that takes seconds for every training row, and what its fits have seen."""
    seen = []

    def make(settings, seed):
        return Slow(clock, seconds, seen, wrong)

    return Family(name, name, "learned", "", make, grid), seen


@pytest.fixture
def table(rng):
    """Return rows with a class in the first column and their number in the second."""
    X = rng.normal(size=(400, 2))
    labels = (X[:, 0] > 0).astype(int)
    X[:, 1] = np.arange(400)
    return X, labels


def test_no_time_at_all_finishes_the_cheap_families_on_all_splits(clock):
    X, labels = make_blobs(60, centers=3, random_state=0)
    family, seen = slow(clock, 1.0)
    found = select(X, labels, families=[family, *FAMILIES], budget=1e-9)
    assert {row["name"] for row in found.rows} == {family.title for family in CHEAP}
    assert {len(row["scores"]) for row in found.rows} == {5}
    assert found.chosen in ("euclidean", "cosine")
    assert seen == []
    assert "too short for slow, LMNN, NCA" in found.notes[-1]
    assert found.fit(X, labels).predict(X).shape == (60,)


def test_cheap_families_are_fitted_while_kernels_are_compiled(clock, table, monkeypatch):
    """The kernel is ready once all cheap families are fitted, and not before."""
    fitted, compiled = [], []
    ready = threading.Event()
    try_setting = Stage.try_setting

    def fit(stage, family, place, stop):
        fitted.append(family.name)
        if family.name == CHEAP[-1].name:
            ready.set()
        assert family.cheap or "compiled" in compiled
        return try_setting(stage, family, place, stop)

    def compile_ahead(name):
        if name == "wanted":
            assert ready.wait(60)
            sleep(0.5)  # in which a comparison that does not wait tries the next family
            compiled.append("compiled")
        return True

    monkeypatch.setattr(Stage, "try_setting", fit)
    monkeypatch.setattr(kernels, "compile_ahead", compile_ahead, raising=False)
    family, seen = slow(clock, 0.0)
    cheap = [dataclasses.replace(f, grid=f.grid[:1]) for f in CHEAP]
    select(*table, families=[*cheap, dataclasses.replace(family, kernels=("wanted",))])
    assert fitted == [*(f.name for f in CHEAP), "slow"]
    assert seen


def test_a_named_family_is_finished_whatever_the_budget(clock, table):
    for options in ({"choose_from": ["slow"]}, {"required": ["slow"]}):
        family, _ = slow(clock, 1.0)
        found = select(*table, families=[*CHEAP, family], budget=1e-9, **options)
        assert "slow" in {row["name"] for row in found.rows}


def test_a_family_that_the_time_ends_in_is_left_out_whole(clock, table):
    family, seen = slow(clock, 0.1)
    found = select(*table, families=[*CHEAP, family], budget=60.0)  # 32 s a fit
    assert len(seen) == 3
    assert "slow" not in {row["name"] for row in found.rows}
    assert "too short for slow" in found.notes[-1]


def test_settings_that_were_not_tried_are_counted(clock, table):
    family, _ = slow(clock, 0.01, grid=({"scale": "none"},) * 2)
    cheap = [dataclasses.replace(f, grid=f.grid[:1]) for f in CHEAP]
    found = select(*table, families=[*cheap, family], budget=60.0)
    assert "too short for 1 settings of the others" in found.notes[-1]


def test_the_final_fit_is_part_of_the_budget(clock, table):
    """Fits of 15 splits take 3.2 s each, and one on all rows 4 s."""
    family, _ = slow(clock, 0.01, grid=({"scale": "none"},) * 50)
    select(*table, families=[*CHEAP, family], choose_from=["slow"], budget=100.0)
    assert 100 - 4 - 3.2 <= clock.now <= 100 - 4 + 3.2


@pytest.fixture
def large(monkeypatch, rng):
    """Return a table that is large beside a first stage of 100 rows."""
    monkeypatch.setattr(_halving, "FIRST_ROWS", 100)
    monkeypatch.setattr("likewise.selection._select.FIRST_ROWS", 100)
    monkeypatch.setattr("likewise.selection._select._FEWEST_FIRST_ROWS", 100)
    X = rng.normal(size=(3000, 2))
    labels = (X[:, 0] > 0).astype(int)
    X[:, 1] = np.arange(3000)
    return X, labels


def test_rows_grow_with_the_budget(clock, large):
    reached = []
    for seconds in (0.001, 300.0, 3000.0, 100_000.0):
        family, _ = slow(clock, 0.01)
        found = select(*large, families=[*CHEAP, family], budget=seconds)
        reached.append(found.n_rows)
        by_name = {row["name"]: row for row in found.rows}
        assert max(row["n_rows"] for row in found.rows) == found.n_rows
        assert by_name["majority class"]["n_rows"] == found.n_rows
    assert reached == sorted(reached)
    assert reached[0] == 100
    assert 400 <= reached[1] < reached[2]
    assert reached[3] == 3000


def test_a_table_that_is_hardly_larger_is_compared_whole(clock, large):
    X, labels = large
    found = select(X[:150], labels[:150], families=CHEAP, budget=1e-9)
    assert found.n_rows == len(found.predictions[0]) == 150
    assert select(X[:151], labels[:151], families=CHEAP, budget=1e-9).n_rows == 100


def test_the_better_half_goes_on_and_the_rest_keep_their_rows(clock, large):
    good, _ = slow(clock, 1e-4, "good")
    bad = [slow(clock, 1e-4, f"bad{i}", wrong=True)[0] for i in range(5)]
    found = select(*large, families=[*CHEAP, good, *bad], choose_from=["good", "bad0"], budget=1e6)
    by_name = {row["name"]: row["n_rows"] for row in found.rows}
    assert by_name["good"] == by_name["majority class"] == found.n_rows == 3000
    assert {by_name[f"bad{i}"] for i in range(1, 5)} == {100}
    assert by_name["bad0"] == 3000  # asked for by name
    assert found.chosen == "good"
    assert "rows" in found.table().heads
    first_eliminated = [row["n_rows"] for row in found.rows].index(min(by_name.values()))
    assert all(row["n_rows"] < 3000 for row in found.rows[first_eliminated:])


def test_rows_that_decided_are_not_tested_on_afterwards(clock, large):
    family, seen = slow(clock, 1e-4)
    select(*large, families=[*CHEAP, family], budget=1e6, n_splits=4)
    sizes = [len(train | test) for train, test in seen]
    stages = [[s for s, size in zip(seen, sizes, strict=True) if low < size <= high]
              for low, high in ((0, 100), (100, 400), (400, 1600), (1600, 3000))]  # fmt: skip
    decided = set()
    for stage in stages:
        assert stage
        rows = set.union(*(train | test for train, test in stage))
        whole = max(len(train | test) for train, test in stage)
        outer = [(train, test) for train, test in stage if len(train | test) == whole]
        for train, test in outer:
            assert not test & decided
            assert not test & train
        decided |= rows
    assert decided == set(range(3000))


def test_copies_of_rows_that_decided_are_not_tested_on_either(clock, large):
    X, labels = (np.concatenate([part, part]) for part in large)
    family, seen = slow(clock, 1e-4)
    select(X, labels, families=[*CHEAP, family], budget=1e6, n_splits=4)
    assert max(len(train | test) for train, test in seen) == 3000
    assert not any(train & test for train, test in seen)


def test_a_choice_that_is_too_slow_for_all_rows_is_fitted_on_fewer(clock, large):
    family, seen = slow(clock, 1.0)
    found = select(*large, families=[*CHEAP, family], choose_from=["slow"], budget=10.0)
    assert found.n_rows == found.n_fit_rows == 100
    assert any("fitted on 100 rows: all of them would take longer" in note for note in found.notes)
    seen.clear()
    found.fit(*large)
    assert len(seen[-1]) == 100
    found.fit(*large, all_rows=True)
    assert len(seen[-1]) == 3000


def test_rows_on_a_first_stage_are_fewer_where_they_are_wide():
    from likewise.selection._select import _first_rows

    assert _first_rows(np.ones((2, 20))) == 2000
    assert _first_rows(np.ones((2, 784))) == 1275
    assert _first_rows(np.ones((2, 5000))) == 500
