"""Estimators keep scikit-learn's contract when a backend runs them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.distributed.inline import run_inline

import likewise as lw

ESTIMATORS = [
    lw.AROMA(n_triplets=1000),
    lw.LMNN(n_neighbors=1, max_iter=5),
    lw.SimilarityClassifier(),
    lw.LandmarkFeatures(n_landmarks=5, random_state=0),
]


@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
@pytest.mark.filterwarnings("ignore:there are too few queries to hold some out:UserWarning")
@pytest.mark.filterwarnings("ignore:n_landmarks is:UserWarning")
@pytest.mark.filterwarnings("ignore:fewer than .* rows in class:UserWarning")
@pytest.mark.filterwarnings("ignore:LMNN has not converged")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    with run_inline(rounds=2, shard_size=250):
        check(estimator)
