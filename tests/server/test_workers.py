"""Several processes serve one address and one store."""

import os
import selectors
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import httpx
import numpy as np
import pytest
from tests.server.running import digit_triplets, write_digits

import likewise as lw
from likewise.server import Settings, _workers
from likewise.server._shared import SharedMemory

VECTOR = [0.5] * 64


def children(pid):
    """Return the processes that a process has started, and that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(folder.name))
    return sorted(found)


def until(ask, seconds=60):
    """Wait until something is true, and return it."""
    end = monotonic() + seconds
    while not (found := ask()):
        assert monotonic() < end
        sleep(0.02)
    return found


@pytest.fixture
def server(tmp_path, zygote):
    model, items = write_digits(tmp_path)
    with zygote.server(model, items, label="digit", workers=2, feedback_rate=1e9) as server:
        yield server


@pytest.fixture
def connections(server):
    """Return two connections, each to a worker of its own."""
    with httpx.Client(base_url=server.address, trust_env=False, timeout=60) as http:
        opened = [http]
        pids = {_worker_of(server, http): http}
        while len(pids) < 2:  # the system decides which worker gets a connection
            other = httpx.Client(base_url=server.address, trust_env=False, timeout=60)
            opened.append(other)
            pids.setdefault(_worker_of(server, other), other)
        yield pids
        for each in opened:
            each.close()


def _worker_of(server, http):
    """Return the worker that has a connection, by the port of the connection."""
    http.get("/healthz")
    (connection,) = http._transport._pool.connections
    port = connection._connection._network_stream.get_extra_info("socket").getsockname()[1]
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        parts = line.split()
        if int(parts[2].partition(":")[2], 16) == port:
            inodes.add(f"socket:[{parts[9]}]")
    for pid in children(server.pid):
        if inodes & {_target(link) for link in Path(f"/proc/{pid}/fd").iterdir()}:
            return pid
    raise AssertionError("no worker has the connection")


def _target(link):
    try:
        return os.readlink(link)
    except OSError:  # it was closed
        return None


def _n_health_checks(http):
    """Return the number of health checks that the metrics tell."""
    start = 'likewise_requests_total{method="GET",route="/healthz",status="200"} '
    text = http.get("/metrics").text
    return next(float(x.removeprefix(start)) for x in text.splitlines() if x.startswith(start))


def test_workers_see_each_others_changes_at_once_and_share_a_learner(server, connections):
    one, other = connections.values()
    assert len(children(server.pid)) == 3  # two workers and the learner
    for number in range(10):
        item = {"id": f"new-{number}", "vector": VECTOR}
        assert one.post("/v1/items", json={"items": [item]}).status_code == 201
        body = {"vector": VECTOR, "k": 400}
        found = other.post("/v1/search", json=body).json()["matches"]
        assert len(found) == 301
        assert other.get("/v1/items", params={"search": "new"}).json()["total"] == 1
        assert other.delete(f"/v1/items/new-{number}").json() == {"changed": 1}
        assert len(one.post("/v1/search", json=body).json()["matches"]) == 300

    triplets = digit_triplets(1_000)
    for start in range(0, 1_000, 50):
        body = [{"query": q, "closer": c, "farther": f} for q, c, f in triplets[start : start + 50]]
        answer = (one, other)[start % 100 == 0].post("/v1/feedback", json={"triplets": body})
        assert answer.json() == {"accepted": 50}
    with server.client() as client:
        assert client.wait(180).applied == 1_000
        live = client.models().live
    assert live > 1
    for http in (one, other):
        until(lambda http=http: http.post("/v1/search", json={"id": "d5"}).json()["model"] == live)
    assert one.post(f"/v1/models/{live}/rollback").json() == {"live": live}
    assert one.post("/v1/models/1/rollback").json() == {"live": 1}
    assert other.post("/v1/search", json={"id": "d5"}).json()["model"] == 1

    before = _n_health_checks(one)
    for http in (one, one, other):
        http.get("/healthz")
    assert _n_health_checks(one) == _n_health_checks(other) == before + 3
    text = other.get("/metrics").text
    assert "likewise_learner_up 1.0" in text
    assert "likewise_items 300.0" in text


def test_a_killed_worker_is_replaced_and_no_acknowledged_feedback_is_lost(server, connections):
    triplets, accepted, errors = digit_triplets(2_000), Counter(), []
    stop = []

    def feed(number):
        with server.client(timeout=60) as client:
            for start in range(number, 400, 2):
                if stop:
                    return
                try:
                    part = triplets[5 * start : 5 * start + 5]
                    accepted[f"key-{start}"] += client.feedback(part, key=f"key-{start}")
                except Exception as error:
                    errors.append(error)

    feeders = [Thread(target=feed, args=(number,)) for number in range(2)]
    before = set(children(server.pid))
    for feeder in feeders:
        feeder.start()
    for pid in connections:
        until(lambda: accepted)
        os.kill(pid, signal.SIGKILL)
        until(lambda: len(set(children(server.pid))) == 3)
    sleep(0.2)
    stop.append(True)
    for feeder in feeders:
        feeder.join()
    assert errors == []
    after = set(children(server.pid))
    assert len(after & before) == 1  # the learner
    with server.client() as client:
        assert client.wait(180).acknowledged == sum(accepted.values())
        assert len(client.search(id="d5", k=400).matches) == 299
        keys = {line.split(",")[4] for line in client.export().splitlines()[1:]}
    assert keys == set(accepted)


def test_a_worker_is_replaced_before_the_end_of_its_pipe_is_read(monkeypatch):
    def start(files, metrics):
        script = f"import os; os.write({files[-1]}, b'ready\\n'); os.read(0, 10); os.read(0, 10)"
        command = [sys.executable, "-S", "-c", script]
        return subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=files[-1:])

    monkeypatch.setattr(_workers, "start_worker", start)
    with selectors.DefaultSelector() as selector:

        def wait_until_ready():
            while not worker.ready:
                (found,) = selector.select(30)
                found[0].data.read()

        worker = _workers._Worker({"metrics": ""}, (0, 1), selector)
        wait_until_ready()
        worker._process.kill()
        worker._process.wait()
        assert worker.restart_if_ended()
        assert len(selector.get_map()) == 1
        wait_until_ready()
        worker.close()
        worker.wait(10)


def test_workers_end_with_their_supervisor(tmp_path, zygote):
    model, items = write_digits(tmp_path, 30)
    with zygote.server(model, items, workers=2) as server:
        pids = children(server.pid)
        server.kill()
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


def test_a_worker_that_cannot_start_is_reported_in_one_sentence(tmp_path, zygote):
    model, items = write_digits(tmp_path, 30)
    lw.save(lw.Bilinear(np.eye(5)), model)
    sentence = "failed: items have 64 features, but the model takes 5"
    with pytest.raises(RuntimeError, match=sentence), zygote.server(model, items, workers=2):
        pass


@pytest.mark.parametrize("n", [0, -1, 65])
def test_the_number_of_workers_is_limited(tmp_path, n):
    with pytest.raises(ValueError, match=f"workers must be from 1 to 64, but {n} was given"):
        Settings(tmp_path / "model.safetensors", workers=n)


def test_every_announced_change_is_a_new_token(tmp_path):
    with open(tmp_path / "memory", "w+b") as file:
        one, other = SharedMemory(file.fileno()), SharedMemory(file.fileno())
        seen = {one.change}
        for _ in range(100):
            other.announce_change()
            assert one.change == other.change
            seen.add(one.change)
        assert len(seen) == 101
        other.learner_runs = True
        assert one.learner_runs
