"""Retrieval is measured as trec_eval measures it, in blocks, and never by the query itself."""

import numpy as np
import pytest
import pytrec_eval
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array
from tests.oracles import similarities as similarity_oracle
from tests.oracles import topk
from threadpoolctl import threadpool_limits

import likewise as lw
from likewise.evaluation import _ranking
from likewise.similarities import _search

CUTOFFS = (1, 3, 10, 30)
OUTSIDE_NAMES = {
    **{f"precision@{k}": f"P_{k}" for k in CUTOFFS},
    **{f"recall@{k}": f"recall_{k}" for k in CUTOFFS},
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in CUTOFFS},
    "mrr": "recip_rank",
    "map": "map",
}


def random_ranking(rng, n_queries, n_items, highest_grade):
    """Return scores without ties, and grades; one query in five has nothing relevant."""
    scores = np.array([rng.permutation(n_items) for _ in range(n_queries)], dtype=float)
    grades = rng.integers(1, highest_grade + 1, size=scores.shape)
    grades[rng.random(scores.shape) < 0.8] = 0
    grades[::5] = 0
    grades[1, 3] = 1
    return scores, grades


def trec_eval(scores, grades, depth=None, without=None):
    """Return trec_eval's measures of all queries with something relevant; `without` an item each.

    trec_eval has one depth for all measures; ours is for MRR and mAP alone.
    """
    run, truth = {}, {}
    for query in range(len(scores)):
        items = [i for i in np.argsort(-scores[query]) if without is None or i != without[query]]
        if grades[query, items].any():
            run[str(query)] = {str(i): float(scores[query, i]) for i in items}
            truth[str(query)] = {str(i): int(grades[query, i]) for i in items}
    cuts = ",".join(map(str, CUTOFFS))
    whole = pytrec_eval.RelevanceEvaluator(
        truth, {f"{m}.{cuts}" for m in ("P", "recall", "ndcg_cut")}
    )
    cut = pytrec_eval.RelevanceEvaluator(truth, {"map", "recip_rank"})
    shortened = {
        query: dict(sorted(found.items(), key=lambda pair: -pair[1])[:depth])
        for query, found in run.items()
    }
    measured, more = whole.evaluate(run), cut.evaluate(shortened)
    names = OUTSIDE_NAMES.items()
    return {
        ours: np.array([{**measured[query], **more[query]}[theirs] for query in run])
        for ours, theirs in names
    }, np.array([int(query) for query in run])


def assert_measured_as(report, expected, queries):
    assert_array_equal(report.queries, queries)
    assert list(report.per_query) == list(expected)
    for name, values in expected.items():
        assert_allclose(report.per_query[name], values, rtol=1e-12, atol=1e-15, err_msg=name)
        assert report[name] == pytest.approx(values.mean())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("highest_grade", [1, 4], ids=["binary", "graded"])
@pytest.mark.parametrize("depth", [None, 1, 7, 500])
@pytest.mark.parametrize("n_items", [25, 60])
def test_measures_are_those_of_trec_eval(seed, highest_grade, depth, n_items):
    """With 25 items the last cut-off lies beyond them."""
    rng = np.random.default_rng(seed)
    scores, grades = random_ranking(rng, 20, n_items, highest_grade)
    report = lw.evaluate_retrieval(
        "precomputed", scores, np.arange(n_items), relevance=grades, k=CUTOFFS, depth=depth
    )
    assert_measured_as(report, *trec_eval(scores, grades, depth))
    assert report.n_unjudged == 20 - len(report.queries) >= 4


@pytest.mark.parametrize("among_themselves", [False, True])
@pytest.mark.parametrize(
    "labels",
    [
        np.arange(30) % 4,
        np.array(list("abcbdaaabc") * 3),
        np.array([None, 1, "one", 2.5, 1] * 6, object),
        np.where(np.arange(30) % 5, np.arange(30.0) % 3, np.nan),
    ],
    ids=["numbers", "texts", "objects", "some unknown"],
)
def test_labels_say_what_grades_of_equal_labels_would(labels, among_themselves, rng, monkeypatch):
    rows, others = rng.normal(size=(30, 4)), np.roll(labels, 7)[:12]
    items = None if among_themselves else rng.normal(size=(12, 4))
    held = labels if among_themselves else others
    equal = np.array([[float(a == b) for b in held.tolist()] for a in labels.tolist()])
    expected = lw.evaluate_retrieval("euclidean", rows, items, relevance=equal, k=(1, 20))
    monkeypatch.setattr(_ranking, "_QUERIES_IN_BLOCK", 7)
    given = {} if among_themselves else {"item_labels": others}
    found = lw.evaluate_retrieval("euclidean", rows, items, labels=labels, k=(1, 20), **given)
    assert found.means() == expected.means()
    assert_array_equal(found.queries, expected.queries)


@pytest.mark.parametrize("name", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("depth", [None, 2])
def test_without_items_every_query_ranks_the_other_rows(name, depth, rng):
    """By the dot product a row is often not its own best: it is left out nevertheless."""
    rows, labels = rng.normal(size=(40, 3)), rng.integers(6, size=40)
    labels[7] = 99  # nobody else has it
    scores = lw.as_similarity(name).score(rows, rows)
    grades = labels[:, None] == labels
    report = lw.evaluate_retrieval(name, rows, labels=labels, k=CUTOFFS, depth=depth)
    assert_measured_as(report, *trec_eval(scores, grades, depth, without=np.arange(40)))
    assert 7 not in report.queries


def test_without_items_a_precomputed_matrix_ranks_its_other_rows(rng):
    rows, labels = rng.normal(size=(30, 3)), rng.integers(3, size=30)
    matrix = similarity_oracle.mahalanobis(1.0, rows, rows)
    by_matrix = lw.evaluate_retrieval("precomputed", matrix, labels=labels)
    assert by_matrix.means() == lw.evaluate_retrieval("euclidean", rows, labels=labels).means()


def test_without_items_words_rank_the_other_words():
    by_length = lw.from_distance(lambda a, b: abs(len(a) - len(b)))
    report = lw.evaluate_retrieval(by_length, ["a", "bb", "ccccc", "d"], labels=[0, 1, 1, 0], k=1)
    assert report.per_query["mrr"].tolist() == [1, 1 / 3, 1, 1]


def test_a_ranking_by_hand():
    """Items at 1, 2, 3 and 4 from the query; the second has grade 1 and the fourth grade 2."""
    report = lw.evaluate_retrieval(
        "euclidean", [[0.0]], [[4.0], [2.0], [3.0], [1.0]], relevance=[[2, 1, 0, 0]], k=[2, 4]
    )
    best = 2 + 1 / np.log2(3)
    expected = {
        "precision@2": 1 / 2,
        "precision@4": 2 / 4,
        "recall@2": 1 / 2,
        "recall@4": 1.0,
        "ndcg@2": (1 / np.log2(3)) / best,
        "ndcg@4": (1 / np.log2(3) + 2 / np.log2(5)) / best,
        "mrr": 1 / 2,
        "map": (1 / 2 + 2 / 4) / 2,
    }
    assert report.means() == pytest.approx(expected)
    assert report.k == (2, 4)


def test_one_cut_off_may_be_given_as_a_number(rng):
    rows, labels = rng.normal(size=(20, 3)), np.arange(20) % 3
    one = lw.evaluate_retrieval("euclidean", rows, labels=labels, k=np.int64(5))
    assert one.k == (5,)
    assert one["recall@5"] == lw.evaluate_retrieval("euclidean", rows, labels=labels)["recall@5"]


@pytest.mark.parametrize(
    "labels", [list("abc") * 7, np.arange(21) % 3, np.array(["x", 1, None] * 7)]
)
def test_labels_are_grades_of_one(labels, rng):
    """Whatever the labels are, and also where the items have their own."""
    rows = rng.normal(size=(21, 3))
    array = np.asarray(labels)
    by_labels = lw.evaluate_retrieval(
        "euclidean", rows[:9], rows[9:], labels=labels[:9], item_labels=labels[9:]
    )
    by_grades = lw.evaluate_retrieval(
        "euclidean", rows[:9], rows[9:], relevance=array[:9, None] == array[9:]
    )
    assert by_labels.means() == by_grades.means()


@pytest.mark.parametrize("form", [csr_array, coo_array])
@pytest.mark.parametrize("among_themselves", [False, True])
def test_sparse_relevance_is_as_dense(form, among_themselves, rng):
    rows = rng.normal(size=(20, 3))
    grades = rng.integers(0, 3, size=(20, 20)) * (rng.random(size=(20, 20)) < 0.2)
    items = None if among_themselves else rows + 0.1
    dense = lw.evaluate_retrieval("euclidean", rows, items, relevance=grades)
    sparse = lw.evaluate_retrieval("euclidean", rows, items, relevance=form(grades))
    assert sparse.means() == dense.means()
    assert sparse.n_unjudged == dense.n_unjudged


def test_the_given_relevance_is_left_as_it_is(rng):
    grades = np.ones((6, 6))
    lw.evaluate_retrieval("euclidean", rng.normal(size=(6, 2)), relevance=grades)
    assert (grades == 1).all()


@pytest.mark.parametrize("among_themselves", [False, True])
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
def test_blocks_do_not_change_the_answer(among_themselves, form, rng, monkeypatch):
    rows, grades = rng.normal(size=(30, 4)), rng.integers(0, 3, size=(30, 30))
    grades[::4] = 0
    arguments = (form(rows), None if among_themselves else form(rows[::-1] + 0.1))
    whole = lw.evaluate_retrieval("euclidean", *arguments, relevance=grades)
    monkeypatch.setattr(_ranking, "_NUMBERS_IN_BLOCK", 70)  # two queries
    monkeypatch.setattr(_search, "_QUERIES_IN_BLOCK", 1)
    monkeypatch.setattr(_search, "_ITEMS_IN_CHUNK", 7)
    cut = lw.evaluate_retrieval("euclidean", *arguments, relevance=grades)
    assert cut.means() == whole.means()
    assert_array_equal(cut.queries, whole.queries)
    assert cut.n_unjudged == whole.n_unjudged


@pytest.mark.parametrize("name", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depth", [5, None], ids=["few ranks", "all ranks"])
def test_of_equal_scores_the_lower_row_ranks_first(name, dtype, depth, rng):
    """Every item occurs many times; a matrix product would round the copies differently."""
    copies = rng.integers(9, size=401)
    items = rng.normal(size=(9, 37)).astype(dtype)
    queries = rng.normal(size=(17, 37)).astype(dtype)
    double = [rows.astype(np.float64) for rows in (queries, items)]
    scores = lw.as_similarity(name).score(*double)
    _, order = topk.best(scores[:, copies], 401)
    wanted = order[np.arange(17), rng.integers(5 if depth else 401, size=17)]
    report = lw.evaluate_retrieval(
        name, queries, items[copies], relevance=np.eye(401)[wanted], k=1, depth=depth
    )
    rank = 1 + np.argmax(order == wanted[:, None], axis=1)
    assert_allclose(report.per_query["mrr"], 1 / rank)


def test_looking_at_fewer_ranks_does_not_change_the_measures_above_them(rng):
    rows, labels = rng.integers(0, 3, size=(80, 2)).astype(float), rng.integers(4, size=80)
    whole = lw.evaluate_retrieval("euclidean", rows, labels=labels, k=(1, 5))
    short = lw.evaluate_retrieval("euclidean", rows, labels=labels, k=(1, 5), depth=5)
    for name in ("precision@1", "precision@5", "recall@5", "ndcg@5"):
        assert short[name] == whole[name]
    assert short["map"] < whole["map"]


def test_one_thread_measures_as_two_do(rng, monkeypatch):
    monkeypatch.setattr(_search, "_QUERIES_IN_BLOCK", 8)
    rows, labels = rng.normal(size=(60, 33)).astype(np.float32), rng.integers(5, size=60)
    reports = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            reports.append(lw.evaluate_retrieval("cosine", rows, labels=labels).means())
    assert reports[0] == reports[1]
