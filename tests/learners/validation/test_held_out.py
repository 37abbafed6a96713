"""What is held out leaves no trace in what is learned, for every learner.

The judgements here can only be memorized: rows are random and wide, so that a query or an item
that was learned from is found, and one that was not is not. Each test is repeated with the hold-out
broken on purpose, to show that a leak would be seen.
"""

import numpy as np
import pytest

import likewise as lw
from likewise.learners.online import _fitting, _training
from likewise.learners.ridge import _cross_validation
from likewise.learners.validation import _held_out
from likewise.supervision import HoldOut

pytestmark = pytest.mark.filterwarnings("ignore:.*the start is kept:UserWarning")

LEARNERS = {
    "ridge": lambda: lw.RidgeSimilarity(random_state=0, new_items="allow"),
    "diagonal": lambda: lw.AROMA(
        random_state=0, new_items="allow", n_triplets=20_000, init="identity"
    ),
    "factored": lambda: lw.AROMA("factored", random_state=0, new_items="allow", n_triplets=20_000),
    "oasis": lambda: lw.OASIS(random_state=0, new_items="allow", n_triplets=20_000),
    "ridge, then oasis": lambda: lw.OASIS(
        random_state=0, new_items="allow", n_triplets=20_000, init="ridge"
    ),
}
each_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


@pytest.fixture
def memorable(rng):
    """Return random queries, each with one random item of its own."""
    Q, P = rng.normal(size=(120, 200)), rng.normal(size=(160, 200))
    items = rng.permutation(160)[:120]
    return Q, P, items


@pytest.fixture
def shared(rng):
    """Return queries of which each item has six, unlike it but like each other."""
    centers = rng.normal(size=(30, 60))
    items = np.arange(180) % 30
    Q = centers[items] + 0.2 * rng.normal(size=(180, 60))
    return Q, rng.normal(size=(200, 60)), items


def taught(make, door, Q, P, items, rng):
    """Return a learner that was taught that each query wants its item."""
    queries = np.arange(len(Q))
    model = make()
    if door == "relevance":
        relevance = np.zeros((len(Q), len(P)))
        relevance[queries, items] = 1
        return model.fit_relevance(relevance, Q, P)
    if door == "pairs":
        return model.fit_pairs(np.column_stack([queries, items]), np.ones(len(Q)), Q, P)
    farther = rng.integers(len(P), size=(len(Q), 8))
    rows = np.stack([np.repeat(queries, 8), np.repeat(items, 8), farther.ravel()], axis=1)
    rows = rows[rows[:, 1] != rows[:, 2]]
    if isinstance(model, lw.RidgeSimilarity):
        return model.fit_triplets(rows, Q, P)
    return model.fit_triplets(rows, Q, P, validate=True)


def gained(model, kind="overall"):
    start, learned, _, n = model.validation_[kind]
    assert n >= 5
    return learned - start


@each_learner
@pytest.mark.parametrize("door", ["relevance", "pairs", "triplets"])
def test_a_held_out_query_leaves_no_trace(make, door, memorable, rng, monkeypatch):
    model = taught(make, door, *memorable, rng)
    assert gained(model) < 0.2
    monkeypatch.setattr(HoldOut, "in_training", lambda self, queries, items, split: queries >= 0)
    leaked = taught(make, door, *memorable, rng)
    assert gained(leaked) > 0.4


@each_learner
@pytest.mark.parametrize("door", ["relevance", "pairs", "triplets"])
def test_a_held_out_item_is_new_however_many_queries_want_it(make, door, shared, rng, monkeypatch):
    """What held-out items gain is not learned from the other queries that want them."""
    model = taught(make, door, *shared, rng)
    assert gained(model, "seen") > 0.2
    assert gained(model, "new") < 0.15

    def queries_only(self, queries, items, split):
        return self.queries[queries] != split

    monkeypatch.setattr(HoldOut, "in_training", queries_only)
    leaked = taught(make, door, *shared, rng)
    assert leaked.validation_["new"].n == 0


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "ridge"])
def test_a_held_out_item_is_not_learned_from_as_a_farther_one(name, shared, monkeypatch):
    """Drawn triplets of the validation hold no item that judges it."""
    make = LEARNERS[name]
    drawn, held_out = [], []
    draw, single = _fitting.RelevanceTriplets.draw, HoldOut.single

    def noted(self, n, rng):
        drawn.append(draw(self, n, rng))
        return drawn[-1]

    def split(*given, **named):
        held_out.append(single(*given, **named))
        return held_out[-1]

    monkeypatch.setattr(_fitting.RelevanceTriplets, "draw", noted)
    monkeypatch.setattr(HoldOut, "single", split)
    Q, P, items = shared
    relevance = np.zeros((len(Q), len(P)))
    relevance[np.arange(len(Q)), items] = 1
    make().set_params(n_triplets=2000).fit_relevance(relevance, Q, P)
    (hold,) = held_out
    first = drawn[0]  # of the validation: what follows may be of everything
    assert (hold.queries[first[:, 0]] != 0).all()
    assert (hold.items[first[:, 1:]] != 0).all()


@each_learner
def test_held_out_rows_leave_no_trace_in_what_labels_teach(make, rng, monkeypatch):
    X, y = rng.normal(size=(150, 200)), rng.integers(0, 3, 150)
    model = make().fit(X, y)
    assert gained(model) < 0.1

    def rows_that_were_learned_from(splits, split, rng):
        return np.flatnonzero(splits != split)[: (splits == split).sum()]

    for module in (_fitting, _cross_validation, _held_out):
        monkeypatch.setattr(module, "held_out_rows", rows_that_were_learned_from)
    assert gained(make().fit(X, y)) > 0.3


@pytest.mark.parametrize("door", ["relevance", "pairs", "triplets", "labels"])
@pytest.mark.parametrize("make", [lw.AROMA, lw.OASIS])
def test_a_ridge_that_learning_starts_from_does_not_know_what_is_held_out(
    make, door, shared, rng, monkeypatch
):
    """A ridge of all queries would know the answers before validation begins."""
    known, held_out = [], []
    single = HoldOut.single

    class Noted(lw.RidgeSimilarity):
        def fit(self, X, y, sample_weight=None):
            rows = (X[:, None] == Q).all(axis=2).argmax(axis=1)
            known.append(np.column_stack([rows, rows]))
            return super().fit(X, y, sample_weight)

        def fit_relevance(self, grades, *given, **named):
            known.append(np.argwhere(grades.toarray() > 0))
            return super().fit_relevance(grades, *given, **named)

        def fit_triplets(self, triplets, *given, **named):
            known.append(triplets[:, :2])
            return super().fit_triplets(triplets, *given, **named)

    def split(*given, **named):
        held_out.append(single(*given, **named))
        return held_out[-1]

    monkeypatch.setattr(_training, "RidgeSimilarity", Noted)
    monkeypatch.setattr(HoldOut, "single", split)
    Q, P, items = shared
    learner = make(random_state=0, init="ridge", n_triplets=2000)
    if door == "labels":
        learner.fit(Q, items % 3)
    else:
        taught(lambda: learner, door, Q, P, items, rng)
    queries, judged = known[0].T
    (hold,) = held_out
    assert len(np.unique(queries)) > 0.5 * len(Q)
    assert (hold.queries[queries] != 0).all()
    if door != "labels":
        assert (hold.items[judged] != 0).all()
