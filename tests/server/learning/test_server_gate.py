"""The gate: values of pages, thresholds, and random clicks that promote almost nothing."""

import numpy as np
import pytest
from benchmarks.gate import Stream
from tests.server.learning.held_out import (
    of_split,
    pages_of,
)
from tests.server.learning.test_learner import filled, learn_all

from likewise._files import to_bytes
from likewise.learners.validation._gate import MIN_GAIN_IN_ERRORS
from likewise.server.learning._gate import (
    MIN_QUERIES,
    CandidateSchedule,
    evaluate,
    evaluation_pages,
    passing_threshold,
    split_of,
)
from likewise.server.learning._initial import InitialModel
from likewise.server.learning._learner import Learner
from likewise.server.learning._pages import HeldOutPages
from likewise.server.store import (
    Candidate,
    Evaluation,
    Page,
    Recipe,
    Verdict,
)
from likewise.supervision import N_SPLITS


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
    nothing = [(query, (0, 1), ()) for query in range(MIN_QUERIES, 3 * MIN_QUERIES)]
    assert evaluation_pages(pages_of(*few, *nothing), 0, range(5)) is None
    with_both = pages_of(*few, *nothing, (MIN_QUERIES, (0, 1), (0, 1)))
    assert len(evaluation_pages(with_both, 0, range(5))) == 3 * MIN_QUERIES


def test_pages_that_compare_nothing_teach_and_do_not_judge():
    pages = pages_of((0, (0, 1), (0, 1)), (1, (0, 1), (0,)))
    assert pages.with_comparisons(0).tolist() == [1]
    assert pages.relevance().nnz == 3


class _Recorded:
    """Scores and ranks that say nothing, and what was asked of them."""

    splits = range(N_SPLITS)

    def __init__(self, asked, which):
        self._asked, self._which = asked, which

    def _note(self, what, split, queries):
        self._asked.append((self._which, what, split, queries.tolist()))


class _RecordedLive(_Recorded):
    def scores(self, held_out, split):
        self._note("scores", split, held_out.queries)
        return np.zeros(len(held_out.item))

    def mapped(self, queries, split):
        self._note("ranks", split, queries)
        return np.zeros((len(queries), 3))


class _RecordedCandidates(_Recorded):
    def scores(self, pages, held_out, split):
        self._note("scores", split, held_out.queries)
        return np.zeros((1, 1, len(held_out.item)))

    def ranks(self, pages, judged, split, live):
        self._note("ranks", split, judged.queries)
        assert len(live) == len(judged.queries)
        return np.ones((2, len(judged.item)), dtype=int)


def test_each_split_is_judged_by_the_pages_of_its_own_queries():
    splits = [3, 1, 3, 1]
    given = [(query, (0, 1, 2), (0,)) for query in (0, 1, 2, 3, 0)]
    pages = pages_of(*given, query_splits=splits, item_splits=[1, 0, 0])
    asked = []
    live, candidates, heads = evaluate(
        pages, np.arange(5), _RecordedCandidates(asked, "new"), _RecordedLive(asked, "live")
    )
    assert asked == [
        (which, what, split, queries)
        for split, queries in ((1, [1, 3]), (3, [0, 2]))
        for what in ("scores", "ranks")
        for which in ("live", "new")
    ]
    np.testing.assert_array_equal(live, candidates[0, 0])
    # Queries 1 and 3 come first: item 0 is in their split, so it is new to them.
    np.testing.assert_array_equal(live[1], [np.nan, np.nan, 0.5, 0.5])
    np.testing.assert_array_equal(live[2], [0.5, 0.5, np.nan, np.nan])
    np.testing.assert_allclose(heads, np.full((2, 4), 1 / 3))  # one of three was chosen


def test_each_split_is_judged_by_the_pairs_of_its_own_queries():
    pairs = [
        (query, (item,), (item,) if same else ())
        for query, item, same in ((0, 0, True), (0, 1, False), (1, 2, True), (1, 1, False))
    ]
    pages = pages_of(*pairs, query_splits=[3, 1], item_splits=[0, 0, 1])
    asked = []
    live, candidates, heads = evaluate(
        pages, np.arange(4), _RecordedCandidates(asked, "new"), _RecordedLive(asked, "live")
    )
    assert asked == [
        (which, "ranks", split, queries)
        for split, queries in ((1, [1]), (3, [0]))
        for which in ("live", "new")
    ]
    np.testing.assert_array_equal(live, candidates[0, 0])
    np.testing.assert_allclose(live[0], [0.5, 0.5])
    np.testing.assert_allclose(heads, np.full((2, 2), 1 / 2))


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
    few, others = of_split(0, MIN_QUERIES)[:-1], rest[:30]
    for number, query in enumerate([*few, *others]):
        shown = tuple(rest[30 + number % 20 :][:5])
        store.append(str(number), "x", [Page(query, shown, shown[:1])])
    learn_all(store)
    assert [version.number for version in store.versions()] == [2, 1]
    last = of_split(0, MIN_QUERIES)[-1]
    store.append("last", "x", [Page(last, tuple(rest[50:70]), tuple(rest[50:51]))])
    learn_all(store)
    newest = store.versions()[0]
    assert (newest.number, newest.verdict.live) == (3, 2)
    assert newest.verdict.overall.n == MIN_QUERIES
