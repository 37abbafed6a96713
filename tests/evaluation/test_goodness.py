"""How good a similarity is: a margin for each example."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests import strategies
from tests.oracles import landmarks as oracle

import likewise as lw
from likewise.metrics import sampling_error


@pytest.fixture
def rows(rng):
    y = np.array(["a", "b", "c"])[np.arange(50) % 3]
    return (8 * rng.normal(size=(50, 3))).round() / 8 + (y == "a")[:, None], y


@pytest.mark.parametrize("kind", ["naive", "ranked"])
@pytest.mark.parametrize("as_rows", [np.asarray, csr_array])
def test_margins_are_the_formula(rows, kind, as_rows):
    X, y = rows
    squares = oracle.squared_distances(X, X)
    K = 1 / (1 + np.sqrt(squares)) if kind == "naive" else oracle.ranked(X, X, X)
    found = lw.goodness(kind, as_rows(X), y)
    assert_allclose(found.margins, oracle.mean_margins(K, y), atol=1e-12)
    assert (found.form, found.error) == ("mean", 0)


def test_the_average_is_over_the_first_argument(rng):
    K = rng.uniform(-1, 1, size=(12, 12))
    y = np.arange(12) % 2
    assert_allclose(lw.goodness("precomputed", K, y).margins, oracle.mean_margins(K, y))


@given(
    X=strategies.tables(st.integers(4, 9), st.integers(1, 3)),
    labels=st.lists(st.integers(0, 1), min_size=9, max_size=9),
)
def test_a_dissimilarity_is_measured_by_ranks(X, labels):
    y = np.array(labels[: len(X)])
    y[:2], y[2:4] = 0, 1
    found = lw.goodness("euclidean", X, y)
    assert found.form == "rank"
    expected = oracle.rank_margins(oracle.squared_distances(X, X), y)
    assert_allclose(found.margins, expected, atol=1e-12)
    bent = lw.from_distance(lambda a, b: np.expm1(np.sum((a - b) ** 2)))
    assert_allclose(lw.goodness(bent, X, y).margins, expected, atol=1e-12)


def test_a_tie_counts_neither_for_nor_against():
    D = np.ones((4, 4)) - np.eye(4)
    assert_array_equal(lw.goodness("precomputed_distance", D, [0, 0, 1, 1]).margins, 0)


@pytest.mark.parametrize("form", ["mean", "rank"])
def test_weights_enter_the_means(rows, form, rng):
    X, y = rows
    weights = rng.integers(0, 4, 50).astype(float)
    weights[:6] = 1
    found = lw.goodness("naive", X, y, form=form, sample_weight=weights).margins
    distances = np.sqrt(oracle.squared_distances(X, X))
    if form == "mean":
        expected = oracle.mean_margins(1 / (1 + distances), y, weights)
    else:
        expected = oracle.rank_margins(distances, y, weights)
    assert_allclose(found, expected, atol=1e-12)
    assert np.abs(lw.goodness("naive", X, y, form=form).margins - found).max() > 1e-3


def test_the_goodness_of_an_ensemble_is_that_of_its_margins(rows):
    X, y = rows
    clf = lw.DBoost(n_rounds=20, random_state=0).fit(X, y)
    found = lw.goodness(clf, X, y)
    assert found.form == "ensemble"
    assert_array_equal(found.margins, clf.margins(X, y))
    assert found.epsilon(0) <= np.mean(clf.predict(X) != y)
    with pytest.raises(ValueError, match="sample_weight was given, but an ensemble has weights"):
        lw.goodness(clf, X, y, sample_weight=np.ones(50))
    with pytest.raises(ValueError, match="form is 'mean', but an ensemble has margins of its own"):
        lw.goodness(clf, X, y, form="mean")


def test_a_pseudo_good_distance_can_err_on_most_rows():
    """As the paper proves: a minority with large margins outweighs a majority with small ones."""
    y, rng = np.arange(200) % 2, np.random.default_rng(0)
    D = rng.random((200, 200))
    same = y[:, None] == y
    right, wrong = np.arange(80), np.arange(80, 200)
    D[right] = np.where(same[right], 0.0, 1.0)
    D[wrong] += 0.2 * same[wrong]
    report = lw.goodness("precomputed_distance", D, y)
    assert_allclose(report.pseudo_gamma, report.margins.mean())
    assert report.pseudo_gamma > 0.1
    assert report.epsilon(0) == 0.6
    vote = lw.DBoost("precomputed", 5000, rule="vote", random_state=0).fit(D, y)
    assert 1 - vote.score(D, y) > 0.55


def test_voting_over_random_pairs_errs_as_little_as_the_theory_says(rng):
    """With (4/γ²) ln(1/δ) pairs the error is at most ε + δ."""
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + 2.0 * y[:, None]
    report = lw.goodness("euclidean", X, y)
    delta, epsilon = 0.1, 0.1
    gamma = report.gamma(epsilon)
    n_pairs = int(np.ceil(4 / gamma**2 * np.log(1 / delta)))
    of_one, of_two = (rng.choice(np.flatnonzero(y == c), n_pairs) for c in (0, 1))
    D = oracle.squared_distances(X, X)
    votes = np.sign(D[:, of_one] - D[:, of_two]).sum(axis=1)
    assert np.mean((votes > 0) != y) <= epsilon + delta


def test_epsilon_and_gamma_are_two_sides_of_one_curve(rows):
    report = lw.goodness("ranked", *rows)
    for epsilon in (0.0, 0.1, 0.5):
        gamma = report.gamma(epsilon)
        assert report.epsilon(gamma) <= epsilon
        assert report.epsilon(gamma + 1e-9) > epsilon
    gammas, shares = report.curve
    assert (np.diff(gammas) <= 0).all()
    assert_allclose([1 - report.epsilon(g) for g in gammas], shares)
    with pytest.raises(ValueError, match="epsilon must be a share below 1"):
        report.gamma(1.0)


def test_the_sentence_is_plain(rows):
    report = lw.goodness("ranked", *rows)
    share = 100 * np.mean(report.margins > 0)
    start = f"{share:.0f} % of your examples are closer to their own class; margin "
    assert str(report) == report.sentence == f"{start}{report.margins.mean():.2f}"
    assert report.sentence in repr(report)


def test_a_sample_is_off_by_no_more_than_it_says(rng):
    y = np.arange(900) % 3
    X = rng.normal(size=(900, 2)) + y[:, None]
    for kind in ("ranked", "naive", "euclidean"):
        whole, part = lw.goodness(kind, X, y), lw.goodness(kind, X, y, sample_size=300)
        off = np.abs(whole.margins - part.margins)
        assert 0 < part.error < 0.6
        assert np.mean(off > part.error) < 0.1
        assert off.mean() < part.error / 2
        assert "±" in part.sentence


def test_sampling_error_is_the_bound_of_hoeffding_and_serfling():
    assert sampling_error(10, 10) == 0
    expected = np.sqrt((1 - 99 / 1000) * np.log(40) / 200)
    assert_allclose(sampling_error(100, 1000), expected)
    assert_allclose(sampling_error(100, 1000, span=2.0), 2 * expected)
    with pytest.raises(ValueError, match="n_all must be at least 11"):
        sampling_error(11, 10)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        sampling_error(1, 10, confidence=1)


def test_learning_raises_the_margins(rows):
    X, y = rows
    X = np.hstack([X, 5 * np.random.default_rng(1).normal(size=(50, 2))])
    learned = lw.LMNN(n_jobs=1).fit(X, y).similarity_
    before, after = lw.goodness("euclidean", X, y), lw.goodness(learned, X, y)
    assert after.margins.mean() > before.margins.mean() + 0.02
    ax = before.plot(label="before")
    assert after.plot(ax, label="after") is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["before", "after"]


def test_a_lonely_row_has_no_margin(rows):
    X, y = rows
    y = y.copy()
    y[0] = "z"
    for kind in ("ranked", "euclidean"):
        with pytest.warns(UserWarning, match="only one row has the label z"):
            report = lw.goodness(kind, X, y)
        assert np.isnan(report.margins).tolist() == [True] + [False] * 49
        assert np.isfinite(report.gamma(0.1))
        assert "nan" not in report.sentence


def test_values_beyond_one_are_told(rows):
    with pytest.warns(UserWarning, match=r"similarity gave values from -.*form='rank'"):
        lw.goodness("dot", *rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: ("rankd", X, y), "Did you mean 'ranked'"),
        (lambda X, y: ("ranked", X, np.zeros(50)), "y has one class, 0.0; at least two"),
        (lambda X, y: ("ranked", X, y[:-1]), "X has 50 rows and y has 49"),
        (lambda X, y: ("ranked", np.where(X > 0, np.nan, X), y), "X holds NaN"),
        (lambda X, y: ("precomputed", X, y), "X must be a square matrix"),
    ],
)
def test_input_that_cannot_be_measured_is_refused(rows, change, message):
    with pytest.raises(ValueError, match=message):
        lw.goodness(*change(*rows))


def test_objects_and_functions(rng):
    words = ["aa", "aaa", "ab", "bb", "bbb", "ba"]
    y = np.array([0, 0, 0, 1, 1, 1])

    def alike(a, b):
        return len(set(a) & set(b)) / 2

    K = np.array([[alike(a, b) for b in words] for a in words])
    assert_array_equal(lw.goodness(alike, words, y).margins, oracle.mean_margins(K, y))
