"""The usearch engine."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.index.engines._usearch import UsearchEngine

usearch = pytest.importorskip("usearch")
VECTORS = np.random.default_rng(0).normal(size=(600, 16)).astype(np.float32)
QUERIES = np.random.default_rng(1).normal(size=(100, 16)).astype(np.float32)


@pytest.mark.parametrize("metric", ["inner_product", "cosine", "euclidean"])
def test_a_longer_vector_rebuilds_the_graph_with_all_items(metric):
    engine = UsearchEngine(metric)
    engine.add(VECTORS[:500])
    engine.remove(np.arange(10))
    engine.add(VECTORS[500:] * 50)
    assert len(engine) == 600
    expected = np.concatenate([VECTORS[10:500], VECTORS[500:] * 50])
    assert_allclose(engine.vectors(np.r_[10:600]), expected, rtol=1e-6)
    assert engine.search(QUERIES, 600, None).slots.max() < 600
    assert 5 not in engine.search(VECTORS[5:6], 600, None).slots
