"""What metric-learn has learned is a similarity here."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

import likewise as lw

metric_learn = pytest.importorskip("metric_learn")
X, y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def _translated_arguments(monkeypatch):
    """Let metric-learn 0.7.0 run: scikit-learn has renamed the argument `force_all_finite`."""

    def translated(check):
        @functools.wraps(check)
        def call(*args, force_all_finite=True, **kwargs):
            return check(*args, ensure_all_finite=force_all_finite, **kwargs)

        return call

    for name in ("check_array", "check_X_y"):
        monkeypatch.setattr(metric_learn._util, name, translated(getattr(metric_learn._util, name)))


@pytest.mark.parametrize(
    "learner",
    [
        metric_learn.ITML_Supervised(n_constraints=40, max_iter=20, random_state=0),
        metric_learn.RCA_Supervised(n_chunks=20, random_state=0),
        metric_learn.MMC_Supervised(n_constraints=20, max_iter=5, random_state=0),
        metric_learn.LSML_Supervised(n_constraints=40, max_iter=20, random_state=0),
        metric_learn.LFDA(n_components=2),
        metric_learn.NCA(max_iter=5, random_state=0),
        metric_learn.Covariance(),
    ],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.filterwarnings("ignore")  # its own, of which it has many
def test_its_distance_is_ours(learner):
    fitted = learner.fit(X) if isinstance(learner, metric_learn.Covariance) else learner.fit(X, y)
    s = lw.as_similarity(fitted)
    assert_allclose(s.L, fitted.components_, atol=1e-9 * np.abs(fitted.components_).max())
    pairs = np.stack([X[:20], X[60:80]], axis=1)
    assert_allclose(np.sqrt(-s.score_pairs(X[:20], X[60:80])), fitted.pair_distance(pairs))
