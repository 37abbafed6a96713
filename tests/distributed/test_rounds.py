"""Killed workers and schedulers, checkpoints and resumed runs: the result stays the same."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.distributed.inline import run_inline

import likewise as lw
from likewise.distributed import _rounds, run_on
from likewise.exceptions import ClusterLostError

pytest.importorskip("distributed", reason="needs the extra dask")

PLAN = 4, 1500  # rounds, shard size
_PATIENCE = 300  # on a busy machine
_PROGRAM = (sys.executable, "-m")


@pytest.fixture(scope="module")
def work():
    """Return triplets and rows that take a second or two to learn from."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 300))
    triplets = rng.integers(0, 500, (12_000, 3))
    triplets[:, 2] = (triplets[:, 1] + 1 + triplets[:, 2] % 499) % 500
    return triplets, rows


@pytest.fixture(scope="module")
def undisturbed(work):
    with run_inline(*PLAN):
        return lw.AROMA(r=100.0).fit_triplets(*work)


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


def test_a_worker_killed_in_mid_round_changes_nothing(client, work, undisturbed):
    before = client.run(os.getpid)
    killed = []
    with run_on(client, *PLAN) as run:

        def is_in_mid_round():
            return bool(run.finished_rounds) and any(
                key.startswith("train_shard")
                for keys in client.processing().values()
                for key in keys
            )

        def kill():
            address, keys = max(client.processing().items(), key=lambda entry: len(entry[1]))
            os.kill(before[address], signal.SIGKILL)
            killed.append((address, keys, len(run.finished_rounds)))

        thread = _when(is_in_mid_round, kill)
        learner = lw.AROMA(r=100.0).fit_triplets(*work)
        thread.join()
    (address, keys, n_rounds), *_ = killed
    assert 0 < n_rounds < 4
    assert keys, "the worker had nothing to do"
    assert address not in client.run(os.getpid)
    assert_array_equal(learner.state_.W, undisturbed.state_.W)
    assert_array_equal(learner.state_.S, undisturbed.state_.S)
    assert learner.n_updates_ == undisturbed.n_updates_


def _after_checkpoint(monkeypatch, number, action):
    """Do something once, after so many checkpoints have been written."""
    write, written = _rounds.RoundTrainer._write_checkpoint, []

    def write_and_act(trainer, *args):
        write(trainer, *args)
        written.append(args)
        if len(written) == number:
            action()

    monkeypatch.setattr(_rounds.RoundTrainer, "_write_checkpoint", write_and_act)


def test_a_lost_scheduler_is_an_error_and_resume_continues(
    client, scheduler, work, undisturbed, tmp_path, monkeypatch
):
    import dask

    from distributed import Client

    server, file = scheduler
    checkpoint = tmp_path / "rounds.safetensors"

    def kill():
        dask.config.set({"distributed.comm.timeouts.connect": "1s"})  # do not wait for it
        server.kill()
        server.wait()

    _after_checkpoint(monkeypatch, 2, kill)
    learner = lw.AROMA(r=100.0)
    restored = dask.config.set({"distributed.comm.timeouts.connect": "30s"})
    with restored, Client(scheduler_file=str(file), timeout="4s", set_as_default=False) as own:
        own.wait_for_workers(1, timeout=_PATIENCE)
        sentence = r"scheduler at tcp.* 2 of 4 rounds .*resume=True"
        with run_on(own, *PLAN, checkpoint=checkpoint) as run:  # noqa: SIM117
            with pytest.raises(ClusterLostError, match=sentence):
                learner.fit_triplets(*work)
    done = run.finished_rounds
    kept = lw.load(checkpoint)
    assert len(done) == 2
    assert kept.checkpoint_["rounds"] == 2
    assert_array_equal(kept.similarity_.W, learner.similarity_.W)
    assert os.listdir(tmp_path).count(".unfinished") == 0

    with run_on(client, *PLAN, checkpoint=checkpoint, resume=True) as run:
        again = lw.AROMA(r=100.0).fit_triplets(*work)
    assert len(run.finished_rounds) == 4
    assert run.finished_rounds[:2] == done
    assert_array_equal(again.state_.W, undisturbed.state_.W)
    assert_array_equal(again.state_.S, undisturbed.state_.S)
    assert again.n_updates_ == undisturbed.n_updates_


@pytest.mark.parametrize("number", [2, 6])
def test_validated_training_is_resumed_in_either_phase(digits, tmp_path, monkeypatch, number):
    X, y = digits
    given = {"n_triplets": 8000, "random_state": 3}
    with run_inline(4, 1000) as run:
        whole = lw.AROMA(**given).fit(X, y)
    rounds = list(run.finished_rounds)

    def lose():
        raise ClusterLostError("on purpose.")

    checkpoint = tmp_path / "rounds.safetensors"
    with monkeypatch.context() as patch:
        _after_checkpoint(patch, number, lose)
        with run_inline(4, 1000, checkpoint), pytest.raises(ClusterLostError):
            lw.AROMA(**given).fit(X, y)
    assert hasattr(lw.load(checkpoint), "validation_") == (number > 4)
    with run_inline(4, 1000, checkpoint, resume=True) as run:
        again = lw.AROMA(**given).fit(X, y)
    assert len(run.finished_rounds) == len(rounds)
    assert_array_equal(again.similarity_.W, whole.similarity_.W)
    np.testing.assert_equal(again.validation_, whole.validation_)


def test_a_finished_run_is_resumed_without_training(digits, triplets, tmp_path):
    checkpoint = tmp_path / "rounds.safetensors"
    with run_inline(4, 750, checkpoint):
        whole = lw.AROMA().fit_triplets(triplets, digits[0])
    assert lw.load(checkpoint).checkpoint_["rounds"] == 4
    with run_inline(4, 750, checkpoint, resume=True) as run:
        again = lw.AROMA().fit_triplets(triplets, digits[0])
    assert len(run.finished_rounds) == 4
    assert_array_equal(again.similarity_.W, whole.similarity_.W)


def test_a_checkpoint_of_another_run_is_refused(digits, triplets, tmp_path):
    checkpoint = tmp_path / "rounds.safetensors"
    with run_inline(2, checkpoint=checkpoint):
        lw.AROMA().fit_triplets(triplets, digits[0])
    with run_inline(2, checkpoint=checkpoint, resume=True):
        with pytest.raises(ValueError, match="resume needs the same triplets and rounds"):
            lw.AROMA().fit_triplets(triplets[:100], digits[0])
        with pytest.raises(ValueError, match="is not a checkpoint of OASIS"):
            lw.OASIS().fit_triplets(triplets, digits[0])


def test_a_closed_client_is_refused(client):
    from distributed import Client

    own = Client(client.scheduler.address, set_as_default=False)
    own.close()
    with pytest.raises(ClusterLostError, match="client is closed"), run_on(own):
        pass
