"""The doors of AROMA and OASIS: labels, relevance, pairs, pieces; and what is refused at each."""

import os
import signal
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csc_array, csr_array
from sklearn.datasets import load_digits

import likewise as lw
from likewise import kernels
from likewise._threads import slices
from likewise.exceptions import InterruptedWarning
from likewise.learners.online._early_stopping import check_intervals
from likewise.supervision import LabelTriplets, RelevanceTriplets

LEARNERS = {
    "diagonal": lambda **p: lw.AROMA(**p),
    "factored": lambda **p: lw.AROMA("factored", **p),
    "oasis": lambda **p: lw.OASIS(**p),
}
each_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


@pytest.fixture
def labelled(rng):
    """Return rows in which two of six columns tell the class, and the others drown it."""
    y = np.array(["ash", "beech", "cedar"])[np.arange(400) % 3]
    X = rng.normal(size=(400, 6)) * [1, 1, 3, 3, 3, 3]
    return X + 3 * (y == "ash")[:, None] * [1, 0, 0, 0, 0, 0] + 3 * (y == "cedar")[
        :, None
    ] * np.array([0, 1, 0, 0, 0, 0]), y


@pytest.fixture
def judged(rng):
    """Return grades of 60 queries and 80 items that share half of their features."""
    Q, P = rng.normal(size=(60, 5)), rng.normal(size=(80, 7))
    true = Q[:, :3] @ P[:, :3].T
    order = np.argsort(-true, axis=1)
    grades = np.zeros((60, 80))
    np.put_along_axis(grades, order[:, 4:8], 1, axis=1)
    np.put_along_axis(grades, order[:, :4], 2, axis=1)
    return grades, Q, P


@pytest.fixture
def usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def unsorted(rows):
    """Return CSR rows whose entries are in no order, some of them in two halves."""
    csr = csr_array(rows)
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(csr.indptr[:-1], csr.indptr[1:], strict=True)]
    )
    data, indices = np.repeat(csr.data[order] / 2, 2), np.repeat(csr.indices[order], 2)
    return csr_array((data, indices, csr.indptr * 2), shape=csr.shape)


# Labels.


@each_learner
def test_labels_teach_which_features_matter(make, labelled):
    X, y = labelled
    model = make(random_state=0, n_triplets=20_000).fit(X[:300], y[:300])
    untrained = make(init="identity").fit_triplets([[0, 1, 2]], np.zeros((3, 6)))
    assert model.score(X[300:], y[300:]) > untrained.score(X[300:], y[300:]) + 0.1
    checked = model.validation_
    assert checked["measure"] == "map"
    assert checked["published"]
    assert checked["overall"] == checked["new"]
    start, learned, error, n = checked["new"]
    assert n == 60
    assert learned > start + 2.5 * error > start
    assert checked["seen"].n == 0
    assert 0 < checked["share"] <= 1
    assert model.n_triplets_seen_ == checked["n_triplets"]


@each_learner
def test_labels_that_mean_nothing_leave_the_start(make, rng):
    X, y = rng.normal(size=(300, 5)), rng.integers(0, 3, 300)
    with pytest.warns(UserWarning, match=r"does not clearly beat its start .* 60 queries"):
        model = make(random_state=0, n_triplets=20_000).fit(X, y)
    assert_array_equal(model.similarity_.W, np.eye(5))
    assert model.validation_["share"] == 0
    assert not model.validation_["published"]
    assert model.n_triplets_seen_ == 0
    assert model.history_[-1]["triplets"] > 0


@each_learner
def test_learning_ends_when_nothing_is_gained(make, rng):
    """Classes that are found without a mistake at the start leave nothing to gain."""
    y = np.arange(200) % 4
    X = np.eye(4)[y] + 0.01 * rng.random((200, 4))
    with pytest.warns(UserWarning, match="the start is kept"):
        model = make(random_state=0, n_triplets=100_000).fit(X, y)
    assert 1000 < model.history_[-1]["triplets"] < 100_000
    checks = [entry["validation"] for entry in model.history_]
    assert sum(check is not None for check in checks) > 1
    assert_array_equal(model.similarity_.W, np.eye(4))


@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
def test_what_only_seems_better_rarely_passes_the_gate():
    """Of sets whose labels mean nothing; trying many forms must not let one pass by chance."""
    passed = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(300, 5)), rng.integers(0, 3, 300)
        model = lw.OASIS(random_state=seed, n_triplets=5000).fit(X, y)
        passed.append(model.validation_["published"])
    assert sum(passed) <= 1


@each_learner
def test_without_early_stopping_every_triplet_is_learned_from_and_published(make, rng):
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    model = make(random_state=0, n_triplets=2345, early_stopping=False).fit(X, y)
    assert model.n_triplets_seen_ == 2345
    assert not hasattr(model, "validation_")
    assert (np.eye(4) != model.similarity_.W).any()


@each_learner
def test_the_same_seed_gives_the_same_form_and_another_another(make, labelled):
    X, y = labelled

    def form(seed):
        return make(random_state=seed, n_triplets=3000).fit(X, y).similarity_.W

    assert_array_equal(form(1), form(1))
    assert (form(1) != form(2)).any()


@each_learner
def test_dense_and_sparse_labelled_rows_agree(make, labelled):
    X, y = labelled
    X = X * (np.abs(X) > 0.7)
    forms = [
        make(random_state=0, n_triplets=3000, dtype="float64").fit(kind(X), y).similarity_.W
        for kind in (np.asarray, csr_array)
    ]
    assert_allclose(forms[0], forms[1], atol=1e-8)


@each_learner
@pytest.mark.parametrize("door", ["fit", "partial_fit", "fit_triplets", "partial_fit_triplets"])
def test_sparse_rows_in_any_order_are_the_same_rows(make, labelled, door):
    """Entries unsorted and in pieces, as a product of two matrices leaves them."""
    X, y = labelled
    X = X * (np.abs(X) > 0.7)
    forms = []
    for rows in (csr_array(X), unsorted(X)):
        model = make(random_state=0, n_triplets=2000, early_stopping=False, dtype="float64")
        if door.endswith("triplets"):
            getattr(model, door)(LabelTriplets(y).draw(500, np.random.default_rng(0)), rows)
        else:
            getattr(model, door)(rows, y)
        forms.append(model.similarity_.W)
    assert_allclose(forms[0], forms[1], atol=1e-8)


@each_learner
@pytest.mark.parametrize("kind", [coo_array, csc_array, np.asfortranarray, list])
def test_rows_of_any_container_are_the_same_rows(make, rng, kind):
    X = rng.normal(size=(12, 4))
    triplets = rng.integers([12, 6, 6], size=(50, 3)) + np.array([0, 0, 6])
    wanted = make(dtype="float64").fit_triplets(triplets, X).similarity_.W
    for door in ("fit_triplets", "partial_fit_triplets"):
        found = getattr(make(dtype="float64"), door)(triplets, kind(X)).similarity_.W
        assert_allclose(found, wanted, atol=1e-10)


@each_learner
def test_the_weight_of_a_row_is_that_of_its_triplets(make, labelled):
    X, y = labelled
    weights = 0.5 + np.arange(400) % 3
    options = {"random_state": 0, "n_triplets": 3000, "dtype": "float64"}
    model = make(early_stopping=False, **options).fit(X, y, weights)
    blocks, rng = [], model._generator(0)
    for n in check_intervals(3000):
        blocks += [LabelTriplets(y).draw(b.stop - b.start, rng) for b in slices(n, 1024)]
    triplets = np.concatenate(blocks)
    relative = (weights / weights.mean())[triplets[:, 0]]
    expected = make(**options).fit_triplets(triplets, X, weights=relative)
    assert_allclose(model.similarity_.W, expected.similarity_.W, atol=1e-10)


@each_learner
def test_weights_are_those_of_the_first_call_of_partial_fit_too(make, labelled):
    X, y = labelled
    weights = np.arange(400) % 2.0
    found = make(random_state=0).partial_fit(X, y, weights).similarity_.W
    assert_array_equal(make(random_state=0).partial_fit(X[1::2], y[1::2]).similarity_.W, found)


@each_learner
def test_labelled_pieces_go_on_from_where_they_are(make, labelled):
    X, y = labelled
    model = make(random_state=0, init="identity")
    for part in np.array_split(np.arange(400), 3):
        model.partial_fit(X[part], y[part])
    assert model.n_triplets_seen_ == 4000
    untrained = make(init="identity").fit_triplets([[0, 1, 2]], np.zeros((3, 6)))
    assert model.score(X, y) > untrained.score(X, y)
    again = make(random_state=0, init="identity")
    for part in np.array_split(np.arange(400), 3):
        again.partial_fit(X[part], y[part])
    assert_array_equal(again.similarity_.W, model.similarity_.W)


@each_learner
def test_a_refused_first_piece_leaves_nothing_behind(make, labelled):
    X, y = labelled
    model = make(random_state=0)
    with pytest.raises(ValueError, match="y has one class"):
        model.partial_fit(X, np.full(400, "ash"))
    assert not hasattr(model, "similarity_")
    model.partial_fit(X[:, :3], y)
    assert model.similarity_.W.shape == (3, 3)


@each_learner
def test_too_few_rows_to_judge_by_leave_the_start_with_a_warning(make, labelled):
    X, y = labelled
    with pytest.warns(UserWarning, match="too few queries to hold some out"):
        model = make(random_state=0, n_triplets=100).fit(X[:12], y[:12])
    assert model.validation_["overall"].n == 0
    assert_array_equal(model.similarity_.W, np.eye(6))
    unvalidated = make(random_state=0, n_triplets=100, early_stopping=False)
    assert unvalidated.fit(X[:12], y[:12]).n_triplets_seen_ == 100


@each_learner
def test_held_out_rows_that_are_alone_in_their_class_are_no_obstacle(make, rng):
    """Many classes of one row, as of products or people, and few of more."""
    y = np.array([0, 0, 0, *range(1, 58)])
    X = rng.normal(size=(60, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The number of unique classes")
        warnings.filterwarnings("ignore", "the learned form does not clearly beat")
        warnings.filterwarnings("ignore", ".* too few queries to hold some out")
        model = make(random_state=0, n_triplets=2000).fit(X, y)
    assert np.isfinite(model.similarity_.W).all()


def test_all_classes_of_one_row_have_no_score_but_a_sentence(rng):
    model = lw.OASIS().fit_triplets([[0, 1, 2]], rng.normal(size=(3, 2)))
    with pytest.raises(ValueError, match="y"):
        model.score(rng.normal(size=(3, 2)), ["a", "b", "c"])


# Relevance and pairs.


@each_learner
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("negatives", ["unjudged", "judged"])
def test_grades_teach_what_is_relevant(make, judged, kind, negatives):
    grades, Q, P = judged
    model = make(random_state=0, n_triplets=20_000, negatives=negatives)
    model.fit_relevance(kind(grades), Q, P)
    assert model.similarity_.W.shape == (5, 7)
    assert model.validation_["measure"] == "ndcg@10"
    assert model.validation_["overall"].learned > model.validation_["overall"].start + 0.1
    assert model.n_features_in_ == 5


@each_learner
def test_hard_negatives_are_learned_from(make, judged):
    grades, Q, P = judged
    model = make(random_state=0, n_triplets=5000, hard_negatives=0.5).fit_relevance(grades, Q, P)
    usual = make(random_state=0, n_triplets=5000).fit_relevance(grades, Q, P)
    assert model.validation_["overall"].learned > model.validation_["overall"].start + 0.1
    assert (model.similarity_.W != usual.similarity_.W).any()


@each_learner
@pytest.mark.filterwarnings("ignore:the learned form does not clearly beat its start:UserWarning")
def test_grades_without_meaning_rarely_move_the_start(make, rng):
    kept = 0
    for seed in range(4):
        Q, grades = rng.normal(size=(100, 4)), rng.random((100, 100)) < 0.05
        grades[np.arange(100), rng.permutation(100)] = True
        model = make(random_state=seed, n_triplets=3000).fit_relevance(grades, Q)
        kept += np.array_equal(model.similarity_.W, np.eye(4))
    assert kept >= 3


def test_weights_of_judgements_decide_what_is_drawn(judged):
    grades, Q, P = judged
    weights = np.zeros(grades.shape)
    weights[:, :40] = 1  # judgements of the other items do not count
    model = lw.OASIS(random_state=0, n_triplets=500, early_stopping=False, init="zero")
    one = model.fit_relevance(grades, Q, P, weights).similarity_.W
    assert_array_equal(model.fit_relevance(grades, Q, P, csr_array(weights)).similarity_.W, one)
    assert (one != model.fit_relevance(grades, Q, P).similarity_.W).any()
    closer = RelevanceTriplets(grades, weights).draw(200, np.random.default_rng(0))[:, 1]
    assert closer.max() < 40


@each_learner
def test_a_query_whose_items_are_all_alike_does_not_cost_what_was_learned(make, judged):
    """It teaches nothing: it is passed over, or refused before anything is lost."""
    grades, Q, P = judged
    grades = grades.copy()
    grades[4] = 1
    model = make(random_state=0, n_triplets=3000, early_stopping=False)
    model.fit_triplets([[0, 1, 2]], Q, P)
    kept = model.similarity_.W
    try:
        model.fit_relevance(grades, Q, P)
    except ValueError as error:
        assert "query 4" in str(error)  # noqa: PT017
        assert_array_equal(model.similarity_.W, kept)
        assert model.n_triplets_seen_ == 1
    else:
        assert model.n_triplets_seen_ == 3000


@each_learner
def test_pairs_teach_what_is_alike(make, judged):
    grades, Q, P = judged
    pairs = np.argwhere(np.ones(grades.shape, bool))[::3]
    y = np.where(grades[tuple(pairs.T)] > 0, 1, -1)
    model = make(random_state=0, n_triplets=10_000).fit_pairs(pairs, y, Q, P)
    assert model.validation_["overall"].learned > model.validation_["overall"].start + 0.05
    same = make(random_state=0, n_triplets=10_000)
    for told in (y > 0, np.maximum(y, 0)):
        assert_array_equal(same.fit_pairs(pairs, told, Q, P).similarity_.W, model.similarity_.W)


def test_a_similar_item_is_held_against_the_dissimilar_ones():
    rows = np.eye(4)
    model = lw.OASIS(n_triplets=50, early_stopping=False, init="zero", random_state=0)
    W = model.fit_pairs([[0, 1], [0, 2]], [1, 0], rows).similarity_.W
    assert W[0, 1] > 0 > W[0, 2]
    assert (W[0, [0, 3]] == 0).all()  # nobody said anything of these
    weighted = model.fit_pairs([[0, 1], [0, 2], [0, 3]], [1, 1, 0], rows, weights=[1, 0, 1])
    assert weighted.similarity_.W[0, 2] == 0


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


# What is published.


@each_learner
def test_what_was_published_does_not_change_with_what_is_learned_later(make, rng):
    rows = rng.normal(size=(20, 4))
    triplets = rng.integers([20, 10, 10], size=(60, 3)) + np.array([0, 0, 10])
    model = make().fit_triplets(triplets[:30], rows)
    published = model.similarity_
    kept = published.W.copy()
    model.partial_fit_triplets(triplets[30:], rows)
    assert_array_equal(published.W, kept)
    assert (kept != model.similarity_.W).any()
    with pytest.raises(ValueError, match="read-only"):
        model.similarity_.W[0, 0] = 9
    looked = make()
    for part in np.array_split(triplets, 6):
        looked.partial_fit_triplets(part, rows)
        assert looked.similarity_.W.shape == (4, 4)
    assert_allclose(looked.similarity_.W, model.similarity_.W, atol=1e-5)


@each_learner
def test_rows_and_triplets_are_left_as_they_were(make, rng):
    X = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.6)
    triplets = rng.integers([20, 10, 10], size=(60, 3)) + np.array([0, 0, 10])
    given = triplets.copy()
    for rows in (X.copy(), csr_array(X), unsorted(X)):
        before = rows.copy()
        make().fit_triplets(given, rows)
        make().partial_fit_triplets(given, rows)
        if isinstance(rows, np.ndarray):
            assert_array_equal(rows, before)
        else:
            assert_array_equal(rows.data, before.data)
            assert_array_equal(rows.indices, before.indices)
    assert_array_equal(given, triplets)


@each_learner
def test_a_start_can_be_given(make, rng):
    nothing = np.zeros((3, 2)), np.zeros((3, 4))
    form = rng.normal(size=(2, 4))
    told = lw.Bilinear(form, norm="cosine")
    for init in (form, told, form.tolist()):
        model = make(init=init, dtype="float64").fit_triplets([[0, 1, 2]], *nothing)
        assert_array_equal(model.similarity_.W, form)
    model.partial_fit_triplets([[0, 1, 2]], np.ones((1, 2)), rng.normal(size=(3, 4)))
    assert_array_equal(told.W, form)
    assert_array_equal(
        make(init="zero").fit_triplets([[0, 1, 2]], np.eye(3)[:, :2] * 0).similarity_.W, 0
    )


@pytest.mark.parametrize(
    ("init", "error", "message"),
    [
        ("best", ValueError, "init must be one of 'auto', 'identity', 'zero'"),
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


# What is refused.

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
        ({"covariance": "full"}, ValueError, "covariance must be one of 'diagonal', 'factored'"),
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
        (np.ones((5, 4)), ValueError, "relevance is 5×4, but items has 6 rows"),
        (-np.ones((5, 6)), ValueError, "relevance holds -1"),
        (np.zeros((5, 6)), ValueError, "no positive grade"),
        (np.full((5, 6), "a"), TypeError, "relevance must hold grades"),
        (np.ones(5), ValueError, "relevance must be 2-D"),
    ],
)
@each_learner
def test_bad_grades_are_refused_and_cost_nothing(make, grades, error, message):
    Q, P = np.eye(5), np.ones((6, 5))
    model = make().fit_triplets([[0, 1, 2]], Q, P)
    kept = model.similarity_.W
    with pytest.raises(error, match=message):
        model.fit_relevance(grades, Q, P)
    with pytest.raises(error, match=message):
        model.fit_relevance(csr_array(grades) if grades.dtype.kind == "f" else grades, Q, P)
    assert model.similarity_.W is kept


# Long work.


def pressing(monkeypatch, name, at):
    """Press Ctrl-C when a kernel is called for the n-th time."""
    kernel, calls = getattr(kernels, name), []

    def interrupted(*arguments):
        calls.append(None)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGINT)
        kernel(*arguments)

    monkeypatch.setattr(kernels, name, interrupted, raising=False)


def test_ctrl_c_keeps_what_was_learned_from_triplets(rng, monkeypatch, usual_handler):
    rows = rng.normal(size=(30, 4))
    triplets = rng.integers([30, 15, 15], size=(50_000, 3)) + np.array([0, 0, 15])
    pressing(monkeypatch, "oasis_dense", 5)
    with pytest.warns(InterruptedWarning, match="kept: the state learned so far"):
        model = lw.OASIS().fit_triplets(triplets, rows)
    seen = model.n_triplets_seen_
    assert 0 < seen < 50_000
    monkeypatch.undo()
    wanted = lw.OASIS().fit_triplets(triplets[:seen], rows)
    assert_array_equal(model.similarity_.W, wanted.similarity_.W)
    assert model.n_updates_ == wanted.n_updates_
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    model.partial_fit_triplets(triplets[seen:], rows)
    assert model.n_triplets_seen_ == 50_000


@pytest.mark.parametrize("early_stopping", [True, False])
@pytest.mark.parametrize("at", [1, 9])
def test_ctrl_c_keeps_what_was_learned_from_labels(
    labelled, monkeypatch, usual_handler, early_stopping, at
):
    X, y = labelled
    pressing(monkeypatch, "diagonal_dense", at)
    with pytest.warns(InterruptedWarning, match="learning was interrupted") as caught:
        model = lw.AROMA(random_state=0, early_stopping=early_stopping).fit(X, y)
    assert len(caught) == 1
    assert 0 < model.n_triplets_seen_ < 500_000
    assert (np.eye(6) != model.similarity_.W).any()


def test_progress_is_shown_when_asked(rng, capfd):
    rows = rng.normal(size=(30, 4))
    lw.OASIS().fit_triplets([[0, 1, 2]], rows)
    assert capfd.readouterr() == ("", "")
    lw.OASIS(verbose=True).fit_triplets([[0, 1, 2]], rows)
    assert "learning: 1/1 triplets" in capfd.readouterr().err


def test_more_triplets_of_a_real_set_find_more_of_a_class():
    digits = load_digits()
    X, y = digits.data, digits.target
    scores = [
        lw.AROMA(random_state=0, n_triplets=n, early_stopping=False)
        .fit(X[:900], y[:900])
        .score(X[900:], y[900:])
        for n in (10, 10_000)
    ]
    assert scores[1] > scores[0] + 0.05
