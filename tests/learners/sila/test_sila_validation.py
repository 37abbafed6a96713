"""SiLA's validation rows are neither learned from nor found as neighbors."""

import numpy as np
import pytest

import likewise as lw
from likewise.learners.sila._sila import validation_mask


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


@pytest.mark.parametrize("norm", ["cosine", "none"])
@pytest.mark.parametrize("rule", ["majority", "symmetric"])
def test_accuracy_is_that_of_a_classifier_of_the_training_rows(memorable, norm, rule):
    X, y = memorable
    sila, kept = fitted(X, y, norm=norm, validation_rule=rule)
    clf = lw.SimilarityClassifier(similarity=sila.similarity_, rule=rule).fit(X[kept], y[kept])
    assert sila.history_[-1]["accuracy"] == clf.score(X[~kept], y[~kept])


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
    assert clf.learner_.validation_rule == ("symmetric" if symmetric else given)
    assert sila.validation_rule == given
