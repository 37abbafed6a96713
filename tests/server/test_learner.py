"""The learner: what it knows depends on the journal alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.running import all_learned, belief

import likewise as lw
from likewise._files import from_bytes, to_bytes
from likewise.server._gate import Marks, is_held_out, judge
from likewise.server._learner import Learner
from likewise.server._open import open_store
from likewise.server._served import begun

N_ITEMS, WIDTH = 40, 6


def filled(path, covariance="diagonal"):
    """Return a store with items, where nothing was learned yet."""
    rng = np.random.default_rng(0)
    store = open_store(str(path), synced=False)
    start = begun(lw.AROMA(covariance, init=lw.Bilinear(1.0, "cosine")), WIDTH, WIDTH)
    store.begin({"model": "m"}, to_bytes(start.similarity_), to_bytes(start))
    rows = rng.normal(size=(N_ITEMS, WIDTH)).astype(np.float32)
    store.put_items([(number, row, {}) for number, row in enumerate(rows)])
    return store


def comparisons(n, seed=0):
    """Return what a hidden similarity says of the items, as revisions, in groups of 1 to 4."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N_ITEMS, WIDTH)).astype(np.float32)
    hidden = lw.Bilinear(np.diag([4.0, 2.0, 1.0, 0.0, 0.0, 0.0]), "cosine")
    scores = hidden.score(rows, rows)
    rng = np.random.default_rng(seed)
    groups = []
    while sum(map(len, groups)) < n:
        group = []
        for _ in range(rng.integers(1, 5)):
            q, a, b = rng.choice(N_ITEMS, 3, replace=False)
            closer, farther = (a, b) if scores[q, a] > scores[q, b] else (b, a)
            query = rows[q].tolist() if rng.random() < 0.2 else int(q) + 1
            group.append((query, int(closer) + 1, int(farther) + 1, 1.0))
        groups.append(group)
    return groups


def learn_all(store):
    learner = Learner(store)
    while learner.step():
        pass
    learner.keep()


def test_what_is_held_out_is_a_fifth_and_never_changes():
    held = [position for position in range(10_000) if is_held_out(position)]
    assert 1_900 < len(held) < 2_100
    assert held[:5] == [0, 1, 2, 13, 16]


def test_candidates_come_often_at_first_then_by_shares():
    marks = Marks()
    found = [position for position in range(1, 50_000) if marks.between(position - 1, position)]
    assert found[:3] == [10, 20, 30]
    steps = np.diff(found)
    assert (np.diff(steps) >= -1).all()
    assert steps.max() == 1_000
    assert Marks().between(0, 10)
    assert not Marks().between(10, 19)


def test_a_candidate_must_win_by_more_than_chance():
    live, better = np.array([1.0] * 6 + [-1.0] * 4), np.array([1.0] * 10)
    assert judge(better, live, 1).beats
    assert not judge(live, live, 1).beats
    assert not judge(live, better, 1).beats
    one_more = np.array([1.0] * 7 + [-1.0] * 3)
    assert not judge(one_more, live, 1).beats


@pytest.mark.parametrize("covariance", ["diagonal", "factored"])
def test_learning_finds_the_hidden_similarity_and_promotes_it(tmp_path, covariance):
    store = filled(tmp_path / "store.sqlite", covariance)
    for number, group in enumerate(comparisons(600)):
        store.append(str(number), "x", group)
    learn_all(store)
    pulse = store.pulse()
    assert pulse.applied == pulse.acknowledged
    assert pulse.live > 1
    live = next(v for v in store.versions() if v.number == pulse.live)
    assert live.verdict.right > live.verdict.live_right
    position, asked, foretold = store.progress()[-1]
    assert position == pulse.applied
    early = store.progress()[20]
    assert (foretold - early[2]) / (asked - early[1]) > early[2] / early[1]
    store.close()


@pytest.mark.parametrize("covariance", ["diagonal", "factored"])
@settings(max_examples=10)
@given(data=st.data())
def test_a_learner_that_was_cut_off_anywhere_ends_where_another_does(
    tmp_path_factory, covariance, data
):
    folder = tmp_path_factory.mktemp("cut")
    groups = comparisons(60, seed=data.draw(st.integers(0, 5)))
    undone = data.draw(st.lists(st.integers(0, len(groups) - 1), max_size=3, unique=True))
    undo_at = {number + data.draw(st.integers(1, 10)): number for number in undone}
    whole, cut = (filled(folder / f"{name}.sqlite", covariance) for name in ("whole", "cut"))
    learner = Learner(cut)
    for number, group in enumerate(groups):
        for store in (whole, cut):
            store.append(str(number), "x", group)
            if number in undo_at:
                store.undo(str(undo_at[number]))
        what = data.draw(st.sampled_from(["nothing", "step", "step and end", "end", "keep"]))
        if "step" in what:
            learner.step()
        if what == "keep":
            learner.keep()
        if "end" in what:  # without a word, as kill -9 ends a process
            learner = Learner(cut)
    while learner.step():
        pass
    learner.keep()
    learn_all(whole)
    assert all_learned(cut) == all_learned(whole)
    whole.close()
    cut.close()


def test_what_is_taken_back_is_as_if_it_had_never_come(tmp_path):
    groups = comparisons(60)
    with_it, without = filled(tmp_path / "with.sqlite"), filled(tmp_path / "without.sqlite")
    for number, group in enumerate(groups):
        with_it.append(str(number), "x", group)
        without.append(str(number), "x", group)
    extra = comparisons(4, seed=1)[0]
    with_it.append("extra", "x", extra)
    learn_all(with_it)
    learn_all(without)
    learned = from_bytes(with_it.checkpoint().state)
    assert belief(with_it) != belief(without)
    with_it.undo("extra")
    learn_all(with_it)
    assert belief(with_it) == belief(without)
    assert learned.n_triplets_seen_ > from_bytes(with_it.checkpoint().state).n_triplets_seen_


def test_items_that_change_later_do_not_change_what_was_learned(tmp_path):
    changed, steady = filled(tmp_path / "changed.sqlite"), filled(tmp_path / "steady.sqlite")
    for number, group in enumerate(comparisons(40)):
        changed.append(str(number), "x", group)
        steady.append(str(number), "x", group)
    changed.put_items([(number, np.zeros(WIDTH), {}) for number in range(10)])
    for number in range(10, 20):
        changed.remove_item(number)
    learn_all(changed)
    learn_all(steady)
    assert belief(changed) == belief(steady)


def test_a_state_is_not_written_more_often_than_it_is_worth(tmp_path, monkeypatch):
    store = filled(tmp_path / "store.sqlite")
    written = []
    keep = store.keep
    monkeypatch.setattr(store, "keep", lambda *given: written.append(given) or keep(*given))
    for number, group in enumerate(comparisons(9)):
        store.append(str(number), "x", group)
    learner = Learner(store)
    learner.step()
    learner.keep()
    learner.keep()
    assert written[-1][0].entry == store.checkpoint().entry == len(store.entries(0))
    assert len(written) <= len(store.entries(0))
