"""The pieces that AROMA's reproduction is measured by."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.metrics import mutual_info_score

import likewise as lw
from reproduce import aroma


def test_information_gain_is_the_mutual_information_of_presence_and_class():
    rng = np.random.default_rng(0)
    counts, y = rng.poisson(0.4, (200, 12)), rng.integers(0, 4, 200)
    counts[:, 3] = y  # a term that gives one class away
    expected = [mutual_info_score(counts[:, term] > 0, y) for term in range(12)]
    assert_allclose(aroma._information_gain(csr_array(counts), y), expected, atol=1e-12)


def test_precisions_are_those_of_the_library_at_every_block_edge(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = X[:150], y[:150]
    monkeypatch.setattr(aroma, "_QUERIES_AT_A_TIME", 64)
    found = aroma._measures(lw.as_similarity("cosine"), X, y)
    report = lw.evaluate_retrieval("cosine", X, labels=y, k=(1, 10, 50))
    names = ("precision@1", "precision@10", "precision@50", "map")
    assert_allclose(found, [report[name] for name in names], atol=1e-12)


def test_the_smaller_C_is_chosen_where_it_ranks_better(monkeypatch):
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(aroma, "_measures", lambda similarity, X, y: [similarity.W.max()])
    largest = aroma._validated_C(X[:300], y[:300], 0)
    monkeypatch.setattr(aroma, "_measures", lambda similarity, X, y: [-similarity.W.max()])
    assert {largest, aroma._validated_C(X[:300], y[:300], 0)} == {0.1, 1.0}


@pytest.mark.parametrize("only", ["merged", "teaching"])
def test_parts_can_be_run_alone(only, monkeypatch):
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(aroma, "_usps", lambda most=0: (X[:900], y[:900], X[900:1200], y[900:1200]))
    rows = list(aroma.rows(only))
    assert rows
    assert all(only in row.setting for row in rows)
    assert all(row.ours is not None and 0.3 < row.ours < 1 for row in rows)
