"""Items that are prepared once for many searches."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from tests.contracts.cases import CASES

import likewise as lw
from likewise.similarities import _products, _search

L = np.random.default_rng(0).normal(size=(7, 5))
PREPARED = {
    "euclidean": lw.Mahalanobis(1.0),
    "diagonal": lw.Mahalanobis(np.arange(1.0, 6.0)),
    "mahalanobis": lw.Mahalanobis(L),
    "dot": lw.Bilinear(1.0),
    "bilinear": lw.Bilinear(L.T),
    "cosine": lw.Bilinear(L.T, "cosine"),
}


def assert_same_matches(found, expected):
    assert_array_equal(found.ids, expected.ids)
    assert found.scores.dtype == expected.scores.dtype
    assert found.scores.tobytes() == expected.scores.tobytes()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_prepared_items_have_the_same_neighbors(case):
    items = case.similarity.prepare_items(case.items)
    for k in (1, 4, 20):
        expected = case.similarity.neighbors(case.queries, case.items, k, exclude_self=k == 4)
        found = case.similarity.neighbors(case.queries, items, k, exclude_self=k == 4)
        assert_same_matches(found, expected)


@pytest.mark.parametrize("s", PREPARED.values(), ids=PREPARED)
@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("f4", "f8"), ("f8", "f4"), ("f8", "f8")])
def test_one_query_has_the_neighbors_that_it_has_among_others(s, dtypes, rng, monkeypatch):
    monkeypatch.setattr(_search, "_ITEMS_IN_CHUNK", 70)
    width = 7 if isinstance(s, lw.Bilinear) and s.W.ndim == 2 else 5
    Q, P = rng.normal(size=(40, 5)).astype(dtypes[0]), rng.normal(size=(200, width))
    P[150:] = P[:50]  # ties
    P = P.astype(dtypes[1])
    items, expected = s.prepare_items(P), s.neighbors(Q, P, 6)
    for row in range(len(Q)):
        found = s.neighbors(Q[row : row + 1], items, 6)
        assert_array_equal(found.ids[0], expected.ids[row])
        assert found.scores[0].tobytes() == expected.scores[row].tobytes()


def test_sparse_queries_find_prepared_dense_items(rng):
    Q, P = rng.random((4, 5)), rng.random((9, 5))
    for s in (lw.Mahalanobis(1.0), lw.Bilinear(1.0, "cosine"), lw.Mahalanobis(L)):
        found = s.neighbors(csr_array(Q), s.prepare_items(P), 3)
        assert_same_matches(found, s.neighbors(csr_array(Q), P, 3))


def test_items_prepared_for_another_similarity_are_refused(rng):
    items = lw.Mahalanobis(1.0).prepare_items(rng.random((4, 2)))
    assert repr(items) == "PreparedItems(4 items, Mahalanobis(L=1.0))"
    with pytest.raises(ValueError, match=r"another object, Mahalanobis\(L=1.0\)"):
        lw.Bilinear(1.0).neighbors(rng.random((1, 2)), items, 1)


@pytest.mark.parametrize("s", [lw.Mahalanobis(1.0), lw.Bilinear(1.0)])
def test_queries_of_another_width_than_prepared_items_are_refused(s, rng):
    items = s.prepare_items(rng.random((4, 2)))
    with pytest.raises(ValueError, match="Q has 3 columns, but 2 are needed"):
        s.neighbors(rng.random((1, 3)), items, 1)


def test_prepared_items_are_checked():
    with pytest.raises(ValueError, match="P holds NaN in row 1"):
        lw.Bilinear(1.0).prepare_items([[1.0], [np.nan]])


@pytest.mark.parametrize("n_features", [1, 3, 12, 64, 300])
def test_a_row_is_mapped_to_the_same_bits_alone_and_among_others(n_features, rng):
    rows, linear = rng.normal(size=(700, n_features)), rng.normal(size=(n_features, 31))
    together = _products.steady_map(rows, linear)
    for n in (1, 2, 95, 97, 400):
        assert _products.steady_map(rows[:n], linear).tobytes() == together[:n].tobytes()
