"""Requests that the server rejects, and the security headers of responses."""

import asyncio
import json
from dataclasses import replace
from time import sleep

import pytest
from starlette.exceptions import HTTPException
from tests.server.running import InProcess, web_files, write_digits

import likewise as lw
from likewise.server._app import create_app
from likewise.server._service import Service
from likewise.server._settings import Settings
from likewise.server.api._middleware import RateLimit

TOKEN = "a-token-of-some-length"
LOCAL = "http://127.0.0.1:8000"
QUESTION = {"id": "d1", "k": 1}


@pytest.fixture
def settings(tmp_path):
    model, items = write_digits(tmp_path, 30)
    return Settings(model, items)


@pytest.fixture
def ask(settings):
    """Return a client of an application in this process, made with settings of one's own."""
    opened = []

    def ask(**changed):
        app = create_app(replace(settings, **changed))
        opened.append(app)
        return InProcess(app, LOCAL)

    yield ask
    for app in opened:
        app.state.likewise.service.stop()


def test_elsewhere_a_token_is_needed_to_start(settings):
    with pytest.raises(ValueError, match="other machines can reach the host"):
        replace(settings, host="0.0.0.0")
    assert not replace(settings, host="0.0.0.0", token=TOKEN).is_local
    with pytest.raises(ValueError, match="token must have at least 16 characters, but 3"):
        replace(settings, token="abc")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1"])
def test_this_machine_needs_none(settings, host):
    assert replace(settings, host=host).is_local


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (None, 401),
        ("Bearer wrong", 401),
        (f"Basic {TOKEN}", 401),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN}", 200),
    ],
)
def test_with_a_token_every_request_must_bring_it(ask, given, status):
    client = ask(token=TOKEN)
    headers = {} if given is None else {"authorization": given}
    assert client.post("/v1/search", json=QUESTION, headers=headers).status_code == status
    assert client.get("/metrics", headers=headers).status_code == status
    assert client.get("/openapi.json", headers=headers).status_code == status
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost", 200),
        ("[::1]:99", 200),
        ("LOCALHOST:1", 200),
        ("[::2]:99", 403),
        ("[::1]evil.com", 403),
        ("[::1]:evil.com", 403),
        ("localhost:", 403),
        ("localhost:1@evil.example", 403),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
    ],
)
def test_a_name_that_was_pointed_here_is_refused(ask, host, status):
    assert ask().get("/healthz", headers={"host": host}).status_code == status


def test_with_a_token_a_proxy_may_serve_any_name(ask):
    client = ask(token=TOKEN)
    headers = {"authorization": f"Bearer {TOKEN}", "host": "sim.example"}
    for origin, status in (("https://sim.example", 200), ("https://evil.example", 403)):
        answer = client.post("/v1/search", json=QUESTION, headers=headers | {"origin": origin})
        assert answer.status_code == status
    assert client.get("/healthz", headers={"host": "[::1]evil.com"}).status_code == 403


def test_pages_of_other_sites_may_change_nothing(ask):
    client = ask()
    body = {"triplets": [{"query": "d1", "closer": "d2", "farther": "d3"}]}
    answer = client.post("/v1/feedback", json=body, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403
    assert client.post("/v1/feedback", json=body, headers={"origin": LOCAL}).status_code == 202
    as_a_form_would = client.post(
        "/v1/feedback", content=json.dumps(body), headers={"content-type": "text/plain"}
    )
    assert as_a_form_would.status_code == 415


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(ask):
    client = ask(max_bytes=1_000)
    large = b'{"text": "' + b"a" * 2_000 + b'"}'
    headers = {"content-type": "application/json"}
    assert client.post("/v1/search", content=large, headers=headers).status_code == 413

    async def pieces():
        for start in range(0, len(large), 100):
            yield large[start : start + 100]

    answer = client.post("/v1/search", content=pieces(), headers=headers)
    assert answer.status_code == 413
    assert "at most 1000 bytes" in answer.json()["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"vector": [' + b"1" * 5_000 + b"]}",
        b'{"id": "\\ud800"}',
        b'{"id": "\\u0000"}',
        b'"text"',
        b"null",
        b"",
    ],
)
def test_what_is_no_request_is_refused_and_not_an_error(ask, body):
    answer = ask().post("/v1/search", content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    "path",
    [
        "/web/../_app.py",
        "/web/..%2f_app.py",
        "/web/%2e%2e/_app.py",
        "/web//etc/passwd",
        "/web/",
        "/v1/items/..%2f..%2fmodel.safetensors",
    ],
)
def test_no_path_leads_to_a_file_that_is_not_in_the_table(ask, path):
    answer = ask().get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"error"}


def test_every_answer_has_the_headers_a_browser_should_see(ask):
    client = ask()
    for path in ("/healthz", "/docs", "/no/such/page", "/v1/models"):
        headers = client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert client.get("/v1/models").headers["cache-control"] == "no-store"


def test_browsers_revalidate_the_files_of_the_explorer(ask):
    client = ask()
    kinds = {"/": "text/html", "/web/app.js": "text/javascript", "/web/theme.css": "text/css"}
    for path, kind in kinds.items():
        first = client.get(path)
        assert first.headers["content-type"].startswith(kind)
        assert first.headers["cache-control"] == "no-cache"
        again = client.get(path, headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert "script-src 'self'" in again.headers["content-security-policy"]


def test_pages_run_nothing_that_stands_in_them(ask):
    pages = [text for name, text in web_files().items() if name.endswith(".html")]
    assert pages
    for page in pages:
        assert "<script>" not in page
        assert " style=" not in page
        assert " onclick=" not in page
        assert "//" not in page.replace("<!DOCTYPE html>", "").replace("http://www.w3.org", "")


def test_too_much_feedback_is_put_off(ask):
    client = ask(feedback_rate=0.01)
    body = {"triplets": [{"query": "d1", "closer": "d2", "farther": "d3"}]}
    assert client.post("/v1/feedback", json=body).status_code == 202
    late = client.post("/v1/feedback", json=body)
    assert late.status_code == 429
    assert int(late.headers["retry-after"]) > 50
    assert client.post("/v1/search", json=QUESTION).status_code == 200


def test_clients_are_counted_apart_and_may_come_again():
    now = [0.0]
    limit = RateLimit(2.0, clock=lambda: now[0])
    for _ in range(10):
        limit.take("a")
    with pytest.raises(HTTPException, match="too many feedback requests"):
        limit.take("a")
    limit.take("b")
    now[0] = 1.0
    limit.take("a")
    limit.take("a")
    with pytest.raises(HTTPException):
        limit.take("a")


def test_an_error_of_ours_says_nothing_of_our_insides(ask, monkeypatch):
    client = ask()

    def fail(self, *given):
        raise RuntimeError("a secret")

    monkeypatch.setattr(Service, "search_json", fail)
    answer = client.post("/v1/search", json=QUESTION)
    assert answer.status_code == 500
    assert answer.json() == {"error": "internal error; the server's log has the details."}


def test_what_takes_too_long_is_given_up(ask, monkeypatch):
    from likewise.server.api._state import State

    async def forever(self, work, *given):
        await asyncio.sleep(60)

    monkeypatch.setattr(State, "search", forever)
    answer = ask(timeout=0.05).post("/v1/score", json={"id": "d1", "items": ["d2"]})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_a_response_that_has_begun_is_not_cut_off(ask, monkeypatch):
    def slow_lines(*given):
        for number in range(4):
            sleep(0.05)
            yield f"{number}\n"

    monkeypatch.setattr("likewise.server.api._routes.export_journal", slow_lines)
    answer = ask(timeout=0.1).get("/v1/feedback/export")
    assert (answer.status_code, answer.text) == (200, "0\n1\n2\n3\n")


def test_a_store_of_another_model_is_refused(settings, tmp_path):
    Service(settings, learns=False).stop()
    other = tmp_path / "other.safetensors"
    lw.save(lw.Bilinear(2.0), other)
    with pytest.raises(ValueError, match="belongs to another model"):
        Service(replace(settings, model=other, store=settings.location), learns=False)
