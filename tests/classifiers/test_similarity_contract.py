"""SimilarityClassifier keeps scikit-learn's contract, under every rule and kind of similarity."""

import pytest
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts.sample_weights import (
    EQUAL_ROWS_ARE_NEIGHBORS,
    NEIGHBORS_ARE_COUNTED,
    sparse_check_refused,
)

import likewise as lw

CLASSIFIERS = [
    lw.SimilarityClassifier(),
    lw.SimilarityClassifier(rule="symmetric"),
    lw.SimilarityClassifier(rule="energy", c=0.5),
    lw.SimilarityClassifier(rule="softmax"),
    lw.SimilarityClassifier(weights="distance"),
    lw.SimilarityClassifier(similarity="cosine"),
    lw.SimilarityClassifier(similarity="dice"),
    lw.SimilarityClassifier(similarity="precomputed"),
    lw.SimilarityClassifier(similarity="precomputed_distance"),
    lw.SimilarityClassifier(learner=NeighborhoodComponentsAnalysis(max_iter=3, random_state=0)),
    lw.SimilarityClassifier(learner=lw.NCA(max_iter=10), rule="softmax"),
]


def expected_failures(classifier):
    """Return the checks that do not apply, each with the reason."""
    if classifier.similarity == "precomputed":
        return {}
    if classifier.similarity == "precomputed_distance":
        why = "it gives a linear kernel, larger for nearer rows, as distances"
        one_class = "the labels it makes from such a kernel are all of one class"
        return {"check_classifiers_train": why, "check_fit2d_1feature": one_class}
    if isinstance(classifier.learner, NeighborhoodComponentsAnalysis):
        return sparse_check_refused(NEIGHBORS_ARE_COUNTED)
    return EQUAL_ROWS_ARE_NEIGHBORS if classifier.rule == "softmax" else NEIGHBORS_ARE_COUNTED


@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        ("euclidean", "sparse"),
        ("cosine", "sparse"),
        ("dice", "sparse positive_only"),
        ("jaccard", "sparse positive_only"),
        ("precomputed", "pairwise"),
        ("precomputed_distance", "pairwise positive_only"),
        (lw.from_distance(max), "one_d_array string"),
    ],
    ids=str,
)
def test_tags_follow_the_similarity(similarity, expected):
    tags = get_tags(lw.SimilarityClassifier(similarity=similarity)).input_tags
    considered = ("sparse", "positive_only", "pairwise", "one_d_array", "string")
    assert {name for name in considered if getattr(tags, name)} == set(expected.split())


@pytest.mark.parametrize(
    "parameters", [{"similarity": "nonsense"}, {"learner": "nonsense"}, {"similarity": None}]
)
def test_tags_leave_it_to_fit_to_say_what_is_wrong(parameters):
    assert not get_tags(lw.SimilarityClassifier(**parameters)).input_tags.pairwise
