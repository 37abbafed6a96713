"""Workers and schedulers that are really killed: what is learned is what it would have been."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import likewise as lw
from likewise.exceptions import ClusterLostError

pytest.importorskip("distributed", reason="needs the extra dask")

_PATIENCE = 300  # on a busy machine
_PROGRAM = (sys.executable, "-m")


@pytest.fixture(scope="module")
def work():
    """Return rows and triplets that take a second or two to learn from."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 300))
    triplets = rng.integers(0, 500, (12_000, 3))
    triplets[:, 2] = (triplets[:, 1] + 1 + triplets[:, 2] % 499) % 500
    return triplets, rows


@pytest.fixture(scope="module")
def plan():
    return {"n_rounds": 4, "shard_size": 1500, "r": 100.0}


@pytest.fixture(scope="module")
def undisturbed(work, plan):
    return lw.distributed.AROMA(**plan, n_jobs=2).fit_triplets(*work)


@pytest.fixture
def scheduler(tmp_path):
    """Return the process of a scheduler with one worker, and its address."""
    file = tmp_path / "scheduler.json"
    options = ["--scheduler-file", str(file), "--no-dashboard"]
    with open(tmp_path / "log", "w") as log:
        start = {"stdout": log, "stderr": log, "cwd": tmp_path}
        server = subprocess.Popen(
            [*_PROGRAM, "distributed.cli.dask_scheduler", "--host=127.0.0.1", "--port=0", *options],
            **start,
        )
        _wait_until(file.exists)
        worker = subprocess.Popen(
            [*_PROGRAM, "distributed.cli.dask_worker", "--nthreads=1", "--no-nanny", *options],
            **start,
        )
        yield server, file
        for process in (worker, server):
            process.kill()
            process.wait()


def _wait_until(condition):
    until = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def _when(condition, action):
    """Do something in another thread as soon as a condition holds; return the thread."""

    def wait():
        _wait_until(condition)
        action()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_worker_killed_in_mid_round_changes_nothing(client, work, plan, undisturbed):
    learner = lw.distributed.AROMA(**plan, client=client)
    before = client.run(os.getpid)
    killed = []

    def is_in_mid_round():
        return bool(getattr(learner, "rounds_", [])) and any(
            key.startswith("learn_shard") for keys in client.processing().values() for key in keys
        )

    def kill():
        address, keys = max(client.processing().items(), key=lambda entry: len(entry[1]))
        os.kill(before[address], signal.SIGKILL)
        killed.append((address, keys, len(learner.rounds_)))

    thread = _when(is_in_mid_round, kill)
    learner.fit_triplets(*work)
    thread.join()
    (address, keys, n_rounds), *_ = killed
    assert 0 < n_rounds < 4
    assert keys, "the worker had nothing to do"
    assert address not in client.run(os.getpid)
    assert_array_equal(learner.state_.W, undisturbed.state_.W)
    assert_array_equal(learner.state_.S, undisturbed.state_.S)
    assert learner.n_updates_ == undisturbed.n_updates_


def test_a_lost_scheduler_is_said_and_resume_goes_on(
    client, scheduler, work, plan, undisturbed, tmp_path, monkeypatch
):
    import dask

    from distributed import Client

    server, file = scheduler
    checkpoint = tmp_path / "rounds.safetensors"
    short = dask.config.set({"distributed.comm.timeouts.connect": "3s"})  # instead of 30
    with short, Client(scheduler_file=str(file), set_as_default=False) as own:
        own.wait_for_workers(1, timeout=_PATIENCE)
        learner = lw.distributed.AROMA(**plan, client=own, checkpoint=checkpoint)
        keep = learner._kept

        def keep_and_kill(way):
            keep(way)
            if way.stretches == 2:
                server.kill()
                server.wait()

        monkeypatch.setattr(learner, "_kept", keep_and_kill)
        with pytest.raises(ClusterLostError, match=r"scheduler at tcp.* of 4 rounds .*resume=True"):
            learner.fit_triplets(*work)
    done = len(learner.rounds_)
    kept = lw.load(checkpoint)
    assert done == 2
    assert kept.mixing_["rounds"] == done
    assert_array_equal(kept.similarity_.W, learner.similarity_.W)
    assert os.listdir(tmp_path).count(".unfinished") == 0

    again = lw.distributed.AROMA(**plan, client=client, checkpoint=checkpoint, resume=True)
    again.fit_triplets(*work)
    assert len(again.rounds_) == 4
    assert again.rounds_[:done] == learner.rounds_
    assert_array_equal(again.state_.W, undisturbed.state_.W)
    assert_array_equal(again.state_.S, undisturbed.state_.S)
    assert again.n_updates_ == undisturbed.n_updates_


def test_labels_are_gone_on_with_too(digits, tmp_path, monkeypatch):
    X, y = digits
    given = {"n_triplets": 8000, "shard_size": 1000, "n_rounds": 4, "random_state": 3}
    whole = lw.distributed.AROMA(**given).fit(X, y)
    checkpoint = tmp_path / "rounds.safetensors"
    first = lw.distributed.AROMA(**given, checkpoint=checkpoint)
    keep, kept = first._kept, []

    def keep_twice(way):
        keep(way)
        kept.append(way)
        if len(kept) == 2:
            raise ClusterLostError("pulled the plug.")

    monkeypatch.setattr(first, "_kept", keep_twice)
    with pytest.raises(ClusterLostError):
        first.fit(X, y)
    again = lw.distributed.AROMA(**given, checkpoint=checkpoint, resume=True).fit(X, y)
    assert len(again.rounds_) == len(whole.rounds_)
    assert_array_equal(again.similarity_.W, whole.similarity_.W)
    np.testing.assert_equal(again.validation_, whole.validation_)


def test_a_scheduler_that_is_not_there_is_said(work):
    import dask

    soon = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with soon, pytest.raises(ClusterLostError, match="there is no scheduler at tcp"):
        lw.distributed.AROMA(client="tcp://127.0.0.1:1").fit_triplets(*work)


def test_a_closed_client_is_refused(scheduler, work):
    from distributed import Client

    client = Client(scheduler_file=str(scheduler[1]), set_as_default=False)
    client.close()
    with pytest.raises(ClusterLostError, match="client is closed"):
        lw.distributed.AROMA(client=client).fit_triplets(*work)
