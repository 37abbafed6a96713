"""The uncertainty of AROMA: variances, confidence, and which comparisons to ask for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.datasets import load_digits
from tests.learners.online.beliefs import COVARIANCES, KINDS, aroma, problem
from tests.oracles import online as oracle

import likewise as lw


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("normalize", [False, True])
def test_score_variance_is_the_printed_one(rng, covariance, kinds, normalize):
    Q, P, triplets = problem(rng, n=4)
    model = aroma(covariance, normalize=normalize).fit_triplets(triplets, Q, P)
    found = model.score_variance(kinds[0](Q), kinds[1](P))
    q, p = (oracle.unit_rows(rows) if normalize else rows for rows in (Q, P))
    if covariance == "diagonal":
        wanted = (q * q) @ model.state_.S @ (p * p).T
    elif covariance == "full":
        sides = np.einsum("ik,jl->ijkl", q, p).reshape(len(q), len(p), -1)
        wanted = np.einsum("ija,ab,ijb->ij", sides, model.state_.Sigma, sides)
    else:
        by_q = np.einsum("ij,jk,ik->i", q, model.state_.Lambda, q)
        wanted = np.outer(by_q, np.einsum("ij,jk,ik->i", p, model.state_.Sigma, p))
    assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_variance_falls_where_triplets_were_seen_and_confidence_rises(rng, covariance):
    rows = rng.normal(size=(12, 5))
    model = aroma(covariance, r=50.0, init="zero").fit_triplets([[0, 1, 2]], rows)
    before, sure = model.score_variance(rows, rows), model.confidence([[0, 1, 2]], rows)
    model.partial_fit_triplets([[0, 1, 2]] * 5, rows)
    assert (model.score_variance(rows, rows) <= before + 1e-12).all()
    assert model.confidence([[0, 1, 2]], rows) > sure


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_confidence_is_the_probability_that_the_margin_is_positive(rng, covariance, kinds):
    Q, P, triplets = problem(rng, n=4)
    model = aroma(covariance).fit_triplets(triplets[:50], Q, P)
    found = model.confidence(triplets, kinds[0](Q), kinds[1](P))
    for at, (q, p, _) in zip(found, oracle.examples(triplets, Q, P), strict=True):
        if covariance == "diagonal":
            variance = (q * q) @ model.state_.S @ (p * p)
        elif covariance == "full":
            variance = np.outer(q, p).ravel() @ model.state_.Sigma @ np.outer(q, p).ravel()
        else:
            variance = (q @ model.state_.Lambda @ q) * (p @ model.state_.Sigma @ p)
        mean = q @ model.state_.W @ p
        wanted = norm.cdf(mean / np.sqrt(variance)) if variance > 0 else 0.5
        assert_allclose(at, wanted, atol=1e-9)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_most_uncertain_comparisons_are_asked_first(rng, covariance):
    Q, P, triplets = problem(rng)
    triplets = triplets[np.unique(triplets, axis=0, return_index=True)[1]]
    model = aroma(covariance).fit_triplets(triplets[:100], Q, P)
    candidates = rng.permutation(triplets)
    asked = model.most_informative(candidates, Q, P, n=25)
    assert asked.shape == (25, 3)
    unsure = 0.5 - np.abs(model.confidence(candidates, Q, P) - 0.5)
    useful = model.score_variance(Q, P)[candidates[:, 0]].max(axis=1) > 0
    useful &= (P[candidates[:, 1]] != P[candidates[:, 2]]).any(axis=1)
    best = np.sort(unsure[useful])[::-1][:25]
    chances = model.confidence(asked, Q, P)
    assert_allclose(0.5 - np.abs(chances - 0.5), best, atol=1e-9)
    assert {tuple(row) for row in asked.tolist()} <= {tuple(row) for row in candidates.tolist()}


def test_what_no_answer_would_change_is_asked_last(rng):
    rows = np.vstack([np.zeros((2, 3)), rng.normal(size=(4, 3))])
    model = aroma().fit_triplets([[2, 3, 4]], rows)
    asked = model.most_informative([[0, 3, 4], [2, 0, 1], [2, 3, 4]], rows, n=3)
    assert asked[0].tolist() == [2, 3, 4]
    assert len(model.most_informative([[2, 3, 4]], rows, n=10)) == 1


def test_the_two_sides_of_a_question_are_alike(rng):
    """Which of the two items is called closer does not matter to whether it is asked."""
    Q, P, triplets = problem(rng)
    model = aroma().fit_triplets(triplets[:100], Q, P)
    forth, back = model.confidence(triplets, Q, P), model.confidence(triplets[:, [0, 2, 1]], Q, P)
    assert_allclose(forth + back, 1, atol=1e-9)


@pytest.mark.parametrize("ask", ["confidence", "most_informative"])
def test_a_frame_of_comparisons_is_read_by_name(rng, ask):
    pandas = pytest.importorskip("pandas")
    Q, P, triplets = problem(rng)
    frame = pandas.DataFrame(triplets, columns=["query", "closer", "farther"])
    model = aroma().fit_triplets(triplets, Q, P)
    wanted = getattr(model, ask)(triplets, Q, P)
    found = getattr(model, ask)(frame[["farther", "query", "closer"]], Q, P)
    assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[0, 1, 9]], np.eye(3)), ValueError, "points at row 9, but items has 3 rows"),
        (([[0, 1, 2]], np.eye(4)), ValueError, "queries has 4 columns, but 3 are needed"),
        (([[0, 1, 2]], np.eye(3), np.eye(4)), ValueError, "items has 4 columns, but 3 are needed"),
        (([[0.0, 1, 2]], np.eye(3)), TypeError, "whole row numbers"),
        (([[0, 1, 2]], np.eye(3) * np.nan), ValueError, "queries holds NaN in row 0"),
        (([[0, 1, 1]], np.eye(3)), ValueError, "prefers item 1 to itself"),
    ],
)
@pytest.mark.parametrize("ask", ["confidence", "most_informative"])
def test_odd_questions_are_refused(ask, arguments, error, message):
    model = aroma().fit_triplets([[0, 1, 2]], np.eye(3))
    with pytest.raises(error, match=message):
        getattr(model, ask)(*arguments)


def test_nothing_can_be_asked_before_anything_is_learned():
    for ask in (
        lambda: aroma().score_variance([[1.0]], [[1.0]]),
        lambda: aroma().confidence([[0, 1, 2]], np.eye(3)),
        lambda: aroma().most_informative([[0, 1, 2]], np.eye(3)),
    ):
        with pytest.raises(ValueError, match="not fitted"):
            ask()
    with pytest.raises(ValueError, match="n must be at least 1"):
        aroma().fit_triplets([[0, 1, 2]], np.eye(3)).most_informative([[0, 1, 2]], np.eye(3), n=0)


def test_asking_what_is_least_certain_teaches_more_than_asking_anything():
    """On digits, with the same number of answers: 50 of 1,000 candidates, ten times."""
    digits = load_digits()
    X, y = digits.data, digits.target

    def taught(pool, choose):
        model = lw.AROMA("factored", r=0.1).fit_triplets(pool[:50], X[:900])
        for candidates in np.array_split(pool[50:], 10):
            model.partial_fit_triplets(choose(model, candidates), X[:900])
        return model.score(X[900:], y[900:])

    gains = []
    for seed in range(4):
        pool = lw.supervision.LabelTriplets(y[:900]).draw(10_050, np.random.default_rng(seed))
        asked = taught(pool, lambda model, some: model.most_informative(some, X[:900], n=50))
        gains.append(asked - taught(pool, lambda model, some: some[:50]))
    assert np.mean(gains) > 0.015
