"""What SiLA learns: the sequence of the plain algorithm, found sooner."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests.oracles import sila as oracle

import likewise as lw
from likewise.learners.sila import _perceptron
from likewise.learners.sila._averaging import validation_mask

FORMS = ("square", "symmetric", "diagonal")
NORMS = ("cosine", "dice", "jaccard", "none")


@pytest.fixture(params=["blocks", "each"])
def way(request, monkeypatch):
    """Score rows in blocks however narrow they are, or each by a product of its own."""
    monkeypatch.setattr(
        _perceptron, "min_share_one_by_one", lambda *_: 1.0 if request.param == "blocks" else 0
    )


@pytest.fixture
def in_blocks(monkeypatch):
    """Score rows in blocks, however narrow they are."""
    monkeypatch.setattr(_perceptron, "min_share_one_by_one", lambda *_: 1.0)


def rows_for(norm, rng, n=36, p=4, n_classes=3, apart=0.0):
    """Return rows without ties that suit a norm, and their labels in no order."""
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.random((n, p)) + apart * np.eye(n_classes, p)[y]
    if norm == "none":
        X -= 0.5
    return (X / X.max() if norm == "jaccard" else X), y


def mistakes_of(sila):
    return [entry["mistakes"] for entry in sila.history_]


def matrix_of(similarity):
    return np.diag(similarity.W) if similarity.W.ndim == 1 else similarity.W


def assert_same_sequence(sila, X, y, **options):
    """Check mistakes and the voted sum against the twin's."""
    parameters = {"form": sila.form, "norm": sila.norm, "init": sila.init, **options}
    k, n_epochs = sila.n_neighbors, sila.n_epochs
    sequence, mistakes = oracle.train(X, y, k, n_epochs, **parameters)
    expected = oracle.voted(sequence, sila.tail)
    assert mistakes_of(sila) == mistakes
    assert sila.n_updates_ == sum(mistakes)
    scale = max(1.0, np.abs(expected).max())
    assert_allclose(matrix_of(sila.similarity_), expected, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("init", ["zero", "base"])
def test_the_sequence_is_the_plain_one(form, norm, init, rng, way):
    X, y = rows_for(norm, rng)
    assert_same_sequence(lw.SiLA(form, norm, 2, 4, init=init).fit(X, y), X, y)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("norm", NORMS)
def test_weights_multiply_the_updates(form, norm, rng, way):
    X, y = rows_for(norm, rng)
    weights = rng.choice([1.0, 2.0, 8.0], len(y))
    for tail in (None, 5):
        sila = lw.SiLA(form, norm, 2, 4, init="base", tail=tail).fit(X, y, weights)
        assert_same_sequence(sila, X, y, weights=weights / weights.max())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("norm", NORMS)
def test_the_matrix_after_every_epoch_is_the_plain_one(form, norm, rng, way):
    X, y = rows_for(norm, rng, n=24, apart=0.3)
    for n_epochs in (1, 2, 3):
        assert_same_sequence(lw.SiLA(form, norm, 3, n_epochs).fit(X, y), X, y)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("norm", NORMS)
def test_one_vs_rest_is_a_binary_problem_for_each_class(form, norm, rng, way):
    X, y = rows_for(norm, rng)
    sila = lw.SiLA(form, norm, 2, 3, protocol="one_vs_rest").fit(X, y)
    assert not hasattr(sila, "similarity_")
    assert len(sila.similarities_) == 3
    total = 0
    for c, similarity in enumerate(sila.similarities_):
        sequence, mistakes = oracle.train(X, y == c, 2, 3, form=form, norm=norm)
        found = [entry["mistakes"] for entry in sila.history_ if entry["class"] == c]
        assert found == mistakes
        assert_allclose(matrix_of(similarity), oracle.voted(sequence), rtol=1e-10, atol=1e-10)
        total += sum(mistakes)
    assert sila.n_updates_ == total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_without_room_for_the_gram_matrix_the_sequence_is_the_same(
    form, norm, sparse, rng, monkeypatch, in_blocks
):
    monkeypatch.setattr(_perceptron, "GRAM_BYTES", 0)
    X, y = rows_for(norm, rng)
    X[rng.random(X.shape) < 0.2] = 0
    sila = lw.SiLA(form, norm, 2, 3).fit(csr_array(X) if sparse else X, y)
    assert_same_sequence(sila, X, y)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("gram", [True, False], ids=["gram", "no gram"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_what_is_skipped_is_no_mistake(form, norm, gram, sparse, rng, monkeypatch, in_blocks):
    """Bounds are kept from the second epoch on, however many mistakes there are."""
    monkeypatch.setattr(_perceptron, "_RARE", 1.1)
    if not gram:
        monkeypatch.setattr(_perceptron, "GRAM_BYTES", 0)
    X, y = rows_for(norm, rng, n=30, p=5, apart=0.8)
    sila = lw.SiLA(form, norm, 2, 12).fit(csr_array(X) if sparse else X, y)
    assert_same_sequence(sila, X, y)


@pytest.mark.parametrize("form", ["square", "symmetric"])
def test_rows_far_on_the_right_side_are_skipped(form, rng, in_blocks):
    X, y = rows_for("cosine", rng, n=300, p=6, apart=3.0)
    X[0] = X[1] + 0.2 * rng.random(6)
    y[0] = (y[1] + 1) % 3  # a row that keeps causing mistakes
    sila = lw.SiLA(form, n_epochs=20).fit(X, y)
    assert 0 < mistakes_of(sila)[-1] < 6
    assert sila.history_[-1]["scored"] < 250


@pytest.mark.parametrize("form", ["square", "symmetric"])
@pytest.mark.parametrize("tight", [True, False], ids=["within rounding", "told apart"])
def test_what_single_precision_cannot_tell_is_told_in_double(form, tight, rng, in_blocks):
    """Pairs of rows that differ by less than single precision can see, and by more."""
    X, y = rows_for("cosine", rng, n=40, p=5)
    X[1::2] = X[::2] + (1e-8 if tight else 1e-3) * rng.random((20, 5))
    assert_same_sequence(lw.SiLA(form, n_epochs=5).fit(X, y), X, y)


def test_the_sequence_goes_on_where_mistakes_become_rare(rng):
    """From a product for each visit to blocks, to bounds, to nothing at all."""
    X, y = rows_for("cosine", rng, n=80, p=5, apart=0.9)
    sila = lw.SiLA(n_neighbors=2, n_epochs=60).fit(X, y)
    assert mistakes_of(sila)[0] > 8
    assert sila.history_[-1]["scored"] < 80
    assert_same_sequence(sila, X, y)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_size_of_blocks_does_not_matter(size, rng, monkeypatch, in_blocks):
    monkeypatch.setattr(_perceptron, "_MAX_ROWS_PER_BLOCK", size)
    X, y = rows_for("cosine", rng)
    assert_same_sequence(lw.SiLA("symmetric", n_epochs=3).fit(X, y), X, y)


def test_a_block_with_more_mistakes_than_it_can_hold_is_ended(rng, in_blocks):
    X, y = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    assert_same_sequence(lw.SiLA(n_neighbors=1, n_epochs=1).fit(X, y), X, y)


def test_after_an_epoch_without_mistakes_nothing_changes(rng, way):
    X, y = rows_for("cosine", rng, n=24, apart=5.0)
    sila = lw.SiLA(n_neighbors=2, n_epochs=20).fit(X, y)
    assert mistakes_of(sila)[-1] == 0
    assert sila.history_[-1]["scored"] == 0
    assert_same_sequence(sila, X, y)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tail", [1, 2, 10, 70, 10_000])
def test_a_tail_is_the_sum_of_the_last_elements(form, tail, rng, way):
    X, y = rows_for("cosine", rng)
    sila = lw.SiLA(form, n_neighbors=2, n_epochs=3, tail=tail).fit(X, y)
    assert_same_sequence(sila, X, y)
    assert sila.tail_ == tail


def test_a_tail_of_all_elements_is_no_tail(rng):
    X, y = rows_for("cosine", rng)
    whole = lw.SiLA(n_epochs=3, init="base").fit(X, y)
    for more in (1, 2):
        sila = lw.SiLA(n_epochs=3, init="base", tail=whole.n_updates_ + more).fit(X, y)
        assert_allclose(sila.similarity_.W, whole.similarity_.W, rtol=1e-12)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("tail", [None, 20])
@pytest.mark.parametrize("protocol", ["multiclass", "one_vs_rest"])
def test_partial_fit_goes_on(shuffle, tail, protocol, rng, way):
    X, y = rows_for("cosine", rng)
    options = {"shuffle": shuffle, "tail": tail, "protocol": protocol, "random_state": 3}
    at_once = lw.SiLA(n_epochs=5, **options).fit(X, y)
    begun = lw.SiLA(n_epochs=2, **options).partial_fit(X, y)
    begun.set_params(n_epochs=3).partial_fit(X, y)
    assert mistakes_of(begun) == mistakes_of(at_once)
    assert [entry["epoch"] for entry in begun.history_][-1] == 5
    assert begun.n_updates_ == at_once.n_updates_
    assert begun.n_epochs_ == at_once.n_epochs_
    found, expected = (
        sila.similarities_ if protocol == "one_vs_rest" else [sila.similarity_]
        for sila in (begun, at_once)
    )
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one.W, other.W, rtol=1e-12, atol=1e-9)


def test_partial_fit_learns_from_other_rows(rng):
    """As the plain algorithm that goes on from the same matrix."""
    X, y = rows_for("cosine", rng)
    more, labels = rows_for("cosine", rng)
    sila = lw.SiLA(n_epochs=1).fit(X, y).partial_fit(more, labels)
    first, mistakes = oracle.train(X, y, 3, 1)
    second, later = oracle.train(more, labels, 3, 1, start=first[-1][0])
    assert mistakes_of(sila) == mistakes + later
    assert_allclose(sila.similarity_.W, oracle.voted(first) + oracle.voted(second), rtol=1e-10)


def test_a_shuffled_order_is_another_in_every_epoch_and_the_same_for_a_seed(rng):
    X, y = rows_for("cosine", rng)
    one, same, other = (lw.SiLA(shuffle=True, random_state=s).fit(X, y) for s in (0, 0, 1))
    assert_array_equal(one.similarity_.W, same.similarity_.W)
    assert not np.allclose(one.similarity_.W, other.similarity_.W)


def test_shuffled_visits_follow_the_plain_algorithm(rng, monkeypatch):
    X, y = rows_for("cosine", rng)
    orders, usual = [], np.random.default_rng

    class Recorder:
        def __init__(self, seed):
            self._rng = usual(seed)

        def permutation(self, n):
            orders.append(self._rng.permutation(n))
            return orders[-1]

    monkeypatch.setattr(np.random, "default_rng", Recorder)
    sila = lw.SiLA(n_epochs=3, shuffle=True, random_state=0).fit(X, y)
    monkeypatch.undo()
    assert len(orders) == 3
    assert not np.array_equal(orders[0], orders[1])
    assert_same_sequence(sila, X, y, orders=orders)


@pytest.mark.parametrize("form", ["square", "symmetric"])
def test_a_symmetric_form_is_symmetric_to_the_last_bit(form, rng):
    X, y = rows_for("cosine", rng)
    assert lw.SiLA(form).fit(X, y).similarity_.is_symmetric == (form == "symmetric")


@pytest.mark.parametrize("norm", NORMS)
def test_a_zero_row_has_similarity_0_and_changes_nothing(norm, rng, way):
    X, y = rows_for(norm, rng)
    X[7] = 0
    sila = lw.SiLA(norm=norm, n_neighbors=2, n_epochs=2).fit(X, y)
    assert_same_sequence(sila, X, y)
    assert (sila.similarity_.score(X[7:8], X) == 0).all()


def test_a_small_class_has_fewer_targets_and_is_named_once(rng):
    X, y = rng.normal(size=(30, 3)), np.array(["many"] * 27 + ["two"] * 2 + ["lonely"])
    for protocol in ("multiclass", "one_vs_rest"):
        with pytest.warns(UserWarning, match=r"class lonely \(1\), two \(2\)") as caught:
            sila = lw.SiLA(n_epochs=2, protocol=protocol).fit(X, y)
        assert len(caught) == 1
        if protocol == "multiclass":
            assert_same_sequence(sila, X, y)


def test_few_others_are_all_that_there_are(rng, way):
    X, y = rng.normal(size=(12, 3)), np.array([0] * 10 + [1, 1])
    with pytest.warns(UserWarning, match=r"class 1 \(2\)"):
        assert_same_sequence(lw.SiLA(n_neighbors=4, n_epochs=3).fit(X, y), X, y)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    form=st.sampled_from(FORMS),
    apart=st.sampled_from([0.5, 1.0, 3.0]),
    k=st.integers(1, 3),
)
def test_separable_rows_cause_no_more_mistakes_than_the_theorem_allows(seed, form, apart, k):
    """Theorem 1: at most R²/γ² in an epoch, γ the margin of any matrix of norm 1."""
    rng = np.random.default_rng(seed)
    X, y = rows_for("cosine", rng, n=18, p=4, n_classes=2, apart=apart)
    sila = lw.SiLA(form, n_neighbors=k, n_epochs=60).fit(X, y)
    last = sila.state_["A"]
    last = np.diag(last) if form == "diagonal" else last
    targets = oracle.targets(X, y, k, "cosine")
    margins, largest = [], 0.0
    for i in range(len(X)):
        others = [j for j in range(len(X)) if y[j] != y[i]]
        near = sum(oracle.features(X[i], X[j], form, "cosine") for j in targets[i])
        hardest = oracle.nearest(last, X, i, others, k, "cosine")
        far = sum(oracle.features(X[i], X[j], form, "cosine") for j in hardest)
        margins.append(np.sum(last * (near - far)) / np.linalg.norm(last))
        sizes = [np.linalg.norm(oracle.features(X[i], X[j], form, "cosine")) for j in others]
        largest = max(largest, np.linalg.norm(near) + sum(sorted(sizes)[-k:]))
    if min(margins) > 0:  # separable, and here is a matrix that does it
        assert mistakes_of(sila)[0] <= (largest / min(margins)) ** 2


def test_validation_keeps_the_matrix_that_was_best(rng):
    X, y = rows_for("cosine", rng, n=90, apart=0.3)
    sila = lw.SiLA(n_epochs=12, early_stopping=True, random_state=0).fit(X, y)
    assert 1 <= sila.n_epochs_ <= 12
    assert len(sila.history_) == 12
    best = [entry["accuracy"] for entry in sila.history_]
    assert best == sorted(best)
    again = lw.SiLA(n_epochs=12, early_stopping=True, random_state=0).fit(X, y)
    assert_array_equal(again.similarity_.W, sila.similarity_.W)


@pytest.mark.parametrize("random_state", range(4))
def test_epochs_and_tail_that_were_chosen_give_the_same_matrix(random_state, rng, monkeypatch):
    X, y = rows_for("cosine", rng, n=90, apart=0.3)
    sila = lw.SiLA(n_epochs=20, early_stopping=True, random_state=random_state).fit(X, y)
    seed = int(np.random.RandomState(random_state).randint(2**31 - 1))
    kept = ~validation_mask(y, 0.2, seed)
    assert 70 <= kept.sum() <= 75
    plain = lw.SiLA(n_epochs=sila.n_epochs_, tail=sila.tail_).fit(X[kept], y[kept])
    assert_allclose(plain.similarity_.W, sila.similarity_.W, rtol=1e-9, atol=1e-7)


def test_validation_rows_are_a_share_of_every_class_that_is_large_enough():
    y = np.repeat(["a", "b", "rare"], [40, 20, 3])
    held_out = validation_mask(y, 0.2, seed=1)
    assert [held_out[y == label].sum() for label in ("a", "b", "rare")] == [8, 4, 0]
    assert_array_equal(validation_mask(y, 0.2, seed=1), held_out)
    assert not np.array_equal(validation_mask(y, 0.2, seed=2), held_out)


def test_one_vs_rest_chooses_for_each_class(rng):
    X, y = rows_for("cosine", rng, n=60, apart=0.3)
    sila = lw.SiLA(early_stopping=True, protocol="one_vs_rest", random_state=0).fit(X, y)
    assert len(sila.n_epochs_) == len(sila.tail_) == 3


@pytest.mark.parametrize("norm", ["dice", "jaccard"])
def test_dice_and_jaccard_learn_from_presence_and_absence(norm, data_dir):
    """Votes: learned on one half, at least as good as its base on the other."""
    data = lw.datasets.load("votes")
    order = np.random.default_rng(0).permutation(len(data.y))
    train, test = order[::2], order[1::2]
    X, y = data.X, data.y
    base = lw.SimilarityClassifier(similarity=norm).fit(X[train], y[train])
    learner = lw.SiLA(norm=norm, early_stopping=True, n_epochs=20, random_state=0)
    learned = lw.SimilarityClassifier(learner=learner).fit(X[train], y[train])
    assert learned.score(X[test], y[test]) >= base.score(X[test], y[test])


def test_balance_is_learned_better_than_by_cosine():
    data = lw.datasets.load("balance")
    order = np.random.default_rng(0).permutation(625)
    train, test = order[:500], order[500:]
    X, y = data.X, data.y
    cosine = lw.SimilarityClassifier(similarity="cosine").fit(X[train], y[train])
    learner = lw.SiLA("symmetric", n_epochs=30)
    learned = lw.SimilarityClassifier(learner=learner).fit(X[train], y[train])
    assert learned.score(X[test], y[test]) > cosine.score(X[test], y[test])
