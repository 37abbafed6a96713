"""Tasks on workers: where they run."""

import os
import time
from collections import Counter

import numpy as np
import pytest

from likewise.distributed._executor import Executor

pytest.importorskip("distributed", reason="needs the extra dask")


def test_tasks_are_spread_though_one_worker_holds_their_argument(client):
    executor = Executor(client)
    shared = executor.share(np.zeros(1_000_000))
    assert executor.result(executor.submit(len, shared)) == 1_000_000
    tasks = [executor.spread(lambda _: os.getpid(), shared) for _ in range(6)]
    ran = Counter(executor.result(task) for task in tasks)
    assert ran == dict.fromkeys(client.run(os.getpid).values(), 3)


def test_a_task_waits_for_a_worker_where_all_are_lost():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        executor = Executor(client)
        task = executor.spread(abs, -3)
        cluster.scale(1)
        assert executor.result(task) == 3


def test_tasks_are_sent_in_one_message(client):
    executor = Executor(client)

    def submit():
        tasks = []
        for n in range(3):
            tasks.append(executor.submit(abs, -n))
            time.sleep(0.02)  # longer than the interval between two messages
        return tasks

    tasks = executor.in_one_message(submit)
    assert executor.results(tasks) == [0, 1, 2]
    messages = [
        {key for part in message if part["op"] == "update-graph" for key in part["keys"]}
        for message in client.scheduler_comm.recent_message_log
        if not isinstance(message, str)  # too large to be kept
    ]
    assert any({task.key for task in tasks} <= sent for sent in messages)
