"""The faiss engine with cells."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise.index.engines import MAX_ITEMS_EXACT
from likewise.index.engines._faiss import FaissEngine

faiss = pytest.importorskip("faiss")
VECTORS = np.random.default_rng(0).normal(size=(3000, 16)).astype(np.float32)


def test_cells_grow_with_the_items():
    engine = FaissEngine("euclidean", n_flat=500)
    engine.add(VECTORS[:400])
    assert engine.is_exact
    engine.add(VECTORS[400:700])
    assert not engine.is_exact
    first = engine._index.nlist
    engine.add(VECTORS[700:])
    assert len(engine) == len(VECTORS)
    assert engine._index.nlist > first
    assert_array_equal(engine.vectors(np.arange(len(VECTORS))), VECTORS)


def test_places_outside_the_cells_are_refused():
    engine = FaissEngine("euclidean", n_flat=10, centres=VECTORS[:3], places=np.array([0, 1, 7]))
    with pytest.raises(ValueError, match="the cells do not match the items"):
        engine.add(VECTORS[:3])


def test_training_gives_no_warning(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FaissEngine("euclidean", n_flat=500).add(VECTORS)
    assert capfd.readouterr().err == ""
    assert MAX_ITEMS_EXACT == 200_000
