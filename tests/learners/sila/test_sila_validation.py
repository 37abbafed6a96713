"""SiLA's validation rows are neither learned from nor found as neighbors."""

import numpy as np
import pytest
from tests.oracles import sila as oracle

import likewise as lw
from likewise.learners.sila import _averaging
from likewise.learners.sila._averaging import validation_mask


@pytest.fixture
def memorable(rng):
    """Return random wide rows with random classes, which can only be memorized."""
    return rng.normal(size=(120, 60)), rng.permutation(np.arange(120) % 3)


def fitted(X, y, **options):
    """Return a learner, and a mask of the rows that it learned from."""
    sila = lw.SiLA(n_epochs=8, early_stopping=True, random_state=0, **options).fit(X, y)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    return sila, ~validation_mask(y, 0.2, seed)


@pytest.mark.parametrize("init", ["zero", "base"])
def test_validation_rows_do_not_find_themselves(memorable, init):
    """With one neighbor, a row that is among the items would always be right."""
    sila, _ = fitted(*memorable, n_neighbors=1, init=init)
    assert sila.history_[-1]["accuracy"] < 0.75


@pytest.mark.filterwarnings("ignore:fewer than 8 rows")
@pytest.mark.parametrize("norm", ["cosine", "none"])
@pytest.mark.parametrize("rule", ["majority", "symmetric", "symmetric_mean"])
def test_accuracy_is_that_of_a_classifier_of_the_training_rows(memorable, norm, rule):
    X, y = memorable
    y = np.where(np.arange(120) < 6, 3, y)  # a class with fewer training rows than neighbors
    sila, kept = fitted(X, y, norm=norm, validation_rule=rule, n_neighbors=7)
    clf = lw.SimilarityClassifier(similarity=sila.similarity_, n_neighbors=7, rule=rule)
    assert sila.history_[-1]["accuracy"] == clf.fit(X[kept], y[kept]).score(X[~kept], y[~kept])


@pytest.mark.parametrize("rule", ["majority", "symmetric"])
@pytest.mark.parametrize("few_bytes", [False, True])
def test_the_best_of_all_tails_between_kept_epochs_is_chosen(rule, few_bytes, monkeypatch):
    """As found by brute force on the whole sequence, which the oracle keeps."""
    if few_bytes:
        monkeypatch.setattr(_averaging, "_CHECKPOINT_BYTES", 0)
    y = np.arange(60) % 3
    X = np.random.default_rng(1).normal(size=(60, 4)) + 0.6 * np.eye(3, 4)[y]
    sila, kept = fitted(X, y, n_neighbors=2, validation_rule=rule)
    sequence, mistakes = oracle.train(X[kept], y[kept], 2, 8)
    ends = np.cumsum([0, *mistakes])  # number of updates after each epoch
    best = (-1.0,)
    for epoch in range(1, 9):
        starts = [s for s in range(1, epoch) if not few_bytes or s in (1, 2, 4)]
        tails = [None] + [
            ends[epoch] - ends[start] for start in starts if ends[epoch] > ends[start]
        ]
        visited = epoch * kept.sum()
        elements = [[A, w] for A, w in sequence[: ends[epoch] + 1]]
        elements[-1][1] += visited - sum(w for _, w in elements)  # its weight at that time
        for tail in tails:
            W = oracle.voted(elements, tail)
            clf = lw.SimilarityClassifier(
                similarity=lw.Bilinear(W, norm="cosine"), n_neighbors=2, rule=rule
            )
            score = clf.fit(X[kept], y[kept]).score(X[~kept], y[~kept])
            if score > best[0] or (tail is None and score == best[0]):
                best = (score, epoch, tail)
    assert (sila.history_[-1]["accuracy"], sila.n_epochs_, sila.tail_) == best
    if not few_bytes:
        assert best[2] is not None  # a tail was worth it


def test_an_intruder_among_the_validation_rows_leaves_no_trace(memorable):
    """The class of a validation row may change the choice of an epoch, but not the sequence."""
    X, y = memorable
    clean, kept = fitted(X, y, tail=5)
    odd = np.where(kept[:, None], X, 1e6)
    intruded, _ = fitted(odd, y, tail=5)
    mistakes = [[entry["mistakes"] for entry in sila.history_] for sila in (clean, intruded)]
    assert mistakes[0] == mistakes[1]


@pytest.mark.parametrize("rule", ["majority", "symmetric", "symmetric_mean", "softmax"])
@pytest.mark.parametrize("given", ["auto", "majority"])
def test_a_classifier_has_its_learner_validated_by_its_own_rule(memorable, rule, given):
    sila = lw.SiLA(n_epochs=1, early_stopping=True, random_state=0, validation_rule=given)
    clf = lw.SimilarityClassifier(learner=sila, rule=rule).fit(*memorable)
    symmetric = given == "auto" and rule.startswith("symmetric")
    assert clf.learner_.validation_rule == (rule if symmetric else given)
    assert sila.validation_rule == given
