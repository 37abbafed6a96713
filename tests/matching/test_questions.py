"""Which candidates are asked about, and which of them judge."""

import numpy as np
import pytest

from likewise.matching._candidates import Candidates
from likewise.matching._labels import Labels, merge_labels
from likewise.matching._questions import choose_questions

N = 150
SHARE = 0.2  # of matches


def candidates(seed):
    """Return which candidates match, and scores that rank matches high."""
    rng = np.random.default_rng([seed, 9])
    is_match = rng.random(N) < SHARE
    return is_match, is_match + rng.normal(scale=0.3, size=N)


def asked_in_rounds(n, seed, appeal, uncertainty, size=10, known=None):
    """Return `n` questions, in order, and whether they judge."""
    known = np.zeros(N, dtype=bool) if known is None else known.copy()
    asked = []
    while len(asked) < n:
        size = min(size, n - len(asked))
        guessing = len(asked) == 0
        new = choose_questions(size, len(asked), 0, known, uncertainty, appeal, seed,
                               guessing=guessing)  # fmt: skip
        known[[place for place, _ in new]] = True
        asked += new
    return asked


def judges(asked):
    return [place for place, judging in asked if judging]


def test_judging_questions_are_a_random_sample_of_the_candidates():
    found, expected, variance = 0, 0.0, 0.0
    for seed in range(60):
        is_match, appeal = candidates(seed)
        asked = judges(asked_in_rounds(105, seed, appeal, -np.abs(appeal - 0.7)))  # 70 %
        assert len(asked) == 21
        share = is_match.mean()
        found += is_match[asked].sum()
        expected += len(asked) * share
        variance += len(asked) * share * (1 - share)
    assert abs(found - expected) < 3 * np.sqrt(variance), (found, expected)


def test_judging_questions_depend_on_the_seed_alone():
    _, appeal = candidates(0)
    usual = judges(asked_in_rounds(100, 0, appeal, -np.abs(appeal)))
    assert judges(asked_in_rounds(100, 0, -appeal, appeal)) == usual  # other scores
    assert judges(asked_in_rounds(100, 0, appeal, -np.abs(appeal), size=7)) == usual
    assert judges(asked_in_rounds(100, 1, appeal, -np.abs(appeal))) != usual


@pytest.mark.parametrize("n", [1, 4, 5, 23, N])
def test_every_candidate_is_asked_about_once_and_every_fifth_judges(n):
    _, appeal = candidates(0)
    asked = asked_in_rounds(n, 0, appeal, -np.abs(appeal))
    assert len({place for place, _ in asked}) == n
    assert [judging for _, judging in asked] == [number % 5 == 4 for number in range(n)]


@pytest.mark.parametrize("part", ["judging", "others"])
def test_where_one_kind_is_known_the_other_is_asked(part):
    _, appeal = candidates(0)
    is_judge = np.zeros(N, dtype=bool)
    is_judge[judges(asked_in_rounds(N, 0, appeal, appeal))] = True
    known = is_judge if part == "judging" else ~is_judge
    asked = asked_in_rounds(int((~known).sum()), 0, appeal, appeal, known=known)
    assert {judging for _, judging in asked} == {part == "others"}


def test_the_first_questions_that_teach_are_of_the_top_and_random():
    _, appeal = candidates(0)
    asked = asked_in_rounds(12, 0, appeal, -np.abs(appeal), size=12)
    taught = [place for place, judging in asked if not judging]
    reserved = judges(asked_in_rounds(N, 0, appeal, appeal))
    others = np.setdiff1d(np.arange(N), reserved)
    top = set(others[np.argsort(-appeal[others])[: len(others) // 20]].tolist())
    assert set(taught[0:10:2]) <= top
    assert len(set(taught[1:10:2]) - top) >= 4


def test_a_pair_that_judged_goes_on_judging_when_its_label_is_replaced():
    first, second = Candidates(np.arange(3), np.arange(3)), Candidates(np.arange(2), np.arange(2))
    no, yes = np.zeros(3, dtype=bool), np.ones(2, dtype=bool)
    old = Labels(first, no, np.array([True, False, True]), no)
    merged = merge_labels(old, Labels(second, yes, ~yes, ~yes))
    assert dict(zip(merged.pairs.rows(), merged.judging.tolist(), strict=True)) == {
        (0, 0): True, (1, 1): False, (2, 2): True}  # fmt: skip
    assert merged.n_matches == 2
