"""Online learners taught by labels."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csc_array, csr_array
from tests.learners.online.learners import each_learner, unsorted

import likewise as lw
from likewise._threads import slices
from likewise.learners.online._early_stopping import check_intervals
from likewise.supervision import LabelTriplets


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
