"""The pieces that AROMA's reproduction is measured by."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.metrics import mutual_info_score

import likewise as lw
from reproduce import _hierarchy, _newsgroups, _retrieval, _visual_words, aroma


def test_information_gain_is_the_mutual_information_of_presence_and_class():
    rng = np.random.default_rng(0)
    counts, y = rng.poisson(0.4, (200, 12)), rng.integers(0, 4, 200)
    counts[:, 3] = y  # a term that gives one class away
    expected = [mutual_info_score(counts[:, term] > 0, y) for term in range(12)]
    assert_allclose(_newsgroups.information_gain(csr_array(counts), y), expected, atol=1e-12)


def test_precisions_are_those_of_the_library_at_every_block_edge(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = X[:150], y[:150]
    monkeypatch.setattr(_retrieval, "_QUERIES_AT_A_TIME", 64)
    found = _retrieval.measures(lw.as_similarity("cosine"), X, y)
    report = lw.evaluate_retrieval("cosine", X, labels=y, k=(1, 10, 50))
    names = ("precision@1", "precision@10", "precision@50", "map")
    assert_allclose(found, [report[name] for name in names], atol=1e-12)


def test_a_value_is_chosen_by_rows_that_nothing_was_learned_from():
    """What knows its rows by heart is the best on them, and no better than others on the rest."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    learned_from = []

    class Similarity:
        def __init__(self, value, X, y):
            learned_from.append(X)
            self._known = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
            self._value = value

        def score(self, Q, P):
            if self._value == "by heart":
                labels = [[self._known.get(row.tobytes(), -1) for row in rows] for rows in (Q, P)]
                return np.equal.outer(*map(np.array, labels)).astype(float)
            return lw.as_similarity("cosine").score(Q, P)

    assert _retrieval.best_value(Similarity, ["by heart", "cosine"], X, y, 0) == "cosine"
    assert_array_equal(*learned_from)
    assert 0.7 * 300 < len(learned_from[0]) < 0.9 * 300


def test_classes_are_alike_by_their_lowest_common_ancestor():
    names = ["computer-mouse", "laptop-101", "calculator", "coffee-mug"]
    expected = [[3, 2, 1, 0], [2, 3, 1, 0], [1, 1, 3, 0], [0, 0, 0, 3]]
    assert_allclose(_hierarchy.class_similarity(names) * 3, expected, atol=1e-12)


def test_classes_that_are_recognized_are_found_with_a_hierarchy_and_without():
    X, y = load_digits(return_X_y=True)
    split = X[:400], y[:400], X[400:500], y[400:500]
    for flat in (True, False):
        assert _hierarchy.hier(split, list(_hierarchy.PATHS), 0, flat=flat)[-1] > 0.85


def test_the_curve_of_a_method_is_read_from_its_rows():
    rows = [
        aroma.Row(aroma._NEWS, f"OASIS, {n} triplets: {measure}", None, value)
        for n, value in (("10,000", 0.6), ("1,000", 0.5))
        for measure in ("p@10", "mAP")
    ]
    (points,) = aroma._curve(rows, aroma._NEWS, r"(.*), ([\d,]+) triplets: p@10").values()
    assert points == [(1000.0, 0.5), (10_000.0, 0.6)]
    assert [title for title, _ in aroma.figures(rows)] == ["triplets"]


@pytest.fixture
def small(monkeypatch):
    """Make every setting small."""
    X, y = load_digits(return_X_y=True)
    split = csr_array(X[:120]), y[:120], csr_array(X[120:200]), y[120:200]
    dense = X[:120], y[:120], X[120:200], y[120:200]
    narrow = X[:120, 20:28], y[:120], X[120:200, 20:28], y[120:200]
    rng = np.random.default_rng(0)
    relevance = csr_array((rng.random((60, 80)) < 0.05).astype(float))
    queries, items = rng.normal(size=(60, 6)), rng.normal(size=(80, 6))
    parts = np.arange(40), np.arange(40, 60)
    texts = [aroma.Texts(items, queries, relevance, *parts)]
    monkeypatch.setattr(aroma, "_CHECKPOINTS", (100, 200))
    for name in ("_N_VALIDATED", "_N_SMALL", "_N_RELEVANCE", "_N_RANDOM"):
        monkeypatch.setattr(aroma, name, 200)
    monkeypatch.setattr(aroma, "_N_DRAWS", 2)
    monkeypatch.setattr(_visual_words, "_N_TRIPLETS", 1000)
    monkeypatch.setattr(aroma, "news_splits", lambda n: iter([split] * 2))
    monkeypatch.setattr(_visual_words, "_image_splits", lambda: iter([split] * 2))
    monkeypatch.setattr(_visual_words, "_class_names", lambda: list(_hierarchy.PATHS))
    monkeypatch.setattr(aroma, "_small_splits", lambda name: iter([narrow] * 2))
    monkeypatch.setattr(aroma, "_usps", lambda most=0: (X[:200], y[:200], X[200:300], y[200:300]))
    monkeypatch.setattr(aroma, "_TEXTS", dict.fromkeys(aroma._TEXTS, lambda: texts))
    return dense


SETTINGS = [(s, m) for s, methods in aroma._SETTINGS.items() for m in methods]


@pytest.mark.filterwarnings("ignore:.*the start is kept")
@pytest.mark.parametrize(("setting", "method"), SETTINGS, ids=[f"{s}: {m}" for s, m in SETTINGS])
def test_every_part_can_be_run_alone(setting, method, small):
    rows = list(aroma.rows(f"{setting}: {method}"))
    assert rows
    assert {row.setting for row in rows} == {setting}
    assert all(row.ours is not None and 0 <= row.ours <= 1 for row in rows)
