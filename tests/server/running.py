"""Real servers, applications in the test process, and their models and feedback."""

import asyncio
import os
import queue
import signal
import subprocess
import sys
from dataclasses import fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Thread

import httpx
import numpy as np
import pandas as pd
from sklearn import datasets

import likewise as lw
from likewise._files import from_bytes
from likewise.server import Client

SECONDS_TO_START = 180
load_digits = cache(datasets.load_digits)


class Running:
    """``likewise serve`` until the end of the block.

    Parameters
    ----------
    *arguments : str
        After ``likewise serve``.
    **environment : str
    """

    def __init__(self, *arguments, **environment):
        self._arguments = [str(argument) for argument in arguments]
        self._environment = {**os.environ, "OMP_NUM_THREADS": "1", **environment}

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "likewise", "serve", *self._arguments, "--port", "0"],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        lines = queue.Queue()
        Thread(target=lambda: lines.put(self.process.stdout.readline()), daemon=True).start()
        first = lines.get(timeout=SECONDS_TO_START)
        if not first.startswith("serving at "):
            self.process.wait()
            raise RuntimeError(f"the server did not start: {self.process.stderr.read()}")
        self.address = first.removeprefix("serving at ").strip()
        return self

    def client(self, **given):
        return Client(self.address, **given)

    def kill(self):
        """Kill the process, as a power failure would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=30)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.errors = self.process.stderr.read()
            self.process.stderr.close()


class InProcess:
    """Sends requests to an application in this process, without a socket or a learner.

    Parameters
    ----------
    app : ASGI application
    address : str
        What its own address is thought to be.
    peer : str
        The address from which requests come.
    """

    def __init__(self, app, address="http://127.0.0.1:8000", peer="127.0.0.1"):
        self._transport = httpx.ASGITransport(
            app, raise_app_exceptions=False, client=(peer, 50_000)
        )
        self._address = address

    def request(self, method, path, **given):
        async def ask():
            async with httpx.AsyncClient(
                transport=self._transport, base_url=self._address
            ) as client:
                return await client.request(method, path, **given)

        return asyncio.run(ask())

    def get(self, path, **given):
        return self.request("GET", path, **given)

    def post(self, path, **given):
        return self.request("POST", path, **given)


def web_files() -> dict[str, str]:
    """Return the explorer's files by their paths within ``web``."""
    folder = Path(str(files("likewise.server.explorer"))) / "web"
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def write_digits(folder: Path, n_items: int = 300) -> tuple[Path, Path]:
    """Write a model and its items: digits of 8 by 8 pixels with the cosine."""
    digits = load_digits()
    rows = (digits.data[:n_items] / 16).astype(np.float32)
    frame = pd.DataFrame(rows, columns=[f"p{column}" for column in range(64)])
    frame.insert(0, "id", [f"d{row}" for row in range(n_items)])
    frame["digit"] = [f"digit {label}" for label in digits.target[:n_items]]
    model, items = folder / "model.safetensors", folder / "items.parquet"
    frame.to_parquet(items, index=False)
    lw.save(lw.Bilinear(np.eye(64, dtype=np.float32), norm="cosine"), model)
    return model, items


def digit_triplets(n: int, seed: int = 0, n_items: int = 300) -> list[tuple[str, str, str]]:
    """Return comparisons of digits by the similarity of their upper halves."""
    rows = load_digits().data[:n_items] / 16
    hidden = lw.Bilinear(np.repeat([1.0, 0.0], 32), norm="cosine")
    drawn = np.random.default_rng(seed).integers(n_items, size=(2 * n, 3))
    q, a, b = drawn[[len(set(triplet)) == 3 for triplet in drawn.tolist()]][:n].T
    first = hidden.score_pairs(rows[q], rows[a]) > hidden.score_pairs(rows[q], rows[b])
    found = np.column_stack([q, np.where(first, a, b), np.where(first, b, a)])
    return [tuple(f"d{row}" for row in triplet) for triplet in found.tolist()]


def belief(store):
    """Return the arrays of a store's learner, bit for bit."""
    checkpoint = store.checkpoint()
    states = [s for s in (checkpoint.state, checkpoint.twin) if s is not None]
    return [_bits(from_bytes(state)) for state in states]


def _bits(learner):
    if not hasattr(learner, "state_"):
        return learner.W.tobytes(), learner.A.tobytes(), learner.variance
    arrays = [getattr(learner.state_, field.name).tobytes() for field in fields(learner.state_)]
    return arrays, learner.n_triplets_seen_, learner.n_updates_, learner.history_


def all_learned(store):
    """Return the arrays of a store's learner, and every version with its verdict."""
    versions = [
        (v.number, v.position, v.recipe, v.verdict, v.promoted is None, v.available)
        for v in store.versions()
    ]
    counts = store.checkpoint().position, store.progress(), store.gate_state()
    return belief(store), counts, versions, version_bits(store, store.status().live)


def version_bits(store, number):
    """Return the arrays of a version, bit for bit."""
    *files, weight = store.version_files(number)
    similarity, offsets, twin = (file and from_bytes(file) for file in files)
    moved = offsets and (offsets.ids, offsets.directions.tobytes(), offsets.gamma)
    return similarity.W.tobytes(), moved, twin and twin.W.tobytes(), weight
