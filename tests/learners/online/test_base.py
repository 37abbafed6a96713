"""What online learners publish, and long work."""

import signal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from tests.learners.online.learners import each_learner, unsorted

import likewise as lw
from likewise import kernels
from likewise.exceptions import InterruptedWarning


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


def test_ctrl_c_keeps_what_was_learned_from_triplets(rng, monkeypatch, interrupt_at):
    rows = rng.normal(size=(30, 4))
    triplets = rng.integers([30, 15, 15], size=(50_000, 3)) + np.array([0, 0, 15])
    interrupt_at(5, "oasis_dense", kernels)
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
def test_ctrl_c_keeps_what_was_learned_from_labels(labelled, interrupt_at, early_stopping, at):
    X, y = labelled
    interrupt_at(at, "diagonal_dense", kernels)
    with pytest.warns(InterruptedWarning, match="learning was interrupted") as caught:
        model = lw.AROMA(random_state=0, early_stopping=early_stopping).fit(X, y)
    assert len(caught) == 1
    assert 0 < model.n_triplets_seen_ < 500_000
    assert (np.eye(6) != model.similarity_.W).any()


def test_ctrl_c_between_two_rates_keeps_the_best_so_far(labelled, interrupt_at):
    X, y = labelled
    interrupt_at(4, "diagonal_dense", kernels)  # each of the four rates has three blocks
    with pytest.warns(InterruptedWarning, match="learning was interrupted") as caught:
        model = lw.AROMA(r="auto", random_state=0, n_triplets=3000).fit(X, y)
    assert len(caught) == 1
    assert model.r_ in (0.01, 0.1)
    assert (np.eye(6) != model.similarity_.W).any()
    assert model.n_triplets_seen_ > 0


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
