"""Triplets per second of AROMA and OASIS, their lower bounds, and other libraries.

The floor of dense OASIS is one pass that reads and writes its matrix. The dense diagonal kernel has
two, of which the ratio is to the larger: a pass over its two matrices, and its arithmetic, six
multiplications, most with an addition, and an IEEE division an entry, on four rows that stay in the
cache nearest to the core. Which is larger depends on the width of the vector registers and on the
sizes of the caches. They overlap only in part: "likewise, its loop alone" does the arithmetic on
all rows, without triplets to read and losses to decide on. The floor of the factored kernel is
matrix products of the same size; of a sparse one, a read and then a read and a write of every entry
that a triplet uses: loads and stores bound it, not cache lines. A run ends after as many triplets
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
        return _entries(case, data)
    floors = {"OASIS": _pass, "diagonal": _arithmetic, "factored": _products}
    return floors[case["kernel"]](case)


def _entries(case: dict[str, Any], data: Any) -> Any:
    """Read, then read and write, every entry that a triplet uses."""
    import numba

    (_, columns, starts), triplets = data
    d, kind = case["features"], np.dtype(case["dtype"]).type
    columns_of = columns.reshape(len(starts) - 1, -1)
    used = np.zeros((len(triplets), d), dtype=bool)
    for side in (1, 2):
        np.put_along_axis(used, columns_of[triplets[:, side]], True, axis=1)
    firsts = np.append(0, np.cumsum(used.sum(axis=1)))
    entries, rows = np.nonzero(used)[1].astype(np.uint32), columns_of[triplets[:, 0]]
    arrays = np.ones((_n_arrays(case), d, d), case["dtype"])

    @numba.njit(fastmath=True)
    def touch(rows: Any, firsts: Any, entries: Any, arrays: Any) -> Any:
        total = kind(0)
        for t in range(rows.shape[0]):
            used = entries[firsts[t] : firsts[t + 1]]
            for row in rows[t]:
                for number in range(arrays.shape[0]):
                    array = arrays[number, row]
                    for entry in used:
                        total += array[entry]
            for row in rows[t]:
                for number in range(arrays.shape[0]):
                    array = arrays[number, row]
                    for entry in used:
                        array[entry] += kind(1e-9)
        return total

    return lambda: touch(rows, firsts, entries, arrays) and {}


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
    """Read and write the matrices once for each triplet."""
    import numba

    d, n = case["features"], case["triplets"]
    W = _filled(case, (_n_arrays(case) * d, d), 1)
    factor = W.dtype.type(1.0001)

    @numba.njit(fastmath=True)
    def scale(W: Any, factor: Any) -> None:
        for i in range(W.shape[0]):
            w = W[i]
            for j in range(w.shape[0]):
                w[j] *= factor

    def run() -> dict[str, float]:
        for _ in range(n):
            scale(W, factor)
        return {}

    return run


def _arithmetic(case: dict[str, Any], n_rows: int = 4) -> Any:
    """Update all rows of means and variances and add them up, each in one of `n_rows` places.

    Each row has coefficients of its own, as its entry of the query has another value.
    """
    import numba

    from likewise.kernels._jit import disjoint_helper

    d, n = case["features"], case["triplets"]
    kind = np.dtype(case["dtype"]).type
    means, variances, sums = (_filled(case, (rows, d), 0) for rows in (n_rows, n_rows, 2))
    variances += 1
    item, query = _filled(case, (d,), 0.01), np.linspace(0.01, 0.02, d, dtype=case["dtype"])

    @disjoint_helper
    def update_four(
        w0: Any, w1: Any, w2: Any, w3: Any, s0: Any, s1: Any, s2: Any, s3: Any,
        c0: Any, c1: Any, c2: Any, c3: Any, item: Any, products: Any, spreads: Any,
    ) -> None:  # fmt: skip
        g0, g1, g2, g3 = c0 * c0, c1 * c1, c2 * c2, c3 * c3
        for j in range(d):
            squared = item[j] * item[j]
            x0, x1 = w0[j] + c0 * s0[j] * item[j], w1[j] + c1 * s1[j] * item[j]
            x2, x3 = w2[j] + c2 * s2[j] * item[j], w3[j] + c3 * s3[j] * item[j]
            y0 = s0[j] / (kind(1) + g0 * squared * s0[j])
            y1 = s1[j] / (kind(1) + g1 * squared * s1[j])
            y2 = s2[j] / (kind(1) + g2 * squared * s2[j])
            y3 = s3[j] / (kind(1) + g3 * squared * s3[j])
            w0[j], w1[j], w2[j], w3[j] = x0, x1, x2, x3
            s0[j], s1[j], s2[j], s3[j] = y0, y1, y2, y3
            products[j] = (((products[j] + c0 * x0) + c1 * x1) + c2 * x2) + c3 * x3
            spreads[j] = (((spreads[j] + g0 * y0) + g1 * y1) + g2 * y2) + g3 * y3

    # With all of fastmath, divisions would become approximate reciprocals.
    @numba.njit(fastmath={"contract", "nsz"}, error_model="numpy")
    def update(means: Any, variances: Any, item: Any, query: Any, sums: Any) -> None:
        for e in range(0, d, 4):
            r = e % n_rows
            update_four(
                means[r], means[r + 1], means[r + 2], means[r + 3],
                variances[r], variances[r + 1], variances[r + 2], variances[r + 3],
                query[e], query[e + 1], query[e + 2], query[e + 3], item, sums[0], sums[1],
            )  # fmt: skip

    def run() -> dict[str, float]:
        for _ in range(n):
            update(means, variances, item, query, sums)
        return {}

    return run


def _filled(case: dict[str, Any], shape: tuple[int, ...], value: float) -> np.ndarray:
    """Return an array that begins at a cache line, as those of the learners do."""
    from likewise.learners.online._triplet_batches import aligned_empty

    array = aligned_empty(shape, case["dtype"])
    array.fill(value)
    return array


def _pass_beside_arithmetic(case: dict[str, Any], data: Any) -> Any:
    return _pass(case)


def _arithmetic_on_all_rows(case: dict[str, Any], data: Any) -> Any:
    return _arithmetic(case, case["features"])


def _other_kernel(case: dict[str, Any]) -> str | None:
    has_two = case["kernel"] == "diagonal" and case["entries"] is None
    return None if has_two else "of the dense diagonal kernel"


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
    Contender("floor: memory traffic or arithmetic", _floor),
    Contender("floor: memory traffic", _pass_beside_arithmetic, left_out=_other_kernel),
    Contender("likewise, its loop alone", _arithmetic_on_all_rows, left_out=_other_kernel),
    Contender("one linear layer, PyTorch", _torch, "torch", slow=True, left_out=_peer),
    Contender("metric-learn SCML", _scml, "metric", slow=True, left_out=_peer),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the figures of the run itself."""
    return result or {}
