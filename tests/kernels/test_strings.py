"""String similarities agree with the formulas, and with rapidfuzz."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.oracles import match as oracle

from likewise import kernels

WORDS = st.text("abcé1", min_size=1, max_size=9)


def similarities(a, b):
    letters = np.frombuffer((a + b).encode("utf-32-le"), np.int32).copy()
    starts = np.array([0, len(a), len(a) + len(b)])
    jaro_winkler, edit = np.empty((2, 1))
    kernels.string_similarities(letters, starts, np.array([0]), np.array([1]), jaro_winkler, edit)
    return jaro_winkler[0], edit[0]


@given(WORDS, WORDS)
def test_both_follow_their_formulas(a, b):
    expected = oracle.jaro_winkler(a, b), oracle.edit_similarity(a, b)
    assert_allclose(similarities(a, b), expected, rtol=1e-12)


@given(WORDS, WORDS)
def test_both_agree_with_rapidfuzz(a, b):
    distance = pytest.importorskip("rapidfuzz.distance", reason="needs the extra strings")
    assume(abs(distance.Jaro.similarity(a, b) - 0.7) > 1e-9)  # where rounding decides there
    expected = (
        distance.JaroWinkler.similarity(a, b),
        distance.OSA.normalized_similarity(a, b),
    )
    assert_allclose(similarities(a, b), expected, rtol=1e-9)


def test_a_prefix_does_not_count_at_a_jaro_similarity_of_exactly_seven_tenths():
    # rounded step by step it is 0.7000000000000001
    for a, b in (("1ba1a", "1b1b1b"), ("ba11b1", "baabb"), ("11a11", "1aaa1b")):
        assert similarities(a, b)[0] == pytest.approx(0.7, abs=1e-12)
        assert oracle.jaro_winkler(a, b) == 0.7
    assert similarities("martha", "marhta")[0] == pytest.approx(0.9611, abs=1e-4)


def test_an_empty_string_is_like_no_other():
    assert similarities("", "ab") == (0.0, 0.0)
