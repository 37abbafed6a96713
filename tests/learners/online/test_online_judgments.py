"""Online learners taught by grades of relevance and by pairs."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from tests.learners.online.learners import each_learner

import likewise as lw
from likewise.supervision import RelevanceTriplets


@each_learner
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("negatives", ["unjudged", "judged"])
def test_grades_teach_what_is_relevant(make, judged, kind, negatives):
    grades, Q, P = judged
    model = make(random_state=0, n_triplets=20_000, negatives=negatives)
    model.fit_relevance(kind(grades), Q, P)
    assert model.similarity_.W.shape == (5, 7)
    assert model.validation_["measure"] == "ndcg@10"
    assert model.validation_["overall"].learned > model.validation_["overall"].start + 0.1
    assert model.n_features_in_ == 5


@each_learner
def test_hard_negatives_are_learned_from(make, judged):
    grades, Q, P = judged
    model = make(random_state=0, n_triplets=5000, hard_negatives=0.5).fit_relevance(grades, Q, P)
    usual = make(random_state=0, n_triplets=5000).fit_relevance(grades, Q, P)
    assert model.validation_["overall"].learned > model.validation_["overall"].start + 0.1
    assert (model.similarity_.W != usual.similarity_.W).any()


@each_learner
@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
def test_grades_without_meaning_rarely_move_the_start(make, rng):
    kept = 0
    for seed in range(4):
        Q, grades = rng.normal(size=(100, 4)), rng.random((100, 100)) < 0.05
        grades[np.arange(100), rng.permutation(100)] = True
        model = make(random_state=seed, n_triplets=3000).fit_relevance(grades, Q)
        kept += np.array_equal(model.similarity_.W, np.eye(4))
    assert kept >= 3


def test_weights_of_judgements_decide_what_is_drawn(judged):
    grades, Q, P = judged
    weights = np.zeros(grades.shape)
    weights[:, :40] = 1  # judgements of the other items do not count
    model = lw.OASIS(random_state=0, n_triplets=500, early_stopping=False, init="zero")
    one = model.fit_relevance(grades, Q, P, weights).similarity_.W
    assert_array_equal(model.fit_relevance(grades, Q, P, csr_array(weights)).similarity_.W, one)
    assert (one != model.fit_relevance(grades, Q, P).similarity_.W).any()
    closer = RelevanceTriplets(grades, weights).draw(200, np.random.default_rng(0))[:, 1]
    assert closer.max() < 40


@each_learner
def test_a_query_whose_items_are_all_alike_does_not_cost_what_was_learned(make, judged):
    """It teaches nothing: it is passed over, or refused before anything is lost."""
    grades, Q, P = judged
    grades = grades.copy()
    grades[4] = 1
    model = make(random_state=0, n_triplets=3000, early_stopping=False)
    model.fit_triplets([[0, 1, 2]], Q, P)
    kept = model.similarity_.W
    try:
        model.fit_relevance(grades, Q, P)
    except ValueError as error:
        assert "query 4" in str(error)  # noqa: PT017
        assert_array_equal(model.similarity_.W, kept)
        assert model.n_triplets_seen_ == 1
    else:
        assert model.n_triplets_seen_ == 3000


@each_learner
def test_pairs_teach_what_is_alike(make, judged):
    grades, Q, P = judged
    pairs = np.argwhere(np.ones(grades.shape, bool))[::3]
    y = np.where(grades[tuple(pairs.T)] > 0, 1, -1)
    model = make(random_state=0, n_triplets=10_000).fit_pairs(pairs, y, Q, P)
    assert model.validation_["overall"].learned > model.validation_["overall"].start + 0.05
    same = make(random_state=0, n_triplets=10_000)
    for told in (y > 0, np.maximum(y, 0)):
        assert_array_equal(same.fit_pairs(pairs, told, Q, P).similarity_.W, model.similarity_.W)


def test_a_similar_item_is_held_against_the_dissimilar_ones():
    rows = np.eye(4)
    model = lw.OASIS(n_triplets=50, early_stopping=False, init="zero", random_state=0)
    W = model.fit_pairs([[0, 1], [0, 2]], [1, 0], rows).similarity_.W
    assert W[0, 1] > 0 > W[0, 2]
    assert (W[0, [0, 3]] == 0).all()  # nobody said anything of these
    weighted = model.fit_pairs([[0, 1], [0, 2], [0, 3]], [1, 1, 0], rows, weights=[1, 0, 1])
    assert weighted.similarity_.W[0, 2] == 0
