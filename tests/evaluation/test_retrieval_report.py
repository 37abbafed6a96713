"""What evaluate_retrieval refuses, and how its report reads."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from scipy.sparse import csr_array

import likewise as lw
from likewise.exceptions import MissingExtraError

ROWS = np.arange(12.0).reshape(6, 2)
LABELS = [0, 0, 0, 1, 1, 1]


@pytest.fixture
def report(rng):
    labels = rng.integers(3, size=30)
    labels[0] = 7
    return lw.evaluate_retrieval("euclidean", rng.normal(size=(30, 2)), labels=labels, k=(1, 5))


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        ({}, ValueError, "one of labels and relevance must be given, but neither"),
        (
            {"labels": LABELS, "relevance": np.eye(6)},
            ValueError,
            "relevance must be given, but both",
        ),
        ({"labels": LABELS[:5]}, ValueError, "queries has 6 rows and labels has 5"),
        ({"labels": [LABELS]}, ValueError, "labels must be 1-D"),
        ({"labels": LABELS, "items": ROWS}, ValueError, "items were given without item_labels"),
        (
            {"labels": LABELS, "items": ROWS, "item_labels": [0]},
            ValueError,
            "items has 6 rows and item_labels has 1",
        ),
        ({"labels": LABELS, "items": ROWS[:, :1], "item_labels": LABELS}, ValueError, "1 columns"),
        ({"relevance": np.eye(6)[:5]}, ValueError, "queries has 6 rows and relevance has 5"),
        ({"relevance": np.eye(6)[:, :5]}, ValueError, "relevance has 5 columns, but 6 are needed"),
        ({"relevance": -np.eye(6)}, ValueError, "relevance holds -1, but grades must not be"),
        ({"relevance": csr_array(-np.eye(6))}, ValueError, "relevance holds -1, but grades"),
        ({"relevance": np.full((6, 6), np.nan)}, ValueError, "relevance holds NaN"),
        ({"relevance": np.zeros((6, 6))}, ValueError, "no query has a relevant item"),
        ({"relevance": csr_array((6, 6))}, ValueError, "no query has a relevant item"),
        ({"relevance": np.eye(6)}, ValueError, "no query has a relevant"),  # each only itself
        ({"labels": LABELS, "k": 0}, ValueError, "k must be at least 1, but 0 was given"),
        ({"labels": LABELS, "k": 2.5}, TypeError, "k must be a whole number, but 2.5 was given"),
        ({"labels": LABELS, "k": True}, TypeError, "k must be a whole number, but True was given"),
        ({"labels": LABELS, "k": "ten"}, TypeError, "k must be a whole number, but 'ten'"),
        ({"labels": LABELS, "k": ()}, ValueError, "k must hold at least one cut-off"),
        ({"labels": LABELS, "depth": 0}, ValueError, "depth must be at least 1, but 0 was given"),
        ({"labels": LABELS, "depth": 2.5}, TypeError, "depth must be a whole number, but 2.5"),
        ({"labels": LABELS, "similarity": "cosin"}, ValueError, "similarity must be one of 'euc"),
        ({"labels": LABELS, "similarity": "precomputed"}, ValueError, "queries must be a square"),
        ({"labels": LABELS, "queries": ROWS[:0]}, ValueError, "queries has no rows"),
        ({"labels": LABELS, "queries": ROWS * np.nan}, ValueError, "queries holds NaN in row 0"),
        ({"labels": LABELS, "queries": ROWS[0]}, ValueError, "queries must be 2-D"),
        (
            {"labels": LABELS, "similarity": lw.Bilinear(np.ones((2, 3)))},
            ValueError,
            "queries has 2 columns, but 3 are needed",
        ),
    ],
)
def test_bad_input_is_refused_by_name(arguments, kind, sentence):
    arguments = {"similarity": "euclidean", "queries": ROWS, **arguments}
    with pytest.raises(kind, match=sentence):
        lw.evaluate_retrieval(**arguments)


def test_the_report_reads_as_a_table(report):
    first, head, *lines = str(report).splitlines()
    assert first == "29 queries (1 with nothing relevant left out)"
    assert head.split() == ["measure", "mean", "std.", "error"]
    assert [line.split()[0] for line in lines] == list(report.per_query)
    values = report.per_query["recall@5"]
    name, mean, error = lines[list(report.per_query).index("recall@5")].split()
    assert (name, mean) == ("recall@5", f"{values.mean():.4f}")
    assert float(error) == pytest.approx(np.sqrt(values.var(ddof=1) / 29), abs=6e-5)


def test_the_report_is_short_in_a_list_and_a_table_in_a_notebook(report):
    assert repr(report) == f"RetrievalReport(29 queries, map={report['map']:.4f})"
    html = report._repr_html_()
    assert html.startswith("<table>")
    assert html.count("<tr>") == 1 + len(report.per_query)


def test_an_unknown_measure_is_a_key_that_is_not_there(report):
    with pytest.raises(KeyError):
        report["precision@2"]


def test_the_plot_draws_the_measures_against_k(report):
    mpl.use("agg")
    ax = report.plot(label="euclid")
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.get_lines()}
    assert drawn["euclid: recall"] == [[1, report["recall@1"]], [5, report["recall@5"]]]
    assert list(drawn) == ["euclid: precision", "euclid: recall", "euclid: ndcg"]
    assert report.plot(ax=ax) is ax
    assert len(ax.get_lines()) == 6
    mpl.pyplot.close(ax.figure)


def test_the_plot_without_matplotlib_says_what_to_install(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\S+\[plots\]'"):
        report.plot()


def test_progress_is_shown_when_asked_for(capsys):
    lw.evaluate_retrieval("euclidean", ROWS, labels=LABELS)
    assert capsys.readouterr().err == ""
    lw.evaluate_retrieval("euclidean", ROWS, labels=LABELS, verbose=True)
    assert "ranking: 6/6 queries" in capsys.readouterr().err
