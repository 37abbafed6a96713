"""What is written down while an online learner learns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import likewise as lw
from likewise.learners.online._history import plot_history, record


def test_losses_are_means_over_the_stretch_and_counts_are_so_far():
    history = []
    record(history, 100, 10, loss=50.0)
    record(history, 200, 15, loss=10.0)
    assert history == [{"triplets": 200, "updates": 15, "loss": 0.3, "validation": None}]
    record(history, 200, 15, validation=0.7)
    record(history, 300, 16, loss=20.0)
    assert [entry["validation"] for entry in history] == [0.7, None]
    assert_allclose(history[1]["loss"], 0.2)
    assert_allclose(history[0]["loss"], 0.3)


def test_a_stretch_ends_after_some_thousand_triplets():
    history = []
    for seen in range(1000, 35_001, 1000):
        record(history, seen, seen // 2, loss=1000 * (seen > 10_000))
    ends = [entry["triplets"] for entry in history]
    assert ends[0] == 10_000
    assert ends[-1] == 35_000
    assert 3 <= len(ends) <= 4
    assert history[0]["loss"] == 0
    assert_allclose([entry["loss"] for entry in history[1:]], 1)


def test_nothing_is_written_where_nothing_happened():
    history = []
    record(history, 0, 0)
    assert history == []


def test_a_stream_without_end_has_a_history_with_an_end():
    history, total = [], 0.0
    for turn in range(1, 3001):
        loss = float(turn % 7) * 10_000
        total += loss
        record(history, turn * 10_000, turn, loss, validation=turn / 3000)
    assert len(history) <= 1000
    ends = np.array([entry["triplets"] for entry in history])
    assert (np.diff(ends) > 0).all()
    assert ends[-1] == 30_000_000
    lengths = np.diff(ends, prepend=0)
    assert_allclose(sum(n * e["loss"] for n, e in zip(lengths, history, strict=True)), total)
    assert history[-1]["validation"] == 1
    assert all(entry["validation"] is not None for entry in history)


def test_a_learner_counts_what_it_saw(rng):
    rows = rng.normal(size=(30, 4))
    triplets = rng.integers([30, 15, 15], size=(25_000, 3)) + np.array([0, 0, 15])
    model = lw.AROMA().fit_triplets(triplets, rows)
    last = model.history_[-1]
    assert last["triplets"] == model.n_triplets_seen_ == 25_000
    assert last["updates"] == model.n_updates_
    updates = [entry["updates"] for entry in model.history_]
    assert updates == sorted(updates)
    assert len(updates) > 1
    model.fit_triplets(triplets[:10], rows)
    assert [entry["triplets"] for entry in model.history_] == [10]


def test_pieces_of_a_stream_have_the_history_of_the_whole(rng):
    rows = rng.normal(size=(30, 4))
    triplets = rng.integers([30, 15, 15], size=(3000, 3)) + np.array([0, 0, 15])
    whole = lw.OASIS(dtype="float64").fit_triplets(triplets, rows)
    pieces = lw.OASIS(dtype="float64")
    for part in np.array_split(triplets, 7):
        pieces.partial_fit_triplets(part, rows)
    for one, other in zip(pieces.history_, whole.history_, strict=True):
        assert (one["triplets"], one["updates"]) == (other["triplets"], other["updates"])
        assert_allclose(one["loss"], other["loss"])


def test_a_plot_shows_the_loss_and_what_was_held_out():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    history = []
    for seen in (1000, 2000, 3000):
        record(history, seen, seen, loss=500, validation=seen / 1e4)
    ax = plot_history(history, {"measure": "map", "overall": (0.05, 0.3, 0.01, 20)})
    assert_allclose(ax.lines[0].get_ydata(), [0.5, 0.5, 0.5])
    right = ax.figure.axes[1]
    assert_allclose(right.lines[0].get_ydata(), [0.1, 0.2, 0.3])
    assert "map" in right.get_ylabel()
    own = pyplot.subplots()[1]
    model = lw.OASIS().fit_triplets([[0, 1, 2]], np.eye(3))
    assert model.plot_history(own) is own
    assert len(own.figure.axes) == 1
    pyplot.close("all")
