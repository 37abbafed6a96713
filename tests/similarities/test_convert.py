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
    with pytest.raises(TypeError, match="Normalizer does not have n_features_in_"):
        lw.as_similarity(Normalizer())


def test_a_learner_gives_its_similarity_and_a_similarity_itself():
    class Learner:
        similarity_ = lw.Bilinear(2.0)

    assert lw.as_similarity(Learner()) is Learner.similarity_
    assert lw.as_similarity(Learner.similarity_) is Learner.similarity_


@pytest.mark.parametrize(
    ("name", "meaning", "as_distance"),
    [
        ("euclidean", "Mahalanobis(L=1.0)", "VectorDistance(metric='euclidean')"),
        ("cosine", "Bilinear(W=1.0, norm='cosine')", "VectorDistance(metric='cosine')"),
        ("dice", "Bilinear(W=2.0, norm='dice')", "VectorDistance(metric='dice')"),
        ("jaccard", "Bilinear(W=1.0, norm='jaccard')", "VectorDistance(metric='jaccard')"),
        ("dot", "Bilinear(W=1.0, norm='none')", "Bilinear(W=1.0, norm='none')"),
        ("precomputed", "Precomputed(is_distance=False)", "Precomputed(is_distance=True)"),
        ("precomputed_distance", "Precomputed(is_distance=True)", "Precomputed(is_distance=True)"),
        ("cityblock", "VectorDistance(metric='cityblock')", "VectorDistance(metric='cityblock')"),
        ("dtw", "SeriesDistance(window=None)", "SeriesDistance(window=None)"),
    ],
)
def test_a_name_has_a_meaning_and_one_where_a_distance_is_expected(name, meaning, as_distance):
    assert repr(lw.as_similarity(name)) == meaning
    assert repr(lw.as_similarity(name, is_distance=True)) == as_distance
    if name != "dot":
        assert repr(lw.from_distance(name)) == as_distance


def test_an_unknown_name_is_refused_with_the_known_ones_and_the_nearest():
    with pytest.raises(ValueError, match=r"'euclidean', 'cosine', 'dice'.*Did you mean 'cosine'\?"):
        lw.as_similarity("cosin")
    with pytest.raises(ValueError, match=r"but 'zzz' was given\.$"):
        lw.as_similarity("zzz")
    with pytest.raises(ValueError, match=r"^distance must be one of.*Did you mean 'levenshtein'"):
        lw.from_distance("levenstein")


def test_a_bare_function_is_a_similarity_or_a_distance_where_one_is_expected():
    similarity = lw.as_similarity(max)
    assert (similarity.has_distance, similarity.score([1], [2]).item()) == (False, 2)
    for distance in (lw.as_similarity(max, is_distance=True), lw.from_distance(max)):
        assert (distance.has_distance, distance.score([1], [2]).item()) == (True, -2)


def test_from_distance_returns_a_distance_as_it_is_and_refuses_others():
    for similarity in (lw.Mahalanobis(2.0), lw.from_distance(max, symmetric=True)):
        assert lw.from_distance(similarity) is similarity
    with pytest.raises(ValueError, match=r"distance must be a distance, but Bilinear.* has none"):
        lw.from_distance(lw.Bilinear(1.0))


@pytest.mark.parametrize("source", [None, 3, [1.0], np.eye(2), object(), dict])
def test_anything_else_is_refused(source):
    with pytest.raises(TypeError, match="similarity must be a name, a function of two objects, a"):
        lw.as_similarity(source)
