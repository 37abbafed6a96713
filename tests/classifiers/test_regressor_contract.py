"""SimilarityRegressor keeps scikit-learn's contract, with every kind of weights."""

import pytest
from sklearn.decomposition import PCA
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts.sample_weights import EQUAL_ROWS_ARE_NEIGHBORS, NEIGHBORS_ARE_COUNTED

import likewise as lw

REGRESSORS = [
    lw.SimilarityRegressor(),
    lw.SimilarityRegressor(weights="distance"),
    lw.SimilarityRegressor(weights="kernel"),
    lw.SimilarityRegressor(similarity="cosine", weights="kernel"),
    lw.SimilarityRegressor(similarity="precomputed"),
    lw.SimilarityRegressor(similarity="precomputed_distance"),
    lw.SimilarityRegressor(learner=PCA()),
    lw.SimilarityRegressor(learner=lw.MLKR(max_iter=20), weights="kernel"),
]


def expected_failures(regressor):
    """Return the checks that do not apply, each with the reason."""
    if regressor.similarity == "precomputed_distance":
        why = "it gives a linear kernel, larger for nearer rows, as distances"
        return {"check_regressors_train": why}
    if regressor.similarity == "precomputed":
        return {}
    return EQUAL_ROWS_ARE_NEIGHBORS if regressor.weights == "kernel" else NEIGHBORS_ARE_COUNTED


@parametrize_with_checks(REGRESSORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        ("euclidean", "sparse"),
        ("jaccard", "sparse positive_only"),
        ("precomputed_distance", "pairwise positive_only"),
        (lw.from_distance(max), "one_d_array string"),
    ],
    ids=str,
)
def test_tags_follow_the_similarity(similarity, expected):
    tags = get_tags(lw.SimilarityRegressor(similarity=similarity)).input_tags
    considered = ("sparse", "positive_only", "pairwise", "one_d_array", "string")
    assert {name for name in considered if getattr(tags, name)} == set(expected.split())
