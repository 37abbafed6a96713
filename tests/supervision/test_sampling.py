"""Triplets drawn from labels and from grades, and those that clicks speak of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix

from likewise.supervision import (
    LabelTriplets,
    RelevanceTriplets,
    check_relevance,
    click_triplets,
    position_weights,
)


def shares(values, size):
    return np.bincount(values, minlength=size) / len(values)


@settings(max_examples=60)
@given(
    labels=hnp.arrays(np.int64, st.integers(3, 12), elements=st.integers(0, 3)),
    seed=st.integers(0, 99),
)
def test_the_closer_row_is_another_of_the_class_and_the_farther_of_another_class(labels, seed):
    counts = np.bincount(labels)
    if np.count_nonzero(counts) < 2 or counts.max() < 2:
        with pytest.raises(ValueError, match=r"y has (one class|no class of two rows)"):
            LabelTriplets(labels)
        return
    query, closer, farther = LabelTriplets(labels).draw(60, np.random.default_rng(seed)).T
    assert (labels[query] == labels[closer]).all()
    assert (query != closer).all()
    assert (labels[query] != labels[farther]).all()


def test_each_part_of_a_triplet_is_drawn_uniformly():
    y = np.array(["b", "a", "b", "c", "a", "b", "lonely"])
    triplets = LabelTriplets(y).draw(60_000, np.random.default_rng(0))
    assert_allclose(shares(triplets[:, 0], 7), np.array([1, 1, 1, 0, 1, 1, 0]) / 5, atol=0.01)
    of_first = triplets[triplets[:, 0] == 0]
    assert_allclose(shares(of_first[:, 1], 7), [0, 0, 0.5, 0, 0, 0.5, 0], atol=0.02)
    assert_allclose(shares(of_first[:, 2], 7), [0, 0.25, 0, 0.25, 0.25, 0, 0.25], atol=0.02)
    of_pair = triplets[triplets[:, 0] == 1]
    assert (of_pair[:, 1] == 4).all()


def test_queries_and_items_come_from_the_rows_that_are_named():
    y = np.arange(30) % 3
    queries, items = np.array([0, 1, 2, 20]), np.arange(10, 28)
    triplets = LabelTriplets(y, queries, items).draw(5000, np.random.default_rng(0))
    assert set(triplets[:, 0]) == set(queries)
    assert set(triplets[:, 1:].ravel()) == set(items)
    assert (triplets[:, 0] != triplets[:, 1]).all()


def test_the_same_seed_draws_the_same():
    y, grades = np.arange(20) % 4, np.eye(5)
    for source in (LabelTriplets(y), RelevanceTriplets(grades)):
        one, other, third = (source.draw(50, np.random.default_rng(s)) for s in (1, 1, 2))
        assert_array_equal(one, other)
        assert (one != third).any()
        assert one.dtype == np.int64


GRADES = np.array([[3, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]])


@pytest.mark.parametrize("kind", [np.asarray, csr_array, csr_matrix])
def test_queries_are_drawn_uniformly_and_closer_items_by_their_grade(kind):
    triplets = RelevanceTriplets(kind(GRADES)).draw(40_000, np.random.default_rng(0))
    assert_allclose(shares(triplets[:, 0], 3), [0.5, 0, 0.5], atol=0.02)
    of_first = triplets[triplets[:, 0] == 0]
    assert_allclose(shares(of_first[:, 1], 5), [0.75, 0.25, 0, 0, 0], atol=0.02)


def test_where_every_item_is_graded_the_lowest_are_never_closer():
    """Ratings, such as 1 to 5 stars: an item at the bottom has nothing below it."""
    ratings = np.array([[5, 4, 1, 1], [2, 2, 1, 2]])
    query, closer, farther = RelevanceTriplets(ratings).draw(500, np.random.default_rng(0)).T
    assert (ratings[query, closer] > ratings[query, farther]).all()
    assert set(query) == {0, 1}


def usable_grades():
    """Return grades of which every query has an item below its lowest positive grade."""
    return hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 6)),
        elements=st.sampled_from([0, 0, 1, 3]),
    ).map(lambda grades: np.hstack([grades, np.zeros((len(grades), 1))]))


@pytest.mark.parametrize("negatives", ["unjudged", "judged"])
@settings(max_examples=60)
@given(grades=usable_grades(), seed=st.integers(0, 99))
def test_the_farther_item_always_has_a_lower_grade(negatives, grades, seed):
    if not grades.any():
        with pytest.raises(ValueError, match="relevance has no positive grade"):
            RelevanceTriplets(grades)
        return
    source = RelevanceTriplets(grades, negatives=negatives)
    query, closer, farther = source.draw(40, np.random.default_rng(seed)).T
    assert (grades[query, closer] > grades[query, farther]).all()


def test_farther_items_are_drawn_uniformly_among_the_lower_graded():
    triplets = RelevanceTriplets(GRADES[:1]).draw(30_000, np.random.default_rng(0))
    below_3, below_1 = (triplets[triplets[:, 1] == item][:, 2] for item in (0, 1))
    assert_allclose(shares(below_3, 5), [0, 0.25, 0.25, 0.25, 0.25], atol=0.02)
    assert_allclose(shares(below_1, 5), [0, 0, 1 / 3, 1 / 3, 1 / 3], atol=0.02)


def judged(n_relevant, n_refused, n_items):
    """Return grades of one query: some 1, some a stored 0, the rest not judged."""
    stored = np.r_[np.ones(n_relevant), np.zeros(n_refused)]
    at = np.zeros(len(stored), int), np.arange(len(stored))
    return csr_array((stored, at), shape=(1, n_items))


@pytest.mark.parametrize("n_relevant", [1, 300])
def test_judged_negatives_are_judged_wherever_a_query_has_such(n_relevant):
    source = RelevanceTriplets(judged(n_relevant, 1, 2000), negatives="judged")
    farther = source.draw(500, np.random.default_rng(0))[:, 2]
    assert (farther == n_relevant).all()


def test_a_query_without_judged_negatives_takes_any():
    source = RelevanceTriplets(judged(2, 0, 50), negatives="judged")
    farther = source.draw(3000, np.random.default_rng(0))[:, 2]
    assert set(farther) == set(range(2, 50))


def test_a_farther_item_is_found_where_nearly_every_item_is_relevant():
    grades = np.ones((1, 5000))
    grades[0, 17] = 0
    assert (RelevanceTriplets(grades).draw(20, np.random.default_rng(0))[:, 2] == 17).all()


def test_hard_negatives_come_from_the_top_of_the_ranking():
    grades = np.zeros((2, 100))
    grades[:, 0] = 1
    source = RelevanceTriplets(grades, hard=0.6)
    source.set_ranking(np.array([[0, 5, 6], [7, 0, 8]]))
    triplets = source.draw(20_000, np.random.default_rng(0))
    hard = np.where(triplets[:, 0] == 0, np.isin(triplets[:, 2], [5, 6]), False)
    hard |= np.where(triplets[:, 0] == 1, np.isin(triplets[:, 2], [7, 8]), False)
    assert 0.5 < hard.mean() < 0.65
    assert (triplets[:, 2] != 0).all()


def test_weights_change_how_often_a_judgement_is_drawn():
    weights = np.array([[1.0, 9.0, 0.0, 0.0, 0.0]])
    for kind in (np.asarray, csr_array, csr_matrix):
        source = RelevanceTriplets(GRADES[:1], kind(weights))
        triplets = source.draw(20_000, np.random.default_rng(0))
        assert_allclose(shares(triplets[:, 1], 5), [0.25, 0.75, 0, 0, 0], atol=0.02)
    none = RelevanceTriplets(GRADES[:1], np.array([[0.0, 1, 1, 1, 1]]))
    assert (none.draw(100, np.random.default_rng(0))[:, 1] == 1).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"relevance": [1, 2]}, ValueError, "relevance must be 2-D, .* but 1-D"),
        ({"relevance": [["a"]]}, TypeError, "relevance must hold grades"),
        ({"relevance": [[1, -1]]}, ValueError, "relevance holds -1.* not negative"),
        ({"relevance": [[1, np.nan]]}, ValueError, "relevance holds nan"),
        ({"relevance": [[1, np.inf]]}, ValueError, "relevance holds inf"),
        ({"relevance": [[0, 0]]}, ValueError, "no positive grade"),
        ({"relevance": [[1, 0]], "weights": [[1]]}, ValueError, "weights must have the shape"),
        ({"relevance": [[1, 0]], "weights": [[-1, 1]]}, ValueError, "weights must be finite"),
        ({"relevance": [[1, 0]], "weights": [[np.nan, 1]]}, ValueError, "weights must be finite"),
        ({"relevance": [[1, 0]], "negatives": "all"}, ValueError, "negatives must be one of"),
        ({"relevance": [[1, 0]], "hard": 1.5}, ValueError, "hard must be at most 1, but 1.5"),
        ({"relevance": [[1, 0]], "hard": -1}, ValueError, "hard must be finite and at least 0"),
    ],
)
def test_grades_that_are_none_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        RelevanceTriplets(**arguments)


def test_relevance_of_another_shape_is_refused_and_what_is_given_is_not_changed():
    with pytest.raises(ValueError, match="relevance is 3×5, but queries has 4 rows"):
        check_relevance(GRADES, np.ones((4, 2)), np.ones((5, 2)))
    with pytest.raises(ValueError, match="relevance is 3×5, but items has 4 rows"):
        check_relevance(GRADES, np.ones((3, 2)), np.ones((4, 2)))
    twice = csr_array((np.ones(3), ([0, 0, 0], [2, 2, 1])), shape=(1, 3))
    unsorted = csr_array((np.array([1.0, 2.0, 3.0]), [2, 0, 2], [0, 3]), shape=(1, 3))
    kept = unsorted.indices.copy()
    assert_array_equal(check_relevance(unsorted).toarray(), [[2, 0, 4]])
    assert_array_equal(unsorted.indices, kept)
    assert_array_equal(check_relevance(twice).toarray(), [[0, 1, 2]])


def test_items_of_one_class_are_refused_with_a_sentence():
    with pytest.raises(ValueError, match="class"):
        LabelTriplets(np.array([0, 0, 1]), items=np.array([0, 1])).draw(3, np.random.default_rng(0))


# Clicks.


def test_clicks_further_down_count_more_up_to_a_limit():
    assert_allclose(position_weights([1, 4, 9], bias=0.5), [1, 2, 3])
    assert_allclose(position_weights([1, 4, 900], maximum=5.0), [1, 4, 5])
    assert_allclose(position_weights([3, 8], bias=0), [1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1],), "positions must be whole numbers from 1, but 0 was"),
        (([1.5],), "positions must be whole numbers from 1, but float64 was"),
        (([1], -1), "bias must be finite and at least 0"),
        (([1], 1, 0.5), "maximum must be finite and at least 1"),
    ],
)
def test_positions_that_are_none_are_refused(arguments, message):
    names = dict(zip(("bias", "maximum"), arguments[1:], strict=False))
    with pytest.raises(ValueError, match=message):
        position_weights(arguments[0], **names)


def click_oracle(rows, n_after, bias=1.0):
    """Return the triplets and weights that clicks speak of, in plain loops."""
    found = []
    for one in rows:
        for other in rows:
            passed = other[3] <= one[3] + n_after and not other[4]
            if one[0] == other[0] and one[4] and passed and one[2] != other[2]:
                found.append((one[1], one[2], other[2], min(one[3] ** bias, 20.0)))
    return sorted(found)


@settings(max_examples=60)
@given(seed=st.integers(0, 9999), n_after=st.integers(0, 3))
def test_a_click_beats_what_was_passed_over(seed, n_after):
    rng = np.random.default_rng(seed)
    rows = []
    for impression in rng.permutation(4):
        size = rng.integers(1, 6)
        shown = rng.permutation(9)[:size]
        for position, item in enumerate(shown, start=1):
            rows.append([impression * 7, impression % 2, item, position, rng.integers(2)])
    rows = rng.permutation(np.array(rows))
    triplets, weights = click_triplets(rows, n_after=n_after)
    found = sorted((*t, w) for t, w in zip(triplets.tolist(), weights.tolist(), strict=True))
    assert found == click_oracle(rows.tolist(), n_after)


def test_lists_without_a_click_or_without_rows_say_nothing():
    for rows in ([[0, 0, 1, 1, 0]], np.empty((0, 5), int), [[0, 0, 1, 1, 1]]):
        triplets, weights = click_triplets(rows)
        assert triplets.shape == (0, 3)
        assert weights.shape == (0,)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_of_impressions_is_read_by_name(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame(
        {
            "clicked": [False, True],
            "item": [3, 4],
            "query": [5, 5],
            "position": [1, 2],
            "impression": ["monday", "monday"],
        }
    )
    triplets, weights = click_triplets(frame)
    assert triplets.tolist() == [[5, 4, 3]]
    assert weights.tolist() == [2.0]
    with pytest.raises(ValueError, match="impressions has no column 'clicked'"):
        click_triplets(frame[["impression", "query", "item", "position"]])


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([[0, 1, 2, 3]], ValueError, "impressions must have the columns"),
        ([[0, 1, 2.5, 1, 1]], TypeError, "whole numbers in 'query', but float64 was given"),
        ([[0, 1, 2, 0, 1]], ValueError, "positions must be whole numbers from 1, but 0 was"),
    ],
)
def test_impressions_that_are_none_are_refused(rows, error, message):
    with pytest.raises(error, match=message):
        click_triplets(rows)
    with pytest.raises(ValueError, match="n_after must be at least 0"):
        click_triplets([[0, 1, 2, 1, 1]], n_after=-1)
