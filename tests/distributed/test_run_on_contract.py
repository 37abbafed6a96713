"""Estimators keep scikit-learn's contract when a backend runs them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts.sample_weights import EQUAL_ROWS_ARE_NEIGHBORS, NEIGHBORS_ARE_COUNTED
from tests.distributed.inline import run_inline

import likewise as lw

ESTIMATORS = [
    lw.AROMA(n_triplets=1000),
    lw.LMNN(n_neighbors=1, max_iter=5),
    lw.MLKR(max_iter=5),
    lw.NCA(max_iter=5),
    lw.SimilarityClassifier(),
    lw.SimilarityRegressor(),
    lw.SimilarityRegressor(weights="kernel"),
    lw.LandmarkFeatures(n_landmarks=5, random_state=0),
]


def expected_failures(estimator):
    """Return the checks that do not apply, each with the reason."""
    if isinstance(estimator, lw.AROMA | lw.LandmarkFeatures):
        return {}
    soft = isinstance(estimator, lw.NCA | lw.MLKR)
    kernel = getattr(estimator, "weights", None) == "kernel"
    return EQUAL_ROWS_ARE_NEIGHBORS if soft or kernel else NEIGHBORS_ARE_COUNTED


@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
@pytest.mark.filterwarnings("ignore:there are too few queries to hold some out:UserWarning")
@pytest.mark.filterwarnings("ignore:n_landmarks is:UserWarning")
@pytest.mark.filterwarnings("ignore:fewer than .* rows in class:UserWarning")
@pytest.mark.filterwarnings("ignore:LMNN has not converged")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    with run_inline(rounds=2, shard_size=250):
        check(estimator)
