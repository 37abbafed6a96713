"""The loops of OASIS and AROMA against the printed updates, one triplet at a time."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from tests import strategies
from tests.oracles import online as oracle

from likewise import kernels

WEIGHTS = (0.0, 0.25, 1.0, 7.0)


@st.composite
def streams(draw):
    """Return queries, items (already a difference), weights and a start; widths may differ."""
    m, n = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    size = draw(st.integers(1, 12))
    Q = draw(strategies.tables(st.just(size), st.just(m)))
    P = draw(strategies.tables(st.just(size), st.just(n)))
    weights = draw(hnp.arrays(np.float64, size, elements=st.sampled_from(WEIGHTS)))
    W = draw(strategies.tables(st.just(m), st.just(n), (0.0, 0.5, -1.0)))
    return Q, P, weights, W


def tied(learn, stream, *belief):
    """Tell whether a margin is 1 but for rounding, so that either decision is right."""
    for q, p, w in zip(*stream[:3], strict=True):
        if abs(1 - q @ belief[0] @ p) < 1e-9:
            return True
        belief = learn([(q, p, w)], belief)
    return False


def listed(rows, dtype):
    """Return rows as lists of their entries that are not zero."""
    at = np.nonzero(rows)
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(rows, axis=1))]).astype(np.int64)
    return starts, at[1].astype(np.uint32), rows[at].astype(dtype)


def run(kind, Q, P, weights, rate, W, dtype, *, dense):
    """Call a kernel; return W, S or None, and the totals."""
    W, S, totals = W.astype(dtype), np.ones(W.shape, dtype), np.zeros(2)
    queries, items = listed(Q, dtype), P.astype(dtype)
    if kind == "oasis" and dense:
        kernels.oasis_dense(*queries, items, weights, rate, W, np.empty_like(W[0]), totals)
    elif kind == "oasis":
        kernels.oasis_lists(*queries, *listed(P, dtype), weights, rate, W, totals)
    elif dense:
        sums = np.empty((2, W.shape[1]), W.dtype)
        kernels.diagonal_dense(*queries, items, weights, rate, W, S, sums, totals)
    else:
        kernels.diagonal_lists(*queries, *listed(P, dtype), weights, rate, W, S, totals)
    return W, S, totals


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("C", [0.03, 1.0, 40.0])
@settings(max_examples=40)
@given(stream=streams())
def test_oasis_is_the_printed_update(dense, C, stream):
    Q, P, weights, W = stream
    assume(not tied(lambda seen, W: oracle.oasis(seen, C, *W)[:1], stream, W))
    found, _, totals = run("oasis", Q, P, weights, C, W, np.float64, dense=dense)
    wanted, n_updates, losses = oracle.oasis(zip(Q, P, weights, strict=True), C, W)
    assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    assert totals[1] == n_updates
    assert_allclose(totals[0], losses, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("r", [0.07, 1.0, 30.0])
@settings(max_examples=40)
@given(stream=streams())
def test_diagonal_aroma_is_the_printed_update(dense, r, stream):
    Q, P, weights, W = stream
    belief = W, np.ones(W.shape)
    assume(not tied(lambda seen, belief: oracle.diagonal(seen, r, *belief)[:2], stream, *belief))
    found, S, totals = run("diagonal", Q, P, weights, r, W, np.float64, dense=dense)
    seen = zip(Q, P, weights, strict=True)
    wanted, S_wanted, n_updates, losses = oracle.diagonal(seen, r, W, np.ones(W.shape))
    assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    assert_allclose(S, S_wanted, rtol=1e-8)
    assert totals[1] == n_updates
    assert_allclose(totals[0], losses, rtol=1e-8, atol=1e-8)


def learned_from_mistakes(Q, P, weights, r, W):
    W, S, totals = W.copy(), np.ones(W.shape), np.zeros(2)
    lists = *listed(Q, np.float64), *listed(P, np.float64)
    kernels.diagonal_mistakes(*lists, weights, r, W, S, totals)
    return W, S, totals


@pytest.mark.parametrize("r", [0.07, 1.0, 30.0])
@settings(max_examples=40)
@given(stream=streams())
def test_diagonal_aroma_from_mistakes_is_the_dual_variant(r, stream):
    Q, P, weights, W = stream
    belief, changed = (W, np.ones(W.shape)), np.zeros(W.shape, dtype=bool)
    for q, p, w in zip(Q, P, weights, strict=True):
        z = np.outer(q, p)
        terms = z * belief[0] / (1 + z * z * belief[1] * w / r)
        is_zero = not terms.any() and not z[changed].any()  # whatever the rounding
        assume(is_zero or abs(terms.sum()) > 1e-9)
        updated = oracle.diagonal_mistakes([(q, p, w)], r, *belief)[:2]
        changed |= updated[0] != belief[0]
        belief = updated
    found, S, totals = learned_from_mistakes(Q, P, weights, r, W)
    seen = zip(Q, P, weights, strict=True)
    wanted, S_wanted, n_updates, losses = oracle.diagonal_mistakes(seen, r, W, np.ones(W.shape))
    assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    assert_allclose(S, S_wanted, rtol=1e-8)
    assert totals[1] == n_updates
    assert_allclose(totals[0], losses, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["oasis", "diagonal"])
@pytest.mark.parametrize("dense", [True, False])
def test_single_precision_follows_double(kind, dense, rng):
    Q, P = (rng.normal(size=(50, n)) * (rng.random((50, n)) < 0.5) for n in (6, 9))
    ones, W = np.ones(50), np.zeros((6, 9))
    double = run(kind, Q, P, ones, 0.3, W, np.float64, dense=dense)
    single = run(kind, Q, P, ones, 0.3, W, np.float32, dense=dense)
    assert single[0].dtype == np.float32
    assert_allclose(single[0], double[0], atol=1e-4)
    assert_allclose(single[1], double[1], atol=1e-4)
    assert single[2][1] == double[2][1]


@pytest.mark.parametrize("kind", ["oasis", "diagonal"])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("density", [0.7, 1.0])
def test_the_same_bits_wherever_a_stream_is_cut(kind, dense, dtype, density, rng):
    """An update and the next read share a pass, also in vectorized loops: a cut must not show."""
    Q, P = (rng.normal(size=(40, n)) * (rng.random((40, n)) < density) for n in (7, 71))
    Q[7:9], P[20] = 0, 0
    weights, start = rng.choice(WEIGHTS, 40), rng.normal(size=(7, 71))
    whole = run(kind, Q, P, weights, 0.4, start, dtype, dense=dense)
    for cut in (1, 8, 21, 39):
        W, S, totals = start.astype(dtype), np.ones((7, 71), dtype), np.zeros(2)
        for part in (slice(0, cut), slice(cut, 40)):
            q, p, w = listed(Q[part], dtype), P[part].astype(dtype), weights[part]
            if kind == "oasis" and dense:
                kernels.oasis_dense(*q, p, w, 0.4, W, np.empty_like(W[0]), totals)
            elif kind == "oasis":
                kernels.oasis_lists(*q, *listed(P[part], dtype), w, 0.4, W, totals)
            elif dense:
                sums = np.empty((2, W.shape[1]), W.dtype)
                kernels.diagonal_dense(*q, p, w, 0.4, W, S, sums, totals)
            else:
                kernels.diagonal_lists(*q, *listed(P[part], dtype), w, 0.4, W, S, totals)
        assert W.tobytes() == whole[0].tobytes()
        assert S.tobytes() == whole[1].tobytes()
        assert totals[1] == whole[2][1]


def test_a_margin_of_exactly_one_is_no_loss():
    Q = P = np.ones((1, 1))
    for dense in (True, False):
        W, _, totals = run("oasis", Q, P, np.ones(1), 1.0, np.ones((1, 1)), np.float64, dense=dense)
        assert (W.item(), totals.tolist()) == (1.0, [0.0, 0.0])


def test_nan_is_never_learned_from():
    Q, P = np.array([[np.nan], [1.0]]), np.ones((2, 1))
    for kind in ("oasis", "diagonal"):
        for dense in (True, False):
            W = run(kind, Q, P, np.ones(2), 1.0, np.zeros((1, 1)), np.float64, dense=dense)[0]
            assert np.isfinite(W).all()
    W, S, totals = learned_from_mistakes(Q, P, np.ones(2), 1.0, np.zeros((1, 1)))
    assert (W.item(), S.item(), totals[1]) == (0.5, 0.5, 1)


def decided(Q, P, weights, r, W, Lambda, Sigma):
    """Call the kernel on a block as the learner does; return its decisions and totals."""
    n, totals = len(Q), np.zeros(2)
    steps, shrinks = np.full(n, np.nan), np.full((2, n), np.nan)
    kernels.factored_decisions(
        Q @ Lambda @ Q.T, P @ Sigma @ P.T, np.einsum("ij,ij->i", Q @ W, P), weights, r, *W.shape,
        steps, shrinks, totals,
    )  # fmt: skip
    return steps, shrinks, totals


@pytest.mark.parametrize("r", [0.07, 1.0, 30.0])
@settings(max_examples=40)
@given(stream=streams())
def test_decisions_over_a_block_are_those_one_by_one(r, stream):
    Q, P, weights, W = stream
    m, n = W.shape
    belief = W, np.eye(m), np.eye(n)
    assume(not tied(lambda seen, belief: oracle.factored(seen, r, *belief)[:3], stream, *belief))
    steps, shrinks, totals = decided(Q, P, weights, r, W, np.eye(m), np.eye(n))
    Lambda, Sigma, start = np.eye(m), np.eye(n), W
    for t, (q, p, w) in enumerate(zip(Q, P, weights, strict=True)):
        a, b, loss = q @ Lambda @ q, p @ Sigma @ p, max(0, 1 - q @ W @ p)
        acts = loss > 1e-9 and a * b > 0 and w > 0
        if acts:
            noise = r / w
            wanted = loss / (noise + a * b), 1 / (a + n * noise / b), 1 / (b + m * noise / a)
            assert_allclose((steps[t], *shrinks[:, t]), wanted, rtol=1e-7, atol=1e-9)
        elif loss == 0 or a * b == 0 or w == 0:
            assert_allclose((steps[t], *shrinks[:, t]), (0, 0, 0), atol=1e-9)
        W, Lambda, Sigma, *_ = oracle.factored([(q, p, w)], r, W, Lambda, Sigma)
    seen = zip(Q, P, weights, strict=True)
    losses = oracle.factored(seen, r, start, np.eye(m), np.eye(n))[-1]
    assert_allclose(totals[0], losses, rtol=1e-8, atol=1e-8)


def test_a_block_without_a_loss_decides_nothing():
    eye = np.eye(2)
    steps, shrinks, totals = decided(eye, eye, np.ones(2), 1.0, 3 * eye, eye, eye)
    assert_array_equal(steps, 0)
    assert_array_equal(shrinks, 0)
    assert_array_equal(totals, 0)
