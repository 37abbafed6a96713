"""The gate: held-out data leave no trace, and random clicks promote almost nothing."""

import numpy as np
import pytest
from benchmarks.gate import Stream
from tests.server.learning.test_learner import filled, learn_all

from likewise._files import from_bytes, to_bytes
from likewise.learners.validation._gate import MIN_GAIN_IN_ERRORS
from likewise.server.learning._aroma import SHARES, AromaMethod
from likewise.server.learning._gate import (
    MIN_QUERIES,
    CandidateSchedule,
    evaluate,
    evaluation_pages,
    passing_threshold,
    split_of,
)
from likewise.server.learning._initial import InitialModel, matrix_scores
from likewise.server.learning._journal import JournalCache
from likewise.server.learning._learner import Learner, version_scores
from likewise.server.learning._pages import HeldOutPages, Pages
from likewise.server.learning._ridge import RidgeMethod
from likewise.server.store import (
    Candidate,
    Evaluation,
    Page,
    Recipe,
    Verdict,
    VersionFiles,
    VersionInfo,
)
from likewise.supervision import N_SPLITS


def pages_of(*pages, query_splits=None, item_splits=None, firsts=None, width=3):
    """Return pages given as (query, shown, chosen), by row numbers."""
    rng = np.random.default_rng(0)
    n_queries = 1 + max(query for query, _, _ in pages)
    n_items = 1 + max(item for _, shown, _ in pages for item in shown)
    Q, P = (_unit(rng.normal(size=(n, width))) for n in (n_queries, n_items))
    return Pages(
        Q,
        P,
        list(range(n_queries)),
        np.arange(n_items),
        np.zeros(n_queries, int) if query_splits is None else np.array(query_splits),
        np.zeros(n_items, int) if item_splits is None else np.array(item_splits),
        np.arange(len(pages)) if firsts is None else np.array(firsts),
        np.array([query for query, _, _ in pages]),
        np.repeat(np.arange(len(pages)), [len(shown) for _, shown, _ in pages]),
        np.array([item for _, shown, _ in pages for item in shown]),
        np.array([item in chosen for _, shown, chosen in pages for item in shown]),
    )


def journal_pages(store, initial):
    """Return all pages of a journal."""
    return JournalCache.load(store, initial, store.entries(0, 1_000)[-1].number).pages()


def _unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_splits_are_a_fifth_each_and_never_change():
    splits = np.bincount([split_of(f"item-{n}") for n in range(10_000)])
    assert len(splits) == N_SPLITS
    assert splits.min() > 1_850
    assert splits.max() < 2_150
    assert [split_of(n) for n in range(8)] == [split_of(str(n)) for n in range(8)]
    vector = [0.1, 0.2, 0.30000001]
    assert split_of(vector) == split_of(np.float32(vector))
    assert [split_of(name) for name in ("a", "b", "c", "d")] == [1, 1, 4, 4]


def test_candidates_come_often_at_first_then_by_shares():
    schedule = CandidateSchedule()
    found = [
        position for position in range(1, 50_000) if schedule.any_between(position - 1, position)
    ]
    assert found[:3] == [10, 20, 30]
    steps = np.diff(found)
    assert (np.diff(steps) >= -1).all()
    assert steps.max() == 1_000
    assert CandidateSchedule().any_between(0, 10)
    assert not CandidateSchedule().any_between(10, 19)
    assert [CandidateSchedule().last(position) for position in (9, 10, 19, 20)] == [0, 10, 10, 20]


def test_the_threshold_rises_with_every_test():
    thresholds = [passing_threshold(test, 100) for test in range(1, 100)]
    assert (np.diff(thresholds) > 0).all()
    assert passing_threshold(1, 10**6) == pytest.approx(MIN_GAIN_IN_ERRORS, rel=1e-4)
    assert passing_threshold(1, 20) == pytest.approx(2.762, abs=1e-3)


def test_values_are_shares_of_all_other_items_shown():
    pages = pages_of(
        (0, (0, 1, 2, 3), (1,)),
        (0, (4, 5), (4,)),
        (1, (0, 1, 2), (0, 2)),
    )
    held_out = HeldOutPages(pages, np.arange(3))
    scores = np.array([3.0, 2.0, 2.0, 1.0, 0.0, 1.0, 0.0, 5.0, 6.0])
    seen = np.array([True, True, False, False, False, False])
    overall, known, new = held_out.query_means(scores, seen)
    first = (0 + 0.5 + 1) / 3
    np.testing.assert_allclose(overall, [(first + 0) / 2, (0 + 1) / 2])
    np.testing.assert_allclose(known, [first, 0])
    np.testing.assert_allclose(new, [0, 1])
    both = held_out.query_means(np.stack([scores, -scores])[:, None], seen)
    assert both.shape == (2, 1, 3, 2)
    np.testing.assert_allclose(both[0, 0], [overall, known, new])


def test_values_agree_with_plain_loops(rng):
    given = []
    for _ in range(30):
        shown = rng.choice(40, rng.integers(2, 9), replace=False).tolist()
        given.append((int(rng.integers(8)), shown, shown[: rng.integers(1, len(shown))]))
    pages = pages_of(*given)
    held_out = HeldOutPages(pages, np.arange(30))
    scores, seen = rng.integers(5, size=len(pages.item)).astype(float), rng.random(40) < 0.5
    expected, at = {kind: {} for kind in range(3)}, 0
    for query, shown, chosen in given:
        score = dict(zip(shown, scores[at : at + len(shown)], strict=True))
        at += len(shown)
        others = [item for item in shown if item not in chosen]
        share = {
            c: np.mean([(np.sign(score[c] - score[o]) + 1) / 2 for o in others]) for c in chosen
        }
        for kind, kept in enumerate(
            (chosen, *([c for c in chosen if seen[c] == s] for s in (1, 0)))
        ):
            if kept:
                expected[kind].setdefault(query, []).append(np.mean([share[c] for c in kept]))
    found = held_out.query_means(scores, seen)
    for kind in range(3):
        wanted = [
            np.mean(expected[kind].get(query, [np.nan])) for query in held_out.queries.tolist()
        ]
        np.testing.assert_allclose(found[kind], wanted)


def test_too_few_queries_judge_nothing():
    few = [(query, (0, 1), (0,)) for query in range(MIN_QUERIES - 1)]
    assert evaluation_pages(pages_of(*few), 0, range(5)) is None
    assert evaluation_pages(pages_of(*few, few[0]), 0, range(5)) is None
    enough = pages_of(*few, (MIN_QUERIES, (0, 1), (1,)))
    assert len(evaluation_pages(enough, 0, range(5))) == MIN_QUERIES
    assert evaluation_pages(enough, 1, range(5)) is None


def test_pages_that_compare_nothing_teach_and_do_not_judge():
    pages = pages_of((0, (0, 1), (0, 1)), (1, (0, 1), (0,)))
    assert pages.with_comparisons(0).tolist() == [1]
    assert pages.relevance().nnz == 3


def test_training_of_a_split_has_neither_its_queries_nor_its_items():
    pages = pages_of(
        (0, (0, 1, 2), (0, 2)),
        (1, (0, 1, 2), (1, 2)),
        query_splits=[3, 0],
        item_splits=[0, 3, 1],
    )
    assert pages.relevance(3).toarray().tolist() == [[0, 0, 0], [0, 0, 1]]
    assert pages.relevance(2).toarray().tolist() == [[1, 0, 1], [0, 1, 1]]
    assert pages.relevance(2, until=1).toarray().tolist() == [[1, 0, 1], [0, 0, 0]]
    assert pages.is_training_item(3).tolist() == [False, False, True]


def _journal(store, extra=(), seed=0):
    rng = np.random.default_rng(seed)
    for number in range(80):
        query, *shown = (rng.choice(150, 6, replace=False) + 1).tolist()
        store.append(str(number), "x", [Page(query, tuple(shown), tuple(shown[:1]))])
    for number, page in enumerate(extra):
        store.append(f"extra {number}", "x", [page])


def _of_split(split, n, start=0):
    """Return revisions of items whose ids are in a split."""
    return [number + 1 for number in range(start, 150) if split_of(number) == split][:n]


def _intruders(split):
    """Return pages that only a split may know of: by their query, by an item, and all of them."""
    query, item = _of_split(split, 2)
    other, third = (_of_split((split + 1) % 5, 2), _of_split((split + 2) % 5, 3))
    by_query = Page(query, (other[0], *third), (other[0],))
    by_item = Page(other[0], (item, *third), (item,))
    whole = Page(query, (item, *third), (item,))
    return [by_query, by_item, whole]


@pytest.mark.parametrize("split", range(N_SPLITS))
@pytest.mark.parametrize("which", [0, 1, 2])
def test_an_intruder_leaves_no_trace_in_the_ridge_that_its_split_judges(tmp_path, split, which):
    found = []
    for name, extra in (("with", [_intruders(split)[which]] * 5), ("without", [])):
        store = filled(tmp_path / f"{name}.sqlite")
        _journal(store, extra)
        initial = InitialModel.from_store(store)
        pages = journal_pages(store, initial)
        method = RidgeMethod(initial)
        held_out = HeldOutPages(pages, np.arange(80))
        found.append([method.scores(pages, held_out, k) for k in range(N_SPLITS)])
        store.close()
    assert np.array_equal(found[0][split], found[1][split])
    others = [k for k in range(N_SPLITS) if k != split]
    assert any(not np.array_equal(found[0][k], found[1][k]) for k in others)


def test_each_split_is_judged_by_the_pages_of_its_own_queries():
    splits = [3, 1, 3, 1]
    given = [(query, (0, 1, 2), (0,)) for query in (0, 1, 2, 3, 0)]
    pages = pages_of(*given, query_splits=splits, item_splits=[1, 0, 0])
    asked = []

    def scores(held_out, split):
        asked.append((split, held_out.queries.tolist()))
        return np.zeros(len(held_out.item))

    live, candidates = evaluate(
        pages,
        np.arange(5),
        lambda held_out, split: scores(held_out, split)[None, None],
        scores,
        range(5),
    )
    assert asked == [(1, [1, 3]), (1, [1, 3]), (3, [0, 2]), (3, [0, 2])]
    np.testing.assert_array_equal(live, candidates[0, 0])
    # Queries 1 and 3 come first: item 0 is in their split, so it is new to them.
    np.testing.assert_array_equal(live[1], [np.nan, np.nan, 0.5, 0.5])
    np.testing.assert_array_equal(live[2], [0.5, 0.5, np.nan, np.nan])


def test_clicks_that_can_only_be_memorized_promote_nothing(rng, monkeypatch):
    """Every query wants an item of its own, and nothing about one tells about another."""
    queries, items = (_unit(rng.normal(size=(n, 200))) for n in (60, 300))
    wanted = np.argsort(-(queries @ items.T), axis=1)[:, 5]

    def promoted():
        stream = Stream(queries, items)
        for number in range(120):
            shown = np.argsort(-(queries[number % 60] @ items.T), kind="stable")[:10]
            stream.add(number % 60, shown, shown == wanted[number % 60])
        return stream.promoted

    assert promoted() == []
    usual = Pages.relevance
    monkeypatch.setattr(
        Pages, "relevance", lambda self, split=None, until=np.inf: usual(self, None, until)
    )
    assert promoted() != []


@pytest.mark.parametrize("which", [0, 1, 2])
def test_an_intruder_leaves_no_trace_in_the_twin_of_aroma(tmp_path, which):
    states = []
    for name, extra in (("with", [_intruders(0)[which]] * 5), ("without", [])):
        store = filled(tmp_path / f"{name}.sqlite", "aroma")
        _journal(store, extra)
        learn_all(store)
        checkpoint = store.checkpoint()
        states.append([from_bytes(s).state_.W for s in (checkpoint.state, checkpoint.twin)])
        store.close()
    (whole, twin), (other_whole, other_twin) = states
    assert np.array_equal(twin, other_twin)
    assert not np.array_equal(whole, other_whole)


def test_the_twin_of_aroma_is_what_the_gate_judges(tmp_path):
    store = filled(tmp_path / "store.sqlite", "aroma")
    _journal(store, _intruders(0) * 5)
    learn_all(store)
    initial, checkpoint = InitialModel.from_store(store), store.checkpoint()
    pages = journal_pages(store, initial)
    held_out = HeldOutPages(pages, np.arange(80))
    whole, twin = (from_bytes(s).state_.W for s in (checkpoint.state, checkpoint.twin))
    expected, other = (matrix_scores(pages, held_out, W.astype(np.float64)) for W in (twin, whole))
    found = AromaMethod(store, initial, checkpoint).scores(pages, held_out, 0)
    np.testing.assert_allclose(found[SHARES.index(1.0), 0], expected, rtol=1e-6)
    assert not np.allclose(found[SHARES.index(1.0), 0], other, rtol=1e-6)
    info = VersionInfo(2, "learned", 10**6, 0.0, 0.0, False, Recipe("aroma"), None, True)
    files = VersionFiles(
        to_bytes(initial.to_similarity(whole)), None, to_bytes(initial.to_similarity(twin))
    )
    scores = version_scores(info, files, pages, initial)
    np.testing.assert_allclose(scores(held_out, 0), expected, rtol=1e-6)
    assert scores(held_out, 1) is None
    store.close()


def test_an_item_passed_over_leaves_no_trace_in_the_twin_either(tmp_path):
    (item,), (query, chosen) = _of_split(0, 1), _of_split(1, 2)
    twins = []
    for name, extra in (("with", [Page(query, (item, chosen), (chosen,))]), ("without", [])):
        store = filled(tmp_path / f"{name}.sqlite", "aroma")
        _journal(store, extra)
        learn_all(store)
        twins.append(from_bytes(store.checkpoint().twin).state_.W)
        store.close()
    assert np.array_equal(*twins)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_live_version_is_judged_without_what_it_learned_from_its_judges(tmp_path, which):
    found = []
    for name, extra in (("with", [_intruders(2)[which]] * 5), ("without", [])):
        store = filled(tmp_path / f"{name}.sqlite")
        _journal(store, extra)
        initial = InitialModel.from_store(store)
        pages = journal_pages(store, initial)
        recipe = Recipe("ridge", alpha=3.0, gamma=0.5)
        info = VersionInfo(2, "learned", 10**6, 0.0, 0.0, False, recipe, None, True)
        scores = version_scores(info, VersionFiles(b"", None, None), pages, initial)
        held_out = HeldOutPages(pages, np.arange(80))
        found.append([scores(held_out, split) for split in (2, 1)])
        store.close()
    assert np.array_equal(found[0][0], found[1][0])
    assert not np.array_equal(found[0][1], found[1][1])


def test_what_beats_the_old_gate_by_construction_does_not_pass(rng):
    """Random clicks on pages that the live version made: any other version wins comparisons.

    The gate before this one counted, at held-out positions, a click against the items above it and
    one below: whatever ranks differently seems better. Whole pages of other queries do not say so.
    """
    queries, items = (rng.normal(size=(n, 16)) for n in (60, 400))
    queries, items = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, items)
    )
    stream = Stream(queries, items)
    other = items @ np.linalg.qr(rng.normal(size=(16, 16)))[0] * 0.2 + items
    won = lost = 0
    for number in range(200):
        query = number % 60
        shown = stream.page(query, 10)
        chosen = np.zeros(10, dtype=bool)
        place = rng.integers(10)
        chosen[place] = True
        before, after = queries[query] @ items[shown].T, queries[query] @ other[shown].T
        for farther in [*range(place), *([place + 1] if place < 9 else [])]:
            was_right = before[place] > before[farther]
            is_right = after[place] > after[farther]
            won, lost = won + (is_right and not was_right), lost + (was_right and not is_right)
        stream.add(query, shown, chosen)
    assert won - lost > 1.5 * (won + lost) ** 0.5  # the old gate promotes a random change
    assert stream.promoted == []


def test_a_learner_waits_for_twenty_queries(tmp_path):
    store = filled(tmp_path / "store.sqlite")
    for number in range(19):
        store.append(str(number), "x", [Page(number + 1, (100, 101, 102), (100,))])
    learn_all(store)
    assert [version.number for version in store.versions()] == [1]
    store.append("again", "x", [Page(1, (103, 104, 105), (104,))] * 10)
    learn_all(store)
    assert len(store.versions()) == 1
    store.append("more", "x", [Page(50, (103, 104, 105), (104,))] * 10)
    Learner(store).step()
    assert len(store.versions()) == 2
    assert store.versions()[0].verdict.overall.n == 20


def test_a_ridge_is_not_judged_by_the_few_queries_that_may_judge_a_version_of_aroma(tmp_path):
    """Of a version that AROMA learned, split 0 alone can be judged."""
    store = filled(tmp_path / "store.sqlite", "aroma")
    initial = InitialModel.from_store(store)
    bits = to_bytes(initial.to_similarity(initial.W))
    nothing = Evaluation(0.5, 0.6, 0.01, 30)
    verdict = Verdict(1, nothing, nothing, nothing, 1, 2.5, passes=True)
    candidate = Candidate(Recipe("aroma"), verdict, bits, twin=bits)
    store.save_checkpoint(store.checkpoint(), (), candidate)
    assert store.status().live == 2
    store.set_learner("ridge")
    rest = [n for n in range(1, 150) if split_of(n - 1) != 0]
    few, others = _of_split(0, MIN_QUERIES)[:-1], rest[:30]
    for number, query in enumerate([*few, *others]):
        shown = tuple(rest[30 + number % 20 :][:5])
        store.append(str(number), "x", [Page(query, shown, shown[:1])])
    learn_all(store)
    assert [version.number for version in store.versions()] == [2, 1]
    last = _of_split(0, MIN_QUERIES)[-1]
    store.append("last", "x", [Page(last, tuple(rest[50:70]), tuple(rest[50:51]))])
    learn_all(store)
    newest = store.versions()[0]
    assert (newest.number, newest.verdict.live) == (3, 2)
    assert newest.verdict.overall.n == MIN_QUERIES
