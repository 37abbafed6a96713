"""Nothing that is held out is learned from: by any covariance, any update, and at any rate.

Rows are random and comparisons can only be memorized, so that a gain on held-out queries is a leak.
Each learner also has every triplet noted that it learns from before the held-out queries decide.
`tests/learners/validation/test_held_out.py` has the same for wide rows.
"""

import numpy as np
import pytest

import likewise as lw
from likewise.learners.online import _early_stopping, _training
from likewise.supervision import HoldOut

pytestmark = pytest.mark.filterwarnings("ignore:.*the start is kept:UserWarning")

OPTIONS = {"random_state": 0, "new_items": "allow", "n_triplets": 3000}
LEARNERS = {
    "diagonal": lambda: lw.AROMA(**OPTIONS),
    "diagonal, r auto": lambda: lw.AROMA(r="auto", **OPTIONS),
    "factored, from mistakes": lambda: lw.AROMA("factored", update="mistake", **OPTIONS),
    "full": lambda: lw.AROMA("full", **OPTIONS),
    "oasis, C auto": lambda: lw.OASIS("auto", **OPTIONS),
}
each_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


def rows_of(side):
    """Return 60 queries or 80 items."""
    return np.random.default_rng(side).normal(size=((60, 80)[side], 20))


def taught(learner, door):
    """Teach that each query wants an item of its own, or that rows have labels without meaning."""
    rng = np.random.default_rng(2)
    Q, P = rows_of(0), rows_of(1)
    items = rng.permutation(80)[:60]
    if door == "relevance":
        relevance = np.zeros((60, 80))
        relevance[np.arange(60), items] = 1
        return learner.fit_relevance(relevance, Q, P)
    if door == "pairs":
        return learner.fit_pairs(np.column_stack([np.arange(60), items]), np.ones(60), Q, P)
    if door == "labels":
        return learner.fit(Q, np.arange(60) % 3)
    farther = rng.integers(80, size=(60, 20))
    rows = np.stack([np.repeat(np.arange(60), 20), np.repeat(items, 20), farther.ravel()], axis=1)
    return learner.fit_triplets(rows[rows[:, 1] != rows[:, 2]], Q, P, validate=True)


def gained(model):
    start, learned, _, n = model.validation_["overall"]
    assert n >= 10
    return learned - start


@each_learner
@pytest.mark.parametrize(
    ("door", "chance", "memory"),
    [("relevance", 0.2, 0.4), ("pairs", 0.2, 0.4), ("triplets", 0.15, 0.35)],
)
def test_a_held_out_query_leaves_no_trace(make, door, chance, memory, monkeypatch):
    """And with a broken hold-out it is known by heart, so that a leak would be seen."""
    assert gained(taught(make(), door)) < chance
    monkeypatch.setattr(HoldOut, "in_training", lambda self, queries, items, k: queries >= 0)
    assert gained(taught(make(), door)) > memory


@each_learner
@pytest.mark.parametrize("door", ["relevance", "pairs", "triplets", "labels"])
def test_held_out_rows_judge_and_no_triplet_of_the_validation_has_one(make, door, monkeypatch):
    """At every rate: what was learned at one must not know what judges another."""
    learned, splits, decided = [], [], []
    apply, single, decide = _training.apply_triplets, HoldOut.single, _early_stopping.decide

    def noted(state, n_seen, blocks, *given):
        blocks = list(blocks)
        if not decided:
            learned.append((n_seen, np.concatenate([triplets for triplets, _ in blocks])))
        return apply(state, n_seen, blocks, *given)

    def split(*given, **named):
        splits.append(single(*given, **named))
        return splits[-1]

    def judged(held, base, start, runs, *given):
        decided.append((held, runs))
        return decide(held, base, start, runs, *given)

    monkeypatch.setattr(_training, "apply_triplets", noted)
    monkeypatch.setattr(HoldOut, "single", split)
    monkeypatch.setattr(_early_stopping, "decide", judged)
    learner = taught(make(), door)
    ((hold,), ((held, runs),)) = splits, decided
    automatic = "auto" in (getattr(learner, "r", None), getattr(learner, "C", None))
    assert len(runs) == (4 if automatic else 1)
    assert sum(n_seen == 0 for n_seen, _ in learned) == len(runs)  # each began anew
    if door == "labels":
        judges = (held._X[:, None] == rows_of(0)).all(axis=2).argmax(axis=1)
    else:
        judges = held.held
    assert (hold.queries[judges] == 0).all()
    for _, triplets in learned:
        assert (hold.queries[triplets[:, 0]] != 0).all()
        if door == "labels":
            assert (hold.queries[triplets] != 0).all()
        else:
            judged_items = triplets[:, 1:2] if door == "triplets" else triplets[:, 1:]
            assert (hold.items[judged_items] != 0).all()
    assert len(np.unique(np.concatenate([t[:, 0] for _, t in learned]))) > 0.5 * 60
