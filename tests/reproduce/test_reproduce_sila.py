"""Table 1 of the SiLA paper, the columns without learning."""

import json
import socket

import numpy as np
import pytest
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

import likewise as lw
from likewise.reproduce import reproduce, sila


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """Hide the folder and scikit-learn's cache, and send every download to a closed port."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # never listening: a connection is refused
        for scheme in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(scheme, f"http://127.0.0.1:{bound.getsockname()[1]}")
        for exception in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(exception, raising=False)
        monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
        monkeypatch.delenv("LIKEWISE_DATA", raising=False)
        yield


def keep(monkeypatch, *settings):
    """Keep only these settings, with one seed and a few neighbours."""
    published = {setting: sila._PUBLISHED[setting] for setting in settings}
    monkeypatch.setattr(sila, "_PUBLISHED", published)
    monkeypatch.setattr(sila, "_SEEDS", range(1))
    monkeypatch.setattr(sila, "_NEIGHBORS", (1, 5))


def test_the_table_is_written_and_drawn(monkeypatch, tmp_path):
    keep(monkeypatch, ("balance", "euclidean"), ("balance", "cosine"))
    rows = reproduce("sila", tmp_path)
    assert [(row.setting, row.method, row.published) for row in rows] == [
        ("balance", "kNN euclidean", 0.911),
        ("balance", "kNN cosine", 0.959),
    ]
    assert all(0.8 < row.ours < 1 and 0 < row.deviation < 0.1 for row in rows)
    assert rows[0].note in ("k=1, 5 splits", "k=5, 5 splits")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "sila-table1.png",
        "sila.json",
        "sila.md",
    ]
    assert json.loads((tmp_path / "sila.json").read_text())["rows"][1]["published"] == 0.959
    assert (tmp_path / "sila-table1.png").read_bytes().startswith(b"\x89PNG")


def test_a_set_that_is_not_to_be_had_is_a_row_with_a_note(monkeypatch, tmp_path, offline):
    keep(monkeypatch, ("news", "cosine"), ("balance", "cosine"))
    news, balance = reproduce("sila", tmp_path)
    assert (news.published, news.ours, news.deviation) == (0.929, None, None)
    assert "LIKEWISE_DATA" in news.note
    assert balance.ours is not None
    assert "| news | kNN cosine | 0.929 | – | – | " in (tmp_path / "sila.md").read_text()


def test_a_figure_without_any_measured_row_can_be_drawn():
    ((title, figure),) = sila.figures([])
    assert title == "table1"
    assert figure.axes[0].get_ylabel() == "average accuracy"


def test_bars_are_as_high_as_the_measured_rows(monkeypatch, tmp_path, offline):
    keep(monkeypatch, ("news", "cosine"), ("balance", "cosine"))
    rows = list(sila.rows())
    ((_, figure),) = sila.figures(rows)
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights == [0.959, rows[1].ours]


@pytest.mark.parametrize("similarity", ["euclidean", "cosine"])
def test_one_against_rest_averages_over_one_binary_problem_a_class(similarity, rng, monkeypatch):
    """As scikit-learn's neighbours do on each problem; an odd k cannot tie."""
    monkeypatch.setattr(sila, "_NEIGHBORS", (1, 3, 7))
    X, X_test = rng.normal(size=(90, 3)), rng.normal(size=(40, 3))
    y, y_test = rng.integers(3, size=90), rng.integers(3, size=40)
    found = sila._one_against_rest(similarity, X, y, X_test, y_test)
    expected = []
    for k in (1, 3, 7):
        problems = OneVsRestClassifier(KNeighborsClassifier(k, metric=similarity)).fit(X, y)
        right = [
            np.mean(binary.predict(X_test) == (y_test == c))
            for c, binary in enumerate(problems.estimators_)
        ]
        expected.append(np.mean(right))
    assert found == pytest.approx(expected)


def test_folds_cover_every_row_once_a_seed(monkeypatch):
    monkeypatch.setattr(sila, "_SEEDS", range(2))
    folds = list(sila._folds("balance"))
    assert len(folds) == 10
    everything = np.unique(lw.datasets.load("balance").X, axis=0)
    for seed in (folds[:5], folds[5:]):
        tested = np.concatenate([X_test for _, _, X_test, _ in seed])
        assert np.array_equal(tested[np.lexsort(tested.T[::-1])], everything)
    for X, _, X_test, _ in folds:
        assert len(X) + len(X_test) == 625


def test_cosine_neighbours_reach_the_published_accuracy_on_balance(monkeypatch):
    """Published .959, the average of one classifier against the rest for each class."""
    monkeypatch.setattr(sila, "_PUBLISHED", {("balance", "cosine"): 0.959})
    monkeypatch.setattr(sila, "_SEEDS", range(1))
    (row,) = sila.rows()
    assert row.ours >= 0.95
