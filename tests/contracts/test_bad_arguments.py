"""Estimators refuse wrong arguments alike, in a sentence that names the argument."""

import inspect

import numpy as np
import pytest

import likewise as lw

X = np.random.default_rng(0).random((20, 4))
Y = np.arange(20) % 2
WORDS = np.array([["red", "round"], ["blue", "long"]] * 10)

OF_NUMBERS = [lw.MLKR, lw.SimilarityRegressor]
OF_LABELS = [
    *(lw.LMNN, lw.NCA, lw.RCA, lw.SiLA, lw.OASIS, lw.AROMA, lw.RidgeSimilarity, lw.ITML, lw.LEGO),
    *(lw.POLA, lw.MMC, lw.MCML, lw.SimilarityClassifier, lw.DBoost, lw.BalancedWinnow, lw.Winnow),
    lw.SimilarityFeatureClassifier,
]
WITHOUT_TARGETS = [lw.LandmarkFeatures, lw.DissimilaritySpace, lw.MedianBinarizer]
ALL = [*OF_NUMBERS, *OF_LABELS, *WITHOUT_TARGETS]


def having(parameter):
    return [each for each in ALL if parameter in inspect.signature(each).parameters]


@pytest.mark.parametrize("estimator", having("n_jobs"))
@pytest.mark.filterwarnings("ignore:n_landmarks is")
def test_all_cores_give_the_same_result_as_one(estimator):
    one, all_cores = (estimator(n_jobs=n, random_state=0).fit(X, Y) for n in (1, -1))
    method = "transform" if hasattr(one, "transform") else "predict_proba"
    np.testing.assert_array_equal(getattr(one, method)(X), getattr(all_cores, method)(X))


@pytest.mark.parametrize("estimator", having("n_jobs"))
@pytest.mark.parametrize(("value", "error"), [(0, ValueError), (1.5, TypeError), (True, TypeError)])
def test_n_jobs_is_a_whole_number_other_than_zero(estimator, value, error):
    with pytest.raises(error, match=rf"^n_jobs must be .*, but {value} was given\.$"):
        estimator(n_jobs=value).fit(X, Y)


@pytest.mark.parametrize("estimator", having("random_state"))
@pytest.mark.parametrize("value", ["seed", -1, 0.5])
def test_a_random_state_that_scikit_learn_refuses_is_refused(estimator, value):
    message = rf"^random_state must be None, a whole number .*, but {value!r} was given\.$"
    with pytest.raises(ValueError, match=message):
        estimator(random_state=value).fit(X, Y)


@pytest.mark.parametrize("estimator", having("verbose"))
def test_verbose_is_a_bool_or_a_whole_number(estimator):
    message = r"^verbose must be a bool or a whole number, but 'yes' was given\.$"
    with pytest.raises(TypeError, match=message):
        estimator(verbose="yes").fit(X, Y)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("dtype", [str, object])
def test_text_in_place_of_rows_is_refused_by_name(estimator, dtype):
    with pytest.raises(ValueError, match=r"^X must hold numbers, but 'red' was given\.$"):
        estimator().fit(WORDS.astype(dtype), Y)


@pytest.mark.parametrize("estimator", OF_NUMBERS)
@pytest.mark.parametrize("dtype", [str, object])
def test_text_in_place_of_numbers_to_predict_is_refused_by_name(estimator, dtype):
    with pytest.raises(ValueError, match=r"^y must hold numbers, but 'red' was given\.$"):
        estimator().fit(X, WORDS[:, 0].astype(dtype))


@pytest.mark.parametrize("estimator", [*OF_NUMBERS, *OF_LABELS])
def test_missing_targets_are_named(estimator):
    message = f"^This {estimator.__name__} estimator requires y to be passed"
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, None)
