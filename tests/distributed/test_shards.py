"""AROMA and OASIS by rounds of shards: on processes, from any source, as one machine learns."""

import dataclasses
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from tests.distributed.inline import InlineExecutor, run_inline

import likewise as lw
from likewise import kernels
from likewise._execution import use_backend
from likewise.distributed import _shards, run_on
from likewise.distributed._rows import RowBlocks
from likewise.distributed._run import ClusterRun
from likewise.distributed._shards import Plan
from likewise.distributed._start import Start

KINDS = {
    "diagonal": (lw.AROMA, {}),
    "factored": (lw.AROMA, {"covariance": "factored"}),
    "oasis": (lw.OASIS, {}),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.mark.parametrize("n_triplets", [1, 7, 1000, 123_457])
@pytest.mark.parametrize("n_rounds", [None, 1, 3, 50])
@pytest.mark.parametrize("shard_size", [None, 1, 10, 50_000])
def test_a_plan_has_every_triplet_in_one_shard_of_one_round(n_triplets, n_rounds, shard_size):
    plan = Plan.of(n_triplets, n_rounds, shard_size, n_workers=4)
    rounds = [plan.shards(number) for number in range(plan.n_rounds)]
    shards = [shard for shards in rounds for shard in shards]
    assert all(rounds)
    assert all(shard.start < shard.stop for shard in shards)
    assert [s.start for s in shards[1:]] == [s.stop for s in shards[:-1]]
    assert (shards[0].start, shards[-1].stop) == (0, n_triplets)
    assert [r[0].start for r in rounds] == [plan.start_of(n) for n in range(plan.n_rounds)]


@pytest.mark.parametrize(
    ("n_triplets", "n_workers", "expected"),
    [
        (1_000_000, 2, (2, 2)),
        (10_000_000, 2, (20, 2)),
        (500_000, 8, (4, 8)),
        (500_000, 64, (10, 64)),
        (3, 2, (2, 1)),
    ],
)
def test_by_default_rounds_grow_with_workers_and_triplets(n_triplets, n_workers, expected):
    plan = Plan.of(n_triplets, None, None, n_workers)
    assert (plan.n_rounds, plan.n_shards) == expected


def test_a_validated_run_has_at_least_four_rounds():
    assert Plan.of(500_000, None, None, n_workers=2, validated=True)[1:] == (4, 2)
    assert Plan.of(500_000, 3, None, n_workers=2, validated=True)[1:] == (3, 2)


def test_with_rounds_alone_every_worker_has_one_shard():
    assert Plan.of(1_000_000, 10, None, n_workers=8)[1:] == (10, 8)


def test_one_shard_per_round_learns_what_one_process_learns(client, kind, digits, triplets):
    make, given = kind
    one = make(**given).fit_triplets(triplets, digits[0])
    with run_on(client, rounds=3, shard_size=2000) as run:
        found = make(**given).fit_triplets(triplets, digits[0])
    assert type(found) is make
    assert vars(found).keys() == vars(one).keys()
    assert len(run.finished_rounds) == 3
    # Factored covariances are learned in blocks, which end with a shard: the rest is rounding.
    assert_allclose(found.similarity_.W, one.similarity_.W, atol=1e-5 if given else 0)
    assert (found.n_updates_, found.n_triplets_seen_) == (one.n_updates_, 6000)


def test_a_round_takes_a_longer_step_than_a_merge_and_a_mean_precision(
    client, kind, digits, triplets
):
    make, given = kind
    given = {**given, "dtype": "float64"}
    X = digits[0]
    halves = [make(**given).fit_triplets(part, X) for part in (triplets[:3000], triplets[3000:])]
    merged = make.merge(halves)
    with run_on(client, rounds=1, shard_size=3000):
        found = make(**given).fit_triplets(triplets, X)
    start = np.eye(X.shape[1])
    change = merged.similarity_.W - start
    assert_allclose(found.similarity_.W, start + 2**0.5 * change, rtol=1e-9, atol=1e-12)
    assert found.n_updates_ == merged.n_updates_
    if hasattr(found.state_, "S"):
        assert_allclose(1 / found.state_.S, 1 + (1 / merged.state_.S - 1) / 2, rtol=1e-9)
    elif hasattr(found.state_, "Lambda"):
        gain = np.linalg.inv(merged.state_.Lambda) - start
        assert_allclose(np.linalg.inv(found.state_.Lambda), start + gain / 2, atol=1e-9)


class _RecordingExecutor(InlineExecutor):
    """Records the priority of each shard, and "result" where that of a round is waited for."""

    def __init__(self):
        self.events, self.shared = [], []

    def submit(self, function, *args, priority=0):
        if function is _shards.train_shard:
            self.events.append(priority)
        return super().submit(function, *args, priority=priority)

    def share(self, value):
        self.shared.append(value)
        return super().share(value)

    def results(self, handles):
        values = super().results(handles)
        if isinstance(values[0], _shards.ShardResult):
            self.events.append("result")
        return values


def test_a_round_is_submitted_before_the_result_of_the_one_before_is_waited_for(digits, triplets):
    executor = _RecordingExecutor()
    with use_backend(ClusterRun(executor, 3, 1000)):
        lw.AROMA().fit_triplets(triplets, digits[0])
    expected = [0, 0, -1, -1, "result", -2, -2, "result", "result"]  # priorities: the first first
    assert executor.events == expected
    assert sum(isinstance(value, Start) for value in executor.shared) == 1


def test_after_eight_rounds_the_start_is_sent_anew(digits, triplets):
    executor = _RecordingExecutor()
    with use_backend(ClusterRun(executor, 10, 300)):
        found = lw.AROMA().fit_triplets(triplets, digits[0])
    eighth = executor.events.index(-7)
    assert executor.events[eighth:] == [-7, -7, *["result"] * 2, -8, -8, -9, -9, *["result"] * 2]
    assert sum(isinstance(value, Start) for value in executor.shared) == 2
    assert found.n_triplets_seen_ == 6000


def test_rounds_with_hard_negatives_wait_for_the_state_that_ranks_them(digits):
    X, y = digits
    executor = _RecordingExecutor()
    relevance = (y[:90, None] == y[None, 90:]).astype(float)
    learner = lw.AROMA(n_triplets=900, hard_negatives=0.5, early_stopping=False, random_state=0)
    with use_backend(ClusterRun(executor, 3, 150)):
        learner.fit_relevance(relevance, X[:90], X[90:])
    assert executor.events == [0, 0, "result", -1, -1, "result", -2, -2, "result"]


class _MergingExecutor(InlineExecutor):
    """Records merges by workers, the starts of training, and the functions sent in one message."""

    def __init__(self, n_workers):
        self.n_workers = n_workers
        self.merged, self.starts, self.messages = [], [], []

    def submit(self, function, *args, priority=0):
        handle = super().submit(function, *args, priority=priority)
        if self.messages:
            self.messages[-1].append(function.__name__)
        if function is _shards.train_shard:
            self.starts.append(args[1])
        if function is _shards.merge_shards:
            self.merged.append(handle)
        return handle

    def in_one_message(self, submit):
        self.messages.append([])
        return super().in_one_message(submit)


def _arrays(state):
    return [getattr(state, field.name) for field in dataclasses.fields(state)]


@pytest.mark.parametrize(
    ("n_workers", "shard_size", "n_copies", "n_merges"),
    [(2, 1000, 2, 4), (3, 1000, 1, 2), (2, 500, 1, 3)],
)
def test_two_workers_both_merge_and_the_client_merges_two_shards_of_the_last_round(
    kind, digits, triplets, n_workers, shard_size, n_copies, n_merges
):
    make, given = kind
    executor = _MergingExecutor(n_workers)
    with use_backend(ClusterRun(executor, 3, shard_size)):
        make(**given).fit_triplets(triplets, digits[0])
    assert len(executor.merged) == n_merges
    for at, handle in enumerate(executor.merged[: 2 * n_copies]):
        n_rounds = at // n_copies + 1
        with run_inline(n_rounds, shard_size):
            until = make(**given).fit_triplets(triplets[: 2000 * n_rounds], digits[0])
        for found, expected in zip(_arrays(handle.value.state), _arrays(until.state_), strict=True):
            assert_array_equal(found, expected)
    n_shards = 2000 // shard_size
    for number, handle in enumerate(executor.starts[n_shards:]):
        copy = number % n_shards % n_copies
        assert handle is executor.merged[number // n_shards * n_copies + copy]


def test_the_tasks_of_a_round_are_sent_in_one_message(digits, triplets):
    executor = _MergingExecutor(2)
    with use_backend(ClusterRun(executor, 2, 1500)):
        lw.AROMA().fit_triplets(triplets, digits[0])
    assert executor.messages == [["train_shard"] * 2, ["merge_shards"] * 2 + ["train_shard"] * 2]


def test_a_merge_compiles_nothing_for_a_state_that_is_read_only(digits, triplets):
    state = lw.AROMA().fit_triplets(triplets[:100], digits[0]).state_
    part = _shards.ShardResult((np.ones_like(state.W), np.ones_like(state.W)), 1, 1, 0.0, 0.0)
    expected = _shards.merge_results([part, part], state, 2)
    n_signatures = len(kernels.apply_evidence.signatures)
    state.W.flags.writeable = False
    found = _shards.merge_results([part, part], state, 2)
    assert len(kernels.apply_evidence.signatures) == n_signatures
    assert_array_equal(found.state.W, expected.state.W)


def test_triplets_are_sent_in_the_smallest_type(digits, triplets):
    X, _ = digits
    executor = InlineExecutor()
    rows = RowBlocks(X, "X", executor)
    shards = _shards.TripletShards(triplets, rows, rows, None, executor)
    part, weights = shards.shard(slice(0, 100), inline=True)
    assert part.dtype == np.uint16
    assert weights is None
    assert_array_equal(part, triplets[:100])
    everything, weights = shards.arrays()
    assert everything.dtype == np.int64
    assert_array_equal(everything, triplets)
    assert_array_equal(weights, np.ones(6000))


@pytest.mark.parametrize("shard_size", [1000, 500])  # two shards in a round, and four
def test_the_number_of_workers_does_not_change_the_result(
    client, kind, digits, triplets, shard_size
):
    make, given = kind
    found = []
    for run in (run_on(client, 3, shard_size), run_inline(3, shard_size)):
        with run:
            found.append(make(**given).fit_triplets(triplets, digits[0]))
    for there, here in zip(*(_arrays(learner.state_) for learner in found), strict=True):
        assert_array_equal(there, here)
    assert found[0].n_updates_ == found[1].n_updates_


def test_rows_may_be_in_any_source(client, laid_out, digits, triplets):
    with run_inline(2, 1500):
        here = lw.AROMA(dtype="float64").fit_triplets(triplets, digits[0])
    with run_on(client, 2, 1500):
        there = lw.AROMA(dtype="float64").fit_triplets(triplets, laid_out)
    assert_allclose(there.similarity_.W, here.similarity_.W, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("where", ["triplets.npy", "triplets", "triplets/part-000.parquet"])
def test_triplets_may_be_in_files(client, folder, digits, triplets, where):
    part = triplets[:2500] if where.endswith("parquet") else triplets
    with run_inline(2, 1000):
        here = lw.AROMA().fit_triplets(part, digits[0])
    with run_on(client, 2, 1000):
        there = lw.AROMA().fit_triplets(folder / where, digits[0])
    assert_array_equal(there.similarity_.W, here.similarity_.W)


def test_triplets_may_be_a_dask_array(client, digits, triplets):
    import dask.array

    lazy = dask.array.from_array(triplets, chunks=(1700, 3))
    with run_inline(2, 1000):
        here = lw.OASIS().fit_triplets(triplets, digits[0])
    with run_on(client, 2, 1000):
        there = lw.OASIS().fit_triplets(lazy, digits[0])
    assert_array_equal(there.similarity_.W, here.similarity_.W)


def test_weights_count_in_shards(client, digits, triplets, rng, tmp_path):
    import pandas as pd

    weights = rng.uniform(0, 2, len(triplets))
    frame = pd.DataFrame(triplets, columns=["query", "closer", "farther"]).assign(weight=weights)
    frame.to_parquet(tmp_path / "weighted.parquet")
    with run_inline(2, 1500):
        here = lw.AROMA().fit_triplets(triplets, digits[0], weights=weights)
        plain = lw.AROMA().fit_triplets(triplets, digits[0])
    for source in (frame, tmp_path / "weighted.parquet"):
        with run_on(client, 2, 1500):
            there = lw.AROMA().fit_triplets(source, digits[0])
        assert_array_equal(there.similarity_.W, here.similarity_.W)
    assert np.abs(here.similarity_.W - plain.similarity_.W).max() > 0.01


def test_parts_continue_from_each_other(client, digits, triplets):
    X = digits[0]
    with run_on(client, rounds=2, shard_size=1500):
        whole = lw.AROMA().fit_triplets(triplets, X)
    with run_on(client, rounds=1, shard_size=1500):
        parts = lw.AROMA().fit_triplets(triplets[:3000], X)
        parts.partial_fit_triplets(triplets[3000:], X)
    assert_array_equal(parts.similarity_.W, whole.similarity_.W)
    assert parts.n_triplets_seen_ == 6000


def test_labels_and_clicks_are_learned_from_and_validated(client, digits):
    X, y = digits
    given = {"n_triplets": 8000, "random_state": 0}
    found = []
    for run in (run_on(client, 4, 1000), run_inline(4, 1000)):
        with run:
            found.append(lw.AROMA(**given).fit(X, y))
    there, here = found
    np.testing.assert_equal(there.validation_, here.validation_)
    assert there.validation_["overall"].learned > there.validation_["overall"].start + 0.05
    assert_array_equal(there.similarity_.W, here.similarity_.W)
    relevance = (y[:300, None] == y[300:]).astype(float)
    with run_on(client, 4, 1000):
        clicked = lw.OASIS(**given, hard_negatives=0.5)
        clicked.fit_relevance(relevance, X[:300], X[300:])
    assert clicked.validation_["overall"].learned > clicked.validation_["overall"].start


def test_labels_may_be_where_the_rows_are(client, folder, digits):
    X, y = digits
    rows = lw.distributed.read_parquet(folder / "rows", [f"x{i:02}" for i in range(64)])
    labels = lw.distributed.read_parquet(folder / "rows", ["label"])
    given = {"n_triplets": 4000, "random_state": 0}
    with run_inline(2, 1000):
        here = lw.AROMA(**given).fit(X, y)
    with run_on(client, 2, 1000):
        there = lw.AROMA(**given).fit(rows, labels)
        score = there.score(rows, labels)
    assert_allclose(there.similarity_.W, here.similarity_.W, atol=1e-6)
    assert score == pytest.approx(here.score(X, y), abs=1e-6)


def test_a_learner_fitted_on_a_cluster_is_cloned_pickled_and_saved_like_any_other(
    client, digits, triplets, tmp_path
):
    with run_on(client, rounds=1, shard_size=3000):
        learner = lw.AROMA(r=0.5).fit_triplets(triplets, digits[0])
    assert clone(learner).r == 0.5
    opened = pickle.loads(pickle.dumps(learner))
    assert_array_equal(opened.similarity_.W, learner.similarity_.W)
    lw.save(learner, tmp_path / "model.safetensors")
    stored = lw.load(tmp_path / "model.safetensors")
    assert type(stored) is lw.AROMA
    assert_array_equal(stored.similarity_.W, learner.similarity_.W)
    stored.partial_fit_triplets(triplets[:10], digits[0])


def test_bad_triplets_and_rows_are_refused_before_any_work(client, digits, triplets, tmp_path):
    X = digits[0]
    learner = lw.AROMA()
    wrong = triplets.copy()
    wrong[4321, 2] = 5000
    np.save(tmp_path / "wrong.npy", wrong)
    holed = X.copy()
    holed[700, 3] = np.nan
    np.save(tmp_path / "holed.npy", holed)
    (tmp_path / "rows.txt").write_text("1 2 3")
    with run_on(client):
        for source in (wrong, tmp_path / "wrong.npy"):
            with pytest.raises(ValueError, match="triplets points at row 5000, but items has 900"):
                learner.fit_triplets(source, X)
        for rows in (holed, tmp_path / "holed.npy"):
            with pytest.raises(ValueError, match="holds NaN in row"):
                learner.fit_triplets(triplets, rows)
        assert not hasattr(learner, "state_")
        with pytest.raises(FileNotFoundError, match="there is no file or folder"):
            learner.fit_triplets(triplets, tmp_path / "nowhere.npy")
        with pytest.raises(ValueError, match=r"must be an \.npy, \.npz or \.parquet file"):
            learner.fit_triplets(triplets, tmp_path / "rows.txt")
