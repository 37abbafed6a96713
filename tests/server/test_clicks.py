"""Clicks on a real server do not harm queries that never click."""

import os
from dataclasses import replace

import pytest
from benchmarks.clicks import simulate
from reproduce._texts import load_texts

pytestmark = pytest.mark.skipif(
    "LIKEWISE_DATA" not in os.environ, reason="LIKEWISE_DATA names no folder with SciFact"
)


def test_no_version_that_clicks_promote_hurts_other_queries():
    texts = load_texts("scifact")
    found = simulate(replace(texts, test=texts.test[:100]), "ridge", n_rounds=1)
    start, *versions = found
    assert versions, "nothing was promoted, so that nothing was tested"
    for version in versions:
        assert version.overall >= start.overall
        assert version.seen > start.seen
