"""The number of answers until the next version."""

import numpy as np
import pytest
from tests.server.running import digit_triplets

from likewise.server.learning._gate import MIN_QUERIES, CandidateSchedule, passing_threshold
from likewise.server.learning._goal import _until_passing, find_goal
from likewise.server.store import Evaluation, Verdict


def verdict(live, candidate, error, n):
    part = Evaluation(live, candidate, error, n)
    return Verdict(1, part, part, part, test=1, threshold=2.5, passes=False)


def test_a_gain_of_half_the_threshold_needs_four_times_the_queries():
    threshold = passing_threshold(1, 50)
    found = _until_passing(verdict(0.5, 0.5 + threshold / 2 * 0.02, 0.02, 50), tests=0)
    assert found == pytest.approx(3 * 50, abs=1)


@pytest.mark.parametrize(
    "given",
    [(0.5, 0.5, 0.02, 50), (0.5, 0.4, 0.02, 50), (None, None, None, 0), (0.5, 0.51, 0.05, 50)],
)
def test_without_a_gain_there_is_no_estimate(given):
    assert _until_passing(verdict(*given), tests=0) is None


def test_the_schedule_tells_its_next_position():
    schedule = CandidateSchedule()
    for position in range(300):
        after = schedule.next(position)
        assert after > position
        assert schedule.last(after) == after
        assert schedule.last(after - 1) <= position


def test_the_first_goal_is_enough_queries(service):
    store = service.store
    assert find_goal(store) == (0, MIN_QUERIES, 10, False)
    for number, triplet in enumerate(digit_triplets(4)):
        service.client_feedback(triplet, f"k{number}")
    assert find_goal(store) == (4, MIN_QUERIES - 4, 6, False)
    service.undo("k1")
    assert find_goal(store) == (3, MIN_QUERIES - 3, 6, False)


@pytest.fixture
def service(digits, tmp_path):
    from likewise.server import Settings
    from likewise.server._service import Service
    from likewise.server.api import _schemas as schemas

    model, items = digits
    opened = Service(Settings(model, items, store=str(tmp_path / "s.sqlite")), learns=False)

    def give(triplet, key):
        query, closer, farther = triplet
        body = {"triplets": [{"query": query, "closer": closer, "farther": farther}], "key": key}
        return opened.feedback(schemas.FeedbackRequest.model_validate(body))

    opened.client_feedback = give
    yield opened
    opened.store.close()


def test_an_estimate_shrinks_with_the_gain():
    needed = [
        _until_passing(verdict(0.5, 0.5 + gain, 0.02, 100), tests=0)
        for gain in np.linspace(0.02, 0.05, 8)
    ]
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] < needed[0]
