"""The learner: its state depends only on the journal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.running import all_learned, belief, version_bits

import likewise as lw
from likewise._files import from_bytes, to_bytes
from likewise.server._model import initialize_learner
from likewise.server.learning._forms import Forms
from likewise.server.learning._initial import InitialModel
from likewise.server.learning._journal import JournalCache
from likewise.server.learning._learner import Learner
from likewise.server.learning._questions import QuestionSelector
from likewise.server.learning._ridge import learn_version
from likewise.server.learning._spaces import Spaces
from likewise.server.store import Page, open_store

N_ITEMS, WIDTH = 150, 6
METHODS = [("ridge", "diagonal"), ("aroma", "diagonal"), ("aroma", "factored")]


def rows():
    """Return items whose loudest features say nothing."""
    drawn = np.random.default_rng(0).normal(size=(N_ITEMS, WIDTH))
    return (drawn * [1, 1, 1, 2, 2, 2]).astype(np.float32)


def filled(path, learner="ridge", covariance="diagonal"):
    """Return a store with items, where nothing was learned yet."""
    store = open_store(str(path), durable=False)
    start = initialize_learner(lw.AROMA(covariance, init=lw.Bilinear(1.0, "cosine")), WIDTH, WIDTH)
    store.initialize({"model": "m"}, to_bytes(start.similarity_), to_bytes(start))
    store.set_learner(learner)
    store.put_items([(number, row, {}) for number, row in enumerate(rows())])
    return store


def feedback(n, seed=0):
    """Return what someone says who looks at three features alone: comparisons and pages, in groups.

    Items are named by their revisions, and one query in five is a vector.
    """
    hidden = lw.Bilinear(np.diag([4.0, 2.0, 1.0, 0.0, 0.0, 0.0]), "cosine")
    scores = hidden.score(rows(), rows())
    rng = np.random.default_rng(seed)
    groups = []
    while sum(page.n_comparisons for group in groups for page in group) < n:
        group = []
        for _ in range(rng.integers(1, 4)):
            query, *shown = rng.choice(N_ITEMS, rng.choice([3, 7]), replace=False).tolist()
            best = sorted(shown, key=lambda item: -scores[query, item])[: rng.integers(1, 3)]
            asked = rows()[query].tolist() if rng.random() < 0.2 else query + 1
            chosen = best[:1] if len(shown) == 2 else best
            group.append(
                Page(asked, tuple(i + 1 for i in shown), tuple(i + 1 for i in shown if i in chosen))
            )
        groups.append(group)
    return groups


def learn_all(store):
    learner = Learner(store)
    while learner.step():
        pass
    learner.save()


@pytest.mark.parametrize(("learner", "n"), [("ridge", 900), ("aroma", 2_500)])
def test_learning_finds_the_hidden_similarity_and_promotes_it(tmp_path, learner, n):
    store = filled(tmp_path / "store.sqlite", learner)
    for number, group in enumerate(feedback(n)):
        store.append(str(number), "x", group)
    learn_all(store)
    status = store.status()
    assert status.applied == status.acknowledged
    assert status.live > 1
    live = next(v for v in store.versions() if v.number == status.live)
    overall = live.verdict.overall
    assert overall.n >= 20
    assert overall.candidate - overall.live > live.verdict.threshold * overall.error
    assert live.recipe.learner in {"ridge": ("ridge", "plda"), "aroma": ("aroma",)}[learner]
    assert (store.version_files(status.live).twin is not None) == (learner == "aroma")
    position, predicted, correct = store.progress()[-1]
    assert position == status.applied
    early = store.progress()[5]
    assert (correct - early[2]) / (predicted - early[1]) > early[2] / early[1]
    store.close()


@pytest.mark.parametrize(("learner", "covariance"), METHODS)
def test_items_that_an_earlier_release_compared_with_themselves_are_learned(
    tmp_path, learner, covariance
):
    store = filled(tmp_path / "store.sqlite", learner, covariance)
    for number, group in enumerate(feedback(120)):
        item = number % 20 + 1
        itself = [
            Page.from_triplet(item, item, item + 1),
            Page.from_triplet(item, item + 1, item),
            Page(item, (item + 1, item, item + 2), (item + 2,)),
        ]
        store.append(str(number), "x", [*group, *itself])
    learn_all(store)
    status = store.status()
    assert status.applied == status.acknowledged > 120
    files = store.version_files(status.last_version)
    assert np.isfinite(from_bytes(files.similarity).W).all()
    QuestionSelector(store).learner()
    store.close()


@pytest.mark.parametrize(("learner", "covariance"), METHODS)
@settings(max_examples=5)
@given(data=st.data())
def test_a_learner_that_was_cut_off_anywhere_ends_where_another_does(
    tmp_path_factory, learner, covariance, data
):
    folder = tmp_path_factory.mktemp("cut")
    groups = feedback(200, seed=data.draw(st.integers(0, 5)))
    undone = data.draw(st.lists(st.integers(0, len(groups) - 1), max_size=3, unique=True))
    undo_at = {number + data.draw(st.integers(1, 10)): number for number in undone}
    whole, cut = (filled(folder / f"{n}.sqlite", learner, covariance) for n in ("whole", "cut"))
    running = Learner(cut)
    for number, group in enumerate(groups):
        for store in (whole, cut):
            store.append(str(number), "x", group)
            if number in undo_at:
                store.undo(str(undo_at[number]))
        what = data.draw(st.sampled_from(["nothing", "step", "step and end", "end", "keep"]))
        if "step" in what:
            running.step()
        if what == "keep":
            running.save()
        if "end" in what:  # without a word, as kill -9 ends a process
            running = Learner(cut)
    while running.step():
        pass
    running.save()
    learn_all(whole)
    assert all_learned(cut) == all_learned(whole)
    whole.close()
    cut.close()


def test_versions_do_not_depend_on_the_requests_that_pages_came_in(tmp_path):
    pages = [page for group in feedback(600) for page in group]
    apart, together = filled(tmp_path / "apart.sqlite"), filled(tmp_path / "together.sqlite")
    for number, page in enumerate(pages):
        apart.append(str(number), "x", [page])
    together.append("all", "x", pages)
    for store in (apart, together):
        learn_all(store)
    # The gate has seen other candidates of the two, so that its choices may differ.
    version = together.versions()[0]
    initial = InitialModel.from_store(apart)
    recorded = JournalCache.load(apart, initial, apart.checkpoint_entry()).pages()
    forms = Forms(initial, Spaces(apart, initial))
    similarity, offsets = learn_version(recorded, forms, version.recipe)
    W, moved, *_ = version_bits(together, version.number)
    assert similarity.W.tobytes() == W
    assert (offsets is None) == (moved is None)
    if offsets is not None:
        assert offsets.directions.tobytes() == moved[1]


@pytest.mark.parametrize(("learner", "covariance"), METHODS)
def test_what_is_taken_back_is_as_if_it_had_never_come(tmp_path, learner, covariance):
    kind = learner, covariance
    with_it, without = filled(tmp_path / "with.sqlite", *kind), filled(tmp_path / "o.sqlite", *kind)
    first, *rest = feedback(300)
    extra = feedback(9, seed=1)[0]
    with_it.append("extra", "x", extra)
    with_it.append("first", "x", first)
    without.append("first", "x", first)
    learn_all(with_it)
    with_it.undo("extra")
    for store in (with_it, without):
        for number, group in enumerate(rest):
            store.append(str(number), "x", group)
        learn_all(store)
        # One entry that crosses a mark in both.
        store.append("last", "x", feedback(120, seed=2)[0] * 10)
        learn_all(store)
    assert belief(with_it) == belief(without)
    with_it.close()
    without.close()


def test_items_that_change_later_do_not_change_what_was_learned(tmp_path):
    changed, steady = filled(tmp_path / "changed.sqlite"), filled(tmp_path / "steady.sqlite")
    for number, group in enumerate(feedback(40)):
        changed.append(str(number), "x", group)
        steady.append(str(number), "x", group)
    changed.put_items([(number, np.zeros(WIDTH), {}) for number in range(10)])
    for number in range(10, 20):
        changed.remove_item(number)
    learn_all(changed)
    learn_all(steady)
    assert belief(changed) == belief(steady)


def test_another_learner_goes_on_from_the_version_that_is_live(tmp_path):
    store = filled(tmp_path / "store.sqlite", "ridge")
    groups = feedback(1_800)
    for number, group in enumerate(groups[: len(groups) // 3]):
        store.append(str(number), "x", group)
    learn_all(store)
    live = store.status().live
    assert live > 1
    store.set_learner("aroma")
    for number, group in enumerate(groups[len(groups) // 3 :]):
        store.append(f"later {number}", "x", group)
    learn_all(store)
    assert store.status().applied == store.status().acknowledged
    newest = store.versions()[0]
    assert newest.recipe.learner == "aroma"
    assert newest.verdict.live >= live
    assert hasattr(from_bytes(store.checkpoint().state), "state_")


def test_a_state_is_not_written_more_often_than_it_is_worth(tmp_path, monkeypatch):
    store = filled(tmp_path / "store.sqlite")
    written = []
    save = store.save_checkpoint
    monkeypatch.setattr(store, "save_checkpoint", lambda *args: written.append(args) or save(*args))
    for number, group in enumerate(feedback(9)):
        store.append(str(number), "x", group)
    learner = Learner(store)
    learner.step()
    learner.save()
    learner.save()
    assert written[-1][0].entry == store.checkpoint().entry == len(store.entries(0))
    assert len(written) <= len(store.entries(0))
