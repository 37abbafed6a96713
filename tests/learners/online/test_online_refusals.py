"""What online learners refuse, which costs nothing of what was learned."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from tests.learners.online.learners import each_learner
from tests.versions import needs_1d_sparse_arrays

import likewise as lw

ROWS = np.eye(3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            ([[0, 1, 3]], ROWS),
            ValueError,
            r"points at row 3, but items has 3 rows; see triplets\[0",
        ),
        (([[3, 1, 0]], ROWS), ValueError, "points at row 3, but queries has 3 rows"),
        (([[0, 1, 2], [0, -1, 2]], ROWS), ValueError, r"row -1, but items .* see triplets\[1\]"),
        (([[0, 2, 2]], ROWS), ValueError, r"triplets\[0\] prefers item 2 to itself"),
        ((np.empty((0, 3), int), ROWS), ValueError, "triplets has no rows"),
        (([], ROWS), ValueError, "three columns"),
        (([[0, 1]], ROWS), ValueError, r"three columns .* shape \(1, 2\)"),
        (([[0.0, 1.0, 2.0]], ROWS), TypeError, "whole row numbers, but float64"),
        (([["a", "b", "c"]], ROWS), TypeError, "whole row numbers"),
        (([[0, 1, 2]], ROWS[0]), ValueError, "queries must be 2-D"),
        (([[0, 1, 2]], ROWS, ROWS[0]), ValueError, "items must be 2-D"),
        (([[0, 1, 2]], ROWS[:0]), ValueError, "queries has no rows"),
        (([[0, 1, 2]], [["a", "b"]] * 3), TypeError, "queries must be rows of numbers"),
        (([[0, 1, 2]], ROWS * [[1], [np.nan], [1]]), ValueError, "queries holds NaN in row 1"),
        (
            ([[0, 1, 2]], ROWS, csr_array(np.diag([1, 1, np.inf]))),
            ValueError,
            "items holds infinity in row 2",
        ),
        (([[0, 1, 2]], ROWS, None, [-1.0]), ValueError, r"weights\[0\] is -1"),
    ],
)
@pytest.mark.parametrize("door", ["fit_triplets", "partial_fit_triplets"])
@each_learner
def test_bad_triplets_are_refused_and_cost_nothing(make, door, arguments, error, message):
    model = make().fit_triplets([[0, 1, 2]], ROWS)
    kept, seen = model.similarity_.W.copy(), model.n_triplets_seen_
    with pytest.raises(error, match=message):
        getattr(model, door)(*arguments)
    assert_array_equal(model.similarity_.W, kept)
    assert (model.n_triplets_seen_, model.n_updates_) == (seen, 1)


@each_learner
def test_widths_stay_what_they_were(make):
    model = make().fit_triplets([[0, 1, 2]], np.eye(3)[:, :2], np.ones((3, 4)))
    with pytest.raises(ValueError, match="queries has 3 columns, but 2 are needed"):
        model.partial_fit_triplets([[0, 1, 2]], np.eye(3), np.ones((3, 4)))
    with pytest.raises(ValueError, match="items has 5 columns, but 4 are needed"):
        model.partial_fit_triplets([[0, 1, 2]], np.ones((3, 2)), csr_array(np.ones((3, 5))))
    with pytest.raises(
        ValueError, match="X has 2 features, but the learned form compares 2 with 4"
    ):
        model.partial_fit(np.ones((4, 2)), [0, 0, 1, 1])
    square = make().partial_fit(np.eye(4), [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"X has 3 features, but .* expecting 4"):
        square.partial_fit(np.eye(3), [0, 0, 1])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"dtype": "float16"}, ValueError, "dtype must be one of 'float32', 'float64'"),
        ({"n_triplets": 0}, ValueError, "n_triplets must be at least 1"),
        ({"n_triplets": 1e5}, TypeError, "n_triplets must be a whole number"),
        ({"new_items": "forbid"}, ValueError, "new_items must be one of 'protect', 'allow'"),
        ({"validation_fraction": 0}, ValueError, "validation_fraction must be finite and above 0"),
        ({"validation_fraction": 1.5}, ValueError, "validation_fraction must be at most 1"),
        ({"negatives": "some"}, ValueError, "negatives must be one of"),
        ({"hard_negatives": 2}, ValueError, "hard_negatives must be at most 1, but 2"),
        ({"hard_negatives": -0.1}, ValueError, "hard_negatives must be finite and at least 0"),
        ({"r": 0}, ValueError, "r must be finite and above 0"),
        ({"r": np.nan}, ValueError, "r must be finite"),
        ({"r": "1"}, TypeError, "r must be a number"),
        ({"covariance": "none"}, ValueError, "covariance must be one of 'diagonal', 'factored', "),
        ({"update": "always"}, ValueError, "update must be one of 'margin', 'mistake'"),
        ({"forget": 1.5}, ValueError, "forget must be at most 1, but 1.5"),
        ({"forget": -0.1}, ValueError, "forget must be finite and at least 0"),
    ],
)
def test_parameters_are_checked_at_every_door(labelled, parameters, error, message):
    X, y = labelled
    for door, arguments in {
        "fit": (X, y),
        "partial_fit": (X, y),
        "fit_triplets": ([[0, 1, 2]], X),
        "partial_fit_triplets": ([[0, 1, 2]], X),
        "fit_relevance": (np.eye(400), X),
        "fit_pairs": ([[0, 1]], [1], X),
    }.items():
        with pytest.raises(error, match=message):
            getattr(lw.AROMA().set_params(**parameters), door)(*arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (np.where(X > 2, np.nan, X), y), "NaN"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X, np.full(400, "ash")), "y has one class"),
        (lambda X, y: (X, X[:, 0]), "y is continuous"),
        (lambda X, y: (X[:, 0], y), "Expected 2D array"),
        (lambda X, y: (X, None), "requires y"),
        (lambda X, y: (X, y, np.ones(3)), "sample_weight has 3"),
        (lambda X, y: (X, y, -np.ones(400)), "sample_weight must be finite and not negative"),
    ],
)
@pytest.mark.parametrize("door", ["fit", "partial_fit"])
@each_learner
def test_bad_labelled_rows_are_refused_and_cost_nothing(make, labelled, door, change, message):
    X, y = labelled
    model = make(random_state=0, early_stopping=False, n_triplets=50).fit(X, y)
    kept = model.similarity_.W.copy()
    with pytest.raises(ValueError, match=message):
        getattr(model, door)(*change(X, y))
    assert_array_equal(model.similarity_.W, kept)


@pytest.mark.parametrize(
    ("grades", "error", "message"),
    [
        (np.ones((3, 4)), ValueError, "relevance is 3×4, but queries has 5 rows"),
        (csr_array((3, 4)), ValueError, "relevance is 3×4, but queries has 5 rows"),
        (np.ones((5, 4)), ValueError, "relevance is 5×4, but items has 6 rows"),
        (csr_array((5, 4)), ValueError, "relevance is 5×4, but items has 6 rows"),
        (-np.ones((5, 6)), ValueError, "relevance holds -1"),
        (csr_array(-np.ones((5, 6))), ValueError, "relevance holds -1"),
        (np.zeros((5, 6)), ValueError, "no positive grade"),
        (csr_array((5, 6)), ValueError, "no positive grade"),
        (np.full((5, 6), "a"), TypeError, "relevance must hold grades"),
        (np.ones(5), ValueError, "relevance must be 2-D"),
        pytest.param(
            csr_array(np.ones(5)), ValueError, "relevance must be 2-D", marks=needs_1d_sparse_arrays
        ),
    ],
)
@each_learner
def test_bad_grades_are_refused_and_cost_nothing(make, grades, error, message):
    Q, P = np.eye(5), np.ones((6, 5))
    model = make().fit_triplets([[0, 1, 2]], Q, P)
    kept = model.similarity_.W
    with pytest.raises(error, match=message):
        model.fit_relevance(grades, Q, P)
    assert model.similarity_.W is kept


@pytest.mark.parametrize(
    ("pairs", "y", "weights", "error", "message"),
    [
        ([[0, 1], [0, 1]], [1, 0], None, ValueError, r"pairs has \(0, 1\) both as similar and"),
        ([[0, 9]], [1], None, ValueError, "pairs points at row 9, but items has 4 rows"),
        ([[9, 0]], [1], None, ValueError, "pairs points at row 9, but queries has 3 rows"),
        ([[-1, 0]], [1], None, ValueError, "pairs points at row -1, but queries"),
        ([[0, 1, 2]], [1], None, ValueError, "pairs must have two columns"),
        (np.empty((0, 2), int), [], None, ValueError, "pairs has no rows"),
        ([[0.0, 1.0]], [1], None, TypeError, "pairs must hold whole row numbers"),
        ([[0, 1]], [1, 0], None, ValueError, "pairs has 1 rows and y has 2"),
        ([[0, 1]], [2], None, ValueError, "y must hold 1 for similar"),
        ([[0, 1]], ["yes"], None, ValueError, "y must hold 1 for similar"),
        ([[0, 1]], [1], [1.0, 2.0], ValueError, "pairs has 1 rows and weights has 2"),
        ([[0, 1]], [1], [-1.0], ValueError, r"weights\[0\] is -1"),
        ([[0, 1], [1, 2]], [0, 0], None, ValueError, "pairs|y has no similar"),
    ],
)
def test_pairs_that_are_none_are_refused(pairs, y, weights, error, message):
    with pytest.raises(error, match=message):
        lw.OASIS().fit_pairs(pairs, y, np.eye(3), np.ones((4, 3)), weights)


@pytest.mark.parametrize(
    ("init", "error", "message"),
    [
        ("best", ValueError, "init must be one of 'auto', 'identity', 'zero', an array or a Bilin"),
        ("identity", ValueError, "init is the identity, but queries have 2 features and items 4"),
        (np.eye(3), ValueError, r"init is of shape \(3, 3\), but queries have 2"),
        (np.full((2, 4), np.nan), ValueError, "init holds NaN or infinity"),
        (None, TypeError, "init must be 'auto'"),
        (lw.Bilinear(np.ones((2, 4))), ValueError, "init has norm 'none', but with normalize=True"),
    ],
)
@each_learner
def test_a_start_that_does_not_fit_is_refused(make, init, error, message):
    with pytest.raises(error, match=message):
        make(init=init).fit_triplets([[0, 1, 2]], np.ones((3, 2)), np.ones((3, 4)))
