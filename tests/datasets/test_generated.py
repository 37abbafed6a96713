"""Data sets made by a rule or at random."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.datasets import balance, blobs_and_line, circle, load


def test_every_arm_of_the_scale_occurs_once():
    X = balance().X
    assert X.shape == (625, 4)
    assert len(np.unique(X, axis=0)) == 625
    assert X.min() == 1
    assert X.max() == 5


def test_the_scale_tips_toward_the_larger_torque():
    scale = balance()
    for (left, at, right, opposite), label in zip(scale.X, scale.y, strict=True):
        difference = left * at - right * opposite
        expected = "L" if difference > 0 else "R" if difference < 0 else "B"
        assert scale.target_names[label] == expected


def test_classes_are_as_frequent_as_in_the_uci_file():
    assert np.bincount(balance().y).tolist() == [288, 49, 288]


def test_the_last_attribute_changes_fastest():
    assert balance().X[:6].tolist() == [
        [1, 1, 1, 1],
        [1, 1, 1, 2],
        [1, 1, 1, 3],
        [1, 1, 1, 4],
        [1, 1, 1, 5],
        [1, 1, 2, 1],
    ]


def test_the_rule_gives_the_rows_and_labels_of_the_uci_file(real_folder):
    path = real_folder / "balance.npz"
    if not path.is_file():
        pytest.skip("LIKEWISE_DATA holds no balance.npz")
    stored, made = np.load(path), balance()
    assert np.array_equal(stored["X"], made.X)
    assert np.array_equal(stored["y"], made.y)
    assert tuple(stored["target_names"]) == made.target_names
    assert tuple(stored["feature_names"]) == made.feature_names


def test_a_file_in_the_folder_does_not_replace_the_rule(folder):
    np.savez(folder / "balance.npz", X=np.zeros((2, 4)), y=np.zeros(2, dtype=int))
    assert load("balance").X.shape == (625, 4)


def test_half_of_the_square_lies_in_the_circle():
    # The share of 40,000 points has a standard deviation of 0.0025.
    assert circle(40_000, random_state=0).y.mean() == pytest.approx(0.5, abs=0.01)


def test_the_circle_separates_inside_from_outside():
    points = circle(random_state=1)
    radii = np.hypot(*points.X.T)
    assert radii[points.y == 1].max() < np.sqrt(2 / np.pi) <= radii[points.y == 0].min()
    assert np.abs(points.X).max() <= 1
    assert points.X.min() < -0.99 < 0.99 < points.X.max()


@given(
    n_features=st.integers(1, 12),
    n_centers=st.integers(1, 6),
    data=st.data(),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_row_is_on_the_line_or_as_many_flips_as_asked_from_its_center(
    n_features, n_centers, data, seed
):
    n_flips = data.draw(st.integers(0, n_features))
    mixed = blobs_and_line(
        50, n_features=n_features, n_centers=n_centers, n_flips=n_flips, random_state=seed
    )
    assert mixed.X.shape == (50, n_features)
    assert set(np.unique(mixed.X)) <= {0, 1}
    center = mixed.extra["center"]
    heads = center == -1
    assert np.array_equal(mixed.y[heads], mixed.X[heads, 0])
    flipped = np.abs(mixed.X - mixed.extra["centers"][center]).sum(axis=1)
    assert (flipped[~heads] == n_flips).all()
    assert np.array_equal(mixed.y[~heads], mixed.extra["center_labels"][center[~heads]])


def test_the_coin_is_fair_and_every_center_and_every_bit_has_its_turn():
    mixed = blobs_and_line(20_000, n_features=5, n_centers=4, random_state=0)
    center = mixed.extra["center"]
    tails = center >= 0
    assert tails.mean() == pytest.approx(0.5, abs=0.02)
    assert np.bincount(center[tails]) / tails.sum() == pytest.approx(np.full(4, 1 / 4), abs=0.02)
    flips = np.abs(mixed.X - mixed.extra["centers"][center])[tails]
    assert flips.mean(axis=0) == pytest.approx(np.full(5, 1 / 5), abs=0.02)
    assert mixed.X[~tails].mean(axis=0) == pytest.approx(np.full(5, 1 / 2), abs=0.03)


@pytest.mark.parametrize("make", [circle, blobs_and_line])
def test_the_same_seed_gives_the_same_rows_and_another_gives_others(make):
    first, again, other = (make(random_state=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize("make", [circle, blobs_and_line])
def test_a_generator_of_random_numbers_is_used_up(make):
    random = np.random.RandomState(0)
    assert not np.array_equal(make(random_state=random).X, make(random_state=random).X)


@pytest.mark.parametrize("name", ["circle", "blobs_and_line"])
def test_by_name_the_set_is_always_the_same(name):
    assert np.array_equal(load(name).X, load(name).X)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_samples": 0}, "n_samples must be at least 1, but 0 was given"),
        ({"n_centers": 0}, "n_centers must be at least 1, but 0 was given"),
        ({"n_flips": -1}, "n_flips must be at least 0, but -1 was given"),
        ({"n_features": 3, "n_flips": 4}, "n_flips must be at most n_features, 3, but 4 was given"),
    ],
)
def test_impossible_numbers_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        blobs_and_line(**arguments)


def test_a_fraction_of_a_sample_is_refused():
    with pytest.raises(TypeError, match=r"n_samples must be a whole number, but 2\.5 was given"):
        circle(2.5)
