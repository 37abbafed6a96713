"""Items in a table of the pgvector engine, and queries."""

import numpy as np

import likewise as lw

ITEMS = np.random.default_rng(3).normal(size=(60, 4)).astype(np.float32)
QUERIES = np.random.default_rng(4).normal(size=(9, 4)).astype(np.float32)
FORM = np.random.default_rng(5).normal(size=(4, 4))
COLOURS = ["red", "green", "blue"] * 20


def filled(place, similarity=None, **options):
    """Return an index of all items in a new table."""
    similarity = similarity or lw.Bilinear(1.0)
    index = lw.Index(similarity, **place, **options)
    return index.add(range(60), ITEMS, fields={"colour": COLOURS, "n": list(range(60))})
