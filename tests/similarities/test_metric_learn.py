"""What metric-learn has learned is a similarity here."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

import likewise as lw

peer = pytest.importorskip("metric_learn")
X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "learner",
    [
        peer.ITML_Supervised(n_constraints=40, max_iter=20, random_state=0),
        peer.RCA_Supervised(n_chunks=20, random_state=0),
        peer.MMC_Supervised(n_constraints=20, max_iter=5, random_state=0),
        peer.LSML_Supervised(n_constraints=40, max_iter=20, random_state=0),
        peer.LFDA(n_components=2),
        peer.NCA(max_iter=5, random_state=0),
        peer.Covariance(),
    ],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.filterwarnings("ignore")  # its own, of which it has many
def test_its_distance_is_ours(learner, metric_learn):
    fitted = learner.fit(X) if isinstance(learner, peer.Covariance) else learner.fit(X, y)
    s = lw.as_similarity(fitted)
    assert_allclose(s.L, fitted.components_, atol=1e-9 * np.abs(fitted.components_).max())
    pairs = np.stack([X[:20], X[60:80]], axis=1)
    assert_allclose(np.sqrt(-s.score_pairs(X[:20], X[60:80])), fitted.pair_distance(pairs))
