"""What every similarity promises. Each check takes a case; a name states the fact."""

import copy
import dataclasses
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from tests.oracles import similarities as oracle
from tests.oracles import topk

import likewise as lw
from likewise.exceptions import NotFoldableError
from likewise.similarities import Foldable, Function

METRICS = ("inner_product", "cosine", "euclidean")


def score_pairs_is_the_diagonal_of_score(case):
    n = min(len(case.queries), len(case.items))
    Q, P = case.queries[:n], case.items[:n]
    pairs = case.similarity.score_pairs(Q, P)
    assert pairs.shape == (n,)
    assert_allclose(pairs, np.diagonal(case.similarity.score(Q, P)), rtol=1e-12, atol=1e-12)


def one_query_and_one_item_score_as_among_others(case):
    everything = case.similarity.score(case.queries, case.items)
    alone = case.similarity.score(case.queries[-1:], case.items[-1:])
    assert alone.shape == (1, 1)
    assert_allclose(alone[0, 0], everything[-1, -1], rtol=1e-12, atol=1e-12)


def a_symmetric_similarity_does_not_mind_the_order(case):
    s = case.similarity
    if s.takes == "matrix":
        assert not s.is_symmetric
    elif s.is_symmetric:
        forth, back = s.score(case.queries, case.items), s.score(case.items, case.queries)
        assert_allclose(forth, back.T, rtol=1e-12, atol=1e-12)
    elif np.shape(case.queries)[1:] == np.shape(case.items)[1:]:
        forth, back = s.score(case.queries, case.items), s.score(case.items, case.queries)
        assert not np.allclose(forth, back.T)


def distance_is_there_where_it_is_announced(case):
    s = case.similarity
    if s.has_distance:
        found = s.distance(case.queries, case.items)
        power = 2 if isinstance(s, lw.Mahalanobis) else 1
        assert_allclose(-(found**power), s.score(case.queries, case.items), rtol=1e-12, atol=1e-12)
    else:
        with pytest.raises((AttributeError, TypeError), match="distance"):
            s.distance(case.queries, case.items)


def neighbors_are_the_scores_in_order(case):
    # Rounded, because the scores of a search are rounded once more precisely.
    scores = case.similarity.score(case.queries, case.items).round(9)
    for k in (1, 3, len(case.items)):
        k = min(k, len(case.items))
        found = case.similarity.neighbors(case.queries, case.items, k)
        best, ids = topk.best(scores, k)
        assert found.ids.dtype.kind == "i"
        assert_array_equal(found.ids, ids)
        assert_allclose(found.scores, best, rtol=1e-9, atol=1e-9)


def missing_neighbors_are_none_and_minus_infinity(case):
    n = len(case.items)
    found = case.similarity.neighbors(case.queries, case.items, n + 2)
    assert found.ids.shape == found.scores.shape == (len(case.queries), n + 2)
    assert (found.ids[:, n:] == None).all()  # noqa: E711 (elementwise)
    assert (found.scores[:, n:] == -np.inf).all()
    assert all(type(i) is int for i in found.ids[:, :n].ravel())
    assert [len(found.row(i)) for i in range(len(found))] == [n] * len(case.queries)


def exclude_self_leaves_out_the_item_of_the_same_number(case):
    scores = case.similarity.score(case.queries, case.items).round(9)
    n_items = len(case.items)
    own = np.where(np.arange(len(scores)) < n_items, np.arange(len(scores)), -1)
    for k in (1, n_items):
        found = case.similarity.neighbors(case.queries, case.items, k, exclude_self=True)
        best, ids = topk.best(scores, k, skip=own)
        assert_array_equal(np.where(found.ids == None, topk.NO_ITEM, found.ids), ids)  # noqa: E711
        assert_allclose(found.scores.astype(float), best, rtol=1e-9, atol=1e-9)


def csr_equals_dense(case):
    s = case.similarity
    if not case.has_rows:
        with pytest.raises(TypeError, match=r"Q is sparse.*Q\.toarray\(\)"):
            s.score(csr_array(np.eye(2)), case.items)
        return
    n = min(len(case.queries), len(case.items))
    expected = s.score(case.queries, case.items)
    nearest = s.neighbors(case.queries, case.items, n)
    for as_q in (np.asarray, csr_array):
        for as_p in (np.asarray, csr_array, csr_matrix):
            Q, P = as_q(case.queries), as_p(case.items)
            found = s.score(Q, P)
            assert type(found) is np.ndarray
            assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
            pairs = s.score_pairs(as_q(case.queries[:n]), as_p(case.items[:n]))
            assert_allclose(pairs, np.diagonal(expected), rtol=1e-12, atol=1e-12)
            matches = s.neighbors(Q, P, n)
            assert_array_equal(matches.ids, nearest.ids)
            assert_allclose(matches.scores, nearest.scores, rtol=1e-12, atol=1e-12)
            told = s.explain(Q[:1], P[:1], top=None)
            terms = s.explain(case.queries[0], case.items[0], top=None).terms
            found, wanted = ({t[:2]: t.contribution for t in part} for part in (told.terms, terms))
            assert found.keys() == wanted.keys()
            for pair, contribution in wanted.items():
                assert_allclose(found[pair], contribution, rtol=1e-12, atol=1e-12)


def float32_stays_float32(case):
    if not case.has_rows:
        return
    Q, P = case.queries.astype(np.float32), case.items.astype(np.float32)
    s = case.similarity
    expected = s.score(case.queries, case.items)
    for queries, items in ((Q, P), (csr_array(Q), csr_array(P)), (Q, csr_array(P))):
        for found in (
            s.score(queries, items),
            s.score_pairs(queries[: P.shape[0]], items[: Q.shape[0]]),
            s.neighbors(queries, items, 2).scores,
        ):
            assert found.dtype == np.float32
        assert_allclose(s.score(queries, items), expected, rtol=1e-5, atol=1e-5)
    assert s.score(Q, case.items).dtype == np.float64
    if case.serves:
        assert s.fold_queries(Q).dtype == s.fold_items(P).dtype == np.float32


def folding_reproduces_the_score(case):
    s = case.similarity
    expected = s.score(case.queries, case.items)
    assert bool(case.serves) == (isinstance(s, Foldable) and _folds(s))
    for metric in (None, *case.serves) if case.serves else ():
        for form in (np.asarray, csr_array):
            Q, P = form(case.queries), form(case.items)
            folded = [_dense(s.fold_queries(Q, metric)), _dense(s.fold_items(P, metric))]
            values = oracle.index_scores(metric or s.folded_metric, *folded)
            assert_allclose(s.unfold_scores(values, Q, metric), expected, rtol=1e-9, atol=1e-9)


def a_served_metric_ranks_as_the_similarity_does(case):
    expected = case.similarity.score(case.queries, case.items).round(9)
    for metric in case.serves:
        folded = case.similarity.fold_queries(case.queries, metric)
        served = oracle.index_scores(metric, folded, case.similarity.fold_items(case.items, metric))
        sign = -1 if metric == "euclidean" else 1
        best = topk.best((sign * served).round(9), 3)[1]
        picked = np.take_along_axis(expected, np.minimum(best, len(case.items) - 1), axis=1)
        assert_allclose(picked[:, :1], expected.max(axis=1, keepdims=True), atol=1e-8)
        assert (np.diff(picked[:, : len(case.items)]) <= 1e-8).all()


def other_metrics_are_refused(case):
    if not isinstance(case.similarity, Foldable):
        return
    for metric in set(METRICS) - set(case.serves):
        with pytest.raises(NotFoldableError, match=r"fold|exact|serve"):
            case.similarity.fold_items(case.items, metric)


def an_explanation_sums_to_the_score(case):
    s = case.similarity
    for i, j in ((0, 0), (-1, -1), (min(2, len(case.queries) - 1), 0)):
        q, p = case.queries[i], case.items[j]
        expected = s.score(case.queries[i:][:1], case.items[j:][:1])[0, 0]
        for top in (1, 2, 10, None):
            told = s.explain(q, p, top=top)
            named = [term.contribution for term in told]
            assert_allclose(told.score, expected, rtol=1e-9, atol=1e-9)
            assert_allclose(sum(named) + told.rest, told.score, rtol=1e-9, atol=1e-9)
            assert top is None or len(told) <= top
            assert all(np.diff(np.abs(named)) <= 0)
            if top is None:
                assert told.rest == 0


def a_file_gives_back_the_same_bits(case):
    s = case.similarity
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        if isinstance(getattr(s, "similarity", s), Function):
            with pytest.raises(TypeError, match=r"a model file cannot hold|cannot be stored"):
                s.save(path)
            assert list(Path(folder).iterdir()) == []
            return
        s.save(path)
        loaded = lw.load(path)
    assert type(loaded) is type(s)
    for field in dataclasses.fields(s):
        one, other = getattr(s, field.name), getattr(loaded, field.name)
        if isinstance(one, np.ndarray):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert one.tobytes() == other.tobytes()
            assert not other.flags.writeable
        elif isinstance(one, lw.Similarity):
            assert repr(one) == repr(other)
        else:
            assert one == other
    before, after = (x.score(case.queries, case.items) for x in (s, loaded))
    assert before.tobytes() == after.tobytes()


def copies_are_the_same_object(case):
    assert copy.copy(case.similarity) is case.similarity
    assert copy.deepcopy(case.similarity) is case.similarity
    assert copy.deepcopy([case.similarity])[0] is case.similarity


def it_cannot_be_changed(case):
    _assert_immutable(case.similarity)


def pickling_keeps_it_whole_and_immutable(case):
    loaded = pickle.loads(pickle.dumps(case.similarity))
    assert type(loaded) is type(case.similarity)
    before, after = (x.score(case.queries, case.items) for x in (case.similarity, loaded))
    assert before.tobytes() == after.tobytes()
    _assert_immutable(loaded)


def its_repr_is_one_line(case):
    line = repr(case.similarity)
    assert "\n" not in line
    assert len(line) < 100
    assert line.startswith(type(case.similarity).__name__)


def nothing_that_it_is_given_is_changed(case):
    Q, P = copy.deepcopy(case.queries), copy.deepcopy(case.items)
    s = case.similarity
    s.score(Q, P), s.neighbors(Q, P, 2), s.explain(Q[0], P[0])
    if case.serves:
        s.unfold_scores(np.ones((len(Q), 1)), Q)
    for metric in case.serves:
        s.fold_queries(Q, metric), s.fold_items(P, metric)
    assert_array_equal(Q, case.queries)
    assert_array_equal(P, case.items)


def an_index_finds_what_neighbors_finds(case):
    n = len(case.items)
    index = lw.Index(case.similarity).add(range(n), case.items)
    for k in (1, min(4, n), n + 1):
        found, expected = (
            index.search(case.queries, k),
            case.similarity.neighbors(case.queries, case.items, k),
        )
        assert_array_equal(found.ids, expected.ids)
        assert_allclose(
            found.scores.astype(float), expected.scores.astype(float), rtol=1e-9, atol=1e-9
        )


def _folds(s):
    try:
        return s.folded_metric in METRICS
    except NotFoldableError:
        return False


def _dense(rows):
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def _assert_immutable(s):
    for field in dataclasses.fields(s):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(s, field.name, None)
        value = getattr(s, field.name)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        s.something_new = 1


SIMILARITY = [
    score_pairs_is_the_diagonal_of_score,
    one_query_and_one_item_score_as_among_others,
    a_symmetric_similarity_does_not_mind_the_order,
    distance_is_there_where_it_is_announced,
    neighbors_are_the_scores_in_order,
    missing_neighbors_are_none_and_minus_infinity,
    exclude_self_leaves_out_the_item_of_the_same_number,
    csr_equals_dense,
    float32_stays_float32,
    folding_reproduces_the_score,
    a_served_metric_ranks_as_the_similarity_does,
    other_metrics_are_refused,
    an_explanation_sums_to_the_score,
    a_file_gives_back_the_same_bits,
    copies_are_the_same_object,
    it_cannot_be_changed,
    pickling_keeps_it_whole_and_immutable,
    its_repr_is_one_line,
    nothing_that_it_is_given_is_changed,
    an_index_finds_what_neighbors_finds,
]
