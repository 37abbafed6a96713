"""Queries and items that were held out decide between learners, and whether any is saved."""

import json

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import likewise as lw
from likewise.selection import judge_triplets, select_triplets
from likewise.supervision import HoldOut

KINDS = ("overall", "seen", "new")


@pytest.fixture
def taught(rng):
    """Return comparisons in a hidden similarity, with queries and items of one width."""
    Q, W = rng.normal(size=(60, 4)), np.diag([3.0, 0.1, 0.1, 0.1])
    pairs = rng.integers(60, size=(900, 2))
    asked = (60 * rng.random(900) ** 2).astype(int)  # some queries are asked far more often
    first = np.einsum("ij,ij->i", Q[asked] @ W, Q[pairs[:, 0]])
    second = np.einsum("ij,ij->i", Q[asked] @ W, Q[pairs[:, 1]])
    pairs = np.where((first > second)[:, None], pairs, pairs[:, ::-1])
    kept = pairs[:, 0] != pairs[:, 1]
    return np.column_stack([asked, pairs])[kept], Q


def random_triplets(rng, n=1500, n_queries=60, n_items=80, width=8):
    Q, P = rng.normal(size=(n_queries, width)), rng.normal(size=(n_items, width))
    items = np.array([rng.choice(n_items, 2, replace=False) for _ in range(n)])
    return np.column_stack([rng.integers(n_queries, size=n), items]), Q, P


def cosine(q, p):
    return q @ p / np.linalg.norm(q) / np.linalg.norm(p)


def by_query(score, Q, triplets, seen):
    """Return the shares of every query, overall, of seen and of new closer items, in loops."""
    found = {kind: [] for kind in KINDS}
    for query in sorted(set(triplets[:, 0])):
        shares = {kind: [] for kind in KINDS}
        for _, closer, farther in triplets[triplets[:, 0] == query]:
            a, b = score(Q[query], closer), score(Q[query], farther)
            right = 0.5 if a == b else float(a > b)
            shares["overall"].append(right)
            shares["seen" if closer in seen else "new"].append(right)
        for kind in KINDS:
            if shares[kind]:
                found[kind].append(sum(shares[kind]) / len(shares[kind]))
    return found


def test_figures_are_means_over_queries_of_what_each_split_holds_out(taught):
    triplets, Q = taught
    found = select_triplets(triplets, Q, learners=["oasis"])
    hold = HoldOut.random(60, 60, np.random.default_rng(0), same=True)
    expected = {name: {kind: [] for kind in KINDS} for name in ("cosine", "OASIS")}
    for split in range(5):
        query_in = hold.queries[triplets[:, 0]] == split
        closer_in = hold.items[triplets[:, 1]] == split
        learned_from = triplets[~query_in & ~closer_in]
        oasis = lw.OASIS(random_state=0).fit_triplets(learned_from, Q, validate=True)
        scores = {
            "cosine": lambda q, item: cosine(q, Q[item]),
            "OASIS": lambda q, item, W=oasis.similarity_.W: cosine(q @ W, Q[item]),
        }
        for name, score in scores.items():
            shares = by_query(score, Q, triplets[query_in], set(learned_from[:, 1]))
            for kind in KINDS:
                expected[name][kind] += shares[kind]
    rows = {row["name"]: row for row in found.rows}
    for name, kinds in expected.items():
        for kind, shares in kinds.items():
            figures = rows[name][kind]
            assert figures["n"] == len(shares)
            assert figures["mean"] == pytest.approx(np.mean(shares))
            error = np.std(shares, ddof=1) / np.sqrt(len(shares))
            assert figures["error"] == pytest.approx(error)
    start, learned, _, n = found.validation["overall"]
    assert start == pytest.approx(np.mean(expected["cosine"]["overall"]))
    assert learned == pytest.approx(np.mean(expected["OASIS"]["overall"]))
    assert n == len(expected["OASIS"]["overall"])


def test_learners_beat_the_start_where_there_is_something_to_learn(taught):
    found = select_triplets(*taught)
    by_name = {row["name"]: row for row in found.rows}
    assert set(by_name) == {"ridge", "AROMA", "OASIS", "cosine", "Euclidean"}
    assert found.chosen != "start"
    assert sum(row["chosen"] for row in found.rows) == 1
    assert found.rows[0]["kind"] == "learned"
    assert found.validation["published"]
    start, learned, error, _ = found.validation["overall"]
    assert learned > start + 2.5 * error
    assert f"{learned:.3f}" in found.verdict
    assert f"{start:.3f}" in found.verdict
    outcome = judge_triplets(found.estimator.similarity_, *taught)["overall"]
    assert outcome.learned > outcome.start


def test_what_is_published_was_learned_from_all_comparisons(taught):
    found = select_triplets(*taught, learners=["oasis"])
    expected = lw.OASIS(random_state=0).fit_triplets(*taught, validate=True)
    assert found.chosen == "oasis"
    np.testing.assert_array_equal(found.estimator.similarity_.W, expected.similarity_.W)


@pytest.fixture
def private(rng):
    """Return what can be learned from others, and as much that only a query's own triplets tell.

    Queries come in five groups, and each group wants items of one group; but among the items of
    the others every query has wishes of its own. Queries and items have a coordinate each.
    """
    n_queries, n_items, n_groups = 60, 40, 5
    width = 2 * n_groups + n_queries + n_items
    Q, P = np.zeros((n_queries, width)), np.zeros((n_items, width))
    of_query, of_item = np.arange(n_queries) % n_groups, np.arange(n_items) % n_groups
    Q[np.arange(n_queries), of_query] = 1
    Q[np.arange(n_queries), 2 * n_groups + np.arange(n_queries)] = 1
    P[np.arange(n_items), n_groups + of_item] = 1
    P[np.arange(n_items), 2 * n_groups + n_queries + np.arange(n_items)] = 1
    common, own = [], []
    for query in range(n_queries):
        wanted, others = (np.flatnonzero((of_item == of_query[query]) == yes) for yes in (1, 0))
        common += [(query, rng.choice(wanted), rng.choice(others)) for _ in range(16)]
        for group in set(range(n_groups)) - {of_query[query]}:
            shuffled = rng.permutation(np.flatnonzero(of_item == group))
            own += [(query, *pair) for pair in shuffled.reshape(2, -1).T]
    return np.array(common), np.array(own), Q, P


@pytest.mark.parametrize("learner", ["ridge", "aroma", "oasis"])
def test_a_held_out_query_leaves_no_trace(learner, private):
    common, own, Q, P = private
    triplets = np.concatenate([common, own])
    memorized = lw.OASIS(random_state=0).fit_triplets(np.tile(triplets, (5, 1)), Q, P)
    assert judge_triplets(memorized.similarity_, own, Q, P)["overall"].learned > 0.9
    found = select_triplets(triplets, Q, P, learners=[learner])
    row = next(row for row in found.rows if row["kind"] == "learned")
    assert row["published"] == 5
    # In common triplets everything can be right; in its own ones a query is a coin.
    assert row["mean"] < 0.8


@pytest.mark.parametrize("learner", ["ridge", "aroma", "oasis"])
def test_a_held_out_closer_item_leaves_no_trace(learner, rng):
    """All queries are one; each good item has a coordinate of its own, and so each farther one."""
    n_queries, n_good, n_triplets = 60, 30, 600
    width = 1 + n_good + n_triplets
    Q, P = np.repeat(np.eye(width)[:1], n_queries, axis=0), np.eye(width)[1:]
    triplets = np.column_stack(
        [
            rng.integers(n_queries, size=n_triplets),
            rng.integers(n_good, size=n_triplets),
            n_good + np.arange(n_triplets),
        ]
    )
    found = select_triplets(triplets, Q, P, learners=[learner])
    row = next(row for row in found.rows if row["kind"] == "learned")
    assert row["published"] == 5
    assert row["seen"]["mean"] > 0.9
    assert row["new"]["mean"] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("seed", range(6))
def test_random_comparisons_leave_the_start(seed):
    found = select_triplets(*random_triplets(np.random.default_rng(seed)), random_state=seed)
    assert found.chosen == "start"
    assert found.verdict.startswith("Kept the start: ")
    assert isinstance(found.estimator, lw.Bilinear)
    assert (found.estimator.W, found.estimator.norm) == (1.0, "cosine")
    assert next(row for row in found.rows if row["chosen"])["kind"] == "start"
    start, learned, _, _ = found.validation["overall"]
    assert f"{start:.3f}" in found.verdict
    assert f"{learned:.3f}" in found.verdict


@pytest.mark.parametrize("learner", ["aroma", "oasis"])
def test_the_right_order_does_not_suffice_where_the_ranking_of_all_items_falls(learner, rng):
    n = 150
    topics = rng.normal(size=(n, 4))
    Q = np.column_stack([topics, np.ones(n), np.zeros(n)])

    def items(topics, trait):
        return np.column_stack([topics, np.zeros(len(topics)), np.full(len(topics), trait)])

    # The trait tells closer from farther items; items that are never compared have more of it.
    closer, farther = (
        items(topics + 0.3 * rng.normal(size=topics.shape), trait) for trait in (0.2, -0.2)
    )
    P = np.vstack([closer, farther, items(rng.normal(size=(300, 4)), 3.0)])
    query = np.arange(n)
    selection = select_triplets(
        np.column_stack([query, query, query + n]), Q, P, learners=[learner]
    )
    validation = selection.validation
    assert validation["overall"].learned > validation["overall"].start + 0.3
    assert validation["ranking"].learned < validation["ranking"].start - 0.1
    assert selection.chosen == "start"
    assert "ranks their closer items as high" in selection.verdict


def test_the_ranking_is_ndcg_of_closer_items_among_all_items(taught):
    triplets, Q = taught
    P = Q.copy()  # else a query is not ranked for itself
    selection = select_triplets(triplets, Q, P, learners=["ridge"], n_splits=2)
    grades = np.zeros((len(Q), len(P)))
    grades[triplets[:, 0], triplets[:, 1]] = 1
    asked = np.unique(triplets[:, 0])
    scores = lw.as_similarity("cosine").score(Q[asked], P)
    expected = ndcg_score(grades[asked], scores, k=10)
    assert selection.validation["ranking"].start == pytest.approx(expected, abs=1e-6)
    assert selection.validation["ranking"].n == len(asked)


def test_without_a_common_width_the_start_has_no_ranking(rng):
    triplets, Q, P = random_triplets(rng)
    found = select_triplets(triplets, Q[:, :3], P, learners=["aroma"])
    row = next(row for row in found.rows if row["kind"] == "start")
    assert (row["name"], row["mean"]) == ("random order", 0.5)
    assert found.estimator.W.shape == (3, 8)
    assert not found.estimator.W.any()
    assert "gives every item the same score" in found.notes[-1]


def test_a_baseline_that_is_clearly_better_than_what_was_saved_is_named(rng):
    Q = rng.normal(size=(60, 4)) * rng.uniform(0.1, 10, size=(60, 1))  # length is all that matters
    triplets = []
    for _ in range(1200):
        query, *pair = rng.choice(60, 3, replace=False)
        pair.sort(key=lambda row: np.linalg.norm(Q[query] - Q[row]))
        triplets.append((query, *pair))
    found = select_triplets(np.array(triplets), Q, learners=["oasis"])
    assert found.notes[0].startswith("Euclidean puts more comparisons in the right order than the")
    assert "Euclidean" not in "".join(select_triplets(*random_triplets(rng)).notes)


def test_offsets_of_a_ridge_name_the_items_as_the_caller_does():
    rng = np.random.default_rng(1)
    P = rng.normal(size=(60, 12))
    favorite = rng.integers(20, size=200)
    Q = rng.normal(size=(20, 12))[favorite] + 0.5 * rng.normal(size=(200, 12))
    triplets = np.array(
        [(q, favorite[q], far) for q in range(200) for far in rng.integers(20, 60, size=5)]
    )
    ids = [f"item {row}" for row in range(60)]
    found = select_triplets(triplets, Q, P, learners=["ridge"], item_ids=ids)
    assert found.chosen == "ridge"
    assert found.estimator.offsets_ is not None
    assert set(found.estimator.offsets_.ids) <= set(ids)
    assert "offsets_.apply" in found.notes[-1]


def test_one_query_leaves_the_start_without_figures(taught):
    triplets = taught[0].copy()
    triplets[:, 0] = 0
    found = select_triplets(triplets, taught[1])
    assert found.rows == []
    assert found.chosen == "start"
    assert "no query could be held out" in found.verdict
    plain = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert plain["validation"]["overall"] == {
        "start": None, "learned": None, "error": None, "n": 0
    }  # fmt: skip


def test_the_table_json_and_the_sentence_have_the_same_figures(taught):
    found = select_triplets(*taught, learners=["oasis"])
    plain = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert plain["verdict"] == found.verdict
    assert plain["validation"]["new"]["learned"] == found.validation["new"].learned
    for row in found.rows:
        assert f"{row['mean']:.3f} ± {row['overall']['error']:.3f}" in str(found)


def test_judging_counts_queries_alike_and_ties_half():
    Q = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    triplets = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 3]])
    outcomes = judge_triplets(lw.Bilinear(1.0), triplets, Q, trained_on=[[9, 0, 5]])
    assert outcomes["overall"].learned == (1.0 + 0.5) / 2
    assert (outcomes["seen"].n, outcomes["new"].n) == (2, 0)
    assert set(judge_triplets(lw.Bilinear(1.0), triplets, Q)) == {"overall"}


def test_items_that_moved_are_judged_where_they_are_stored(rng):
    triplets, Q, P = random_triplets(rng)
    plain = judge_triplets(lw.Bilinear(1.0), triplets, Q, P)["overall"]
    moved = judge_triplets(lw.Bilinear(1.0), triplets, Q, P, stored=-P)["overall"]
    assert moved.start == plain.start
    assert moved.learned == pytest.approx(1 - plain.learned)


def test_bad_comparisons_are_refused(taught):
    with pytest.raises(ValueError, match="learner must be one of 'ridge', 'aroma', 'oasis'"):
        select_triplets(*taught, learners=["lmnn"])
    with pytest.raises(ValueError, match="learners is empty"):
        select_triplets(*taught, learners=[])
    with pytest.raises(ValueError, match="row 99"):
        select_triplets([[0, 1, 99]], taught[1])
    with pytest.raises(ValueError, match="n_splits must be at least 2"):
        select_triplets(*taught, n_splits=1)
    with pytest.raises(ValueError, match="item_ids must hold a different id for each of 60 items"):
        select_triplets(*taught, item_ids=["a"] * 60)
    with pytest.raises(ValueError, match="trained_on has closer items from 99 to 99"):
        judge_triplets(lw.Bilinear(1.0), *taught, trained_on=[[0, 99, 1]])
