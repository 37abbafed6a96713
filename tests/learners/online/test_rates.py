"""A rate of "auto" is the one with which held-out queries are ranked best."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import likewise as lw

LEARNERS = {
    "diagonal": (lw.AROMA, "r"),
    "full": (lambda **p: lw.AROMA("full", update="mistake", **p), "r"),
    "oasis": (lw.OASIS, "C"),
}
each_learner = pytest.mark.parametrize(("make", "name"), LEARNERS.values(), ids=LEARNERS)
OPTIONS = {"random_state": 0, "n_triplets": 3000, "new_items": "allow"}


@pytest.fixture
def judged(rng):
    """Return grades of 60 queries and 80 items that share half of their features."""
    Q, P = rng.normal(size=(60, 5)), rng.normal(size=(80, 7))
    order = np.argsort(-Q[:, :3] @ P[:, :3].T, axis=1)
    grades = np.zeros((60, 80))
    np.put_along_axis(grades, order[:, :4], 1, axis=1)
    return grades, Q, P


@each_learner
def test_it_is_the_best_of_the_candidates_and_learns_as_if_it_were_given(make, name, judged):
    automatic = make(**OPTIONS, **{name: "auto"}).fit_relevance(*judged)
    given = {
        rate: make(**OPTIONS, **{name: rate}).fit_relevance(*judged) for rate in automatic._rates
    }
    learned = {rate: model.validation_["overall"].learned for rate, model in given.items()}
    chosen = getattr(automatic, f"{name}_")
    assert learned[chosen] == max(learned.values()) > min(learned.values())
    assert automatic.validation_ == given[chosen].validation_
    assert automatic.history_ == given[chosen].history_
    assert_array_equal(automatic.similarity_.W, given[chosen].similarity_.W)
    assert not hasattr(given[chosen], f"{name}_")


@each_learner
def test_what_goes_on_learning_keeps_the_rate(make, name, judged, tmp_path):
    grades, Q, P = judged
    automatic = make(**OPTIONS, **{name: "auto"}).fit_relevance(grades, Q, P)
    chosen = getattr(automatic, f"{name}_")
    given = make(**OPTIONS, **{name: chosen}).fit_relevance(grades, Q, P)
    lw.save(automatic, tmp_path / "model")
    triplets = np.random.default_rng(0).integers([0, 0, 40], [60, 40, 80], size=(50, 3))
    wanted = given.partial_fit_triplets(triplets, Q, P).similarity_.W
    for model in (automatic, lw.load(tmp_path / "model")):
        assert getattr(type(model).merge([model]), f"{name}_") == chosen
        assert_array_equal(model.partial_fit_triplets(triplets, Q, P).similarity_.W, wanted)
    again = automatic.set_params(**{name: 1.0}).fit_triplets(triplets, Q, P)
    assert not hasattr(again, f"{name}_")


@pytest.mark.filterwarnings("ignore:.*the start is kept")
def test_labels_and_triplets_choose_it_too(rng):
    X, y = rng.normal(size=(90, 4)), np.arange(90) % 3
    X[:, 0] += 2 * y
    triplets = lw.supervision.LabelTriplets(y).draw(500, rng)
    for model in (
        lw.AROMA(r="auto", **OPTIONS).fit(X, y),
        lw.AROMA(r="auto", **OPTIONS).fit_triplets(triplets, X, validate=True),
    ):
        assert model.r_ in (0.01, 0.1, 1.0, 10.0)
    few = lw.AROMA(r="auto", **OPTIONS).fit(X[:9], y[:9])
    assert few.r_ == 1
    assert few.partial_fit(X, y).n_triplets_seen_ == 900


@each_learner
def test_it_is_refused_where_nothing_is_held_out(make, name, judged):
    grades, Q, P = judged
    X, y = np.eye(9), np.arange(9) % 3
    sentence = f"{name} must be a number here, but 'auto' was given, which held-out queries choose"
    fitted = make(**OPTIONS, **{name: "auto"}).fit_relevance(grades, Q, P)
    kept = fitted.similarity_.W
    for door in (
        lambda model: model.fit_triplets([[0, 1, 2]], Q, P),
        lambda model: model.set_params(early_stopping=False).fit(X, y),
        lambda model: model.set_params(early_stopping=False).fit_relevance(grades, Q, P),
        lambda model: model.initialize(5, 7),
    ):
        for model in (make(**{name: "auto"}), fitted):
            with pytest.raises(ValueError, match=sentence):
                door(model)
    assert_array_equal(fitted.similarity_.W, kept)
    for door in (
        lambda model: model.partial_fit(X, y),
        lambda model: model.partial_fit_triplets([[0, 1, 2]], Q, P),
    ):
        with pytest.raises(ValueError, match=sentence):
            door(make(**{name: "auto"}))
    with pytest.raises(TypeError, match=f"{name} must be a number or 'auto', but 'best' was"):
        make(**{name: "best"}).fit(X, y)
