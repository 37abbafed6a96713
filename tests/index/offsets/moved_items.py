"""Items, the offsets that move some of them, and comparisons of two indexes."""

from itertools import count

import numpy as np
from numpy.testing import assert_array_equal
from scipy.sparse import issparse

import likewise as lw

N = 60
WIDTH = 4
_numbers = count()
rng = np.random.default_rng(3)
ITEMS = np.abs(rng.normal(size=(N, WIDTH))).astype(np.float32)
QUERIES = np.abs(rng.normal(size=(9, WIDTH))).astype(np.float32)
FORM = rng.normal(size=(WIDTH, WIDTH))
IDS = [f"i{n}" for n in range(N)]
KINDS = [
    (lw.Bilinear(FORM), {}),
    (lw.Bilinear(FORM), {"fold": "both"}),
    (lw.Bilinear(FORM), {"fold": "rerank"}),
    (lw.Bilinear(FORM, "cosine"), {}),
    (lw.Bilinear(FORM, "cosine"), {"fold": "both"}),
    (lw.Bilinear(FORM, "cosine"), {"metric": "inner_product"}),
    (lw.Mahalanobis(FORM), {}),
    (lw.Mahalanobis(FORM[:2]), {"metric": "inner_product"}),
    (lw.Mahalanobis(FORM), {"fold": "rerank"}),
]


def offsets_for(ids, seed=0, gamma=0.5):
    """Return offsets of non-negative directions, so that every norm can score what they move."""
    directions = np.abs(np.random.default_rng(seed).normal(size=(len(ids), WIDTH)))
    return lw.ItemOffsets(ids, directions, np.ones(len(ids)), gamma, np.zeros(WIDTH))


OFFSETS = offsets_for([*IDS[::3], "not stored"])


def in_table(url):
    return lambda: {"url": url, "table": f"offsets_{next(_numbers)}"}


def as_rows(items):
    return items.toarray() if issparse(items) else np.asarray(items)


def assert_same_answers(index, fresh, k=N):
    """Assert that two indexes find the same, to the last bit: by the engine and by scoring."""
    for where in (None, IDS):
        found, expected = index.search(QUERIES, k, where), fresh.search(QUERIES, k, where)
        if where is None and "usearch" in (index.engine, fresh.engine):
            assert_same_scores(found, expected)
            continue
        assert found.ids.tolist() == expected.ids.tolist()
        assert_array_equal(found.scores, expected.scores)


def assert_same_scores(found, expected):
    """Assert that two graphs agree in what both find: threads build them, each a bit otherwise."""
    for row in range(len(found.ids)):
        scores, others = dict(found.row(row)), dict(expected.row(row))
        common = set(scores) & set(others)
        assert len(common) >= 0.8 * max(len(scores), len(others))
        assert [scores[i] for i in common] == [others[i] for i in common]


def bits(rows):
    rows = as_rows(rows)
    return rows.dtype, rows.tobytes()
