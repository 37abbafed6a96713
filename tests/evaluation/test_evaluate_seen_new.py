"""Items that were learned from and new ones are measured apart."""

import re
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array
from tests.distributed.inline import run_inline
from tests.oracles import seen_new as oracle
from tests.versions import needs_1d_sparse_arrays

import likewise as lw
from likewise.datasets import load_retrieval
from likewise.evaluation import _ranking
from likewise.metrics import ndcg_seen_new
from likewise.similarities import _search

CUTOFFS = (1, 3, 10)


@st.composite
def problems(draw):
    """Draw lopsided problems: ties, kinds that hold all items or none, queries without any."""
    shape = draw(st.tuples(st.integers(1, 4), st.integers(2, 9)))
    scores = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from((0.0, 1.0, 2.0))))
    grades = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from((0, 0, 0.5, 1, 100))))
    grades[0, 0] = 1  # of no query at all nothing could be measured
    seen = draw(
        st.one_of(
            st.sampled_from((np.zeros(shape[1], bool), np.ones(shape[1], bool))),
            hnp.arrays(bool, shape[1], elements=st.booleans()),
        )
    )
    return scores, grades, seen, draw(st.sampled_from((None, 1, 2, 5)))


def assert_measured_apart(report, expected):
    overall = expected[0]
    for part, (queries, values) in zip((report, report.seen, report.new), expected, strict=True):
        assert_array_equal(part.queries, queries)
        assert list(part.per_query) == list(overall[1])
        assert part.k == report.k
        assert part.n_unjudged + len(queries) == report.n_unjudged + len(overall[0])
        for name, found in part.per_query.items():
            assert_allclose(found, values.get(name, []), rtol=1e-12, atol=1e-15, err_msg=name)
    assert report.seen.seen is None
    assert report.new.new is None


def assert_equal_reports(first, second):
    for a, b in zip((first, first.seen, first.new), (second, second.seen, second.new), strict=True):
        assert_array_equal(a.queries, b.queries)
        assert a.n_unjudged == b.n_unjudged
        for name, values in a.per_query.items():
            assert_array_equal(values, b.per_query[name], err_msg=name)


@given(problem=problems(), cutoffs=st.sampled_from(((1,), CUTOFFS)))
def test_measures_apart_are_their_definition(problem, cutoffs):
    scores, grades, seen, depth = problem
    report = lw.evaluate_retrieval(
        "precomputed",
        scores,
        np.arange(len(seen)),
        relevance=grades,
        trained_on=seen,
        k=cutoffs,
        depth=depth,
    )
    assert_measured_apart(report, oracle.measures_apart(scores, grades, seen, cutoffs, depth))


@given(problem=problems())
def test_ndcg_apart_is_that_of_ranks(problem):
    scores, grades, seen, _ = problem
    n_queries, n_items = scores.shape
    report = lw.evaluate_retrieval(
        "precomputed", scores, np.arange(n_items), relevance=grades, trained_on=seen, k=3, depth=1
    )
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    rows, items = np.nonzero(grades)
    expected = ndcg_seen_new(
        rows, grades[rows, items], ranks[rows, items], seen[items], n_queries, 3
    )
    for part, values in zip((report, report.seen, report.new), expected, strict=True):
        assert_array_equal(part.queries, np.flatnonzero(~np.isnan(values)))
        assert_allclose(part.per_query["ndcg@3"], values[part.queries], rtol=1e-12)


def test_measures_apart_by_hand():
    """Items at distances 1 to 5: new, seen, not relevant, new, seen."""
    items = np.arange(1.0, 6.0)[:, None]
    seen = np.array([False, True, True, False, True])
    report = lw.evaluate_retrieval(
        "euclidean", [[0.0]], items, relevance=[[1, 1, 0, 1, 1]], trained_on=seen, k=2
    )
    assert report.seen["precision@2"] == 1 / 2  # seen, not relevant, seen
    assert report.seen["map"] == pytest.approx((1 + 2 / 3) / 2)
    assert report.new["recall@2"] == 1 / 2  # new, not relevant, new
    assert report["map"] == pytest.approx((1 + 1 + 3 / 4 + 4 / 5) / 4)


def test_a_shallow_search_goes_below_all_that_is_left_out():
    """Forty new items rank above the only seen one, which is first once they are left out."""
    items = np.arange(100.0)[:, None]
    grades = np.zeros((1, 100))
    grades[0, :41] = 1
    report = lw.evaluate_retrieval(
        "euclidean", [[0.0]], items, relevance=grades, trained_on=np.arange(100) == 40, k=1, depth=1
    )
    assert report.seen.means() == dict.fromkeys(report.per_query, 1.0)


@pytest.mark.parametrize("depth", [None, 2])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_overall_measures_stay_as_they_are(depth, form, rng):
    queries, items = rng.normal(size=(20, 5)), rng.normal(size=(70, 5)).astype(np.float32)
    grades = form(rng.integers(0, 3, size=(20, 70)) * (rng.random((20, 70)) < 0.1))
    plain = lw.evaluate_retrieval("cosine", queries, items, relevance=grades, depth=depth)
    apart = lw.evaluate_retrieval(
        "cosine", queries, items, relevance=grades, depth=depth, trained_on=np.arange(70) < 30
    )
    assert plain.seen is plain.new is None
    for name, values in plain.per_query.items():
        assert_array_equal(apart.per_query[name], values)
    assert apart.means() == plain.means()
    assert apart["ndcg@10"] == plain["ndcg@10"]


@pytest.mark.parametrize("form", [np.asarray, csr_array, coo_array, lambda grades: grades.tolist()])
@pytest.mark.parametrize("dtype", [float, np.int8, bool])
def test_a_seen_item_is_one_with_a_grade_of_some_training_query(form, dtype, rng):
    rows, labels = rng.normal(size=(30, 3)), np.arange(30) % 4
    judged = np.zeros((5, 30), dtype)
    judged[[0, 0, 3, 4], [2, 7, 7, 29]] = 1
    by_grades = lw.evaluate_retrieval("euclidean", rows, labels=labels, trained_on=form(judged))
    mask = np.isin(np.arange(30), [2, 7, 29])
    assert_equal_reports(
        by_grades, lw.evaluate_retrieval("euclidean", rows, labels=labels, trained_on=mask)
    )
    assert len(by_grades.seen.queries) < len(by_grades.queries)


def test_an_item_of_grade_zero_was_not_seen(rng):
    stored_zero = csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), (1, 6))
    rows, labels = rng.normal(size=(6, 2)), [0, 0, 0, 1, 1, 1]
    report = lw.evaluate_retrieval("euclidean", rows, labels=labels, trained_on=stored_zero)
    mask = np.arange(6) == 0
    assert_equal_reports(
        report, lw.evaluate_retrieval("euclidean", rows, labels=labels, trained_on=mask)
    )


@pytest.mark.parametrize("depth", [None, 3])
@pytest.mark.parametrize("by_labels", [False, True])
def test_labels_and_grades_among_themselves(depth, by_labels, rng):
    """Every row ranks the others; it is neither seen nor new to itself."""
    rows, labels = rng.normal(size=(40, 3)), rng.integers(6, size=40)
    labels[7] = 99  # nobody else has it
    seen = rng.random(40) < 0.3
    grades = labels[:, None] == labels
    truth = {"labels": labels} if by_labels else {"relevance": grades}
    report = lw.evaluate_retrieval(
        "euclidean", rows, **truth, trained_on=seen, k=CUTOFFS, depth=depth
    )
    scores = lw.as_similarity("euclidean").score(rows, rows)
    expected = oracle.measures_apart(scores, grades, seen, CUTOFFS, depth, np.arange(40))
    assert_measured_apart(report, expected)


def test_labels_of_queries_and_items(rng):
    queries, items = rng.normal(size=(12, 3)), rng.normal(size=(25, 3))
    labels, item_labels = rng.integers(5, size=12), rng.integers(1, 4, size=25)
    seen = item_labels != 2
    report = lw.evaluate_retrieval(
        "dot", queries, items, labels=labels, item_labels=item_labels, trained_on=seen, k=3, depth=2
    )
    scores, grades = queries @ items.T, labels[:, None] == item_labels
    assert_measured_apart(report, oracle.measures_apart(scores, grades, seen, (3,), 2))


@pytest.mark.parametrize("name", ["euclidean", "cosine"])
def test_of_equal_scores_the_lower_row_ranks_first(name, rng):
    copies = rng.integers(4, size=90)
    items, queries = rng.normal(size=(4, 19)), rng.normal(size=(11, 19))
    grades, seen = (rng.random((11, 90)) < 0.2).astype(float), rng.random(90) < 0.5
    scores = lw.as_similarity(name).score(queries, items)[:, copies]
    report = lw.evaluate_retrieval(
        name, queries, items[copies], relevance=grades, trained_on=seen, k=CUTOFFS, depth=7
    )
    assert_measured_apart(report, oracle.measures_apart(scores, grades, seen, CUTOFFS, 7))


@pytest.mark.parametrize("by_labels", [False, True])
def test_blocks_do_not_change_the_answer(by_labels, rng, monkeypatch):
    rows, labels = rng.normal(size=(30, 4)), np.sort(rng.integers(7, size=30))
    truth = {"labels": labels} if by_labels else {"relevance": labels[:, None] == labels}
    arguments = {**truth, "trained_on": labels < 3, "depth": 4}
    whole = lw.evaluate_retrieval("euclidean", rows, **arguments)
    monkeypatch.setattr(_ranking, "_NUMBERS_IN_BLOCK", 70)  # a few queries: often of one kind
    monkeypatch.setattr(_search, "_ITEMS_IN_CHUNK", 7)
    assert_equal_reports(lw.evaluate_retrieval("euclidean", rows, **arguments), whole)


@pytest.mark.parametrize("by_labels", [False, True])
@pytest.mark.parametrize("among_themselves", [False, True])
def test_the_distributed_version_measures_the_same(by_labels, among_themselves, rng, monkeypatch):
    rows, labels = rng.normal(size=(60, 4)), np.sort(rng.integers(9, size=60))
    labels[3] = 99
    items = None if among_themselves else rng.normal(size=(60, 4))
    truth = {"relevance": csr_array(labels[:, None] == labels)}
    if by_labels:
        truth = {"labels": labels} | ({} if among_themselves else {"item_labels": labels})
    arguments = {**truth, "trained_on": labels < 4, "depth": 3}
    expected = lw.evaluate_retrieval("cosine", rows, items, **arguments)
    monkeypatch.setattr(_ranking, "_NUMBERS_IN_BLOCK", 300)
    with run_inline():
        found = lw.evaluate_retrieval("cosine", rows, items, **arguments)
    assert_equal_reports(found, expected)


@pytest.mark.parametrize("mask", [np.zeros(6, bool), np.ones(6, bool)], ids=["none", "all"])
def test_a_kind_without_any_query_is_not_a_number(mask):
    rows = np.arange(12.0).reshape(6, 2)
    report = lw.evaluate_retrieval("euclidean", rows, labels=[0, 0, 0, 1, 1, 1], trained_on=mask)
    full, empty = (report.seen, report.new) if mask.all() else (report.new, report.seen)
    assert full.means() == report.means()
    assert len(empty.queries) == 0
    assert empty.n_unjudged == 6
    assert list(empty.means()) == list(report.means())
    assert np.isnan(list(empty.means().values())).all()
    assert repr(empty) == "RetrievalReport(0 queries, map=nan)"
    assert all(row[1:] == ("–", "–") for row in empty.table().rows)
    column = 3 if mask.all() else 2
    assert [row[column] for row in report.table().rows] == ["0"] + ["–"] * len(report.per_query)
    assert "nan" not in str(report)


def test_the_report_reads_as_a_table_of_three_columns(rng):
    labels = np.array([7, *(np.arange(29) % 3)])
    seen = np.isin(labels, [0, 1])
    report = lw.evaluate_retrieval(
        "euclidean", rng.normal(size=(30, 2)), labels=labels, trained_on=seen, k=5
    )
    first, head, queries, *lines = str(report).splitlines()
    assert first == "29 queries (1 with nothing relevant left out)"
    assert re.split("  +", head) == ["mean ± std. error", "overall", "seen", "new"]
    n_seen = np.count_nonzero(seen)
    assert queries.split() == ["queries", "29", str(n_seen), str(29 - n_seen)]
    assert [line.split()[0] for line in lines] == list(report.per_query)
    shown = re.split("  +", lines[list(report.per_query).index("recall@5")])[1:]
    for cell, part in zip(shown, (report, report.seen, report.new), strict=True):
        mean, error = cell.split(" ± ")
        values = part.per_query["recall@5"]
        assert float(mean) == pytest.approx(values.mean(), abs=6e-5)
        assert float(error) == pytest.approx(np.sqrt(values.var(ddof=1) / len(values)), abs=6e-5)
    html = report._repr_html_()
    assert "<th>overall</th><th>seen</th><th>new</th>" in html
    assert html.count("<tr>") == 2 + len(report.per_query)


@pytest.mark.parametrize(
    ("trained_on", "kind", "sentence"),
    [
        (np.ones(5, bool), ValueError, "trained_on has 5 entries, but 6 are needed, one for each"),
        (np.ones((2, 5)), ValueError, "trained_on has 5 columns, but 6 are needed, one for each"),
        (csr_array((2, 7)), ValueError, "trained_on has 7 columns, but 6 are needed"),
        (np.ones((1, 2, 6)), ValueError, "trained_on must be a mask .*, but 3-D was given"),
        (True, ValueError, "trained_on must be a mask .*, but 0-D was given"),
        (np.ones(6), TypeError, "trained_on must be a boolean array .*, but float64 was given"),
        ([0, 1, 2, 3, 4, 5], TypeError, "trained_on must be a boolean array .*, but int64"),
        pytest.param(
            coo_array(np.ones(6, bool)),
            TypeError,
            "boolean array .*, but sparse bool was given",
            marks=needs_1d_sparse_arrays,
        ),
        (np.full((1, 6), "a"), TypeError, "trained_on must hold grades, but <U1 was given"),
        (np.full((1, 6), None), TypeError, "trained_on must hold grades, but object was given"),
        (np.eye(6, dtype=complex), TypeError, "trained_on must hold grades, but complex128"),
        (-np.eye(6), ValueError, "trained_on holds -1.0; grades must be finite and not negative"),
        (csr_array(-np.eye(6)), ValueError, "trained_on holds -1.0; grades must be finite"),
        (np.full((1, 6), np.nan), ValueError, "trained_on holds nan; grades must be finite"),
        (np.full((1, 6), np.inf), ValueError, "trained_on holds inf; grades must be finite"),
        ([[1, 0], [1]], ValueError, "trained_on must be a mask of items or rows of grades: "),
    ],
)
@pytest.mark.parametrize("run", [nullcontext, run_inline], ids=["plain", "distributed"])
def test_bad_input_is_refused_by_name(run, trained_on, kind, sentence):
    rows = np.arange(12.0).reshape(6, 2)
    with run(), pytest.raises(kind, match=sentence):
        lw.evaluate_retrieval("euclidean", rows, labels=[0, 0, 0, 1, 1, 1], trained_on=trained_on)


def test_no_training_query_means_that_nothing_was_seen(rng):
    rows, labels = rng.normal(size=(6, 2)), [0, 0, 0, 1, 1, 1]
    report = lw.evaluate_retrieval("euclidean", rows, labels=labels, trained_on=np.ones((0, 6)))
    assert len(report.seen.queries) == 0
    assert report.new.means() == report.means()


def test_what_was_given_is_left_as_it_is(rng):
    grades, mask = np.ones((6, 6)), np.arange(6) < 3
    lw.evaluate_retrieval(
        "euclidean", rng.normal(size=(6, 2)), relevance=grades, trained_on=mask, depth=1
    )
    assert (grades == 1).all()
    assert_array_equal(mask, np.arange(6) < 3)


def test_seen_and_new_documents_of_scifact(data_dir):
    """Before anything is learned, neither kind of documents is easier to find."""
    if not (data_dir / "scifact_minilm.npz").is_file():
        pytest.skip("LIKEWISE_DATA holds no scifact_minilm.npz")
    scifact = load_retrieval("scifact_minilm")
    train = scifact.query_is_train
    report = lw.evaluate_retrieval(
        "cosine",
        scifact.queries[~train],
        scifact.documents,
        relevance=scifact.relevance[~train],
        trained_on=scifact.relevance[train],
        k=10,
        depth=10,
    )
    found = [part["ndcg@10"] for part in (report, report.seen, report.new)]
    assert_allclose(found, [0.624, 0.622, 0.618], atol=6e-4)
    assert len(report.queries) == 300
