"""Search for the nearest sparse rows: exact, and in a shortlist."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests.oracles import topk as oracle

from likewise.matching import _inverted_lists, _nearest
from likewise.matching._nearest import nearest
from likewise.matching._words import count_pieces, count_words, encode


def sparse_rows(rng, n, n_columns=400, n_terms=12):
    """Return rows whose last columns are common, with many equal products, some of them empty.

    Products are multiples of 1/1024 and have no rounding errors.
    """
    rows = np.zeros((n, n_columns))
    for row in rows:
        columns = n_columns - np.minimum(rng.zipf(1.3, n_terms), n_columns)
        row[columns] = rng.integers(1, 5, n_terms) / 32
    if n > 1:
        rows[::17] = 0
    return rows


def expected(queries, items, k, skip=None):
    scores, ids = oracle.best(queries @ items.T, k, skip)
    empty = scores <= 0
    return np.where(empty, -1, ids), np.where(empty, 0.0, scores)


def exact(queries, items, k, **options):
    """Search without the use of words."""
    return nearest(queries, items, k, (queries, items), **options)


@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize("n_items", [1, 30, 3000])
def test_the_nearest_are_those_of_all_products(rng, monkeypatch, k, n_items):
    monkeypatch.setattr(_nearest, "_ITEMS_IN_BLOCK", 1100)
    queries, items = sparse_rows(rng, 60), sparse_rows(rng, n_items)
    found = exact(csr_array(queries), csr_array(items), k)
    ids, scores = expected(queries, items, min(k, n_items))
    assert_array_equal(found.scores, scores)
    assert_array_equal(found.ids, ids)


def test_rows_of_unit_length_are_pruned_within_rounding(rng):
    """Long common columns beside rare ones: most of the common ones are never read."""
    rows = [sparse_rows(rng, n) * np.linspace(3, 0.1, 400) for n in (50, 5000)]
    queries, items = (r / np.maximum(np.linalg.norm(r, axis=1, keepdims=True), 1e-9) for r in rows)
    found = exact(csr_array(queries), csr_array(items), 10)
    assert_allclose(found.scores, expected(queries, items, 10)[1], atol=1e-12)


def test_rows_leave_themselves_out(rng, monkeypatch):
    monkeypatch.setattr(_nearest, "_ITEMS_IN_BLOCK", 64)
    rows = sparse_rows(rng, 300)
    found = exact(csr_array(rows), csr_array(rows), 5, exclude_self=True)
    ids, scores = expected(rows, rows, 5, np.arange(300))
    assert_array_equal(found.scores, scores)
    assert_array_equal(found.ids, ids)


def test_equal_items_come_in_the_order_of_rows():
    items = csr_array(np.ones((5, 1)))
    found = exact(items[:1], items, 3)
    assert_array_equal(found.ids, [[0, 1, 2]])
    assert_array_equal(found.scores, [[1, 1, 1]])


def test_blocks_and_levels_do_not_change_the_result(rng, monkeypatch):
    queries, items = sparse_rows(rng, 200), sparse_rows(rng, 2500)
    found = []
    for block, levels in ((4096, (0.1, 0.5)), (300, (0.02, 0.04, 0.3)), (2500, (1.0,))):
        monkeypatch.setattr(_nearest, "_ITEMS_IN_BLOCK", block)
        monkeypatch.setattr(_nearest, "_LEVELS", levels)
        found.append(exact(csr_array(queries), csr_array(items), 7))
    for other in found[1:]:
        assert_array_equal(found[0].ids, other.ids)
        assert_array_equal(found[0].scores, other.scores)


def word_rows(rng, n, n_columns=60):
    """Return rows of powers of 1/4, the weights of whose pairs have no rounding errors."""
    common = rng.random((n, n_columns)) < np.linspace(0.01, 0.2, n_columns)
    return common * 0.25 ** rng.integers(1, 4, (n, n_columns))


@pytest.fixture
def small_limits(monkeypatch):
    """Let every limit of the shortlist be reached by a few hundred items."""
    monkeypatch.setattr(_nearest, "_MAX_EXACT", 0)
    monkeypatch.setattr(_nearest, "_QUERIES_IN_TASK", 64)
    limits = {"words": 4, "list": 8, "budget": 40, "shortlist": 12, "buckets": 4096}
    for name, value in (("_WORDS", 4), ("_LIMIT", 8), ("_BUDGET", 40), ("_SHORTLIST", 1),
                        ("_MIN_SHORTLIST", 12), ("_MAX_BUCKETS", 4096)):  # fmt: skip
        monkeypatch.setattr(_inverted_lists, name, value)
    return limits


@pytest.mark.parametrize("one_table", [False, True])
def test_shortlisted_items_are_those_of_the_oracle(rng, small_limits, one_table):
    rows, words = sparse_rows(rng, 400), word_rows(rng, 400)
    words[::5] = 0  # columns alone shortlist
    part = slice(None) if one_table else slice(0, 150)
    sides = (rows[part], rows), (words[part], words)
    found = nearest(
        *map(csr_array, sides[0]), 5, tuple(map(csr_array, sides[1])), exclude_self=one_table
    )
    skip = np.arange(400) if one_table else None
    scores, ids = oracle.shortlisted(*sides[0], sides[1], small_limits, 5, skip)
    empty = np.isinf(scores)
    assert 0 < empty.sum() < empty.size / 2
    assert_array_equal(found.ids, np.where(empty, -1, ids))
    assert_array_equal(found.scores, np.where(empty, 0.0, scores))
    exact_scores = expected(*sides[0], 5, skip)[1]
    assert (found.scores < exact_scores).any()  # the limits were reached


def test_most_nearest_of_misspelled_records_are_shortlisted(rng, monkeypatch):
    """With its own limits, the search finds what the exact one does, but for a few."""
    names = ["".join(rng.choice(list("abcdefghiklmnoprstu"), 6)) for _ in range(400)]
    left = [" ".join(rng.choice(names, 5)) for _ in range(1500)]
    right = [text[: 9 + i % 9] + "x" + text[10 + i % 9 :] for i, text in enumerate(left)]
    once = np.ones(3000, dtype=int)
    letters = encode(count_pieces([*left, *right]), once).rows
    words = encode(count_words([*left, *right]), once).rows
    sides = (letters[:1500], letters[1500:]), (words[:1500], words[1500:])
    all_found = nearest(*sides[0], 2, sides[1])
    monkeypatch.setattr(_nearest, "_MAX_EXACT", 0)
    found = nearest(*sides[0], 2, sides[1])
    assert_array_equal(found.ids[:, 0], np.arange(1500))
    assert (found.ids[:, 1] == all_found.ids[:, 1]).mean() > 0.9
