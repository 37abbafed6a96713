"""The k best of a row, kept in a heap while blocks pass by."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests import strategies
from tests.oracles import topk as oracle

from likewise import kernels


def empty_heap(n_rows, k):
    return np.full((n_rows, k), -np.inf), np.full((n_rows, k), oracle.NO_ITEM)


def sorted_heap(scores, ids):
    order = np.lexsort((ids, -scores))
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)


def pieces(n_items, cuts):
    edges = [0, *cuts, n_items]
    return [slice(a, b) for a, b in pairwise(edges)]


def assert_heap_is(heap, expected):
    scores, ids = sorted_heap(*heap)
    np.testing.assert_array_equal(ids, expected[1])
    np.testing.assert_array_equal(scores, expected[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(problem=strategies.score_blocks(values=strategies.GRID))
def test_scan_scores_keeps_the_best_by_score_then_by_id(dtype, problem):
    block, k, skip, cuts = problem
    heap = empty_heap(len(block), k)
    for piece in pieces(block.shape[1], cuts):
        part = np.ascontiguousarray(block[:, piece], dtype=dtype)
        kernels.scan_scores(part, piece.start, skip, *heap)
    assert_heap_is(heap, oracle.best(block, k, skip))


@given(problem=strategies.score_blocks())
def test_scan_scores_gives_the_same_in_several_pieces_as_in_one(problem):
    block, k, skip, cuts = problem
    whole, cut = empty_heap(len(block), k), empty_heap(len(block), k)
    kernels.scan_scores(block, 0, skip, *whole)
    for piece in pieces(block.shape[1], cuts):
        kernels.scan_scores(np.ascontiguousarray(block[:, piece]), piece.start, skip, *cut)
    for one, other in zip(sorted_heap(*whole), sorted_heap(*cut), strict=True):
        np.testing.assert_array_equal(one, other)


def test_scan_scores_never_keeps_nan():
    heap = empty_heap(1, 2)
    kernels.scan_scores(np.array([[np.nan, 1.0, np.nan]]), 0, np.array([-1]), *heap)
    assert_heap_is(heap, (np.array([[1.0, -np.inf]]), np.array([[1, oracle.NO_ITEM]])))


@st.composite
def perturbed_products(draw):
    """Draw rows, their exact scores, a slack, and scores that are too low by up to that slack."""
    queries, items, _ = draw(strategies.row_pairs())
    is_distance = draw(st.booleans())
    if is_distance:
        scores = -((queries[:, None] - items[None]) ** 2).sum(axis=2)
    else:
        scores = queries @ items.T
    # Powers of two, so that the edge itself, a pair too low by just the slack, is exact.
    slack = draw(hnp.arrays(np.float64, len(queries), elements=st.sampled_from([0.0, 0.5, 8.0])))
    shares = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, 64.0])
    block = scores + slack[:, None] * draw(hnp.arrays(np.float64, scores.shape, elements=shares))
    skip = draw(hnp.arrays(np.int64, len(queries), elements=st.integers(-1, len(items) - 1)))
    cuts = draw(st.lists(st.integers(0, len(items)), max_size=3).map(sorted))
    k = draw(st.integers(1, len(items)))
    return queries, items, is_distance, scores, slack, block, skip, cuts, k


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(problem=perturbed_products())
def test_scan_products_is_exact_however_its_block_is_off_within_the_slack(dtype, problem):
    queries, items, is_distance, scores, slack, block, skip, cuts, k = problem
    heap = empty_heap(len(queries), k)
    for piece in pieces(len(items), cuts):
        part = np.ascontiguousarray(block[:, piece], dtype=dtype)
        kernels.scan_products(
            part, slack, queries, items[piece], is_distance, piece.start, skip, *heap
        )
    assert_heap_is(heap, oracle.best(scores, k, skip))


def test_scan_products_looks_at_pairs_whose_product_is_not_a_number():
    items = np.array([[1.0], [3.0], [2.0]])
    heap = empty_heap(1, 1)
    block = np.array([[1.0, np.nan, np.nan]])
    kernels.scan_products(
        block, np.zeros(1), np.ones((1, 1)), items, False, 0, np.array([-1]), *heap
    )
    assert_heap_is(heap, (np.array([[3.0]]), np.array([[1]])))


def test_scan_products_skips_pairs_that_cannot_be_among_the_best():
    """The block decides what is looked at: one that is wrongly below the floor is not."""
    items = np.array([[1.0], [3.0]])
    heap = empty_heap(1, 1)
    block = np.array([[1.0, -9.0]])
    kernels.scan_products(
        block, np.zeros(1), np.ones((1, 1)), items, False, 0, np.array([-1]), *heap
    )
    assert_heap_is(heap, (np.array([[1.0]]), np.array([[0]])))


@pytest.mark.parametrize("width", [1, 7, 64, 165])
def test_equal_pairs_have_equal_scores_wherever_they_stand(rng, width):
    queries = rng.normal(size=(1, width))
    items = np.repeat(rng.normal(size=(1, width)), 50, axis=0)
    for is_distance in (False, True):
        heap = empty_heap(1, 50)
        kernels.scan_products(
            np.zeros((1, 50)), np.array([np.inf]), queries, items, is_distance, 0,
            np.array([-1]), *heap,
        )  # fmt: skip
        assert len(np.unique(heap[0])) == 1


@pytest.mark.parametrize("width", [63, 64, 65, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scan_products_tests_every_strip_of_a_wide_block(rng, width, dtype):
    queries, items = rng.normal(size=(5, 3)), rng.normal(size=(width, 3))
    scores = queries @ items.T
    block = scores.astype(dtype)
    block[:, -1] = np.nan  # in the last strip
    skip = np.full(5, width // 2)
    heap = empty_heap(5, 4)
    kernels.scan_products(block, np.full(5, 1e-5), queries, items, False, 0, skip, *heap)
    assert_heap_is(heap, oracle.best(scores, 4, skip))
