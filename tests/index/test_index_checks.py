"""What cannot be right is refused in one sentence, before anything is changed."""

import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

import likewise as lw
from likewise.exceptions import MissingExtraError, NotFoldableError
from likewise.index import SQL

ITEMS = [[1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [3.0, 1.0, 0.0]]


@pytest.fixture(params=["exact", "faiss", "usearch"])
def index(request):
    if request.param != "exact":
        pytest.importorskip(request.param)
    index = lw.Index(lw.Bilinear(1.0), engine=request.param)
    return index.add(["a", "b", 3], ITEMS, fields={"colour": ["red", "green", "red"]})


@pytest.mark.parametrize(
    ("error", "sentence", "options"),
    [
        (ValueError, "similarity must be one of .* Did you mean 'cosine'", {"similarity": "cosin"}),
        (TypeError, "similarity must be a name, a function of", {"similarity": np.eye(3)}),
        (
            ValueError,
            "engine must be one of .* 'fais' was given. Did you mean 'faiss'",
            {"engine": "fais"},
        ),
        (TypeError, "engine must be one of", {"engine": 3}),
        (ValueError, "fold must be one of", {"fold": "item"}),
        (ValueError, "metric must be one of", {"metric": "dot"}),
        (ValueError, "url is needed for the engine 'pgvector'", {"engine": "pgvector"}),
        (ValueError, "url and table are for the engine 'pgvector', not 'exact'", {"table": "x"}),
    ],
)
def test_what_an_index_is_made_of_is_checked(error, sentence, options):
    made_of = {"similarity": lw.Bilinear(1.0), "engine": "exact", **options}
    with pytest.raises(error, match=sentence):
        lw.Index(**made_of)


def test_a_mahalanobis_distance_is_not_folded_into_the_query_alone():
    with pytest.raises(NotFoldableError, match=r"query alone.*Use fold='both'.*inner_product"):
        lw.Index(lw.Mahalanobis(1.0), fold="query")
    with pytest.raises(NotFoldableError, match="'cosine': use 'euclidean', or 'inner_product'"):
        lw.Index(lw.Mahalanobis(1.0), metric="cosine")


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_a_metric_without_lengths_refuses_items_of_several(metric):
    index = lw.Index(lw.Bilinear(1.0), metric=metric)
    with pytest.raises(NotFoldableError, match=r"unit length, but row 2 .* use 'inner_product'"):
        index.add(range(3), ITEMS)
    assert len(index) == 0


@pytest.mark.parametrize("norm", ["dice", "jaccard"])
def test_what_does_not_fold_says_so(norm):
    pytest.importorskip("faiss")
    with pytest.raises(NotFoldableError, match=r"does not fold: use fold='rerank'"):
        lw.Index(lw.Bilinear(1.0, norm), engine="faiss", fold="both")
    with pytest.raises(NotFoldableError, match=r"takes objects.*use engine='exact'"):
        lw.Index(lw.from_callable(max), engine="faiss")
    with pytest.raises(NotFoldableError, match=r"2 and items of 3 columns .* use fold='query'"):
        lw.Index(lw.Bilinear(np.ones((2, 3))), fold="rerank")
    with pytest.raises(ValueError, match=r"metric must be one .* 'faiss' computes .* but 'cosine'"):
        lw.Index(lw.Bilinear(1.0), engine="faiss", metric="cosine")


@pytest.mark.parametrize(
    ("error", "sentence", "ids", "items"),
    [
        (TypeError, "ids must be a list, one for each item, but 'abc'", "abc", ITEMS),
        (TypeError, "ids must be a list", 5, ITEMS),
        (TypeError, "ids must be whole numbers or text, but True", [True, 7, 8], ITEMS),
        (TypeError, "ids must be whole numbers or text, but 1.0", [1.0, 7, 8], ITEMS),
        (TypeError, "ids must be whole numbers or text, but None", [None, 7, 8], ITEMS),
        (ValueError, "ids must fit into 64 bits", [2**63, 7, 8], ITEMS),
        (ValueError, "ids is empty", [], ITEMS),
        (ValueError, "ids must be unique, but 7 is given twice", [7, 8, 7], ITEMS),
        (ValueError, "ids has 2 entries, but items has 3 rows", [7, 8], ITEMS),
        (ValueError, "ids must be new, but 'a', 3 are stored already: use update", ["a", 3], 2),
        (ValueError, "items has 2 columns, but those that are stored have 3", [7], [[1.0, 2.0]]),
        (ValueError, "items holds NaN in row 0, column 1", [7], [[1.0, np.nan, 0.0]]),
        (ValueError, "items holds infinity", [7], [[1.0, np.inf, 0.0]]),
        (TypeError, "items must be rows of numbers", [7], [["x", "y", "z"]]),
        (ValueError, "items must be 2-D", [7], [1.0, 2.0, 3.0]),
    ],
)
def test_what_is_added_is_checked(index, error, sentence, ids, items):
    with pytest.raises(error, match=sentence):
        index.add(ids, ITEMS[:items] if isinstance(items, int) else items)
    assert index.ids == ["a", "b", 3]


def test_unknown_ids_are_named_with_a_hint(index):
    index.add(["apple"], ITEMS[:1])
    for refused in (
        lambda: index.update(["appel"], ITEMS[:1]),
        lambda: index.remove(["a", "appel"]),
        lambda: index.items(["appel"]),
    ):
        with pytest.raises(
            ValueError, match=r"ids must be stored, but 'appel' is not. Did you mea"
        ):
            refused()
    with pytest.raises(ValueError, match=r"queries must be stored, but 'zzzz' is not.$"):
        index.search("zzzz")
    with pytest.raises(ValueError, match="5, 6, 7 and 1 more are not"):
        index.search([5, 6, 7, 8])
    assert len(index) == 4


@pytest.mark.parametrize(
    ("error", "sentence", "options"),
    [
        (ValueError, "k must be at least 1, but 0", {"k": 0}),
        (ValueError, "k must be at least 1, but -2", {"k": -2}),
        (TypeError, "k must be a whole number, but 2.0", {"k": 2.0}),
        (TypeError, "k must be a whole number, but True", {"k": True}),
        (
            ValueError,
            "a field in where must be one of 'colour', but 'color'",
            {"where": {"color": 1}},
        ),
        (TypeError, r"where\['colour'\] must be a value or a list", {"where": {"colour": {"red"}}}),
        (TypeError, r"where\[3\] must be", {"where": {3: "red"}}),
        (TypeError, "where must be a mapping of fields", {"where": "red"}),
        (TypeError, "where must be a mapping of fields", {"where": 5}),
        (TypeError, "where must name ids .* but True", {"where": [True]}),
        (TypeError, r"where must name ids .* but \[1\]", {"where": [[1]]}),
        (TypeError, "where must name ids .* but 1.5", {"where": [1.5]}),
        (ValueError, "where is SQL, which only the engine 'pgvector'", {"where": SQL("true")}),
        (
            ValueError,
            "queries has 2 columns, but the items that are stored have 3",
            {"queries": [[1, 2]]},
        ),
        (ValueError, "queries holds NaN", {"queries": [[np.nan, 1.0, 2.0]]}),
        (ValueError, "queries must be 2-D", {"queries": [1.0, 2.0, 3.0]}),
    ],
)
def test_what_is_asked_is_checked(index, error, sentence, options):
    with pytest.raises(error, match=sentence):
        index.search(**{"queries": ITEMS, **options})


@pytest.mark.parametrize(
    ("error", "sentence", "fields"),
    [
        (TypeError, "fields must be a mapping", ["red"]),
        (TypeError, "fields must have names of text, but 3", {3: ["red"]}),
        (ValueError, r"fields\['colour'\] has 2 values, but 1 items", {"colour": ["red", "red"]}),
        (TypeError, r"fields\['colour'\] must be a list, but 'red'", {"colour": "red"}),
        (TypeError, r"fields\['colour'\] must be text, numbers or bool", {"colour": [object()]}),
        (ValueError, r"fields\['price'\] must be finite, but nan", {"price": [np.nan]}),
    ],
)
def test_fields_are_checked(index, error, sentence, fields):
    with pytest.raises(error, match=sentence):
        index.add(["new"], ITEMS[:1], fields=fields)
    assert len(index) == 3


@pytest.mark.parametrize(
    "ask",
    [
        lambda index: index.search(ITEMS),
        lambda index: index.search("a"),
        lambda index: index.served_recall(),
        lambda index: index.tune(),
    ],
)
def test_an_empty_index_says_so(index, ask):
    for empty in (lw.Index(lw.Bilinear(1.0)), index.remove(["a", "b", 3])):
        with pytest.raises(ValueError, match="the index is empty: add items before searching"):
            ask(empty)


@pytest.mark.parametrize("engine", ["faiss", "usearch"])
def test_engines_without_sparse_rows_say_so(engine):
    pytest.importorskip(engine)
    with pytest.raises(ValueError, match=rf"items is sparse, .* {engine!r} .*items.toarray\(\)"):
        lw.Index(lw.Bilinear(1.0), engine=engine).add(range(3), csr_array(ITEMS))


@pytest.mark.parametrize("engine", ["faiss", "usearch"])
def test_numbers_beyond_single_precision_are_refused(engine):
    pytest.importorskip(engine)
    index = lw.Index(lw.Bilinear(1.0), engine=engine).add(range(3), ITEMS)
    with pytest.raises(ValueError, match="items holds numbers beyond the single precision"):
        index.add([9], [[1e200, 0.0, 0.0]])
    with pytest.raises(ValueError, match="queries holds numbers beyond the single precision"):
        index.search([[1e200, 0.0, 0.0]])
    assert index.add([9], ITEMS[:1]).search(ITEMS[:1], 2).ids.tolist() in (
        [[0, 9]],
        [[9, 0]],
        [[2, 0]],
    )


@pytest.mark.parametrize(
    ("engine", "module"),
    [("faiss", "faiss"), ("usearch", "usearch.index"), ("pgvector", "psycopg")],
)
def test_a_missing_extra_is_named(monkeypatch, engine, module):
    monkeypatch.setitem(sys.modules, module, None)
    url = {"url": "postgresql://nowhere"} if engine == "pgvector" else {}
    with pytest.raises(MissingExtraError, match=rf"pip install '\S+\[{engine}\]'"):
        lw.Index(lw.Bilinear(1.0), engine=engine, **url)


@pytest.mark.parametrize("recall", [0, -1, 1.01, np.nan, "high", True])
def test_a_recall_is_a_share(index, recall):
    with pytest.raises((TypeError, ValueError), match="recall must be"):
        index.tune(recall)


def test_stored_items_that_are_no_queries_are_not_asked_for():
    index = lw.Index(lw.Bilinear(np.ones((2, 3)))).add(range(3), ITEMS)
    with pytest.raises(ValueError, match="queries names stored items, which are not of the kind"):
        index.search(0)
    with pytest.raises(ValueError, match="queries is needed, for stored items"):
        index.tune()


def test_only_ids_are_in_an_index(index):
    assert "a" in index
    assert np.int64(3) in index
    for other in (3.0, True, None, [1], "c"):
        assert other not in index
