"""RidgeSimilarity: what it publishes, from what, and what it refuses."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts import cases, checks
from tests.oracles import ridge as oracle

import likewise as lw
from likewise.exceptions import InterruptedWarning

KEPT = "ignore:.*the start is kept:UserWarning"


@pytest.fixture
def judged(rng):
    """Return grades that a rotation of the queries explains, each query its own items."""
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    Q, P = rng.normal(size=(120, 6)), rng.normal(size=(300, 6))
    true = oracle.unit(Q @ rotation) @ oracle.unit(P).T
    order = np.argsort(-true, axis=1)
    grades = np.zeros((120, 300))
    np.put_along_axis(grades, order[:, :2], 2, axis=1)
    np.put_along_axis(grades, order[:, 2:4], 1, axis=1)
    return grades, Q, P


@pytest.fixture
def popular(rng):
    """Return grades of a few items that groups of queries ask for, unlike the items themselves."""
    centers = rng.normal(size=(15, 20))
    group = np.arange(150) % 15
    Q = centers[group] + 0.3 * rng.normal(size=(150, 20))
    P = rng.normal(size=(90, 20))
    grades = np.zeros((150, 90))
    grades[np.arange(150), group] = 1
    return grades, Q, P


@pytest.mark.filterwarnings(KEPT)
@parametrize_with_checks([lw.RidgeSimilarity()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", checks.SIMILARITY, ids=lambda check: check.__name__)
def test_what_is_learned_keeps_the_contract_of_similarities(judged, check):
    grades, Q, P = judged
    learned = lw.RidgeSimilarity(random_state=0).fit_relevance(grades, Q, P).similarity_
    check(
        cases.Case(
            "ridge", learned, Q[:7], P[7:16], serves=("cosine", "inner_product", "euclidean")
        )
    )


# Relevance.


def test_what_is_published_is_the_printed_ridge_of_all_judgements(judged):
    grades, Q, P = judged
    model = lw.RidgeSimilarity(random_state=0).fit_relevance(grades, Q, P)
    assert model.validation_["published"]
    assert np.isfinite(model.alpha_)
    wanted = oracle.form(oracle.unit(Q), oracle.unit(P), grades, np.eye(6), model.alpha_)
    assert_allclose(model.similarity_.W, wanted, atol=1e-10)
    assert model.similarity_.norm == "cosine"
    for kind in ("overall", "seen", "new"):
        start, learned, error, n = model.validation_[kind]
        assert 0 < start < learned <= 1
        assert error > 0
        assert 5 <= n <= 120


@pytest.mark.parametrize("around", ["mean", "local"])
def test_offsets_are_those_printed_and_lift_the_items_that_were_judged(popular, around):
    grades, Q, P = popular
    ids = [f"item {row}" for row in range(90)]
    half = np.arange(150) < 75
    model = lw.RidgeSimilarity(center=around, random_state=0)
    model.fit_relevance(grades[half], Q[half], P, None, ids)
    near = P if around == "local" else None
    c, counts, center = oracle.directions(oracle.unit(Q[half]), grades[half], np.eye(20), near)
    offsets = model.offsets_
    assert offsets.ids == tuple(ids[row] for row in np.flatnonzero(counts))
    assert_allclose(offsets.directions, c[np.flatnonzero(counts)], atol=1e-6)
    assert_allclose(offsets.counts, counts[np.flatnonzero(counts)])
    assert_allclose(offsets.center, center, atol=1e-12)
    assert offsets.gamma == model.validation_["gamma"] > 0
    moved = offsets.apply(ids, P)
    assert_allclose(moved, oracle.moved(P, c, offsets.gamma), atol=1e-5)
    before, after = (
        lw.evaluate_retrieval(s, Q[~half], items, relevance=grades[~half], k=10)["ndcg@10"]
        for s, items in (("cosine", P), (model.similarity_, moved))
    )
    assert after > before + 0.3
    without = lw.RidgeSimilarity(random_state=0).fit_relevance(
        grades[half], Q[half], P, offsets=False
    )
    assert without.offsets_ is None


def test_without_names_offsets_go_by_row_numbers(popular):
    grades, Q, P = popular
    model = lw.RidgeSimilarity(random_state=0).fit_relevance(grades, Q, P)
    assert model.offsets_.ids == tuple(range(15))


def test_validation_tells_seen_from_new_items(popular):
    """Of items that many queries share, those held out are new, and gain nothing."""
    grades, Q, P = popular
    model = lw.RidgeSimilarity(random_state=0, new_items="allow").fit_relevance(grades, Q, P)
    seen, new = model.validation_["seen"], model.validation_["new"]
    assert seen.n + new.n == 150
    assert 10 <= new.n <= 60
    assert seen.learned > seen.start + 0.5
    assert new.learned < new.start + 0.2


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_dense_and_sparse_rows_agree(popular, kind):
    grades, Q, P = popular
    Q, P = (rows * (np.abs(rows) > 0.5) for rows in (Q, P))
    dense = lw.RidgeSimilarity(random_state=0).fit_relevance(grades, Q, P)
    for queries, items in ((kind(Q), kind(P)), (Q, kind(P)), (kind(Q), P)):
        sparse = lw.RidgeSimilarity(random_state=0).fit_relevance(kind(grades), queries, items)
        assert_allclose(sparse.similarity_.W, dense.similarity_.W, atol=1e-9)
        assert_equal(sparse.validation_["gamma"], dense.validation_["gamma"])
        directions = sparse.offsets_.directions
        directions = directions if isinstance(directions, np.ndarray) else directions.toarray()
        assert_allclose(directions, dense.offsets_.directions, atol=1e-6)


def test_queries_and_items_of_different_width_start_from_random_order(rng):
    Q, P, W = rng.normal(size=(100, 5)), rng.normal(size=(60, 8)), rng.normal(size=(5, 8))
    grades = (Q @ W @ P.T > 6).astype(float)
    model = lw.RidgeSimilarity(random_state=0).fit_relevance(grades, Q, P)
    assert model.similarity_.W.shape == (5, 8)
    assert model.validation_["published"]
    assert model.offsets_ is None
    chance = model.validation_["overall"].start
    random = [
        lw.evaluate_retrieval(
            lw.Bilinear(np.random.default_rng(s).normal(size=(5, 8))), Q, P, relevance=grades, k=10
        )["ndcg@10"]
        for s in range(20)
    ]
    assert abs(chance - np.mean(random)) < 3 * np.std(random)


@pytest.mark.filterwarnings(KEPT)
def test_random_relevance_between_widths_publishes_nothing(rng):
    Q, P = rng.normal(size=(80, 5)), rng.normal(size=(60, 8))
    model = lw.RidgeSimilarity(random_state=0).fit_relevance(rng.random((80, 60)) < 0.05, Q, P)
    assert not model.validation_["published"]
    assert_array_equal(model.similarity_.W, np.zeros((5, 8)))


def test_rows_are_taken_as_they_are_where_they_are_not_to_be_scaled(judged):
    grades, Q, P = judged
    model = lw.RidgeSimilarity(random_state=0, normalize=False, alpha=5.0)
    model.fit_relevance(grades, Q, P, offsets=False)
    assert model.similarity_.norm == "none"
    assert_allclose(model.similarity_.W, oracle.form(Q, P, grades, np.eye(6), 5.0), atol=1e-10)


def test_a_start_of_ones_own_is_kept_near(judged, rng):
    grades, Q, P = judged
    start = np.eye(6) + 0.1 * rng.normal(size=(6, 6))
    model = lw.RidgeSimilarity(alpha=7.0, init=start, random_state=0)
    model.fit_relevance(grades, Q, P, offsets=False)
    wanted = oracle.form(oracle.unit(Q), oracle.unit(P), grades, start, 7.0)
    assert_allclose(model.similarity_.W, wanted, atol=1e-10)
    again = lw.RidgeSimilarity(alpha=7.0, init=lw.Bilinear(start, norm="cosine"), random_state=0)
    assert_array_equal(
        again.fit_relevance(grades, Q, P, offsets=False).similarity_.W, model.similarity_.W
    )


def test_weights_decide_how_much_a_judgement_counts(judged):
    grades, Q, P = judged
    weights = np.where(np.arange(300) < 150, 2.0, 1.0) * np.ones((120, 1))
    model = lw.RidgeSimilarity(alpha=3.0, random_state=0)
    model.fit_relevance(grades, Q, P, weights, offsets=False)
    wanted = oracle.form(oracle.unit(Q), oracle.unit(P), grades * weights, np.eye(6), 3.0)
    assert_allclose(model.similarity_.W, wanted, atol=1e-10)


def test_items_that_are_the_queries_do_not_find_themselves(rng):
    X = rng.normal(size=(100, 4))
    hidden = X * [3, 1, 0, 0]
    order = np.argsort(-(oracle.unit(hidden) @ oracle.unit(hidden).T), axis=1)
    grades = np.zeros((100, 100))
    np.put_along_axis(grades, order[:, :4], 1, axis=1)
    np.fill_diagonal(grades, 0)
    model = lw.RidgeSimilarity(random_state=0).fit_relevance(grades, X)
    with_itself = grades.copy()
    np.fill_diagonal(with_itself, 1)
    again = lw.RidgeSimilarity(random_state=0, alpha=3.0).fit_relevance(with_itself, X)
    assert again.validation_["overall"].start == pytest.approx(model.validation_["overall"].start)


def test_the_precision_of_the_rows_is_kept(judged):
    grades, Q, P = judged
    single = lw.RidgeSimilarity(random_state=0).fit_relevance(grades, np.float32(Q), np.float32(P))
    assert single.similarity_.W.dtype == np.float32
    assert lw.RidgeSimilarity(random_state=0).fit_relevance(grades, Q, P).similarity_.W.dtype == (
        np.float64
    )


def test_the_same_seed_gives_the_same_answer_on_any_number_of_threads(popular, two_threads):
    from threadpoolctl import threadpool_limits

    def fitted():
        model = lw.RidgeSimilarity(random_state=4).fit_relevance(*popular)
        return model.similarity_.W.tobytes(), model.offsets_.directions.tobytes()

    with threadpool_limits(1):
        one = fitted()
    assert fitted() == one


# Pairs and triplets.


def test_similar_pairs_are_relevance_and_dissimilar_ones_say_nothing(judged):
    grades, Q, P = judged
    pairs = np.argwhere(grades > 0)
    told = np.concatenate([pairs, [[0, 299], [5, 298]]])
    y = np.r_[np.ones(len(pairs)), -1, 0]
    wanted = lw.RidgeSimilarity(random_state=0).fit_relevance(grades > 0, Q, P)
    found = lw.RidgeSimilarity(random_state=0).fit_pairs(told, y, Q, P)
    assert_allclose(found.similarity_.W, wanted.similarity_.W, atol=1e-12)
    assert_equal(found.validation_["alpha"], wanted.validation_["alpha"])


def test_triplets_teach_their_closer_items_each_once(judged, rng):
    grades, Q, P = judged
    closer = np.argwhere(grades > 0)
    triplets = np.column_stack([closer, rng.integers(300, size=len(closer))])
    triplets = triplets[grades[triplets[:, 0], triplets[:, 2]] == 0]
    twice = np.concatenate([triplets, triplets[::2]])
    model = lw.RidgeSimilarity(alpha=5.0, random_state=0).fit_triplets(twice, Q, P, offsets=False)
    relevant = np.zeros_like(grades)
    relevant[triplets[:, 0], triplets[:, 1]] = 1
    wanted = oracle.form(oracle.unit(Q), oracle.unit(P), relevant, np.eye(6), 5.0)
    assert_allclose(model.similarity_.W, wanted, atol=1e-10)
    assert model.validation_["measure"] == "right order"
    start, learned, error, n = model.validation_["overall"]
    assert learned > start + 2.5 * error
    assert n == len(np.unique(triplets[:, 0]))


# Labels.


def test_labels_give_the_printed_form(rng):
    y = np.array(["ash", "beech", "cedar"])[np.arange(200) % 3]
    X = rng.normal(size=(200, 6)) + 2 * (y == "ash")[:, None] * [1, 0, 0, 0, 0, 0]
    model = lw.RidgeSimilarity(random_state=0).fit(X, y)
    numbers = np.unique(y, return_inverse=True)[1]
    wanted = oracle.labels(oracle.unit(X), numbers, model.alpha_)
    assert_allclose(model.similarity_.W, wanted, atol=1e-10)
    assert_allclose(
        lw.RidgeSimilarity(random_state=0).fit(csr_array(X), y).similarity_.W, wanted, atol=1e-9
    )
    assert model.offsets_ is None
    assert model.score(X, y) > 0.4


@pytest.mark.filterwarnings(KEPT)
def test_random_labels_rarely_move_the_start():
    published = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(150, 8)), rng.integers(0, 3, 150)
        published += lw.RidgeSimilarity(random_state=seed).fit(X, y).validation_["published"]
    assert published <= 1


def test_one_class_is_refused(rng):
    with pytest.raises(ValueError, match="y has one class, 0; at least two"):
        lw.RidgeSimilarity().fit(rng.normal(size=(5, 2)), np.zeros(5, int))


# Do no harm.


@pytest.mark.parametrize("new_items", ["protect", "allow", "strict"])
def test_random_relevance_keeps_the_start(new_items):
    """In at least 95 of 100 draws: of these forty, at most two are published."""
    published = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Q, P = rng.normal(size=(60, 8)), rng.normal(size=(120, 8))
        grades = np.zeros((60, 120))
        grades[np.arange(60)[:, None], rng.integers(120, size=(60, 3))] = 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = lw.RidgeSimilarity(random_state=seed, new_items=new_items)
            model.fit_relevance(grades, Q, P)
        if model.validation_["published"]:
            published += 1
            continue
        assert_array_equal(model.similarity_.W, np.eye(8))
        assert model.offsets_ is None
        assert model.alpha_ == np.inf
        assert "the start is kept" in str(caught[0].message)
        assert caught[0].filename == __file__
    assert published <= 2


def test_a_warning_says_that_nothing_is_relevant(rng):
    Q, P = rng.normal(size=(20, 4)), rng.normal(size=(30, 4))
    for relevance in (np.zeros((20, 30)), csr_array((20, 30))):
        with pytest.warns(UserWarning, match=r"^relevance has no grade above 0, so no item is"):
            ridge = lw.RidgeSimilarity().fit_relevance(relevance, Q, P)
        assert_array_equal(ridge.similarity_.W, np.eye(4))


@pytest.mark.filterwarnings(KEPT)
def test_few_queries_leave_the_start(rng):
    Q, P = rng.normal(size=(4, 3)), rng.normal(size=(9, 3))
    model = lw.RidgeSimilarity(random_state=0).fit_relevance(np.eye(4, 9), Q, P)
    assert not model.validation_["published"]
    assert_array_equal(model.similarity_.W, np.eye(3))


@pytest.mark.filterwarnings(KEPT)
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_queries_are_no_fault(rng, n):
    model = lw.RidgeSimilarity(random_state=0)
    model.fit_relevance(np.eye(n, 5), rng.normal(size=(n, 3)), rng.normal(size=(5, 3)))
    assert not model.validation_["published"]


# Files, interruption, bad input.


def test_a_file_gives_everything_back(popular, tmp_path):
    model = lw.RidgeSimilarity(random_state=0).fit_relevance(*popular)
    lw.save(model, tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    assert loaded.similarity_.W.tobytes() == model.similarity_.W.tobytes()
    assert loaded.offsets_.directions.tobytes() == model.offsets_.directions.tobytes()
    assert loaded.offsets_.ids == model.offsets_.ids
    assert_equal(loaded.validation_, model.validation_)
    assert loaded.get_params() == model.get_params()


def test_ctrl_c_keeps_the_finished_splits(judged, interrupt_at):
    from likewise.learners.ridge import _cross_validation, _ridge

    calls = interrupt_at(3, "relevance_path", _cross_validation, _ridge)
    with pytest.warns(InterruptedWarning, match="the finished splits"):
        model = lw.RidgeSimilarity(random_state=0).fit_relevance(*judged)
    assert len(calls) == 4  # three splits, and everything
    assert model.validation_["overall"].n == 72


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"alpha": "much"}, ValueError, "alpha must be 'auto' or a number, but 'much' was given"),
        ({"alpha": 0}, ValueError, "alpha must be finite and above 0"),
        ({"alpha": [1.0]}, TypeError, "alpha must be a number"),
        ({"new_items": "forbid"}, ValueError, "new_items must be one of 'protect', 'allow', 'stri"),
        ({"center": "median"}, ValueError, "center must be one of 'mean', 'local'"),
        ({"normalize": "yes"}, TypeError, "normalize must be True or False"),
        ({"init": "ridge"}, ValueError, "init 'ridge' is learned"),
        ({"init": "big"}, ValueError, "init must be one of"),
        ({"init": np.eye(3)}, ValueError, r"init is of shape \(3, 3\), but queries have 6"),
    ],
)
@pytest.mark.parametrize("door", ["fit", "fit_relevance", "fit_pairs", "fit_triplets"])
def test_parameters_are_checked_before_any_work(judged, parameters, error, message, door):
    grades, Q, P = judged
    given = {
        "fit": (Q, np.arange(120) % 2),
        "fit_relevance": (grades, Q, P),
        "fit_pairs": ([[0, 1]], [1], Q, P),
        "fit_triplets": ([[0, 1, 2]], Q, P),
    }[door]
    model = lw.RidgeSimilarity(**parameters)
    with pytest.raises(error, match=message):
        getattr(model, door)(*given)
    assert not hasattr(model, "similarity_")


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"relevance": np.ones((3, 4))}, ValueError, "relevance is 3×4, but queries has 120 rows"),
        ({"relevance": -np.ones((120, 300))}, ValueError, "grades must be finite and not negative"),
        ({"queries": np.full((120, 6), np.nan)}, ValueError, "queries"),
        ({"items": "rows"}, TypeError, "items"),
        ({"item_ids": ["a", "b"]}, ValueError, "item_ids has 2 entries, but there are 300 items"),
        ({"item_ids": ["a"] * 300}, ValueError, "item_ids must be unique, but 'a' is given twice"),
        ({"item_ids": [0.5] * 300}, TypeError, "item_ids must be whole numbers or text, but 0.5"),
        ({"weights": np.ones((2, 2))}, ValueError, "weights must have the shape of relevance"),
    ],
)
def test_bad_relevance_is_refused_with_a_sentence(judged, changed, error, message):
    given = {**dict(zip(("relevance", "queries", "items"), judged, strict=True)), **changed}
    with pytest.raises(error, match=message):
        lw.RidgeSimilarity().fit_relevance(**given)


# Real data.


@pytest.fixture
def scifact(data_dir):
    if not (data_dir / "scifact_minilm.npz").exists():
        pytest.skip("LIKEWISE_DATA holds no scifact_minilm.npz")
    return lw.datasets.load_retrieval("scifact_minilm")


@pytest.mark.parametrize("seed", [0, 1])
def test_scifact_gains_on_seen_items_and_loses_nothing_on_new_ones(seed, scifact):
    train, test = scifact.query_is_train, ~scifact.query_is_train
    relevance, ids = scifact.relevance.tocsr(), scifact.document_ids
    model = lw.RidgeSimilarity(random_state=seed).fit_relevance(
        relevance[train], scifact.queries[train], scifact.documents, item_ids=ids
    )
    report = lw.evaluate_retrieval(
        model.similarity_,
        scifact.queries[test],
        model.offsets_.apply(ids, scifact.documents),
        relevance=relevance[test],
        k=10,
        depth=10,
        trained_on=relevance[train],
    )
    assert report["ndcg@10"] >= 0.81
    assert report.seen["ndcg@10"] >= 0.90
    assert report.new["ndcg@10"] >= 0.618  # the start's
