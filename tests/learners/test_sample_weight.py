"""Weights of rows: what they mean in every learner from labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import likewise as lw

ONLINE = {"n_triplets": 3000, "random_state": 0}
LEARNERS = [
    lw.LMNN(n_jobs=1),
    lw.NCA(random_state=0),
    lw.MLKR(random_state=0),
    lw.SiLA(n_epochs=3),
    lw.SiLA("symmetric", "dice", n_epochs=3, init="base"),
    lw.SiLA("diagonal", "jaccard", n_epochs=3, tail=20),
    lw.SiLA(n_epochs=3, early_stopping=True, random_state=0),
    lw.AROMA(**ONLINE),
    lw.AROMA("factored", early_stopping=False, **ONLINE),
    lw.AROMA(init="ridge", **ONLINE),
    lw.OASIS(**ONLINE),
    lw.RidgeSimilarity(random_state=0),
    lw.ITML(random_state=0),
    lw.LEGO(n_pairs=200, random_state=0),
    lw.POLA(200, random_state=0),
    lw.MMC(300, random_state=0),
    lw.MCML(),
]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=str)


@pytest.fixture
def rows(rng):
    """Return rows in [0, 1]: three columns of noise, and three small ones that tell the class."""
    y = np.arange(240) % 3
    return np.hstack([rng.random((240, 3)), 0.3 * np.eye(3)[y] + 0.1 * rng.random((240, 3))]), y


def learned(learner, *arguments, **options):
    similarity = clone(learner).fit(*arguments, **options).similarity_
    return similarity.L if isinstance(similarity, lw.Mahalanobis) else similarity.W


@each_learner
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_equal_weights_are_none(learner, rows, weight):
    found = learned(learner, *rows, sample_weight=np.full(240, weight))
    assert_array_equal(found, learned(learner, *rows))


@each_learner
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_row_of_weight_zero_is_absent(learner, rows, kind, rng):
    X, y = rows
    weights = rng.choice([0.0, 1.0, 2.0], 240)
    odd = np.where(weights[:, None] > 0, X, 1 - X)  # an intruder in every row of weight zero
    kept = weights > 0
    found = learned(learner, kind(odd), y, sample_weight=weights)
    expected = learned(learner, kind(X[kept]), y[kept], sample_weight=weights[kept])
    assert_array_equal(found, expected)


@each_learner
def test_only_the_ratios_of_weights_matter_and_they_do(learner, rows, rng):
    weights = rng.choice([0.25, 1.0, 4.0], 240)
    found = learned(learner, *rows, sample_weight=weights)
    assert_allclose(learned(learner, *rows, sample_weight=4 * weights), found, rtol=1e-6, atol=1e-9)
    assert not np.array_equal(found, learned(learner, *rows))


@each_learner
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.ones(3), ValueError, "y has 240 rows and sample_weight has 3"),
        (np.full(240, -1.0), ValueError, "sample_weight must be finite and not negative"),
        (np.full(240, np.nan), ValueError, "sample_weight must be finite"),
        (np.zeros(240), ValueError, "sample_weight must be above zero for at least two rows"),
        (np.ones((240, 1)), ValueError, "sample_weight must be 1-D, one for each row of y"),
        (["a"] * 240, TypeError, "sample_weight must be numbers"),
    ],
)
def test_other_weights_are_refused(learner, rows, weights, error, message):
    with pytest.raises(error, match=message):
        clone(learner).fit(*rows, sample_weight=weights)
