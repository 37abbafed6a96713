"""Triplets per second of AROMA and OASIS, their lower bounds, and other libraries.

The floor of a dense kernel is one pass that reads and writes its state, with the IEEE divisions of
the diagonal one, which bound it; of the factored one, matrix products of the same size; of a sparse
one, a read and a write of every cache line that a triplet uses. A run ends after as many triplets
as the case says, so seconds compare directly. SCML and a linear layer in PyTorch learn from the
same triplets; they are there for whoever would use them for the same job.
"""

from typing import Any

import numpy as np

from benchmarks._contender import Contender

_ROWS = 3_000
_RARELY_MENDED = {
    "diagonal": 1e6,
    "factored": 1e6,
    "OASIS": 1e-7,
}  # every triplet updates

CASES = [
    {"kernel": kernel, "features": d, "entries": entries, "dtype": dtype, "triplets": n}
    | {"threads": 1}
    for kernel, d, entries, dtype, n in (
        ("diagonal", 384, None, "float32", 4_000),
        ("diagonal", 768, None, "float32", 1_000),
        ("factored", 384, None, "float32", 8_192),
        ("factored", 384, None, "float64", 4_096),
        ("factored", 1000, None, "float32", 1_280),
        ("factored", 1000, None, "float64", 1_280),
        ("diagonal", 1000, 27, "float32", 100_000),
        ("OASIS", 1000, 27, "float32", 100_000),
        ("diagonal", 1000, 60, "float32", 50_000),
        ("OASIS", 1000, 60, "float32", 50_000),
        ("OASIS", 384, None, "float32", 8_000),
    )
]


def data(case: dict[str, Any]) -> tuple[Any, np.ndarray]:
    """Return rows, dense or as (data, indices, indptr) of CSR, and triplets of them."""
    rng = np.random.default_rng(0)
    d, entries = case["features"], case["entries"]
    triplets = rng.integers(0, _ROWS, (case["triplets"], 3))
    triplets[:, 2] = (triplets[:, 1] + 1 + triplets[:, 2] % (_ROWS - 1)) % _ROWS
    if entries is None:
        return rng.normal(size=(_ROWS, d)).astype(case["dtype"]), triplets
    columns = np.sort(np.argsort(rng.random((_ROWS, d)), axis=1)[:, :entries], axis=1)
    values = rng.random(_ROWS * entries).astype(case["dtype"])
    return (values, columns.ravel().astype(np.int32), np.arange(_ROWS + 1) * entries), triplets


def _likewise(case: dict[str, Any], data: Any) -> Any:
    learner, rows = _learner(case), _rows(case, data[0])
    learner.partial_fit_triplets(data[1][:10], rows)
    return lambda: _learned(learner.partial_fit_triplets(data[1], rows))


def _learner(case: dict[str, Any]) -> Any:
    import likewise

    kernel, dtype = case["kernel"], case["dtype"]
    rate = _RARELY_MENDED[kernel]
    if kernel == "OASIS":
        return likewise.OASIS(rate, init="zero", dtype=dtype)
    return likewise.AROMA(kernel, r=rate, init="zero", dtype=dtype)


def _rows(case: dict[str, Any], rows: Any) -> Any:
    if case["entries"] is None:
        return rows
    from scipy.sparse import csr_array

    return csr_array(rows, shape=(_ROWS, case["features"]))


def _learned(learner: Any) -> dict[str, float]:
    return {"share that acted": learner.n_updates_ / learner.n_triplets_seen_}


def _floor(case: dict[str, Any], data: Any) -> Any:
    if case["entries"] is not None:
        return _cache_lines(case, data)
    return _products(case) if case["kernel"] == "factored" else _pass(case)


def _cache_lines(case: dict[str, Any], data: Any) -> Any:
    """Read, then read and write, one entry of every cache line that a triplet uses."""
    import numba

    (_, columns, starts), triplets = data
    d, per_line = case["features"], 64 // np.dtype(case["dtype"]).itemsize
    arrays = [np.ones((d, d), case["dtype"]) for _ in range(_n_arrays(case))]
    columns_of = columns.reshape(len(starts) - 1, -1)
    used = np.zeros((len(triplets), -(-d // per_line)), dtype=bool)
    for side in (1, 2):
        np.put_along_axis(used, columns_of[triplets[:, side]] // per_line, True, axis=1)
    triplet, line = np.nonzero(used)
    firsts = np.searchsorted(triplet, np.arange(len(triplets) + 1))
    entries = (line * per_line).astype(np.int32)

    @numba.njit(fastmath=True)
    def touch(rows: Any, firsts: Any, entries: Any, array: Any) -> Any:
        total = array.dtype.type(0)
        for t in range(rows.shape[0]):
            used = entries[firsts[t] : firsts[t + 1]]
            for row in rows[t]:
                for entry in used:
                    total += array[row, entry]
            for row in rows[t]:
                for entry in used:
                    array[row, entry] += array.dtype.type(1e-9)
        return total

    rows = columns_of[triplets[:, 0]]
    return lambda: [touch(rows, firsts, entries, array) for array in arrays] and {}


def _n_arrays(case: dict[str, Any]) -> int:
    return 1 if case["kernel"] == "OASIS" else 2


def _products(case: dict[str, Any]) -> Any:
    """Compute the matrix products of a block of factored AROMA: three by d × d, three into it."""
    d, dtype, n = case["features"], case["dtype"], case["triplets"]
    size = 64 if d < 600 else 128
    block, square = np.ones((size, d), dtype), np.ones((d, d), dtype)
    turned, out = np.ascontiguousarray(block.T), np.empty((size, d), dtype)
    into = np.empty((d, d), dtype)

    def multiply() -> None:
        for _ in range(n // size):
            for _ in range(3):
                np.matmul(block, square, out=out)
            for _ in range(3):
                np.matmul(turned, block, out=into)

    return multiply


def _pass(case: dict[str, Any]) -> Any:
    """Read and write the state once for each triplet; divide by it where there are variances."""
    import numba

    d, n = case["features"], case["triplets"]
    W, S = (np.ones((d, d), case["dtype"]) for _ in range(2))
    factor = W.dtype.type(1.0001)

    @numba.njit(fastmath=True)
    def scale(W: Any, factor: Any) -> None:
        for i in range(W.shape[0]):
            w = W[i]
            for j in range(w.shape[0]):
                w[j] *= factor

    # With all of fastmath, divisions would become approximate reciprocals.
    @numba.njit(fastmath={"contract", "nsz"}, error_model="numpy")
    def divide(W: Any, S: Any, factor: Any) -> None:
        for i in range(W.shape[0]):
            w, s = W[i], S[i]
            for j in range(w.shape[0]):
                w[j] = factor * w[j] + s[j]
                s[j] /= factor + s[j]

    def run() -> dict[str, float]:
        for _ in range(n):
            if _n_arrays(case) == 1:
                scale(W, factor)
            else:
                divide(W, S, factor)
        return {}

    return run


def _scml(case: dict[str, Any], data: Any) -> Any:
    from metric_learn import SCML

    rows, triplets = _dense(case, data[0]), data[1]
    n_steps = len(triplets) // 10  # it takes ten at a time
    learner = SCML(
        n_basis=case["features"],
        basis="triplet_diffs",
        max_iter=n_steps,
        output_iter=n_steps,
        preprocessor=rows.astype(np.float64),
        random_state=0,
    )
    return lambda: learner.fit(triplets) and {}


def _torch(case: dict[str, Any], data: Any) -> Any:
    import torch

    torch.set_num_threads(1)
    rows, triplets = torch.tensor(_dense(case, data[0])), torch.tensor(data[1])
    rows = torch.nn.functional.normalize(rows)
    layer = torch.nn.Linear(case["features"], case["features"], bias=False, dtype=rows.dtype)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def learn() -> dict[str, float]:
        for query, closer, farther in triplets:  # one at a time, as in a stream
            loss = torch.relu(1 - layer(rows[query]) @ (rows[closer] - rows[farther]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return {}

    return learn


def _dense(case: dict[str, Any], rows: Any) -> np.ndarray:
    if case["entries"] is None:
        return rows
    values, columns, starts = rows
    dense = np.zeros((_ROWS, case["features"]), values.dtype)
    dense[np.repeat(np.arange(_ROWS), np.diff(starts)), columns] = values
    return dense


def _peer(case: dict[str, Any]) -> str | None:
    return None if case["features"] == 384 and case["dtype"] == "float32" else "at 384, float32"


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender("floor: memory traffic or products", _floor),
    Contender("one linear layer, PyTorch", _torch, "torch", slow=True, left_out=_peer),
    Contender("metric-learn SCML", _scml, "metric", slow=True, left_out=_peer),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the figures of the run itself."""
    return result or {}
