"""Bad input is refused with a sentence, before anything is learned."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import likewise as lw

ROWS = np.random.default_rng(0).normal(size=(12, 3))
LABELS = np.array(["a", "b", "c"] * 4)


class Spy(BaseEstimator):
    """A learner that remembers, for all its clones, how often it was fitted."""

    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        self.similarity_ = lw.Mahalanobis(1.0)
        return self


@pytest.fixture(autouse=True)
def _fresh_spy(monkeypatch):
    monkeypatch.setattr(Spy, "n_fits", 0)


def assert_refuses(match, X=ROWS, y=LABELS, *, kind=ValueError, **parameters):
    """Check the sentence, and that nothing was fitted; a learner spies unless one is given."""
    if "similarity" not in parameters:
        parameters = {"learner": Spy(), **parameters}
    clf = lw.SimilarityClassifier(**parameters)
    with pytest.raises(kind, match=match):
        clf.fit(X, y)
    assert Spy.n_fits == 0
    with pytest.raises(NotFittedError):
        clf.predict(ROWS)


def test_the_spy_is_fitted_when_nothing_is_wrong():
    lw.SimilarityClassifier(learner=Spy()).fit(ROWS, LABELS)
    assert Spy.n_fits == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.array, csr_array], ids=["dense", "csr"])
def test_values_that_are_not_finite_are_refused(value, form):
    rows = ROWS.copy()
    rows[3, 1] = value
    assert_refuses("Input X contains (NaN|infinity)", form(rows))
    fitted = lw.SimilarityClassifier().fit(ROWS, LABELS)
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        fitted.predict(form(rows))


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("rule", ["majority", "symmetric", "energy"])
def test_rows_of_another_width_are_refused(width, rule):
    fitted = lw.SimilarityClassifier(rule=rule).fit(ROWS, LABELS)
    for method in (fitted.predict, fitted.predict_proba, fitted.kneighbors):
        with pytest.raises(ValueError, match=f"X has {width} features, but .* 3 features"):
            method(np.zeros((2, width)))


@pytest.mark.parametrize("similarity", ["euclidean", "precomputed", lw.from_distance(max)])
def test_no_rows_are_refused(similarity):
    assert_refuses("no rows|0 sample", ROWS[:0], LABELS[:0], similarity=similarity)


def test_one_row_by_itself_is_not_a_table():
    assert_refuses("Expected 2D array, got 1D array", ROWS[0])


def test_no_rows_to_predict_are_refused():
    fitted = lw.SimilarityClassifier().fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="0 sample"):
        fitted.predict(ROWS[:0])


def test_one_class_is_refused_by_name():
    assert_refuses("y has one class, zebra; at least two", y=np.full(12, "zebra"))


def test_labels_that_vary_continuously_are_refused():
    assert_refuses("continuous", y=ROWS[:, 0])


def test_missing_labels_are_refused():
    assert_refuses("requires y to be passed, but the target y is None", y=None)


@pytest.mark.parametrize("n_labels", [11, 13])
def test_labels_of_another_length_are_refused(n_labels):
    labels = np.resize(LABELS, n_labels)
    assert_refuses(f"X has 12 rows and y has {n_labels}, but they pair", y=labels)
    words = lw.from_distance(lambda a, b: abs(len(a) - len(b)))
    assert_refuses(
        f"X has 12 rows and y has {n_labels}, but they pair", ["w"] * 12, labels, similarity=words
    )


@pytest.mark.parametrize("form", [np.array, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("similarity", ["dice", "jaccard"])
def test_negative_values_are_refused_where_they_have_no_meaning(similarity, form):
    assert_refuses(
        f"X holds -.*, but norm '{similarity}' needs values that are not negative",
        form(ROWS),
        similarity=similarity,
    )


@pytest.mark.parametrize("form", [np.array, csr_array], ids=["dense", "csr"])
def test_values_above_one_are_refused_by_jaccard(form):
    rows = np.abs(ROWS)
    assert_refuses(
        r"X holds .*, but norm 'jaccard' needs values in \[0, 1\]",
        form(rows),
        similarity="jaccard",
    )


def test_negative_distances_are_refused():
    assert_refuses(
        "X holds -1 in row 0, column 1, but a distance must not be negative",
        -1 + np.eye(12),
        similarity="precomputed_distance",
    )


@pytest.mark.parametrize(
    "similarity",
    ["precomputed", "precomputed_distance", lw.from_callable(min), lw.from_distance(max)],
    ids=str,
)
def test_sparse_rows_are_refused_where_they_cannot_be(similarity):
    sparse_rows = csr_array(np.eye(12))
    assert_refuses("X.* dense", sparse_rows, kind=TypeError, similarity=similarity)


@pytest.mark.parametrize(
    ("n_neighbors", "kind", "sentence"),
    [
        (13, ValueError, "n_neighbors is 13, but X has only 12 rows"),
        (0, ValueError, "n_neighbors must be at least 1, but 0 was given"),
        (-2, ValueError, "n_neighbors must be at least 1, but -2 was given"),
        (2.5, TypeError, "n_neighbors must be a whole number, but 2.5 was given"),
        (True, TypeError, "n_neighbors must be a whole number, but True was given"),
        ("3", TypeError, "n_neighbors must be a whole number, but '3' was given"),
        (None, TypeError, "n_neighbors must be a whole number, but None was given"),
    ],
)
def test_a_number_of_neighbours_that_cannot_be_is_refused(n_neighbors, kind, sentence):
    assert_refuses(sentence, kind=kind, n_neighbors=n_neighbors)


@pytest.mark.parametrize("n_neighbors", [0, 2.5, True])
def test_kneighbors_names_its_own_argument(n_neighbors):
    fitted = lw.SimilarityClassifier().fit(ROWS, LABELS)
    with pytest.raises((TypeError, ValueError), match=r"^n_neighbors must be"):
        fitted.kneighbors(ROWS, n_neighbors=n_neighbors)


@pytest.mark.parametrize(
    ("c", "kind"),
    [(-0.1, ValueError), (np.nan, ValueError), (np.inf, ValueError), ("1", TypeError)],
)
def test_a_weight_that_cannot_be_is_refused(c, kind):
    assert_refuses("c must be", kind=kind, c=c)


def test_an_unknown_similarity_lists_the_known():
    assert_refuses(
        "similarity must be one of 'euclidean', 'cosine', .*but 'cosin' was given. "
        "Did you mean 'cosine'?",
        similarity="cosin",
    )


@pytest.mark.parametrize("similarity", [None, 3, ROWS])
def test_a_similarity_that_is_none_is_refused(similarity):
    assert_refuses("similarity must be a name", kind=TypeError, similarity=similarity)


def test_what_is_no_similarity_is_refused():
    assert_refuses("similarity must be a name, a function of two", kind=TypeError, similarity=3)


def test_an_unknown_rule_lists_the_known():
    known = "'majority', 'symmetric', 'symmetric_mean', 'energy', 'softmax'"
    assert_refuses(f"rule must be one of {known}, but 'vote'", rule="vote")
    assert_refuses("rule must be one of 'majority'", kind=TypeError, rule=None)


@pytest.mark.parametrize("similarity", ["cosine", lw.Mahalanobis(1.0), ROWS], ids=lambda s: type(s))
def test_learner_and_similarity_together_are_refused(similarity):
    assert_refuses("learner and similarity were both given", learner=Spy(), similarity=similarity)


@pytest.mark.parametrize("learner", ["nca", 3, NeighborhoodComponentsAnalysis, np.eye(3)], ids=str)
def test_a_learner_that_is_no_estimator_is_refused(learner):
    assert_refuses("learner must be an estimator, but", kind=TypeError, learner=learner)


@pytest.mark.parametrize("learner", [LogisticRegression(), KMeans(2, n_init=1)])
def test_a_learner_without_a_linear_map_is_named(learner):
    with pytest.raises(TypeError, match=type(learner).__name__):
        lw.SimilarityClassifier(learner=learner).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    "similarity", ["cosine", "dot", "precomputed", lw.from_callable(min)], ids=str
)
def test_energy_without_a_distance_is_refused(similarity):
    assert_refuses(
        "rule 'energy' needs a similarity with a distance, but .* has none",
        np.eye(12),
        similarity=similarity,
        rule="energy",
    )


@pytest.mark.parametrize("similarity", ["precomputed", "precomputed_distance"])
def test_a_precomputed_matrix_that_is_not_square_is_refused(similarity):
    assert_refuses(
        r"X must be a square matrix .* has shape \(12, 3\)", np.abs(ROWS), similarity=similarity
    )


@pytest.mark.parametrize("width", [11, 13])
def test_a_precomputed_matrix_of_another_width_is_refused(width):
    fitted = lw.SimilarityClassifier(similarity="precomputed").fit(np.eye(12), LABELS)
    with pytest.raises(ValueError, match=f"X has {width} features, but .* 12 features"):
        fitted.predict(np.ones((2, width)))


@pytest.mark.parametrize(
    "similarity",
    [lw.Mahalanobis(np.ones((2, 4))), lw.Bilinear(np.eye(4)), lw.Mahalanobis([1.0] * 4)],
)
def test_a_similarity_of_another_width_is_refused_at_fit(similarity):
    assert_refuses("X has 3 columns, but 4 are needed", similarity=similarity)


@pytest.mark.parametrize("W", [np.ones((3, 4)), np.ones((4, 3))])
def test_a_form_between_different_kinds_is_refused_at_fit(W):
    assert_refuses("X has 3 columns, but 4 are needed", similarity=lw.Bilinear(W))


def test_a_small_class_is_named_once_as_it_was_given():
    labels = np.array(["many"] * 9 + ["pair"] * 2 + ["single"])
    with pytest.warns(UserWarning, match="fewer than 4 rows") as caught:
        lw.SimilarityClassifier(rule="energy").fit(ROWS, labels)
    assert len(caught) == 1
    assert "in class pair (2), single (1): their rows" in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (np.array([0.0, 1.0, np.nan] * 4), "NaN"),
        (np.array([0.0, 1.0, np.inf] * 4), "infinity"),
        (np.array(["a", "b", np.nan] * 4, dtype=object), "NaN"),
    ],
    ids=["nan", "inf", "object"],
)
def test_labels_that_are_missing_are_refused(labels, problem):
    assert_refuses(f"Input (y )?contains {problem}", y=labels)
    words = lw.from_distance(lambda a, b: abs(len(a) - len(b)))
    assert_refuses(f"Input (y )?contains {problem}", ["w"] * 12, labels, similarity=words)
