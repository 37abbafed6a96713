"""Names and fitted estimators as similarities."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

import likewise as lw
from likewise.similarities import NAMED

X, y = load_iris(return_X_y=True)

LINEAR = [
    PCA(),
    PCA(2, whiten=True),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    NeighborhoodComponentsAnalysis(2, max_iter=5, random_state=0),
    StandardScaler(),
    StandardScaler(with_mean=False),
    MinMaxScaler(),
    TruncatedSVD(2, random_state=0),
    GaussianRandomProjection(3, random_state=0),
    SparseRandomProjection(3, dense_output=False, random_state=0),
    make_pipeline(StandardScaler(), PCA(3, whiten=True), LinearDiscriminantAnalysis()),
    FunctionTransformer(lambda rows: rows[:, ::-1] * 3 + 1, validate=True),
]
NOT_LINEAR = [
    Normalizer(),
    KernelPCA(2, kernel="rbf"),
    PolynomialFeatures(2),
    QuantileTransformer(n_quantiles=20),
    MinMaxScaler(clip=True),
    FunctionTransformer(np.abs, validate=True),
    make_pipeline(StandardScaler(), Normalizer()),
]


@pytest.mark.parametrize("transformer", LINEAR, ids=lambda transformer: type(transformer).__name__)
def test_a_linear_transformer_becomes_the_distance_after_it(transformer):
    Z = transformer.fit_transform(X, y)
    Z = Z.toarray() if hasattr(Z, "toarray") else Z
    s = lw.as_similarity(transformer)
    assert isinstance(s, lw.Mahalanobis)
    assert s.L.shape == (Z.shape[1], X.shape[1])
    expected = ((Z[:20, None] - Z[None, :]) ** 2).sum(axis=2)
    assert_allclose(-s.score(X[:20], X), expected, rtol=1e-8, atol=1e-8 * expected.max())


@pytest.mark.parametrize(
    "transformer", NOT_LINEAR, ids=lambda transformer: type(transformer).__name__
)
def test_a_transformer_that_is_not_linear_is_refused(transformer):
    name = type(transformer).__name__
    with pytest.raises(TypeError, match=f"{name} is not a linear map of its rows"):
        lw.as_similarity(transformer.fit(X, y))


def test_the_map_of_a_wide_transformer_is_found_in_parts(rng):
    wide = rng.normal(size=(30, 1100))
    pca = PCA(3).fit(wide)
    assert_allclose(lw.as_similarity(pca).L, pca.components_, atol=1e-12)


def test_a_large_offset_does_not_blur_the_map(rng):
    rows = 1e6 + rng.normal(size=(50, 3))
    scaler = StandardScaler().fit(rows)
    assert_allclose(lw.as_similarity(scaler).L, np.diag(1 / scaler.scale_), rtol=1e-8, atol=1e-8)


def test_a_transformer_fitted_on_a_frame_is_taken_without_a_warning():
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = StandardScaler().set_output(transform="pandas").fit(frame)
    assert_allclose(lw.as_similarity(fitted).L, np.diag(1 / fitted.scale_))


def test_one_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        lw.as_similarity(PCA())


def test_a_transformer_of_unknown_width_is_refused():
    with pytest.raises(TypeError, match="Normalizer does not say how many features it takes"):
        lw.as_similarity(Normalizer())


def test_a_learner_gives_its_similarity_and_a_similarity_itself():
    class Learner:
        similarity_ = lw.Bilinear(2.0)

    assert lw.as_similarity(Learner()) is Learner.similarity_
    assert lw.as_similarity(Learner.similarity_) is Learner.similarity_


@pytest.mark.parametrize("name", NAMED)
def test_each_name_is_a_similarity(name):
    assert repr(lw.as_similarity(name)) == repr(NAMED[name]())


def test_an_unknown_name_is_refused_with_the_known_ones_and_the_nearest():
    with pytest.raises(ValueError, match=r"'euclidean', 'cosine', 'dot'.*Did you mean 'cosine'\?"):
        lw.as_similarity("cosin")
    with pytest.raises(ValueError, match=r"but 'zzz' was given\.$"):
        lw.as_similarity("zzz")


def test_a_bare_function_is_asked_which_way_it_points():
    with pytest.raises(TypeError, match=r"likewise\.from_distance.*likewise\.from_callable"):
        lw.as_similarity(lambda a, b: 0.0)


@pytest.mark.parametrize("source", [None, 3, [1.0], np.eye(2), object()])
def test_anything_else_is_refused(source):
    with pytest.raises(TypeError, match="similarity must be a name, a similarity or a fitted"):
        lw.as_similarity(source)
