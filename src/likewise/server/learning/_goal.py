"""How many more answers the next version needs."""

from math import ceil
from typing import NamedTuple

from likewise.server.learning._gate import MIN_QUERIES, CandidateSchedule, passing_threshold
from likewise.server.store import Store, Verdict

_MAX_GROWTH = 10  # an estimate of more than so many times the present queries is none


class Goal(NamedTuple):
    """Answers so far, and until the next version.

    Attributes
    ----------
    answers : int
        Judgments without undone ones.
    needed : int or None
        Estimated answers until a candidate passes; None if the last one is not better.
    check : int
        Answers until the next candidate is evaluated.
    evaluated : bool
        Whether a candidate was evaluated since the last promotion.
    """

    answers: int
    needed: int | None
    check: int
    evaluated: bool


def find_goal(store: Store) -> Goal:
    """Estimate the answers until the next version, from the last candidate at the gate.

    Before there is one, enough queries to evaluate it are needed.
    """
    schedule = CandidateSchedule()
    status, (first, tests) = store.status(), store.gate_state()
    position = status.acknowledged
    check = schedule.next(position) - position
    last = next((v for v in store.versions() if v.verdict is not None and v.position > first), None)
    verdict = None if last is None else last.verdict
    if verdict is None:
        given = position - first - store.n_undone(first)
        missing: int | None = max(check, MIN_QUERIES - given)
    else:
        missing = _until_passing(verdict, tests)
        if missing is not None:
            missing = max(check, missing)
    return Goal(position - store.n_undone(), missing, check, verdict is not None)


def _until_passing(verdict: Verdict, tests: int) -> int | None:
    """Return the queries until a gain of the same size exceeds its threshold; None if never.

    The standard error falls with the root of the number of queries, which are about as many as
    answers.
    """
    live, candidate, error, n = verdict.overall
    if live is None or candidate is None or not error or candidate <= live:
        return None
    threshold = passing_threshold(tests + 1, n)
    wanted = n * (threshold * error / (candidate - live)) ** 2
    return None if wanted > _MAX_GROWTH * n else max(0, ceil(wanted - n))
