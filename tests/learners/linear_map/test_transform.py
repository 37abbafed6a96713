"""The transform of bilinear learners: inner products of the symmetric positive part of W."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.oracles import similarities as oracle

import likewise as lw
from likewise.learners.linear_map._transform import positive_root

pytestmark = pytest.mark.filterwarnings("ignore:.*the start is kept:UserWarning")
LEARNERS = [
    lw.AROMA(n_triplets=2000, random_state=0),
    lw.AROMA("factored", n_triplets=2000, normalize=False, random_state=0),
    lw.OASIS(n_triplets=2000, random_state=0),
    lw.RidgeSimilarity(random_state=0),
    lw.SiLA(n_epochs=3),
    lw.SiLA("symmetric", "none", n_epochs=3),
    lw.SiLA("diagonal", n_epochs=3),
]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=str)
entries = st.floats(-2, 2, allow_subnormal=False).map(lambda x: round(x, 3))


@pytest.fixture
def rows(rng):
    y = np.array(["ash", "beech", "cedar"])[np.arange(90) % 3]
    X = rng.normal(size=(90, 5)) + 2 * (y == "ash")[:, None] * [1, 0, 0, 0, 0]
    return X - 2 * (y == "cedar")[:, None] * [0, 1, 0, 0, 0], y


@given(W=arrays.arrays(float, st.integers(1, 6).map(lambda n: (n, n)), elements=entries))
def test_the_root_squared_is_the_positive_part(W):
    root = positive_root(W)
    assert_allclose(root @ root.T, oracle.positive_part(W), atol=1e-9)
    assert 1 <= root.shape[1] <= len(W)
    assert_allclose(positive_root(W[0]) ** 2, np.maximum(W[0], 0), atol=1e-12)


def test_a_form_of_low_rank_gives_few_columns(rng):
    B = rng.normal(size=(6, 2))
    for dtype in (np.float32, np.float64):
        assert positive_root((B @ B.T).astype(dtype)).shape == (6, 2)
    assert_array_equal(positive_root(-np.eye(3)), np.zeros((3, 1)))


@each_learner
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inner_products_of_mapped_rows_are_those_of_the_positive_part(learner, rows, dtype):
    X, y = rows[0].astype(dtype), rows[1]
    fitted = learner.fit(X, y)
    form, Z = fitted.similarity_, X.astype(float)
    positive = oracle.positive_part(oracle.matrix_of(form.W, 5))
    expected = oracle.bilinear(positive, form.norm, Z, Z)
    tolerance = (1e-4 if dtype == np.float32 else 1e-10) * np.abs(expected).max()
    for given_rows in (X, csr_array(X)):
        mapped = fitted.transform(given_rows)
        assert mapped.dtype == dtype
        assert mapped.shape == (90, len(fitted.get_feature_names_out()))
        assert issparse(mapped) == (issparse(given_rows) and form.W.ndim == 1)
        mapped = mapped.toarray() if issparse(mapped) else mapped
        assert_allclose(mapped @ mapped.T, expected, atol=tolerance)


@each_learner
def test_every_linear_learner_works_between_a_scaler_and_a_classifier(learner, rows):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), learner, KNeighborsClassifier())
    assert pipeline.fit(X[:60], y[:60]).score(X[60:], y[60:]) > 0.5
    learner.set_output(transform="pandas")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    mapped = learner.fit(frame, y).transform(frame)
    learner.set_output(transform="default")
    assert mapped.columns[0] == f"{type(learner).__name__.lower()}0"
    assert mapped.columns.tolist() == learner.get_feature_names_out().tolist()


def test_between_two_widths_there_is_no_transform(rng):
    Q, P = rng.normal(size=(4, 3)), rng.normal(size=(5, 2))
    aroma = lw.AROMA()
    assert hasattr(aroma, "transform")
    aroma.fit_triplets([[0, 1, 2]], Q, P)
    assert not hasattr(aroma, "transform")
    with pytest.raises(AttributeError) as raised:
        aroma.transform(Q)
    assert "queries have 3 features and items 2" in str(raised.value.__cause__)


@pytest.mark.parametrize("parameters", [{"norm": "dice"}, {"protocol": "one_vs_rest"}])
def test_what_is_no_inner_product_has_no_transform(parameters):
    assert hasattr(lw.SiLA(), "transform")
    assert not hasattr(lw.SiLA(**parameters), "transform")
    assert not hasattr(lw.SiLA(**parameters), "fit_transform")


@each_learner
def test_nothing_is_mapped_before_the_fit(learner, rows):
    from sklearn.base import clone

    with pytest.raises(NotFittedError):
        clone(learner).transform(rows[0])
