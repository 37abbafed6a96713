"""The namesakes keep scikit-learn's contract, as on one machine."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import likewise as lw

ESTIMATORS = [
    lw.distributed.AROMA(n_triplets=1000, n_rounds=2, shard_size=250),
    lw.distributed.LMNN(n_neighbors=1, max_iter=5),
    lw.distributed.SimilarityClassifier(),
    lw.distributed.LandmarkFeatures(n_landmarks=5, random_state=0),
]


@pytest.mark.filterwarnings("ignore:what was learned does not clearly beat its start:UserWarning")
@pytest.mark.filterwarnings("ignore:there are too few queries to hold some out:UserWarning")
@pytest.mark.filterwarnings("ignore:n_landmarks is:UserWarning")
@pytest.mark.filterwarnings("ignore:fewer than .* rows in class:UserWarning")
@pytest.mark.filterwarnings("ignore:LMNN has not converged")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_every_namesake_takes_what_the_plain_estimator_takes():
    for name in ("AROMA", "OASIS", "LMNN", "SimilarityClassifier", "LandmarkFeatures"):
        plain, spread = getattr(lw, name)(), getattr(lw.distributed, name)()
        ours = spread.get_params(deep=False)
        assert plain.get_params(deep=False).items() <= ours.items()
        assert "client" in ours
        assert isinstance(spread, type(plain))


def test_spread_makes_the_namesake_with_the_same_parameters():
    given = lw.SimilarityClassifier(lw.LMNN(c=0.3), n_neighbors=7)
    found = lw.distributed.spread(given, "tcp://nowhere:1")
    assert type(found) is lw.distributed.SimilarityClassifier
    assert (found.n_neighbors, found.learner.c, found.client) == (7, 0.3, "tcp://nowhere:1")
    assert found.learner is not given.learner
    with pytest.raises(TypeError, match="estimator must be one of AROMA, LMNN"):
        lw.distributed.spread(lw.SiLA(), None)
