"""AROMA and OASIS by rounds: on processes, from rows anywhere, they learn what one machine does."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import likewise as lw
from likewise.distributed._mixing import Plan

KINDS = {
    "diagonal": (lw.AROMA, lw.distributed.AROMA, {}),
    "factored": (lw.AROMA, lw.distributed.AROMA, {"covariance": "factored"}),
    "oasis": (lw.OASIS, lw.distributed.OASIS, {}),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.mark.parametrize("n_triplets", [1, 7, 1000, 123_457])
@pytest.mark.parametrize("n_rounds", [None, 1, 3, 50])
@pytest.mark.parametrize("shard_size", [1, 10, 50_000])
def test_a_plan_has_every_triplet_in_one_shard_of_one_round(n_triplets, n_rounds, shard_size):
    plan = Plan.of(n_triplets, n_rounds, shard_size, n_workers=4)
    assert sum(plan.rounds()) == n_triplets
    assert min(plan.rounds()) > 0
    for n in plan.rounds():
        shards = plan.shards(n)
        assert [s.start for s in shards[1:]] == [s.stop for s in shards[:-1]]
        assert (shards[0].start, shards[-1].stop) == (0, n)


def test_one_shard_in_a_round_is_what_the_plain_learner_does(client, kind, digits, triplets):
    plain, spread, given = kind
    one = plain(**given).fit_triplets(triplets, digits[0])
    found = spread(**given, client=client, n_rounds=3, shard_size=2000)
    found.fit_triplets(triplets, digits[0])
    assert len(found.rounds_) == 3
    # Factored covariances are learned in blocks, which end with a shard: the rest is rounding.
    assert_allclose(found.similarity_.W, one.similarity_.W, atol=1e-5 if given else 0)
    assert (found.n_updates_, found.n_triplets_seen_) == (one.n_updates_, 6000)


def test_a_round_is_the_merge_of_its_shards(client, kind, digits, triplets):
    plain, spread, given = kind
    given = {**given, "dtype": "float64"}
    X = digits[0]
    halves = [plain(**given).fit_triplets(part, X) for part in (triplets[:3000], triplets[3000:])]
    merged = plain.merge(halves)
    found = spread(**given, client=client, n_rounds=1, shard_size=3000).fit_triplets(triplets, X)
    assert_allclose(found.similarity_.W, merged.similarity_.W, rtol=1e-9, atol=1e-12)
    assert found.n_updates_ == merged.n_updates_


def test_processes_and_threads_find_the_same(client, kind, digits, triplets):
    _, spread, given = kind
    there, here = (
        spread(**given, n_rounds=2, shard_size=1000, **where).fit_triplets(triplets, digits[0])
        for where in ({"client": client}, {"n_jobs": 2})
    )
    assert_array_equal(there.state_.W, here.state_.W)
    assert there.n_updates_ == here.n_updates_


def test_rows_may_lie_anywhere(client, laid_out, digits, triplets):
    given = {"n_rounds": 2, "shard_size": 1500, "dtype": "float64"}
    here = lw.distributed.AROMA(**given).fit_triplets(triplets, digits[0])
    there = lw.distributed.AROMA(**given, client=client).fit_triplets(triplets, laid_out)
    assert_allclose(there.similarity_.W, here.similarity_.W, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("where", ["triplets.npy", "triplets", "triplets/part-000.parquet"])
def test_triplets_may_lie_in_files(client, folder, digits, triplets, where):
    given = {"n_rounds": 2, "shard_size": 1000}
    part = triplets[:2500] if where.endswith("parquet") else triplets
    here = lw.distributed.AROMA(**given).fit_triplets(part, digits[0])
    there = lw.distributed.AROMA(**given, client=client).fit_triplets(folder / where, digits[0])
    assert_array_equal(there.similarity_.W, here.similarity_.W)


def test_triplets_may_be_a_dask_array(client, digits, triplets):
    import dask.array

    given = {"n_rounds": 2, "shard_size": 1000}
    here = lw.distributed.OASIS(**given).fit_triplets(triplets, digits[0])
    lazy = dask.array.from_array(triplets, chunks=(1700, 3))
    there = lw.distributed.OASIS(**given, client=client).fit_triplets(lazy, digits[0])
    assert_array_equal(there.similarity_.W, here.similarity_.W)


def test_weights_count_in_shards(client, digits, triplets, rng, tmp_path):
    import pandas as pd

    weights = rng.uniform(0, 2, len(triplets))
    frame = pd.DataFrame(triplets, columns=["query", "closer", "farther"]).assign(weight=weights)
    frame.to_parquet(tmp_path / "weighted.parquet")
    given = {"n_rounds": 2, "shard_size": 1500}
    here = lw.distributed.AROMA(**given).fit_triplets(triplets, digits[0], weights=weights)
    plain = lw.distributed.AROMA(**given).fit_triplets(triplets, digits[0])
    for source in (frame, tmp_path / "weighted.parquet"):
        there = lw.distributed.AROMA(**given, client=client).fit_triplets(source, digits[0])
        assert_array_equal(there.similarity_.W, here.similarity_.W)
    assert np.abs(here.similarity_.W - plain.similarity_.W).max() > 0.01


def test_pieces_go_on_from_each_other(client, digits, triplets):
    X = digits[0]
    given = {"n_rounds": 1, "shard_size": 1500, "client": client}
    whole = lw.distributed.AROMA(**{**given, "n_rounds": 2}).fit_triplets(triplets, X)
    parts = lw.distributed.AROMA(**given).fit_triplets(triplets[:3000], X)
    parts.partial_fit_triplets(triplets[3000:], X)
    assert_array_equal(parts.similarity_.W, whole.similarity_.W)
    assert parts.n_triplets_seen_ == 6000


def test_labels_and_clicks_are_learned_from_and_held_out(client, digits):
    X, y = digits
    given = {"n_triplets": 8000, "shard_size": 1000, "random_state": 0, "n_rounds": 4}
    there, here = (
        lw.distributed.AROMA(**given, **where).fit(X, y)
        for where in ({"client": client}, {"n_jobs": 2})
    )
    np.testing.assert_equal(there.validation_, here.validation_)
    assert there.validation_["overall"].learned > there.validation_["overall"].start + 0.05
    assert_array_equal(there.similarity_.W, here.similarity_.W)
    relevance = (y[:300, None] == y[300:]).astype(float)
    clicked = lw.distributed.OASIS(**given, hard_negatives=0.5, client=client)
    clicked.fit_relevance(relevance, X[:300], X[300:])
    assert clicked.validation_["overall"].learned > clicked.validation_["overall"].start


def test_labels_may_lie_where_the_rows_lie(client, folder, digits):
    X, y = digits
    rows = lw.distributed.read_parquet(folder / "rows", [f"x{i:02}" for i in range(64)])
    labels = lw.distributed.read_parquet(folder / "rows", ["label"])
    given = {"n_triplets": 4000, "shard_size": 1000, "n_rounds": 2, "random_state": 0}
    here = lw.distributed.AROMA(**given).fit(X, y)
    there = lw.distributed.AROMA(**given, client=client).fit(rows, labels)
    assert_allclose(there.similarity_.W, here.similarity_.W, atol=1e-6)
    assert there.score(rows, labels) == pytest.approx(here.score(X, y), abs=1e-6)


def test_an_address_is_as_good_as_a_client(client, digits, triplets):
    address = client.scheduler.address
    found = lw.distributed.OASIS(client=address, n_rounds=1, shard_size=3000)
    found.fit_triplets(triplets, digits[0])
    assert found.n_triplets_seen_ == 6000


def test_a_learner_with_a_client_can_be_cloned_pickled_and_saved(
    client, digits, triplets, tmp_path
):
    learner = lw.distributed.AROMA(r=0.5, client=client, n_rounds=1, shard_size=3000)
    learner.fit_triplets(triplets, digits[0])
    assert clone(learner).client is client
    assert clone(learner).r == 0.5
    opened = pickle.loads(pickle.dumps(learner))
    assert opened.client == client.scheduler.address
    lw.save(learner, tmp_path / "model.safetensors")
    stored = lw.load(tmp_path / "model.safetensors")
    assert type(stored) is lw.AROMA
    assert_array_equal(stored.similarity_.W, learner.similarity_.W)
    stored.partial_fit_triplets(triplets[:10], digits[0])


def test_resume_goes_on_to_what_would_have_been(digits, triplets, tmp_path):
    given = {"n_rounds": 4, "shard_size": 750, "checkpoint": tmp_path / "rounds.safetensors"}
    whole = lw.distributed.AROMA(**given).fit_triplets(triplets, digits[0])
    finished = copy.copy(lw.load(given["checkpoint"]))
    assert finished.mixing_["rounds"] == 4
    again = lw.distributed.AROMA(**given, resume=True).fit_triplets(triplets, digits[0])
    assert len(again.rounds_) == 4
    assert_array_equal(again.similarity_.W, whole.similarity_.W)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"shard_size": 0}, "shard_size must be at least 1"),
        ({"n_rounds": 0}, "n_rounds must be at least 1"),
        ({"n_rounds": 1.5}, "n_rounds must be a whole number"),
        ({"resume": True}, "checkpoint is None"),
        ({"client": 3}, "client must be a dask.distributed Client"),
        ({"n_jobs": 0}, "n_jobs must be at least 1"),
    ],
)
def test_bad_parameters_are_refused_with_a_sentence(digits, triplets, change, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        lw.distributed.AROMA(**change).fit_triplets(triplets, digits[0])


def test_bad_triplets_and_rows_are_refused_before_any_work(client, digits, triplets, tmp_path):
    X = digits[0]
    learner = lw.distributed.AROMA(client=client)
    wrong = triplets.copy()
    wrong[4321, 2] = 5000
    np.save(tmp_path / "wrong.npy", wrong)
    for source in (wrong, tmp_path / "wrong.npy"):
        with pytest.raises(ValueError, match="triplets points at row 5000, but items has 900"):
            learner.fit_triplets(source, X)
    holed = X.copy()
    holed[700, 3] = np.nan
    np.save(tmp_path / "holed.npy", holed)
    for rows in (holed, tmp_path / "holed.npy"):
        with pytest.raises(ValueError, match="holds NaN in row"):
            learner.fit_triplets(triplets, rows)
    assert not hasattr(learner, "state_")
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        learner.fit_triplets(triplets, tmp_path / "nowhere.npy")
    (tmp_path / "rows.txt").write_text("1 2 3")
    with pytest.raises(ValueError, match=r"must be an \.npy, \.npz or \.parquet file"):
        learner.fit_triplets(triplets, tmp_path / "rows.txt")


def test_a_checkpoint_of_other_work_is_refused(digits, triplets, tmp_path):
    given = {"n_rounds": 2, "checkpoint": tmp_path / "rounds.safetensors"}
    lw.distributed.AROMA(**given).fit_triplets(triplets, digits[0])
    with pytest.raises(ValueError, match="resume goes on with the same work"):
        lw.distributed.AROMA(**given, resume=True).fit_triplets(triplets[:100], digits[0])
    with pytest.raises(ValueError, match="is not a checkpoint of OASIS"):
        lw.distributed.OASIS(**given, resume=True).fit_triplets(triplets, digits[0])
