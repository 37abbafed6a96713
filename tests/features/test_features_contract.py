"""Landmark features, booleans, Winnow and what joins them keep scikit-learn's contract."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts.sample_weights import sparse_check_refused, weight_is_not_repetition

import likewise as lw

ESTIMATORS = [
    lw.LandmarkFeatures(n_landmarks=5, random_state=0),
    lw.LandmarkFeatures("naive", 5, select="kmeans++", random_state=0),
    lw.LandmarkFeatures(n_landmarks=5, boolean=(0.1, 0.3), keep_native=False, random_state=0),
    lw.LandmarkFeatures("cosine", 5, select="per_class", random_state=0),
    lw.MedianBinarizer(),
    lw.BalancedWinnow(),
    lw.BalancedWinnow(margin=0.2, fit_intercept=False),
    lw.Winnow(),
    lw.SimilarityFeatureClassifier(n_landmarks=5, cv=2, random_state=0),
    lw.SimilarityFeatureClassifier(
        n_landmarks=5, boolean=None, classifier=LogisticRegression(), cv=2, random_state=0
    ),
]


def expected_failures(estimator):
    """Return the checks that do not apply, each with the reason."""
    if isinstance(estimator, lw.BalancedWinnow | lw.Winnow):
        return weight_is_not_repetition("a row given twice is updated twice, only if still wrong")
    if isinstance(estimator, lw.SimilarityFeatureClassifier):
        splits = "cv is a number of splits, but the check gives it the splits"
        return sparse_check_refused(weight_is_not_repetition(splits))
    return {}


@pytest.mark.filterwarnings("ignore:n_landmarks is:UserWarning")
@pytest.mark.filterwarnings("ignore:.*columns of X are constant:UserWarning")
@pytest.mark.filterwarnings("ignore:y holds only -1 and 1:UserWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
