"""Ranked and naive similarity: the formula, to the last tie."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests import strategies
from tests.oracles import landmarks as oracle

import likewise as lw
from likewise._threads import limit_threads
from likewise.similarities import _products, _ranked, _search, similarity_among


@contextmanager
def kernels_alone():
    """Count the scores of a few pairs by the kernels for many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_search, "FEW_PAIRS", 0)
        patch.setattr(_products, "FEW_PAIRS", 0)
        yield


@given(
    data=st.integers(1, 3).flatmap(
        lambda width: st.tuples(
            *(strategies.tables(st.integers(1, 9), st.just(width)) for _ in range(3))
        )
    )
)
def test_ranked_is_the_formula_ties_included(data):
    Q, S, P = data
    assert_array_equal(lw.Ranked(S).score(Q, P), oracle.ranked(Q, S, P))
    with kernels_alone():
        assert_array_equal(lw.Ranked(S).score(Q, P), oracle.ranked(Q, S, P))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_rows", [np.asarray, csr_array])
def test_rows_of_the_sample_tie_with_themselves_in_every_form(rng, dtype, as_rows):
    S = rng.normal(size=(400, 13)).astype(dtype)
    S[300:] = S[:100]
    Q, P = np.vstack([S[:30], rng.normal(size=(10, 13))]).astype(dtype), S[::7]
    expected = oracle.ranked(*(part.astype(np.float64) for part in (Q, S, P)))
    ranked = lw.Ranked(as_rows(S))
    assert_array_equal(ranked.score(as_rows(Q), as_rows(P)), expected.astype(dtype))
    with kernels_alone():
        assert_array_equal(ranked.score(as_rows(Q), as_rows(P)), expected.astype(dtype))
    assert_array_equal(ranked.score(Q, as_rows(P)), expected.astype(dtype))
    pairs = ranked.score_pairs(as_rows(Q), as_rows(P[:40]))
    assert_array_equal(pairs, np.diagonal(expected[:, :40]).astype(dtype))


def test_blocks_and_threads_do_not_change_a_rank(rng, monkeypatch, two_threads):
    S = rng.normal(size=(300, 5)).astype(np.float32)
    expected = lw.Ranked(S).score(S, S[:50])
    monkeypatch.setattr(_products, "FEW_PAIRS", 0)
    monkeypatch.setattr(_search, "_ITEMS_IN_CHUNK", 37)
    monkeypatch.setattr(_products, "_ITEMS_IN_COUNT", 10)
    monkeypatch.setattr(_products, "_QUERIES_IN_COUNT", 3)
    monkeypatch.setattr(_ranked, "_THRESHOLDS_AT_A_TIME", 1000)
    for n_threads in (1, 2):
        with limit_threads(n_threads):
            assert_array_equal(lw.Ranked(S).score(S, S[:50]), expected)


def test_transductive_is_the_rank_among_all(rng):
    X = rng.normal(size=(60, 3))
    found = lw.Ranked(X, transductive=True).score(X, X)
    assert_allclose(found, oracle.transductive(X), atol=1e-12)
    assert (found.max(axis=1) == 1).all()
    assert (found.min(axis=1) == -1).all()
    inductive = lw.Ranked(X).score(X, X)
    assert np.abs(found - inductive).max() <= 2 / (len(X) - 1)


def test_ranks_do_not_mind_an_increasing_transform_of_the_distance(rng):
    words = ["".join(rng.choice(list("abc"), size=rng.integers(1, 7))) for _ in range(25)]

    def unlike(a, b):
        return len(set(a) ^ set(b)) + 0.1 * abs(len(a) - len(b))

    plain = lw.Ranked(words, lw.from_distance(unlike))
    bent = lw.Ranked(words, lw.from_distance(lambda a, b: np.expm1(unlike(a, b))))
    assert_array_equal(plain.score(words, words), bent.score(words, words))


def test_ranked_is_not_symmetric():
    cluster = np.array([[0.0], [0.01], [0.02], [9.0]])
    s = lw.Ranked(cluster, transductive=True)
    assert s.score([[0.02]], [[9.0]]) == -1
    assert s.score([[9.0]], [[0.02]]) == 1 - 2 / 3


def test_numbers_beyond_range_are_refused():
    with pytest.raises(ValueError, match="beyond the range of numbers"):
        lw.Ranked([[0.0], [1.0]]).score([[1e200]], [[0.0]])


def test_large_numbers_that_overflow_single_precision_still_rank_rightly(rng):
    S = (rng.normal(size=(50, 3)) * 1e19).astype(np.float32)
    expected = oracle.ranked(S.astype(float), S.astype(float), S[:9].astype(float))
    assert_array_equal(lw.Ranked(S).score(S, S[:9]), expected.astype(np.float32))


def test_a_ranked_neighbour_search_agrees_with_its_base(rng):
    X = rng.normal(size=(40, 3))
    base = lw.as_similarity("euclidean").neighbors(X, X, 5)
    assert_array_equal(lw.Ranked(X).neighbors(X, X, 5).ids, base.ids)
    y = np.arange(40) % 2
    plain = lw.SimilarityClassifier(n_neighbors=3).fit(X, y).predict(X)
    ranked = lw.SimilarityClassifier(similarity=lw.Ranked(X), n_neighbors=3).fit(X, y)
    assert_array_equal(ranked.predict(X), plain)


def test_the_sample_is_a_copy_that_cannot_change(rng):
    X = rng.normal(size=(5, 2))
    s = lw.Ranked(X)
    before = s.score(X, X)
    kept = X.copy()
    X[:] = 0
    assert_array_equal(s.score(kept, kept), before)
    words = ["a", "bb"]
    assert lw.Ranked(words, lw.from_distance(lambda a, b: abs(len(a) - len(b)))).S == ("a", "bb")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: lw.Ranked([[1.0]], "euclid"), ValueError, "Did you mean 'euclidean'"),
        (lambda: lw.Ranked([[1.0]], transductive=1), TypeError, "transductive must be True or"),
        (lambda: lw.Ranked([]), ValueError, "S"),
        (lambda: lw.Ranked([[np.nan]]), ValueError, "S holds NaN"),
        (lambda: lw.Ranked([[1.0]]).score([[1.0, 2.0]], [[1.0, 2.0]]), ValueError, "Q has 2 col"),
        (lambda: lw.Ranked([[1.0]], ties="max"), ValueError, "ties must be one of 'min', 'avera"),
        (lambda: lw.Ranked(None).score([[1.0]], [[1.0]]), ValueError, r"S is None.*fitted\(X\)"),
        (lambda: similarity_among("rankd", [[1.0]]), ValueError, "Did you mean 'ranked'"),
        (lambda: similarity_among(3, [[1.0]]), TypeError, "similarity must be a name"),
    ],
)
def test_what_cannot_be_ranked_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_bare_callable_is_a_similarity():
    s = similarity_among(lambda a, b: -abs(a - b), None)
    assert s.score([1.0], [1.0, 3.0]).tolist() == [[0.0, -2.0]]
