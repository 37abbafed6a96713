"""Searches of a running server: alone, while it learns, and the same search as a plain function.

The load comes from the contender's own process; the server is another one, and its learner a third.
Each run makes `searches` searches from `clients` connections, one after the other on each. The
floor is a route of the same libraries that reads JSON and answers with ten constant matches.
Without HTTP, a product with argpartition and a flat faiss index search the same items.
"""

import ctypes
import json
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks._contender import Contender

_SIZE = {"items": 20_000, "features": 64, "searches": 1_000, "threads": 1}
CASES = [{**_SIZE, "clients": 1}, {**_SIZE, "clients": 4}]

_COMPARISONS, _AT_A_TIME, _PAUSE = (
    40_000,
    100,
    0.05,
)  # number, batch size, seconds between


def data(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return items, and comparisons of them by a hidden similarity."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(300, case["features"]))
    kinds = rng.integers(300, size=case["items"])
    items = (centers[kinds] + rng.normal(size=(case["items"], case["features"]))).astype(np.float32)
    triplets = rng.integers(case["items"], size=(2 * _COMPARISONS, 3))
    weights = np.linspace(0, 2, case["features"])
    q, a, b = (items[column] * weights for column in triplets.T)
    swapped = ((q * a).sum(axis=1) < (q * b).sum(axis=1))[:, None]
    triplets = np.where(swapped, triplets[:, [0, 2, 1]], triplets)
    query, closer, farther = triplets.T
    distinct = (query != closer) & (query != farther) & (closer != farther)
    return items, triplets[distinct][:_COMPARISONS]


class _Server:
    """A server on a free port, which ends with its parent process."""

    def __init__(self, items: np.ndarray, *options: str) -> None:
        import pandas as pd

        import likewise as lw

        folder = Path(tempfile.mkdtemp())
        frame = pd.DataFrame(items, columns=[f"x{column}" for column in range(items.shape[1])])
        frame.insert(0, "id", range(len(items)))
        frame.to_parquet(folder / "items.parquet", index=False)
        similarity = lw.Bilinear(np.eye(items.shape[1], dtype=np.float32), "cosine")
        lw.save(similarity, folder / "model.safetensors")
        command = [sys.executable, "-m", "likewise", "serve", folder / "model.safetensors"]
        served = ["--items", folder / "items.parquet", "--port", "0", "--feedback-rate", "1e9"]
        self._start([*command, *served, *options])

    def _start(self, command: list[Any]) -> None:
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, preexec_fn=_end_with_parent
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().removeprefix("serving at ").strip()

    def connection(self) -> HTTPConnection:
        """Return a persistent connection."""
        parts = urlsplit(self.address)
        return HTTPConnection(parts.hostname or "", parts.port, timeout=60)


class _BareServer(_Server):
    """A server whose only route answers at once."""

    def __init__(self) -> None:
        self._start([sys.executable, "-m", "benchmarks.serve"])


def serve_bare_route() -> None:
    """Serve a route that reads JSON and answers with constant matches."""
    import socket

    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Query(BaseModel):
        id: int
        k: int

    class Answer(BaseModel):
        matches: list[dict[str, float]]
        model: int

    app = FastAPI()
    answer = Answer(matches=[{"id": number, "score": 0.5} for number in range(10)], model=1)

    @app.post("/v1/search")
    async def search(body: Query) -> Answer:
        return answer

    # With an explicit protocol, so that asyncio sets TCP_NODELAY.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    options = {"access_log": False, "log_level": "warning", "timeout_keep_alive": 65}
    uvicorn.Server(uvicorn.Config(app, **options)).run(sockets=[listener])


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _ask(connection: HTTPConnection, method: str, path: str, body: Any = None) -> Any:
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"content-type": "application/json"})
    answer = connection.getresponse()
    found = json.loads(answer.read())
    if answer.status >= 400:
        raise RuntimeError(found["error"])
    return found


def _searches(case: dict[str, Any], server: _Server) -> np.ndarray:
    """Return the seconds of each search."""
    each = case["searches"] // case["clients"]

    def client(number: int) -> list[float]:
        connection, seconds = server.connection(), []
        rng = np.random.default_rng(number)
        for query in rng.integers(case["items"], size=each).tolist():
            started = perf_counter()
            _ask(connection, "POST", "/v1/search", {"id": query, "k": 10})
            seconds.append(perf_counter() - started)
        return seconds

    with ThreadPoolExecutor(case["clients"]) as pool:
        return np.array([list(part) for part in pool.map(client, range(case["clients"]))]).ravel()


def _alone(case: dict[str, Any], data: Any) -> Any:
    server = _Server(data[0])
    return lambda: {"seconds": _searches(case, server)}


def _two_workers(case: dict[str, Any], data: Any) -> Any:
    server = _Server(data[0], "--workers", "2")
    return lambda: {"seconds": _searches(case, server)}


def _bare_route(case: dict[str, Any], data: Any) -> Any:
    server = _BareServer()
    return lambda: {"seconds": _searches(case, server)}


def _learning(case: dict[str, Any], data: Any) -> Any:
    items, triplets = data
    server = _Server(items)
    connection = server.connection()
    starts = cycle(range(0, len(triplets), _AT_A_TIME))

    def teach(until: Event) -> None:
        teaching = server.connection()
        while not until.wait(_PAUSE):
            start = next(starts)
            part = triplets[start : start + _AT_A_TIME].tolist()
            body = [{"query": q, "closer": c, "farther": f} for q, c, f in part]
            _ask(teaching, "POST", "/v1/feedback", {"triplets": body})

    def run() -> dict[str, Any]:
        before = _ask(connection, "GET", "/v1/feedback")["applied"]
        done = Event()
        teacher = Thread(target=teach, args=(done,))
        teacher.start()
        seconds = _searches(case, server)
        learned = _ask(connection, "GET", "/v1/feedback")["applied"] - before
        done.set()
        teacher.join()
        return {"seconds": seconds, "learned": learned}

    return run


def _plain(case: dict[str, Any], data: Any) -> Any:
    import likewise as lw

    items, _ = data
    index = lw.Index(lw.Bilinear(np.eye(case["features"], dtype=np.float32), "cosine"), "exact")
    index.add(list(range(len(items))), items)
    return _as_function(case, items, lambda query: index.search(query, 11))


def _product(case: dict[str, Any], data: Any) -> Any:
    items = data[0] / np.linalg.norm(data[0], axis=1, keepdims=True)

    def search(query: np.ndarray) -> np.ndarray:
        scores = items @ query[0]
        best = np.argpartition(-scores, 11)[:11]
        return best[np.argsort(-scores[best])]

    return _as_function(case, items, search)


def _flat_faiss(case: dict[str, Any], data: Any) -> Any:
    import faiss

    faiss.omp_set_num_threads(1)
    items = data[0] / np.linalg.norm(data[0], axis=1, keepdims=True)
    flat = faiss.IndexFlatIP(case["features"])
    flat.add(items)
    return _as_function(case, items, lambda query: flat.search(query, 11))


def _as_function(case: dict[str, Any], items: np.ndarray, search: Any) -> Any:
    """Return a call that searches for one item after the other."""

    def run() -> dict[str, Any]:
        seconds = []
        for query in np.random.default_rng(0).integers(case["items"], size=case["searches"]):
            started = perf_counter()
            search(items[query : query + 1])
            seconds.append(perf_counter() - started)
        return {"seconds": np.array(seconds)}

    return run


def quality(case: dict[str, Any], data: Any, result: dict[str, Any]) -> dict[str, float]:
    """Return searches per second, and the median and 99th percentile of their time."""
    seconds = result.pop("seconds")
    return {
        "searches/s": case["clients"] / float(seconds.mean()),
        "p5 ms": 1e3 * float(np.quantile(seconds, 0.05)),
        "p50 ms": 1e3 * float(np.quantile(seconds, 0.5)),
        "p99 ms": 1e3 * float(np.quantile(seconds, 0.99)),
        **{f"comparisons {key}": float(value) for key, value in result.items()},
    }


def _several_clients(case: dict[str, Any]) -> str | None:
    return None if case["clients"] == 1 else "one after the other"


def _one_client(case: dict[str, Any]) -> str | None:
    return None if case["clients"] > 1 else "one connection is one worker's"


CONTENDERS = [
    Contender("likewise", _alone),
    Contender("likewise, while learning", _learning),
    Contender("likewise, two workers", _two_workers, left_out=_one_client),
    Contender("likewise, without HTTP", _plain, left_out=_several_clients),
    Contender("without HTTP: product and argpartition", _product, left_out=_several_clients),
    Contender("without HTTP: flat faiss", _flat_faiss, left_out=_several_clients),
    Contender("floor: a bare JSON route", _bare_route),
]

if __name__ == "__main__":
    serve_bare_route()
