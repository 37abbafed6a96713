"""Landmark features: what is drawn, what is made of it, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from tests.oracles import landmarks as oracle

import likewise as lw

WORDS = ["apple", "plum", "fig", "banana", "date", "elderberry", "grape", "lime"]


def unlike(a, b):
    return abs(len(a) - len(b)) + len(set(a) ^ set(b))


@pytest.fixture
def X(rng):
    return (8 * rng.normal(size=(70, 4))).round() / 8  # ties are exact in binary fractions


def test_the_map_is_the_row_and_its_ranked_similarities(X, rng):
    features = lw.LandmarkFeatures(n_landmarks=12, random_state=0).fit(X)
    new = (8 * rng.normal(size=(9, 4))).round() / 8
    expected = np.hstack([new, oracle.ranked(new, X, features.landmarks_)])
    assert_array_equal(features.transform(new), expected)
    assert_array_equal(features.landmarks_, X[features.landmark_rows_])
    assert len(set(features.landmark_rows_)) == 12
    assert features.rank_error_ == 0


@pytest.mark.parametrize("share", [0.1, 0.3, 0.07])
def test_booleans_are_the_nearest_share_of_all_rows(X, share):
    features = lw.LandmarkFeatures(
        n_landmarks=70, boolean=share, keep_native=False, random_state=0
    ).fit(X)
    found = features.transform(X)
    distances = oracle.squared_distances(X, X)
    closer = oracle.closer_counts(distances, distances[:, features.landmark_rows_])
    n_near = {0.1: 7, 0.3: 21, 0.07: 5}[share]  # of 70: 7, 21 and 4.9, the last of them begun
    assert_array_equal(found, closer < n_near)


def test_several_shares_have_their_own_columns(X):
    parts = [
        lw.LandmarkFeatures(n_landmarks=9, boolean=s, keep_native=False, random_state=0)
        for s in (0.05, 0.2)
    ]
    both = lw.LandmarkFeatures(
        n_landmarks=9, boolean=(0.05, 0.2), keep_native=False, random_state=0
    )
    expected = np.hstack([part.fit_transform(X) for part in parts])
    assert_array_equal(both.fit_transform(X), expected)
    names = both.get_feature_names_out()
    assert (names[0], names[9], len(names)) == ("landmark0<0.05", "landmark0<0.2", 18)


def test_naive_and_given_similarities(X):
    naive = lw.LandmarkFeatures("naive", 5, keep_native=False, random_state=0).fit(X)
    expected = 1 / (1 + np.sqrt(oracle.squared_distances(X, naive.landmarks_)))
    assert_allclose(naive.transform(X), expected)
    cosine = lw.LandmarkFeatures("cosine", 5, keep_native=False, random_state=0).fit(X)
    assert_allclose(
        cosine.transform(X), lw.as_similarity("cosine").score(X, cosine.landmarks_), rtol=1e-12
    )


def test_a_learned_similarity_may_be_the_base(X):
    y = X[:, 0] > 0
    learned = lw.LMNN(n_jobs=1).fit(X, y).similarity_
    features = lw.LandmarkFeatures(n_landmarks=6, base=learned, keep_native=False, random_state=0)
    found = clone(features).fit(X).transform(X)
    Z = X @ learned.L.T
    assert_allclose(found, oracle.ranked(Z, Z, Z[features.fit(X).landmark_rows_]), atol=2 / 70)


def test_objects_of_any_kind_with_any_distance():
    features = lw.LandmarkFeatures(n_landmarks=4, base=lw.from_distance(unlike), random_state=0)
    found = features.fit(WORDS).transform(WORDS)
    assert found.shape == (8, 4)
    assert features.landmarks_ == [WORDS[i] for i in features.landmark_rows_]
    d = np.array([[unlike(a, b) for b in WORDS] for a in WORDS], dtype=float)
    closer = oracle.closer_counts(d, d[:, features.landmark_rows_])
    assert_array_equal(found, 1 - 2 * closer / 8)


def test_a_callable_is_a_similarity():
    def share(a, b):
        return len(set(a) & set(b)) / len(set(a) | set(b))

    features = lw.LandmarkFeatures(share, 3, random_state=0).fit(WORDS)
    expected = [[share(a, b) for b in features.landmarks_] for a in WORDS]
    assert_allclose(features.transform(WORDS), expected)


def test_a_precomputed_matrix_has_columns_as_landmarks(X):
    D = np.sqrt(oracle.squared_distances(X, X))
    plain = lw.LandmarkFeatures(n_landmarks=5, keep_native=False, random_state=0).fit(X)
    given = lw.LandmarkFeatures(n_landmarks=5, base="precomputed_distance", random_state=0).fit(D)
    assert_array_equal(given.landmarks_, plain.landmark_rows_)
    assert_array_equal(given.transform(D), plain.transform(X))


@pytest.mark.parametrize("boolean", [None, 0.2])
def test_sparse_native_features_stay_sparse(X, boolean):
    X = np.where(X > 0, X, 0)
    features = lw.LandmarkFeatures(n_landmarks=5, boolean=boolean, random_state=0)
    found = features.fit(csr_array(X)).transform(csr_array(X))
    assert issparse(found)
    assert found.format == "csr"
    assert_allclose(found.toarray(), features.fit(X).transform(X))
    features.set_params(keep_native=False)
    assert type(features.fit(csr_array(X)).transform(csr_array(X))) is np.ndarray


def test_names_follow_a_frame(X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    features = lw.LandmarkFeatures(n_landmarks=2, random_state=0).set_output(transform="pandas")
    assert features.fit_transform(frame).columns.tolist() == [*"abcd", "landmark0", "landmark1"]


def test_far_apart_landmarks_find_every_cluster(rng):
    X = rng.normal(size=(90, 2)) * 0.01 + 10 * np.eye(3)[:, :2][np.arange(90) % 3]
    for seed in range(5):
        rows = lw.LandmarkFeatures(n_landmarks=3, select="kmeans++", random_state=seed).fit(X)
        assert set(rows.landmark_rows_ % 3) == {0, 1, 2}
    doubles = np.repeat(np.eye(2), 3, axis=0)
    few = lw.LandmarkFeatures(n_landmarks=5, select="kmeans++", random_state=0).fit(doubles)
    assert len(set(few.landmark_rows_)) == 5


def test_landmarks_of_each_class_have_labels(X):
    y = np.full(70, -1)
    y[:20], y[20:24] = 0, 1
    features = lw.LandmarkFeatures(n_landmarks=12, select="per_class", random_state=0).fit(X, y)
    counts = np.bincount(y[features.landmark_rows_])
    assert counts.tolist() == [8, 4]
    with pytest.warns(UserWarning, match="only 24 rows have a label: all of them"):
        features.set_params(n_landmarks=30).fit(X, y)


def test_a_sample_of_the_rows_is_off_by_no_more_than_it_says(rng):
    X = rng.normal(size=(3000, 3))
    options = {"n_landmarks": 40, "keep_native": False, "random_state": 0}
    whole = lw.LandmarkFeatures(**options).fit(X)
    part = lw.LandmarkFeatures(**options, sample_size=500).fit(X)
    assert_array_equal(whole.landmark_rows_, part.landmark_rows_)
    off = np.abs(whole.transform(X[:300]) - part.transform(X[:300]))
    assert 0.05 < part.rank_error_ < 0.12
    assert np.mean(off > part.rank_error_) < 0.05
    assert len(part.similarity_.S) == 500


def test_more_landmarks_than_rows_are_all_rows(X):
    with pytest.warns(UserWarning, match="n_landmarks is 200, but X has only 70 rows"):
        features = lw.LandmarkFeatures(random_state=0).fit(X)
    assert sorted(features.landmark_rows_) == list(range(70))


def test_values_beyond_one_are_told(X):
    with pytest.warns(UserWarning, match=r"similarity gave values from -.* to .*\[-1, 1\]"):
        lw.LandmarkFeatures("euclidean", 5, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"similarity": "rankd"}, ValueError, "Did you mean 'ranked'"),
        ({"similarity": 7}, TypeError, "similarity must be a name"),
        ({"n_landmarks": 0}, ValueError, "n_landmarks must be at least 1"),
        ({"select": "best"}, ValueError, "select must be one of"),
        ({"select": "per_class"}, ValueError, "select 'per_class' requires y"),
        ({"select": "kmeans++", "base": "cosine"}, ValueError, "'kmeans\\+\\+' needs a distance"),
        ({"boolean": 1.5}, ValueError, "boolean must be a share below 1, but 1.5"),
        ({"boolean": (0.1, 0)}, ValueError, "boolean must be finite and above 0"),
        ({"keep_native": "yes"}, ValueError, "keep_native must be one of 'auto'"),
        ({"sample_size": 0}, ValueError, "sample_size must be at least 1"),
        ({"similarity": "naive", "base": "cosine"}, ValueError, "must have a distance"),
    ],
)
def test_parameters_are_checked(X, parameters, error, message):
    with pytest.raises(error, match=message):
        lw.LandmarkFeatures(**{"n_landmarks": 5, **parameters}).fit(X)


def test_objects_have_no_features_to_keep():
    features = lw.LandmarkFeatures(base=lw.from_distance(unlike), n_landmarks=2, keep_native=True)
    with pytest.raises(ValueError, match="keep_native is True, but X has no native features"):
        features.fit(WORDS)


def test_a_failing_callable_is_a_value_error():
    with pytest.raises(ValueError, match="the function failed on query 0 and item 0"):
        lw.LandmarkFeatures(lambda a, b: 1 / 0, 2).fit(WORDS)


def test_it_works_in_a_pipeline_and_a_grid(X):
    y = (X**2).sum(axis=1) > 3
    steps = make_pipeline(lw.LandmarkFeatures(n_landmarks=10, random_state=0), LogisticRegression())
    grid = GridSearchCV(steps, {"landmarkfeatures__boolean": [None, 0.1]}, cv=2).fit(X, y)
    assert grid.predict(X).shape == (70,)


@pytest.mark.parametrize("as_rows", [np.asarray, csr_array])
def test_a_file_gives_it_back(X, tmp_path, as_rows):
    rows = as_rows(X)
    features = lw.LandmarkFeatures(n_landmarks=5, boolean=(0.1, 0.2), random_state=0).fit(rows)
    lw.save(features, tmp_path / "f")
    loaded = lw.load(tmp_path / "f")
    one, other = (f.transform(rows) for f in (features, loaded))
    assert_array_equal(*(part.toarray() if issparse(part) else part for part in (one, other)))
    with pytest.raises(TypeError, match="cannot be stored"):
        lw.save(lw.LandmarkFeatures(unlike, 2), tmp_path / "g")


def test_booleans_of_columns_are_above_the_median(rng):
    X = rng.integers(-2, 3, size=(31, 6)).astype(float)
    X[:20, 1] = 2.0  # the median is the maximum
    X[:, 2] = np.abs(X[:, 2])
    expected = oracle.above_median(X)
    assert_array_equal(lw.MedianBinarizer().fit_transform(X), expected)
    sparse = lw.MedianBinarizer().fit_transform(csr_array(X))
    assert issparse(sparse)
    assert_array_equal(sparse.toarray(), expected)


def test_constant_columns_are_told():
    X = np.array([[1.0, 0.0, 5.0], [2.0, 0.0, 5.0], [3.0, 0.0, 5.0]])
    with pytest.warns(UserWarning, match="2 of 3 columns of X are constant, the first of them col"):
        found = lw.MedianBinarizer().fit(X)
    assert_array_equal(found.transform(X), [[0, 1, 1], [0, 1, 1], [1, 1, 1]])
    assert_array_equal(found.transform(csr_array(X)).toarray(), found.transform(X))


def test_sparse_counts_stay_as_sparse():
    X = csr_array(np.eye(50) * 3)
    found = lw.MedianBinarizer().fit_transform(X)
    assert found.nnz == 50
