"""Warnings name the line of the caller's code, however deep they arise."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 4)), RNG.integers(0, 2, 60)
TRIPLETS = RNG.integers([0, 0, 30], [60, 30, 60], size=(300, 3))
CLICKS = csr_array(RNG.random((60, 60)) < 0.1, dtype=float)
START_KEPT = "does not clearly beat its start"
NOT_CONVERGED = "has not converged"


def aroma():
    return lw.AROMA(n_triplets=1000, random_state=0)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (START_KEPT, lambda: aroma().fit(X, Y)),
        (START_KEPT, lambda: aroma().fit_relevance(CLICKS, X)),
        (START_KEPT, lambda: aroma().fit_triplets(TRIPLETS, X, validate=True)),
        (START_KEPT, lambda: make_pipeline(StandardScaler(), aroma()).fit(X, Y)),
        (START_KEPT, lambda: lw.SimilarityClassifier(aroma()).fit(X, Y)),
        (START_KEPT, lambda: lw.RidgeSimilarity(random_state=0).fit(X, Y)),
        (START_KEPT, lambda: lw.RidgeSimilarity(random_state=0).fit_relevance(CLICKS, X)),
        (NOT_CONVERGED, lambda: lw.LMNN(max_iter=1).fit(X, Y)),
        (NOT_CONVERGED, lambda: lw.LMNN(max_iter=1).fit_transform(X, Y)),
        (NOT_CONVERGED, lambda: lw.MCML(max_iter=1).fit(X, Y)),
        ("only one row has the label 7", lambda: lw.goodness("cosine", X, [7, *Y[1:]])),
    ],
)
def test_a_warning_names_the_line_that_called_this_package(message, call):
    with pytest.warns(UserWarning, match=message) as caught:
        call()
    assert {warning.filename for warning in caught} == {__file__}
    assert {warning.lineno for warning in caught} == {call.__code__.co_firstlineno}
