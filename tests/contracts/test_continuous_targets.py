"""What learns from classes refuses numbers, in a sentence that names what learns from them."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import likewise as lw

ROWS = np.random.default_rng(0).random((30, 4))
NUMBERS = ROWS @ [3.0, 0.0, 1.0, 0.0]

LEARNERS = [
    *(lw.LMNN(), lw.NCA(), lw.RCA(), lw.SiLA(), lw.OASIS(), lw.AROMA(), lw.RidgeSimilarity()),
    *(lw.ITML(), lw.LEGO(), lw.POLA(), lw.MMC(), lw.MCML()),
]
CLASSIFIERS = [
    lw.SimilarityClassifier(),
    lw.DBoost(),
    lw.BalancedWinnow(),
    lw.Winnow(),
    lw.SimilarityFeatureClassifier(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_a_learner_of_classes_names_the_learner_of_numbers(learner):
    with pytest.raises(ValueError, match=r"^y is continuous, with values such as") as raised:
        learner.fit(ROWS, NUMBERS)
    assert str(raised.value).endswith(
        f"but {type(learner).__name__} learns from classes: MLKR learns from numbers, also as "
        "the learner of SimilarityRegressor, which predicts them."
    )


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_a_classifier_names_the_regressor(classifier):
    with pytest.raises(ValueError, match=r"^y is continuous, with values such as") as raised:
        classifier.fit(ROWS, NUMBERS)
    name = type(classifier).__name__
    expected = f"but {name} predicts classes: SimilarityRegressor predicts numbers."
    assert str(raised.value).endswith(expected)


@pytest.mark.parametrize("learner", [lw.LMNN(), lw.OASIS()], ids=lambda each: type(each).__name__)
def test_a_learner_inside_a_classifier_is_not_fitted_first(learner):
    with pytest.raises(ValueError, match="but SimilarityClassifier predicts classes"):
        lw.SimilarityClassifier(learner=learner).fit(ROWS, NUMBERS)


@pytest.mark.parametrize("estimator", [lw.LMNN(), lw.SimilarityClassifier()])
def test_floats_without_decimals_that_hardly_repeat_are_numbers(estimator):
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"^y is continuous.*SimilarityRegressor"):
        estimator.fit(X, y)
    few = np.repeat(np.arange(25.0), 8)
    estimator.fit(np.random.default_rng(0).random((200, 4)), few)


def test_whole_numbers_are_classes():
    assert lw.NCA(max_iter=1).fit(ROWS, np.arange(30.0) % 3).n_iter_ == 1
