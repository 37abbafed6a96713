"""Comparisons of queries that were held out decide between learners."""

import numpy as np
import pytest

import likewise as lw
from likewise.selection import right_order, select_triplets


@pytest.fixture
def taught(rng):
    """Return comparisons in a hidden similarity, with queries and items of one width."""
    Q, W = rng.normal(size=(40, 4)), np.diag([3.0, 0.1, 0.1, 0.1])
    pairs = rng.integers(40, size=(600, 2))
    asked = rng.integers(40, size=600)
    first = np.einsum("ij,ij->i", Q[asked] @ W, Q[pairs[:, 0]])
    second = np.einsum("ij,ij->i", Q[asked] @ W, Q[pairs[:, 1]])
    pairs = np.where((first > second)[:, None], pairs, pairs[:, ::-1])
    kept = pairs[:, 0] != pairs[:, 1]
    return np.column_stack([asked, pairs])[kept], Q


def test_learners_beat_the_baselines_where_there_is_something_to_learn(taught):
    found = select_triplets(*taught, n_folds=3)
    by_name = {row["name"]: row for row in found.rows}
    assert set(by_name) == {"AROMA", "OASIS", "cosine", "Euclid"}
    assert by_name[{"aroma": "AROMA", "oasis": "OASIS"}[found.chosen]]["chosen"]
    assert found.rows[0]["kind"] == "learned"
    assert right_order(found.estimator.similarity_, taught[0], taught[1], taught[1]) > 0.8
    assert "right order" in str(found)


def test_what_is_published_was_learned_from_all_comparisons(taught):
    found = select_triplets(*taught, learners=["oasis"], n_folds=2)
    expected = lw.OASIS(random_state=0).fit_triplets(taught[0], taught[1])
    np.testing.assert_array_equal(found.estimator.similarity_.W, expected.similarity_.W)


def test_right_order_counts_ties_as_wrong():
    Q = np.eye(3)
    similarity = lw.Bilinear(1.0)
    assert right_order(similarity, np.array([[0, 0, 1], [0, 1, 2]]), Q, Q) == 0.5


def test_one_query_gives_a_model_without_figures(taught):
    triplets = taught[0].copy()
    triplets[:, 0] = 0
    found = select_triplets(triplets, taught[1])
    assert found.rows == []
    assert "none could be held out" in found.notes[0]


def test_bad_comparisons_are_refused(taught):
    with pytest.raises(ValueError, match="learner must be one of 'aroma', 'oasis'"):
        select_triplets(*taught, learners=["lmnn"])
    with pytest.raises(ValueError, match="row 99"):
        select_triplets([[0, 1, 99]], taught[1])
