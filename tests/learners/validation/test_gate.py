import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import ridge as oracle

import likewise as lw
from likewise.learners.validation._gate import MIN_GAIN_IN_ERRORS, judge
from likewise.learners.validation._held_out import HeldOutLabels


def values(rng, gains, n=40, spread=0.1):
    """Return values of candidates with mean gains (overall, seen, new) over a random start."""
    start = rng.random((3, n))
    noise = rng.normal(scale=spread, size=(len(gains), 1, 3, n))
    noise -= noise.mean(axis=-1, keepdims=True)
    return start, start + noise + np.array(gains)[:, None, :, None]


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 30))
def test_the_candidate_is_that_of_the_printed_rule(seed, n_candidates, n):
    rng = np.random.default_rng(seed)
    start = rng.random((3, n))
    candidates = start + rng.normal(scale=0.2, size=(n_candidates, 1, 3, n))
    candidates[rng.random(candidates.shape) < 0.2] = np.nan
    candidates[:, :, 0] = np.nan_to_num(candidates[:, :, 0])
    verdict = judge(start, candidates)
    best = oracle.protect(start, candidates[:, 0])
    if best is None:
        assert not verdict.passes
        return
    place, gain, error = best
    assert (verdict.form, verdict.step) == (place, 0)
    assert verdict.passes == (gain > 0 and gain > MIN_GAIN_IN_ERRORS * error)
    if n >= 5:
        found = verdict.outcomes["overall"]
        assert_allclose(found.learned - found.start, gain, atol=1e-12)
        assert_allclose(found.error, error, atol=1e-12)


def test_new_items_are_protected_by_default_and_not_where_they_are_not_to_be(rng):
    start, candidates = values(rng, [(0.5, 0.6, -0.4), (0.3, 0.4, 0.0)])
    assert judge(start, candidates).form == 1
    assert judge(start, candidates, "allow").form == 0
    assert judge(start, candidates, "allow").passes


def test_strict_takes_the_form_that_new_items_gain_most_by_and_a_step_that_costs_them_nothing(rng):
    start, forms = values(rng, [(0.5, 0.6, 0.0), (0.2, 0.2, 0.1)])
    steps = forms + np.array([[0, 0, 0], [0.1, 0.2, -0.01], [0.2, 0.3, -0.3]])[None, :, :, None]
    verdict = judge(start, steps, "strict")
    assert (verdict.form, verdict.step) == (1, 1)


@pytest.mark.parametrize("new_items", ["protect", "allow", "strict"])
def test_what_gains_less_than_the_errors_is_not_published(rng, new_items):
    start, candidates = values(rng, [(0.02, 0.02, 0.02)])
    verdict = judge(start, candidates, new_items)
    assert 1 < verdict.errors < MIN_GAIN_IN_ERRORS
    assert not verdict.passes
    assert judge(start, candidates, new_items, min_gain=1).passes


@pytest.mark.parametrize("n", [0, 1, 4])
def test_few_queries_never_pass(n):
    start = np.zeros((3, n))
    verdict = judge(start, start + np.ones((2, 3, 3, n)))
    assert not verdict.passes
    assert verdict.outcomes["overall"].n == n


def test_of_equal_candidates_the_first_is_taken(rng):
    start, candidates = values(rng, [(0.3, 0.3, 0.3)])
    assert judge(start, np.concatenate([candidates, candidates])).form == 0


def test_the_start_itself_is_never_published():
    start = np.full((3, 10), 0.5)
    assert not judge(start, start[None, None]).passes


def test_a_larger_error_needs_a_larger_gain(rng):
    start, candidates = values(rng, [(0.06, 0.06, 0.06)])
    assert judge(start, candidates).passes
    doubled = judge(start, candidates, error_scale=2.0)
    assert not doubled.passes
    assert_allclose(
        doubled.outcomes["new"].error, 2 * judge(start, candidates).outcomes["new"].error
    )


def test_a_form_whose_precision_at_one_falls_is_not_chosen(rng):
    """The mean over the whole ranking gains most by the second form, which loses the head."""
    start = np.tile(rng.uniform(0.2, 0.4, 60), (3, 1))
    values = np.stack([start + 0.1, start + 0.3])[:, None] + rng.normal(0, 0.01, (2, 1, 3, 60))
    heads = np.ones((3, 60))
    heads[2, :6] = 0
    assert judge(start, values).form == 1
    verdict = judge(start, values, heads=heads)
    assert (verdict.form, verdict.passes) == (0, True)
    heads[1, :6] = 0
    assert not judge(start, values, heads=heads).passes
    heads[1:, 0] = [1, 0]  # one of sixty is within the error
    heads[1:, 1:] = 1
    assert judge(start, values, heads=heads).form == 1
    assert judge(start, values, heads=heads, max_head_loss=0.0).form == 0


@pytest.mark.parametrize("make", [lw.AROMA, lw.OASIS])
@pytest.mark.filterwarnings("ignore:.*the start is kept:UserWarning")
def test_random_labels_pass_in_at_most_five_of_a_hundred_draws(make):
    n_published = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, 10)), rng.integers(0, 3, 100)
        learner = make(n_triplets=4000, random_state=seed).fit(X, y)
        n_published += learner.validation_["published"]
    assert n_published <= 5


def test_the_head_is_the_precision_at_one_among_held_out_rows():
    data = lw.datasets.load("digits")
    X, y = data.X[:600], data.y[:600]
    held = HeldOutLabels(X, y, np.arange(400, 600))
    distances = -(X[400:] @ X[400:].T) / np.outer(*[np.linalg.norm(X[400:], axis=1)] * 2)
    np.fill_diagonal(distances, np.inf)
    expected = y[400:][distances.argmin(axis=1)] == y[400:]
    assert_array_equal(held.head(lw.Bilinear(np.eye(X.shape[1]), norm="cosine")), expected)
