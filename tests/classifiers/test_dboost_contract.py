"""DBoost and DissimilaritySpace as estimators: contract, files, interrupts, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts.sample_weights import weight_is_not_repetition

import likewise as lw
from likewise.classifiers import _boosting
from likewise.exceptions import InterruptedWarning

WORDS = ["Ivanov", "Petrov", "Smirnov", "Sokolov", "Popov", "Rossi", "Russo", "Bianchi", "Ricci"]
LANGUAGES = ["Russian"] * 5 + ["Italian"] * 4
ESTIMATORS = [
    lw.DBoost(n_rounds=20),
    lw.DBoost(n_rounds=20, threshold="zero", max_depth=2, n_prototypes=10),
    lw.DBoost("precomputed", n_rounds=20),
    lw.DissimilaritySpace(random_state=0),
    lw.DissimilaritySpace("cityblock", width=0.5),
    lw.DissimilaritySpace("precomputed"),
]


def expected_failures(estimator):
    """Return the checks that do not apply, each with the reason."""
    if estimator.dissimilarity != "precomputed":
        drawn = "pairs are drawn at random from the rows: other rows, other pairs"
        return weight_is_not_repetition(drawn) if isinstance(estimator, lw.DBoost) else {}
    expected = {"check_estimators_nan_inf": "columns that nobody reads may hold anything"}
    if isinstance(estimator, lw.DBoost):
        expected |= {
            "check_fit2d_1feature": "the labels it makes from its kernel are all of one class",
            "check_decision_proba_consistency": "it gives rows where a matrix is due",
        }
    return expected


@pytest.mark.filterwarnings("ignore:n_prototypes is")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def rows(rng):
    y = np.array(["ash", "beech", "cedar"])[np.arange(60) % 3]
    return rng.normal(size=(60, 4)) + 2 * np.eye(4)[np.arange(60) % 3], y


def test_it_works_in_a_pipeline_a_grid_and_with_a_matrix(rows):
    X, y = rows
    steps = make_pipeline(StandardScaler(), lw.DBoost(n_rounds=10, random_state=0))
    grid = {"dboost__max_depth": [1, 2], "dboost__dissimilarity": ["euclidean", "cityblock"]}
    search = GridSearchCV(steps, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.6
    D = lw.from_distance("euclidean").distance(X, X)
    of_matrix = cross_val_score(lw.DBoost("precomputed", 10, random_state=0), D, y, cv=3)
    assert_array_equal(
        of_matrix, cross_val_score(lw.DBoost(n_rounds=10, random_state=0), X, y, cv=3)
    )


@pytest.mark.parametrize("norm", ["none", "cosine"])
def test_similarities_without_a_distance_count_as_negated_scores(rows, norm):
    X, y = rows
    s = lw.Bilinear(np.diag([1.0, 2.0, 0.5, 1.0]), norm=norm)
    fitted = lw.DBoost(s, 15, random_state=0).fit(X, y)
    assert fitted.dissimilarity_ is s
    matrix = 40 - lw.similarities.exact_scores(s, X, X)  # differences are all that counts
    other = lw.DBoost("precomputed", 15, random_state=0).fit(matrix, y)
    assert_array_equal(fitted.prototypes_, other.prototypes_)
    assert_allclose(fitted.decision_function(X), other.decision_function(matrix), rtol=1e-9)
    by_name = lw.DBoost("dot", 15, random_state=0).fit(X, y)
    plain = lw.DBoost(lw.Bilinear(1.0), 15, random_state=0).fit(X, y)
    assert_array_equal(by_name.decision_function(X), plain.decision_function(X))


def test_a_learned_distance_is_taken_by_boosting_and_by_features(rows, tmp_path):
    X, y = rows
    learned = lw.LMNN().fit(X, y)
    s = learned.similarity_
    for dissimilarity in (s, learned):
        fitted = lw.DBoost(dissimilarity, 15, random_state=0).fit(X, y)
        assert fitted.dissimilarity_ is s
    mapped = lw.DBoost("euclidean", 15, random_state=0).fit(learned.transform(X), y)
    assert_array_equal(fitted.prototypes_, mapped.prototypes_)
    fitted = lw.DBoost(s, 15, random_state=0).fit(X, y)
    lw.save(fitted, tmp_path / "model")
    assert_array_equal(lw.load(tmp_path / "model").predict(X), fitted.predict(X))
    space = lw.DissimilaritySpace(s, 7, random_state=0).fit(X)
    assert_allclose(space.transform(X), s.distance(X, X[space.prototypes_]))


def test_a_matrix_of_similarities_is_taken_as_an_object(rows):
    X, y = rows
    S = lw.Bilinear(1.0).score(X, X)
    fitted = lw.DBoost(lw.Precomputed(), 15, random_state=0).fit(S, y)
    assert not get_tags(fitted).input_tags.positive_only
    other = lw.DBoost("precomputed", 15, random_state=0).fit(S.max() - S, y)
    assert_array_equal(fitted.prototypes_, other.prototypes_)


def test_a_clone_has_the_parameters_and_the_dissimilarity_itself():
    levels = lw.distances.quantize("euclidean", 4)
    boosted = lw.DBoost(levels, 7, n_pairs=3, n_prototypes=4, threshold="zero", early_stopping=2)
    assert clone(boosted).get_params() == boosted.get_params()
    assert clone(boosted).dissimilarity is levels


@pytest.mark.parametrize("early_stopping", [False, 2])
def test_threads_and_calls_change_nothing(rng, early_stopping, monkeypatch, two_threads):
    monkeypatch.setattr("likewise.classifiers._boosting._MIN_PARALLEL_SIZE", 1)
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 3
    options = {"n_rounds": 12, "max_depth": 2, "learning_rate": 0.3, "random_state": 5}
    options["early_stopping"] = early_stopping
    first, second = (lw.DBoost(n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2))
    assert_array_equal(first.decision_function(X), second.decision_function(X))
    assert_array_equal(first.prototypes_, second.prototypes_)
    other = lw.DBoost(**{**options, "random_state": 6}).fit(X, y)
    assert not np.array_equal(first.decision_function(X), other.decision_function(X))


def test_sparse_rows_are_learned_from_as_dense_ones(rng):
    X = rng.integers(0, 3, size=(60, 5)) / 1.0
    y = (X.sum(axis=1) > 5).astype(int)
    dense = lw.DBoost("cityblock", 15, random_state=0).fit(X, y)
    sparse = lw.DBoost("cityblock", 15, random_state=0).fit(csr_array(X), y)
    assert_array_equal(sparse.decision_function(csr_array(X)), dense.decision_function(X))


@pytest.mark.parametrize(
    ("dissimilarity", "X"),
    [
        ("levenshtein", WORDS),
        ("smith_waterman", np.array(WORDS)),
        (lambda a, b: abs(len(a) - len(b)), WORDS),
        ("dtw", [np.arange(n, dtype=float) for n in range(2, 11)]),
        ("emd", [np.eye(4)[n // 3] + 0.1 for n in range(9)]),
        (lambda a, b: float(abs(a["size"] - b["size"])), [{"size": n} for n in range(9)]),
    ],
    ids=["levenshtein", "smith_waterman", "callable", "dtw", "emd", "records"],
)
def test_objects_without_features_are_classified(dissimilarity, X):
    clf = lw.DBoost(dissimilarity, 15, random_state=0).fit(X, LANGUAGES)
    assert (clf.predict(X) == LANGUAGES).mean() > 0.6
    assert len(clf.items_) == len(clf.prototypes_)
    assert get_tags(clf).input_tags.one_d_array


@pytest.mark.parametrize(
    ("dissimilarity", "X"),
    [
        ("euclidean", np.random.default_rng(0).random((9, 4))),
        ("euclidean", csr_array(np.random.default_rng(0).random((9, 4)))),
        ("tangent", np.random.default_rng(0).random((9, 16))),
        ("precomputed", np.random.default_rng(0).random((9, 9))),
        ("levenshtein", WORDS),
        ("dtw", [np.arange(n, dtype=float) for n in range(2, 11)]),
        (lw.distances.quantize("cityblock", 3), np.random.default_rng(0).random((9, 4))),
        (lw.distances.ranked("levenshtein"), WORDS),
    ],
    ids=["rows", "csr", "tangent", "matrix", "strings", "series", "levels", "ranks"],
)
def test_a_file_gives_the_classifier_back(dissimilarity, X, tmp_path):
    for model in (
        lw.DBoost(dissimilarity, 12, max_depth=2, early_stopping=2, random_state=0),
        lw.DissimilaritySpace(dissimilarity, 3, width=1.0, random_state=0),
    ):
        fitted = model.fit(X, LANGUAGES)
        lw.save(fitted, tmp_path / "model")
        loaded = lw.load(tmp_path / "model")
        if isinstance(model, lw.DBoost):
            assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
            assert loaded.history_ == fitted.history_
            assert_array_equal(loaded.predict(X), fitted.predict(X))
        else:
            assert_array_equal(loaded.transform(X), fitted.transform(X))


def test_a_function_cannot_be_stored(tmp_path):
    fitted = lw.DBoost(lambda a, b: abs(len(a) - len(b)), 3).fit(WORDS, LANGUAGES)
    with pytest.raises(TypeError, match=r"dissimilarity is a builtins\.function, which cannot be"):
        lw.save(fitted, tmp_path / "model")


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_rounds": 0}, ValueError, "n_rounds must be at least 1"),
        ({"n_pairs": 1.5}, TypeError, "n_pairs must be a whole number"),
        ({"n_prototypes": 1}, ValueError, "n_prototypes must be at least 2"),
        ({"threshold": "none"}, ValueError, "threshold must be one of 'free', 'zero'"),
        ({"search": "fast"}, ValueError, "search must be one of 'auto', 'exact', 'histogram'"),
        ({"max_depth": 0}, ValueError, "max_depth must be at least 1"),
        ({"early_stopping": 1}, ValueError, "early_stopping must be at least 2"),
        ({"early_stopping": "yes"}, TypeError, "early_stopping must be a whole number"),
        (
            {"validation_fraction": 1.0},
            ValueError,
            "validation_fraction must be between 0 and 1, but 1.0",
        ),
        ({"learning_rate": 0}, ValueError, "learning_rate must be finite and above 0, but 0 was"),
        ({"learning_rate": "slow"}, TypeError, "learning_rate must be a number"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be at least 1"),
        ({"dissimilarity": "euclid"}, ValueError, "Did you mean 'euclidean'"),
        ({"dissimilarity": 3}, TypeError, "dissimilarity must be a name, a function"),
    ],
)
def test_parameters_are_checked_before_anything_is_done(rows, parameters, error, message):
    clf = lw.DBoost(n_rounds=3, random_state=0).fit(*rows)
    kept = clf.outputs_
    with pytest.raises(error, match=message):
        clf.set_params(**parameters).fit(*rows)
    assert clf.outputs_ is kept


def negative(X):
    X = np.abs(X @ X.T)
    X[3, 5] = -0.5
    return X


@pytest.mark.parametrize(
    ("dissimilarity", "change", "error", "message"),
    [
        ("precomputed", negative, ValueError, "-0.5 in row 3, column 5, but a distance must"),
        ("precomputed", lambda X: np.full((60, 60), np.nan), ValueError, "NaN"),
        ("precomputed", lambda X: np.full((60, 60), np.inf), ValueError, "infinity"),
        ("precomputed", np.abs, ValueError, r"square matrix .* shape \(60, 4\)"),
        ("euclidean", lambda X: np.where(X > 1, np.nan, X), ValueError, "NaN"),
        ("levenshtein", lambda X: X, TypeError, "compares strings, but entry 0 of X"),
        ("tangent", lambda X: X[:, :3], ValueError, "not the pixels of a square image"),
        (lambda a, b: -1.0, lambda X: X, ValueError, "gave -1.0 on query 0 and item"),
        (lambda a, b: np.nan, lambda X: X, ValueError, "gave nan on query 0 and item"),
        (
            lambda a, b: None,
            lambda X: X,
            TypeError,
            "must return a number, but gave None on query 0",
        ),
        (lambda a, b: a[9], lambda X: X, ValueError, "failed on query 0 and item .*IndexError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_dissimilarities_that_cannot_be_are_refused(rows, dissimilarity, change, error, message):
    X, y = rows
    for model in (lw.DBoost(dissimilarity, 3), lw.DissimilaritySpace(dissimilarity)):
        with pytest.raises(error, match=message):
            getattr(model.fit(change(X), y), "transform", model.fit)(change(X))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(60, "ash"), "y has one class, ash; at least two classes are needed"),
        (np.arange(59) % 2, "X has 60 rows and y has 59"),
        (np.linspace(0, 1, 60), "y is continuous"),
    ],
)
def test_labels_that_cannot_be_are_refused(rows, y, message):
    with pytest.raises(ValueError, match=message):
        lw.DBoost(n_rounds=3).fit(rows[0], y)


def test_a_class_that_cannot_be_held_out_and_kept_is_refused(rows):
    y = np.where(np.arange(60) == 7, "yew", rows[1])
    with pytest.raises(ValueError, match="one class of y has too few for both training and"):
        lw.DBoost(n_rounds=3, early_stopping=3).fit(rows[0], y)


def test_a_matrix_of_the_wrong_width_is_refused_at_predict(rows):
    D = lw.from_distance("euclidean").distance(rows[0], rows[0])
    for model in (lw.DBoost("precomputed", 3), lw.DissimilaritySpace("precomputed")):
        fitted = model.fit(D, rows[1])
        with pytest.raises(ValueError, match=r"X has 59 features, but .* 60 features"):
            (fitted.predict if hasattr(fitted, "predict") else fitted.transform)(D[:, 1:])


def test_a_function_that_fails_at_predict_names_the_pair():
    def gap(a, b):
        if a == "bad":
            raise RuntimeError("no such word")
        return abs(len(a) - len(b))

    fitted = lw.DBoost(gap, 5, random_state=0).fit(WORDS, LANGUAGES)
    place = "query 1 and item 0"
    with pytest.raises(ValueError, match=f"failed on {place}: RuntimeError: no such") as caught:
        fitted.predict(["fine", "bad"])
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_progress_is_shown_when_asked(rows, capfd):
    lw.DBoost(n_rounds=3).fit(*rows)
    assert capfd.readouterr() == ("", "")
    lw.DBoost(n_rounds=3, early_stopping=2, verbose=True).fit(*rows)
    assert "fitting DBoost: " in capfd.readouterr().err


@pytest.mark.parametrize("early_stopping", [False, True])
def test_ctrl_c_keeps_the_rounds_so_far(rows, early_stopping, interrupt_at):
    interrupt_at(7, "reweigh", _boosting)
    clf = lw.DBoost(n_rounds=50, early_stopping=early_stopping, random_state=0)
    with pytest.warns(InterruptedWarning, match="fitting DBoost was interrupted after 7 of"):
        clf.fit(*rows)
    assert clf.n_rounds_ == len(clf.history_) == 7
    assert clf.score(*rows) > 0.5


def test_features_are_dissimilarities_to_prototypes(rows):
    X = rows[0]
    space = lw.DissimilaritySpace("cityblock", 7, random_state=1).fit(X)
    D = lw.from_distance("cityblock").distance(X, X)
    assert_array_equal(space.transform(X), D[:, space.prototypes_])
    assert space.get_feature_names_out()[0] == "dissimilarityspace0"
    bells = lw.DissimilaritySpace("cityblock", 7, width=0.5, random_state=1).fit(X)
    sigma = 0.5 * np.median(D[:, space.prototypes_])
    assert_array_equal(bells.transform(X), np.exp(-((D[:, space.prototypes_] / sigma) ** 2)))
    with pytest.warns(UserWarning, match="n_prototypes is 99, but X has only 60 rows: all are"):
        assert lw.DissimilaritySpace(n_prototypes=99).fit(X).transform(X).shape == (60, 60)


def test_the_rivals_are_recipes(rows):
    X, y = rows
    rldc = make_pipeline(
        lw.DissimilaritySpace(n_prototypes=20, random_state=0),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
    )
    balcan_blum = make_pipeline(lw.DissimilaritySpace(width=1.0), LinearSVC(random_state=0))
    for recipe in (rldc, balcan_blum):
        assert recipe.fit(X, y).score(X, y) > 0.8
