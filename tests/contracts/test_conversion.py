"""All parts take a name, an object or a function, through one conversion."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import likewise as lw

RNG = np.random.default_rng(0)
LABELS = np.arange(40) % 2
ROWS = RNG.integers(0, 9, size=(40, 3)) / 1.0 + 2 * LABELS[:, None]  # whose sums are exact


def cityblock(a, b):
    return float(np.abs(a - b).sum())


def negated_cityblock(a, b):
    return -cityblock(a, b)


def ranks_of_landmarks(similarity):
    features = lw.LandmarkFeatures(similarity, 5, boolean=0.3, keep_native=False, random_state=0)
    return features.fit(ROWS).transform(ROWS)


TAKES_A_DISTANCE = {
    "DBoost": lambda source: lw.DBoost(source, 10, random_state=0).fit(ROWS, LABELS),
    "DissimilaritySpace": lambda source: lw.DissimilaritySpace(source, 5, random_state=0).fit(ROWS),
    "from_distance": lw.from_distance,
}
TAKES_A_SIMILARITY = {
    "SimilarityClassifier": lambda source: (
        lw.SimilarityClassifier(similarity=source).fit(ROWS, LABELS).predict_proba(ROWS)
    ),
    "SimilarityRegressor": lambda source: (
        lw.SimilarityRegressor(similarity=source).fit(ROWS, ROWS[:, 0]).predict(ROWS)
    ),
    "LandmarkFeatures": ranks_of_landmarks,
    "goodness": lambda source: lw.goodness(source, ROWS, LABELS, form="rank").margins,
    "Index": lambda source: lw.Index(source).add(range(40), ROWS).search(ROWS, 3).scores,
    "as_similarity": lambda source: lw.as_similarity(source).score(ROWS, ROWS),
}


def answers(model):
    for method in ("decision_function", "transform"):
        if hasattr(model, method):
            return getattr(model, method)(ROWS)
    return model.score(ROWS, ROWS)


@pytest.mark.parametrize("part", TAKES_A_DISTANCE)
def test_a_function_is_a_distance_where_a_distance_is_expected(part):
    expected = answers(TAKES_A_DISTANCE[part]("cityblock"))
    for source in (
        lw.distances.VectorDistance("cityblock"),
        cityblock,
        lw.from_distance(cityblock),
    ):
        assert_array_equal(answers(TAKES_A_DISTANCE[part](source)), expected)


@pytest.mark.parametrize("part", TAKES_A_SIMILARITY)
def test_a_function_is_a_similarity_everywhere_else(part):
    expected = TAKES_A_SIMILARITY[part]("cityblock")
    for source in (
        lw.distances.VectorDistance("cityblock"),
        negated_cityblock,
        lw.from_callable(negated_cityblock),
        lw.from_distance(cityblock),
    ):
        assert_array_equal(TAKES_A_SIMILARITY[part](source), expected)


def test_precomputed_means_distances_for_boosting_and_similarities_for_neighbors():
    D = lw.from_distance("cityblock").distance(ROWS, ROWS)
    boosted = lw.DBoost("precomputed", 10, random_state=0).fit(D, LABELS)
    expected = TAKES_A_DISTANCE["DBoost"]("cityblock").decision_function(ROWS)
    assert_array_equal(boosted.decision_function(D), expected)
    expected = TAKES_A_SIMILARITY["SimilarityClassifier"]("cityblock")
    for name, matrix in (("precomputed", -D), ("precomputed_distance", D)):
        knn = lw.SimilarityClassifier(similarity=name).fit(matrix, LABELS)
        assert_array_equal(knn.predict_proba(matrix), expected)
