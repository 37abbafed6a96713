"""SiLA as an estimator: scikit-learn's contract, files, interrupts, and input of every kind."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts import cases, checks
from tests.contracts.sample_weights import NEIGHBORS_ARE_COUNTED

import likewise as lw
from likewise.exceptions import InterruptedWarning
from likewise.learners.sila._perceptron import Perceptron


@pytest.fixture
def rows(rng):
    y = np.array(["ash", "beech", "cedar"])[np.arange(45) % 3]
    return rng.random((45, 4)) + (y == "ash")[:, None] * [1, 0, 0, 0], y


def expected_failures(estimator):
    """Return the checks that fail: those of estimators with a result to compare."""
    comparable = hasattr(estimator, "transform") or hasattr(estimator, "predict")
    return NEIGHBORS_ARE_COUNTED if comparable else {}


@pytest.mark.filterwarnings("ignore:fewer than:UserWarning")
@parametrize_with_checks(
    [
        lw.SiLA(n_epochs=2),
        lw.SiLA("diagonal", "dice", n_epochs=2),
        lw.SiLA("symmetric", protocol="one_vs_rest", n_epochs=2),
        lw.SimilarityClassifier(learner=lw.SiLA("symmetric", n_epochs=5)),
        lw.SimilarityClassifier(
            learner=lw.SiLA("symmetric", n_epochs=5, protocol="one_vs_rest"), rule="symmetric"
        ),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("form", ["square", "symmetric", "diagonal"])
@pytest.mark.parametrize("check", checks.SIMILARITY, ids=lambda check: check.__name__)
def test_what_is_learned_keeps_the_contract_of_similarities(rows, check, form):
    X, y = rows
    learned = lw.SiLA(form, n_epochs=2).fit(X, y).similarity_
    serves = ("cosine", "euclidean", "inner_product")
    check(cases.Case("SiLA", learned, X[:7], X[7:16], serves=serves))


def test_it_works_in_a_pipeline_and_a_grid(rows):
    X, y = rows
    steps = make_pipeline(Normalizer(), lw.SimilarityClassifier(learner=lw.SiLA(n_epochs=2)))
    grid = {
        "similarityclassifier__learner__form": ["square", "diagonal"],
        "similarityclassifier__learner__protocol": ["multiclass", "one_vs_rest"],
    }
    search = GridSearchCV(steps, grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.predict(X).shape == (45,)


def test_a_clone_is_unfitted_and_equal_in_parameters(rows):
    sila = lw.SiLA("diagonal", "dice", 5, 7, init="base", tail=9, shuffle=True).fit(*rows)
    copy = clone(sila)
    assert copy.get_params() == sila.get_params()
    assert not hasattr(copy, "similarity_")


@pytest.mark.parametrize("protocol", ["multiclass", "one_vs_rest"])
@pytest.mark.parametrize("tail", [None, 12])
def test_a_file_gives_back_the_learner_which_goes_on(rows, tmp_path, protocol, tail):
    X, y = rows
    options = {"protocol": protocol, "tail": tail, "shuffle": True, "random_state": 0}
    sila = lw.SiLA(n_epochs=2, **options).fit(X, y)
    lw.save(sila, tmp_path / "sila")
    loaded = lw.load(tmp_path / "sila")
    assert loaded.get_params() == sila.get_params()
    assert loaded.history_ == sila.history_
    copy = pickle.loads(pickle.dumps(sila))
    for learner in (sila, loaded, copy):
        learner.partial_fit(X, y)
    for other in (loaded, copy):
        assert other.n_updates_ == sila.n_updates_
        pairs = zip(learned_by(other), learned_by(sila), strict=True)
        assert all(np.array_equal(one.W, two.W) for one, two in pairs)


def learned_by(sila):
    return sila.similarities_ if sila.protocol == "one_vs_rest" else [sila.similarity_]


@pytest.mark.parametrize("rule", ["majority", "symmetric"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_a_file_gives_back_a_classifier_with_a_similarity_for_each_class(
    rows, tmp_path, rule, sparse
):
    X, y = csr_array(rows[0]) if sparse else rows[0], rows[1]
    learner = lw.SiLA(n_epochs=2, protocol="one_vs_rest")
    classifier = lw.SimilarityClassifier(learner=learner, rule=rule).fit(X, y)
    lw.save(classifier, tmp_path / "c")
    loaded = lw.load(tmp_path / "c")
    assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))
    assert_array_equal(loaded.predict(X), classifier.predict(X))


@pytest.mark.parametrize("rule", ["majority", "symmetric"])
def test_each_class_is_decided_by_its_own_similarity(rows, rule):
    X, y = rows
    learner = lw.SiLA(n_epochs=3, protocol="one_vs_rest")
    classifier = lw.SimilarityClassifier(learner=learner, rule=rule).fit(X[:30], y[:30])
    leads = []
    for label, similarity in zip(classifier.classes_, classifier.similarities_, strict=True):
        alone = lw.SimilarityClassifier(similarity=similarity, rule=rule)
        rest, own = alone.fit(X[:30], y[:30] == label)._scores(X[30:], best_only=False).T
        leads.append((own - rest) / (abs(own) + abs(rest)))
    expected = classifier.classes_[np.argmax(leads, axis=0)]
    assert_array_equal(classifier.predict(X[30:]), expected)
    assert_allclose(classifier.predict_proba(X[30:]).sum(axis=1), 1)
    assert classifier.similarity_ is None


def test_what_needs_one_similarity_is_refused_where_there_are_several(rows):
    learner = lw.SiLA(n_epochs=1, protocol="one_vs_rest")
    classifier = lw.SimilarityClassifier(learner=learner).fit(*rows)
    with pytest.raises(ValueError, match="kneighbors needs one similarity"):
        classifier.kneighbors(rows[0])
    with pytest.raises(ValueError, match="rule 'energy' needs a similarity with a distance"):
        classifier.set_params(rule="energy").fit(*rows)


def test_fitting_again_with_one_similarity_forgets_the_several(rows):
    learner = lw.SiLA(n_epochs=1, protocol="one_vs_rest")
    classifier = lw.SimilarityClassifier(learner=learner).fit(*rows)
    classifier.set_params(learner=None).fit(*rows)
    assert classifier.kneighbors(rows[0]).ids.shape == (45, 3)
    sila = learner.fit(*rows).set_params(protocol="multiclass").fit(*rows)
    assert not hasattr(sila, "similarities_")


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"form": "round"}, ValueError, "form must be one of 'diagonal', 'symmetric', 'square'"),
        ({"norm": "cosin"}, ValueError, "norm must be one of .* Did you mean 'cosine'"),
        ({"init": "identity"}, ValueError, "init must be one of 'zero', 'base'"),
        ({"protocol": "one"}, ValueError, "protocol must be one of 'multiclass', 'one_vs_rest'"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1, but 0"),
        ({"n_epochs": 1.5}, TypeError, "n_epochs must be a whole number"),
        ({"tail": 0}, ValueError, "tail must be at least 1"),
        ({"validation_fraction": 1.0}, ValueError, "validation_fraction must be below 1"),
        ({"validation_fraction": 0}, ValueError, "validation_fraction must be finite and above 0"),
    ],
)
def test_parameters_are_checked_before_anything_is_done(rows, parameters, error, message):
    sila = lw.SiLA(n_epochs=1).fit(*rows)
    kept = sila.similarity_
    with pytest.raises(error, match=message):
        sila.set_params(**parameters).fit(*rows)
    with pytest.raises(error, match=message):
        sila.partial_fit(*rows)
    assert sila.similarity_ is kept


@pytest.mark.parametrize(
    ("parameters", "change", "message"),
    [
        ({"norm": "dice"}, lambda X, y: (X - 0.5, y), "Negative values in data: X holds"),
        ({"norm": "dice"}, lambda X, y: (csr_array(X - 0.5), y), "Negative values in data"),
        ({"norm": "jaccard"}, lambda X, y: (3 * X, y), r"norm 'jaccard' needs values in \[0, 1\]"),
        ({"norm": "jaccard"}, lambda X, y: (-X, y), "Negative values in data"),
        ({}, lambda X, y: (X, np.full(45, "ash")), "y has one class, ash; at least two"),
        ({}, lambda X, y: (np.where(X > 1, np.nan, X), y), "NaN"),
        ({}, lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        ({}, lambda X, y: (X, X[:, 0]), "y is continuous"),
        ({}, lambda X, y: (X[:, 0], y), "Expected 2D array"),
        ({}, lambda X, y: (csr_array((45, 20_000)), y), "X has 20000 features; the limit is 16384"),
        (
            {"early_stopping": True, "validation_fraction": 0.01},
            lambda X, y: (X, y),
            "validation_fraction is 0.01, which leaves no row",
        ),
    ],
)
def test_input_that_cannot_be_learned_from_is_refused(rows, parameters, change, message):
    with pytest.raises(ValueError, match=message):
        lw.SiLA(**parameters).fit(*change(*rows))


@pytest.mark.parametrize(
    ("parameters", "change", "message"),
    [
        ({"early_stopping": True}, lambda X, y: (X, y), "partial_fit needs early_stopping=False"),
        ({"protocol": "one_vs_rest"}, lambda X, y: (X, y), "protocol was changed"),
        ({"form": "diagonal"}, lambda X, y: (X, y), "form or n_neighbors was changed"),
        ({"n_neighbors": 4}, lambda X, y: (X, y), "form or n_neighbors was changed"),
        ({"tail": 6}, lambda X, y: (X, y), "tail was raised to 6 after fit"),
        ({}, lambda X, y: (X[1:], y[1:]), "tail includes rows of an earlier call"),
        ({}, lambda X, y: (X, np.where(y == "ash", "oak", y)), "the class oak, which was not"),
        ({}, lambda X, y: (X[:, 1:], y), "features"),
    ],
)
def test_partial_fit_refuses_what_would_not_go_on(rows, parameters, change, message):
    sila = lw.SiLA(n_epochs=1, tail=5).fit(*rows)
    with pytest.raises(ValueError, match=message):
        sila.set_params(**parameters).partial_fit(*change(*rows))


def test_a_wide_sparse_set_can_have_a_diagonal(rng):
    where = np.arange(80) % 40, rng.integers(20_000, size=80)
    X = csr_array((rng.random(80), where), (40, 20_000))
    sila = lw.SiLA("diagonal", n_epochs=2).fit(X, np.arange(40) % 2)
    assert sila.similarity_.W.shape == (20_000,)


def test_progress_is_shown_when_asked(rows, capfd):
    lw.SiLA(n_epochs=3).fit(*rows)
    assert capfd.readouterr() == ("", "")
    lw.SiLA(n_epochs=3, verbose=True).fit(*rows)
    assert "fitting SiLA: 3/3 epochs" in capfd.readouterr().err


def test_ctrl_c_keeps_the_epochs_so_far(rows, monkeypatch, interrupt_at):
    from likewise.learners.sila import _sila

    monkeypatch.setattr(_sila, "_MULTIPLICATIONS_PER_STEP", 1)
    interrupt_at(4, "epoch", Perceptron)
    with pytest.warns(InterruptedWarning, match="fitting SiLA was interrupted after 4 of 9 epochs"):
        sila = lw.SiLA(n_epochs=9).fit(*rows)
    monkeypatch.undo()
    assert len(sila.history_) == sila.n_epochs_ == 4
    assert_array_equal(sila.similarity_.W, lw.SiLA(n_epochs=4).fit(*rows).similarity_.W)


def test_the_number_of_threads_does_not_matter(rows, two_threads):
    from likewise._threads import limit_threads

    found = []
    for threads in (1, 2):
        with limit_threads(threads):
            sila = lw.SiLA(protocol="one_vs_rest", early_stopping=True, random_state=0).fit(*rows)
            found.append([similarity.W for similarity in sila.similarities_])
    assert_array_equal(found[0], found[1])


def test_memory_does_not_grow_with_the_sequence(rng):
    X, y = rng.normal(size=(400, 40)), rng.integers(4, size=400)
    lw.SiLA(n_epochs=1).fit(X, y)
    for tail in (None, 1000):
        tracemalloc.start()
        sila = lw.SiLA(n_epochs=20, tail=tail).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < sila.n_updates_ * 40 * 40 * 8 / 10
