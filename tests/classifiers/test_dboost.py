"""DBoost: the identities of boosting, its invariances, and what the theory promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.metrics import log_loss
from tests.oracles import dboost as oracle

import likewise as lw
from likewise._progress import LongWork
from likewise.classifiers import _boosting, _stopping
from likewise.classifiers._boosting import boost, draw_pairs
from likewise.classifiers._dboost_input import check_parameters, validation_splits
from likewise.similarities import DissimilarityColumns


def problem(n, n_classes, seed):
    """Return a matrix of dissimilarities that is neither symmetric nor a metric, and labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    D = rng.integers(1, 64, size=(n, n)) / 8.0
    D[y[:, None] == y] *= 0.5
    return D, y


def boosted(**options):
    return lw.DBoost("precomputed", **{"n_rounds": 25, "random_state": 0, **options})


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize(
    "options",
    [
        {"search": "exact"},
        {"search": "histogram"},
        {"threshold": "zero"},
        {"max_depth": 3},
        {"learning_rate": 0.1},
        {"learning_rate": 0.5, "max_depth": 2},
    ],
    ids=str,
)
def test_the_mean_of_exponential_losses_is_the_product_of_normalisers(n_classes, options):
    D, y = problem(60, n_classes, seed=n_classes)
    fitted = boosted(**options).fit(D, y)
    Y = oracle.signs(y, n_classes)
    F = fitted.decision_function(D).reshape(Y.shape)
    product = np.prod([entry["normaliser"] for entry in fitted.history_])
    assert_allclose(np.exp(-Y * F).mean(), product, rtol=1e-10)
    assert_allclose(fitted.history_[-1]["bound"], product, rtol=1e-10)
    wrong = np.mean(fitted.predict(D) != y)
    assert fitted.history_[-1]["training_error"] == wrong
    if n_classes == 2:  # each label of an example that is wrong has a loss of 1 or more
        assert wrong <= product


@given(seed=st.integers(0, 50), n_classes=st.sampled_from([2, 3]))
@settings(max_examples=15)
def test_a_round_is_the_printed_algorithm(seed, n_classes):
    """The pairs that were drawn are replayed in plain NumPy."""
    D, y = problem(14, n_classes, seed)
    drawn = []

    def remember(labels, weights, n_pairs, rng):
        places = draw_pairs(labels, weights, n_pairs, rng)
        by_class = np.argsort(y, kind="stable")
        drawn.append(by_class[places].T)
        return places

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_boosting, "draw_pairs", remember)
        fitted = boosted(n_rounds=1, n_pairs=3, search="exact", random_state=seed).fit(D, y)
    # stumps can be as good as each other, so what is compared is how good the best one is
    _, normalisers = oracle.boosted(D, y, n_classes, drawn)
    assert_allclose(fitted.history_[0]["normaliser"], normalisers[0], rtol=1e-9)


def test_two_classes_in_one_column_equal_two_columns():
    D, y = problem(16, 2, seed=3)
    pairs = [[(0, 1), (2, 5), (7, 4)], [(3, 6), (8, 1)], [(0, 9), (10, 3)]]
    one, z_one = oracle.boosted(D, y, 2, pairs)
    two, z_two = oracle.boosted(D, y, 2, pairs, columns=2)
    assert_allclose(z_one, z_two, rtol=1e-12)
    assert_allclose(two[:, 1], one[:, 0], atol=1e-12)
    assert_allclose(two[:, 0], -one[:, 0], atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_at_zero_only_the_order_within_a_row_matters(n_classes):
    D, y = problem(40, n_classes, seed=1)
    rng = np.random.default_rng(0)
    bent = np.exp(rng.uniform(0.1, 1, size=(40, 1)) * D) + rng.uniform(0, 3, size=(40, 1))
    usual, other = (boosted(threshold="zero").fit(M, y) for M in (D, bent))
    assert_array_equal(usual.decision_function(D), other.decision_function(bent))


@pytest.mark.parametrize("search", ["exact", "histogram"])
def test_a_free_threshold_does_not_mind_scale_and_shift_but_does_mind_others(search):
    D, y = problem(40, 3, seed=1)
    usual, moved, bent = (boosted(search=search).fit(M, y) for M in (D, 4 * D + 2, D**2))
    assert_array_equal(moved.decision_function(4 * D + 2), usual.decision_function(D))
    assert not np.allclose(bent.decision_function(D**2), usual.decision_function(D))


def test_ranking_each_row_first_restores_the_invariance():
    D, y = problem(40, 3, seed=1)
    bent = np.exp(np.linspace(0.1, 1, 40)[:, None] * D)
    by_rank = lw.distances.ranked("precomputed")
    usual, other = (lw.DBoost(by_rank, 20, random_state=0).fit(M, y) for M in (D, bent))
    assert_array_equal(usual.decision_function(D), other.decision_function(bent))


def test_strong_goodness_bounds_the_error_of_voting():
    """Over (4/γ²) ln(1/δ) random pairs the vote errs at most ε + δ, where P ≥ ½ + γ/2 but for ε."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-1, 1, (400, 2)), rng.normal(1, 1, (400, 2))])
    y = np.repeat([0, 1], 400)
    D = lw.from_distance("euclidean").distance(X, X)
    nearer = D[:, y == 0][:, :, None] < D[:, y == 1][:, None, ::10]
    right = np.where(y == 0, nearer.mean((1, 2)), 1 - nearer.mean((1, 2)))
    gamma, delta = 0.3, 0.1
    epsilon = np.mean(right < 0.5 + gamma / 2)
    n_pairs = int(np.ceil(4 / gamma**2 * np.log(1 / delta)))
    errors = []
    for _ in range(20):
        a, b = rng.integers(0, 400, n_pairs), rng.integers(400, 800, n_pairs)
        votes = np.sign(D[:, a] - D[:, b]).sum(axis=1)
        errors.append(np.mean((votes > 0) != (y == 1)))
    assert np.mean(np.array(errors) <= epsilon + delta) >= 1 - delta


@pytest.mark.parametrize("n_labels", [2, 3])
def test_pairs_are_drawn_by_weight_from_two_classes(n_labels):
    rng = np.random.default_rng(0)
    labels = np.sort(np.arange(9) % n_labels)
    weights = np.arange(9) + 1.0
    firsts, seconds = draw_pairs(labels, weights, 200_000, rng)
    assert (labels[firsts] != labels[seconds]).all()
    share = np.bincount(firsts, minlength=9) / len(firsts)
    assert_allclose(share, weights / weights.sum(), atol=0.006)
    of_first = seconds[firsts == 8]
    others = np.where(labels != labels[8], weights, 0)
    share = np.bincount(of_first, minlength=9) / len(of_first)
    assert_allclose(share, others / others.sum(), atol=0.012)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_pairs_are_those_of_the_random_numbers(n_classes, rng):
    labels = np.sort(np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 20)]))
    weights = rng.choice([0.25, 0.5, 2.0], size=len(labels))  # whose sums are exact
    at = np.random.default_rng(0).random((2, 200))
    found = draw_pairs(labels, weights, 200, np.random.default_rng(0))
    assert_array_equal(found, oracle.pairs(labels, weights, *at))


@pytest.mark.parametrize("weights", [[1.0, 0, 0, 0], [0.0, 0, 0, 1], [1e-320, 1, 1, 0]])
def test_pairs_are_of_two_classes_also_where_a_class_has_no_weight(weights):
    labels = np.array([0, 0, 1, 1])
    firsts, seconds = draw_pairs(labels, np.array(weights), 100, np.random.default_rng(0))
    assert (labels[firsts] != labels[seconds]).all()


@pytest.mark.parametrize("max_depth", [1, 2])
@pytest.mark.parametrize("budget", [2, 5, 30])
def test_a_budget_bounds_the_prototypes(budget, max_depth):
    D, y = problem(80, 3, seed=2)
    fitted = boosted(n_prototypes=budget, max_depth=max_depth, n_rounds=60).fit(D, y)
    assert len(fitted.prototypes_) <= budget + 1
    assert len(boosted(max_depth=max_depth, n_rounds=60).fit(D, y).prototypes_) > budget + 1
    assert_array_equal(fitted.items_, fitted.prototypes_)
    assert [entry["prototypes"] for entry in fitted.history_][-1] == len(fitted.prototypes_)


def test_only_prototype_columns_are_read():
    D, y = problem(50, 3, seed=4)
    fitted = boosted(n_prototypes=6).fit(D, y)
    hidden = np.full_like(D, np.nan)
    hidden[:, fitted.prototypes_] = D[:, fitted.prototypes_]
    assert_array_equal(fitted.predict_proba(hidden), fitted.predict_proba(D))
    hidden[7, fitted.prototypes_[2]] = np.nan
    place = f"query 7 and item {fitted.prototypes_[2]}"
    with pytest.raises(ValueError, match=f"finite and not negative.*nan on {place}"):
        fitted.predict(hidden)


def test_only_dissimilarities_that_are_needed_are_computed():
    calls = []

    def gap(a, b):
        calls.append(b)
        return abs(a - b)

    values = np.random.default_rng(0).normal(size=200)
    fitted = lw.DBoost(gap, 3, n_pairs=2, random_state=0).fit(values, values > 0)
    assert len(calls) <= 3 * 4 * 200
    calls.clear()
    fitted.predict(values[:10])
    assert len(calls) == 10 * len(fitted.prototypes_)


def test_trees_learn_what_stumps_on_these_pairs_cannot_as_soon():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    errors = [
        1 - lw.DBoost(n_rounds=3, max_depth=depth, random_state=0).fit(X, y).score(X, y)
        for depth in (1, 3)
    ]
    assert errors[1] < 0.5 * errors[0]


def test_each_stage_is_the_sum_so_far_and_the_last_is_the_prediction():
    D, y = problem(40, 3, seed=5)
    fitted = boosted(max_depth=2).fit(D, y)
    stages = list(fitted.staged_predict(D))
    assert len(stages) == fitted.n_rounds_ == 25
    assert_array_equal(stages[-1], fitted.predict(D))
    scores = list(fitted.staged_decision_function(D))
    assert_allclose(scores[-1], fitted.decision_function(D), atol=1e-12)
    assert_array_equal(scores[9].argmax(axis=1), stages[9])
    wrong = [np.mean(stage != y) for stage in stages]
    assert_allclose(wrong, [entry["training_error"] for entry in fitted.history_])
    short = boosted(max_depth=2, n_rounds=10).fit(D, y)
    assert_array_equal(short.predict(D), stages[9])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_sum_to_one_and_agree_with_the_scores(n_classes):
    D, y = problem(40, n_classes, seed=5)
    fitted = boosted().fit(D, y)
    shares, F = fitted.predict_proba(D), fitted.decision_function(D)
    assert_allclose(shares.sum(axis=1), 1)
    assert_array_equal(fitted.classes_[shares.argmax(axis=1)], fitted.predict(D))
    if n_classes == 2:
        assert_allclose(shares[:, 1], 1 / (1 + np.exp(-2 * F)))
    far = lw.DBoost(n_rounds=300, random_state=0).fit(
        np.eye(4).repeat(9, 0), np.arange(4).repeat(9)
    )
    assert np.isfinite(far.predict_proba(1e3 * np.eye(4))).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_are_at_the_scale_that_suited_rows_held_out(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = (X[:, 0] + rng.normal(0, 1, 700) > 0).astype(int) + (n_classes == 3) * (X[:, 1] > 1)
    losses = []
    for options in ({}, {"early_stopping": 3}):
        fitted = lw.DBoost(n_rounds=60, random_state=0, **options).fit(X[:200], y[:200])
        shares = fitted.predict_proba(X[200:])
        assert_allclose(shares.sum(axis=1), 1)
        assert_array_equal(fitted.classes_[shares.argmax(axis=1)], fitted.predict(X[200:]))
        losses.append(log_loss(y[200:], shares))
    F = fitted.decision_function(X[200:]) * fitted.scale_
    F = np.stack([-F, F], axis=1) if n_classes == 2 else F
    assert_allclose(shares, softmax(F, axis=1))
    assert losses[1] < 0.8 * losses[0]


@pytest.mark.parametrize("early_stopping", [True, 3])
def test_rounds_are_chosen_on_rows_held_out(early_stopping):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] + rng.normal(0, 0.8, 120) > 0).astype(int)
    fitted = lw.DBoost(
        n_rounds=40, early_stopping=early_stopping, validation_fraction=0.3, random_state=0
    ).fit(X, y)
    errors = fitted.validation_errors_
    assert errors.shape == (40,)
    losses = fitted.validation_losses_
    assert losses.shape == (40,)
    means = np.array([losses[max(0, t - 2) : t + 2].mean() for t in range(40)]).round(12)
    assert fitted.n_rounds_ == means.argmin() + 1
    assert_allclose(fitted.validation_loss_, means.min())
    assert means.min() < 0.65  # log 2 is a guess
    assert errors[fitted.n_rounds_ - 1] < 0.35
    assert len(fitted.history_) == fitted.n_rounds_
    plain = lw.DBoost(n_rounds=fitted.n_rounds_, random_state=0).fit(X, y)
    assert plain.validation_errors_ is plain.validation_losses_ is plain.validation_loss_ is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_validation_losses_use_the_best_scale_of_the_scores(n_classes):
    D, y = problem(50, n_classes, seed=6)
    D[np.ix_(y == 0, y == 0)] += 2.0  # so that not all is learned
    fitted = boosted(n_rounds=12, n_pairs=3).fit(D[:30, :30], y[:30])
    columns = DissimilarityColumns(lw.Precomputed(is_distance=True), D)
    validation = _stopping._ValidationLoss(12)
    weights = 1.0 + np.arange(50) % 3
    validation.add(fitted._ensemble(), columns, np.arange(30, 50), y, weights)
    of_rows = weights[30:] / weights[30:].sum()
    result = validation.result()
    stages = list(fitted.staged_predict(D[30:, :30]))
    assert_allclose(result.errors, [of_rows @ (stage != y[30:]) for stage in stages])
    F = fitted.decision_function(D[30:, :30])
    F = np.stack([-F, F], axis=1) if n_classes == 2 else F

    def loss(scale):
        shares = softmax(scale * F, axis=1)
        return -of_rows @ np.log(shares[np.arange(20), y[30:]])

    best = minimize_scalar(loss, bounds=(2**-8, 2**1.5), method="bounded").fun
    assert_allclose(result.losses[-1], min(loss(scale) for scale in _stopping.SCALES))
    assert_allclose(result.losses[-1], best, rtol=0.01)


def test_slow_learning_that_stops_early_errs_less_where_classes_overlap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5))
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 1.5, 900) > 0).astype(int)
    slow = lw.DBoost(
        n_rounds=100, n_pairs=10, early_stopping=3, learning_rate=0.1, random_state=0
    ).fit(X[:200], y[:200])
    printed = lw.DBoost(n_rounds=100, random_state=0).fit(X[:200], y[:200])
    assert slow.score(X[200:], y[200:]) > printed.score(X[200:], y[200:]) + 0.02


@pytest.mark.parametrize("early_stopping", [True, 4])
def test_every_row_is_held_out_at_most_once_and_every_class_in_its_share(early_stopping):
    labels = np.repeat([0, 1, 2], [40, 20, 12])
    clf = lw.DBoost(early_stopping=early_stopping, validation_fraction=0.25, random_state=0)
    splits = validation_splits(clf, labels)
    held_out = np.concatenate([part for _, part in splits])
    assert len(np.unique(held_out)) == len(held_out) == (72 if early_stopping == 4 else 18)
    for train, part in splits:
        assert sorted([*train, *part]) == list(range(72))
        assert_allclose(np.bincount(labels[part]), [10, 5, 3], atol=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_refit_the_mean_score_of_the_splits_decides(n_classes):
    D, y = problem(60, n_classes, seed=8)
    options = {"n_rounds": 15, "n_pairs": 5, "max_depth": 2, "early_stopping": 3}
    fitted = boosted(refit=False, **options).fit(D[:40, :40], y[:40])
    assert (
        fitted.n_rounds_
        == len(fitted.history_)
        == boosted(**options).fit(D[:40, :40], y[:40]).n_rounds_
    )
    assert len(fitted.outputs_) == 3 * fitted.n_rounds_
    expected = 0.0
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=4)[1:]
    for (train, _), seed in zip(validation_splits(fitted, y[:40]), seeds, strict=True):
        columns = DissimilarityColumns(lw.Precomputed(is_distance=True), D[:40, :40])
        options_, rng = check_parameters(fitted).boosting, np.random.default_rng(seed)
        with LongWork("boosting") as work:
            training = train, y[train], np.ones(len(train))
            part = boost(columns, *training, fitted.n_rounds_, options_, rng, work)
        scores = part.outputs[np.arange(fitted.n_rounds_), part.leaves(D[40:, part.prototypes])]
        expected = expected + scores.sum(axis=1) / 3
    found = fitted.decision_function(D[40:, :40])
    assert_allclose(found, expected[:, 0] if n_classes == 2 else expected, atol=1e-12)
    stages = list(fitted.staged_predict(D[40:, :40]))
    assert len(stages) == fitted.n_rounds_
    assert_array_equal(stages[-1], fitted.predict(D[40:, :40]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_of_rows_held_out_are_those_of_a_fit_without_them(n_classes):
    D, y = problem(40, n_classes, seed=9)
    fitted = boosted(n_rounds=15, n_pairs=5, early_stopping=3).fit(D, y)
    shares = fitted.validation_shares_
    assert_allclose(shares.sum(axis=1), 1)
    chosen = fitted.n_rounds_ - 1
    assert_allclose(np.mean(shares.argmax(axis=1) != y), fitted.validation_errors_[chosen])
    own = shares[np.arange(40), y]
    assert_allclose(-np.log(own).mean(), fitted.validation_losses_[chosen])
    one_part = boosted(early_stopping=True, validation_fraction=0.25).fit(D, y)
    assert np.isnan(one_part.validation_shares_).all(axis=1).sum() == 30


def test_without_refit_there_is_no_limit_of_prototypes():
    D, y = problem(20, 2, seed=0)
    with pytest.raises(ValueError, match="n_prototypes limits the prototypes of one ensemble"):
        boosted(refit=False, early_stopping=3, n_prototypes=5).fit(D, y)
    one_part = boosted(refit=False, early_stopping=np.True_, n_prototypes=5).fit(D, y)
    assert len(one_part.prototypes_) <= 6
