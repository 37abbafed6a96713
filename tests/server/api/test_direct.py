"""Short searches are answered directly, and exactly as the route answers them."""

import pytest
from tests.server.running import InProcess, write_digits

from likewise.server._app import create_app
from likewise.server._service import Service
from likewise.server._settings import Settings
from likewise.server.api._direct import DirectSearch
from likewise.server.store import StoreUnavailable


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    model, items = write_digits(tmp_path_factory.mktemp("direct"), 60)
    app = create_app(Settings(model, items))
    yield app
    app.state.likewise.service.stop()


@pytest.fixture
def passed_on(app, monkeypatch):
    """Return the answers of `DirectSearch`; None where it leaves a request to the route."""
    answers, usual = [], DirectSearch._answer
    monkeypatch.setattr(
        DirectSearch,
        "_answer",
        lambda self, body: answers.append(usual(self, body)) or answers[-1],
    )
    return answers


SHORT = [{"id": "d5"}, {"id": "d5", "k": 3}, {"vector": [0.5] * 64, "k": 2}, {"id": "d1", "k": "4"}]
OTHERS = [
    ({"id": "none"}, 404),
    ({"id": "d5", "k": 0}, 422),
    ({"id": "d5", "filter": {"digit": "digit 3"}}, 200),
    ({"id": "d5", "version": 1}, 200),
    ({"text": "a"}, 409),
    ({"vector": [1.0]}, 422),
    ({"vector": [1e12] * 64, "k": 2}, 200),
    ([], 422),
    ("{", 422),
]


@pytest.mark.parametrize("body", SHORT)
def test_a_direct_answer_is_that_of_the_route(app, passed_on, monkeypatch, body):
    client = InProcess(app)
    direct = client.post("/v1/search", json=body)
    monkeypatch.setattr(Service, "fast_snapshot", lambda self, request: None)
    by_route = client.post("/v1/search", json=body)
    assert [answer is None for answer in passed_on] == [False, True]
    assert direct.content == by_route.content
    assert (direct.status_code, dict(direct.headers)) == (200, dict(by_route.headers))


@pytest.mark.parametrize(("body", "status"), OTHERS)
def test_other_requests_are_left_to_the_route(app, passed_on, body, status):
    content = {"content": body} if isinstance(body, str) else {"json": body}
    headers = {"content-type": "application/json"}
    answer = InProcess(app).post("/v1/search", **content, headers=headers)
    assert answer.status_code == status
    assert status == 200 or set(answer.json()) == {"error"}
    assert status == 200 or passed_on == [None]


def test_direct_answers_are_counted_and_other_methods_are_not_taken(app, passed_on):
    client = InProcess(app)
    client.post("/v1/search", json={"id": "d5"})
    line = 'likewise_requests_total{method="POST",route="/v1/search",status="200"}'
    assert line in client.get("/metrics").text
    assert client.get("/v1/search").status_code == 405
    assert len(passed_on) == 1


def test_a_direct_answer_does_not_read_the_store(app, passed_on, monkeypatch):
    """Another worker changes items after the search was found to be short."""
    usual, away = Service.fast_snapshot, []

    def race(self, request):
        found = usual(self, request)
        away.append(True)
        return found

    def fail(self):
        raise StoreUnavailable("the store is locked.")

    monkeypatch.setattr(Service, "fast_snapshot", race)
    monkeypatch.setattr(Service, "is_stale", property(lambda self: bool(away)))
    monkeypatch.setattr(Service, "refresh", fail)
    client = InProcess(app)
    assert client.post("/v1/search", json={"id": "d5"}).status_code == 200
    assert client.post("/v1/search", json={"id": "d5"}).status_code == 503
    assert [answer is None for answer in passed_on] == [False, True]
