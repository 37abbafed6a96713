"""Traces by the real SDK of OpenTelemetry: what is in them, and what never is."""

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pandas as pd
import pytest
from tests.server.learning.test_learner import feedback, filled, learn_all
from tests.server.running import InProcess

import likewise as lw
from likewise.server import Settings, _tracing
from likewise.server._app import build_app
from likewise.server._service import Service
from likewise.server.api._monitoring import Metrics

sdk = pytest.importorskip("opentelemetry.sdk.trace")
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRETS = ("secret words", "secret-item", "secret-user", "secret-key")


@pytest.fixture
def spans():
    """Return the spans that have ended, while tracing is on."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    _tracing.start_tracing(provider)
    yield exporter.get_finished_spans
    _tracing.stop_tracing()


@pytest.fixture
def client(tmp_path):
    texts = ["secret words", "other words", "a third text", "a fourth text"]
    frame = pd.DataFrame({"id": ["secret-item", "b", "c", "d"], "text": texts})
    frame.to_parquet(tmp_path / "items.parquet", index=False)
    lw.save(lw.Bilinear(1.0, "cosine"), tmp_path / "model.safetensors")
    encoder = "tests.server.encoders:words"
    settings = Settings(tmp_path / "model.safetensors", tmp_path / "items.parquet", encoder=encoder)
    service = Service(settings, learns=False)
    yield InProcess(build_app(service, Metrics()))
    service.stop()


def by_name(spans):
    return {span.name: span for span in spans()}


def test_a_search_is_a_span_in_the_trace_of_its_caller(client, spans):
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    body = {"text": "secret words", "k": 2, "user": "secret-user"}
    assert client.post("/v1/search", json=body, headers=headers).status_code == 200
    found = by_name(spans)
    request, search, encode = (found[n] for n in ("POST /v1/search", "search", "encode"))
    assert f"{request.context.trace_id:032x}" == TRACE
    assert f"{request.parent.span_id:016x}" == PARENT
    assert search.parent.span_id == request.context.span_id
    assert encode.parent.span_id == search.context.span_id
    assert search.attributes == {
        "likewise.k": 2,
        "likewise.filtered": False,
        "likewise.version": 1,
    }
    assert encode.attributes == {"likewise.texts": 1}
    assert request.attributes["http.route"] == "/v1/search"
    assert request.attributes["http.response.status_code"] == 200


def test_feedback_and_errors_are_spans_too(client, spans):
    triplet = {"query": {"text": "secret words"}, "closer": "secret-item", "farther": "b"}
    body = {"triplets": [triplet], "user": "secret-user", "key": "secret-key"}
    assert client.post("/v1/feedback", json=body).status_code == 202
    assert client.request("DELETE", "/v1/users/secret-user/feedback").status_code == 200
    assert client.post("/v1/search", json={"id": "secret-items"}).status_code == 404
    found = by_name(spans)
    assert found["journal"].attributes == {"likewise.pages": 1, "likewise.comparisons": 1}
    assert found["journal"].parent.span_id == found["POST /v1/feedback"].context.span_id
    assert "DELETE /v1/users/{user:path}/feedback" in found
    assert found["POST /v1/search"].attributes["http.response.status_code"] == 404


def test_no_span_tells_what_was_asked_or_by_whom(client, spans):
    test_feedback_and_errors_are_spans_too(client, spans)
    text = json.dumps([json.loads(span.to_json()) for span in spans()])
    assert not [secret for secret in SECRETS if secret in text]


def test_a_failure_is_marked(client, spans, monkeypatch):
    def fail(self, *given):
        raise RuntimeError("secret words")

    monkeypatch.setattr(Service, "search_json", fail)
    assert client.post("/v1/search", json={"id": "b"}).status_code == 500
    (span,) = spans()
    assert (span.status.is_ok, span.attributes["error.type"]) == (False, "RuntimeError")
    assert "secret words" not in span.to_json()


def test_learning_and_candidates_are_spans(tmp_path, spans):
    store = filled(tmp_path / "store.sqlite")
    for number, group in enumerate(feedback(100)):
        store.append(str(number), "x", group)
    learn_all(store)
    versions = store.versions()
    store.close()
    learned = [span for span in spans() if span.name == "learn"]
    candidates = [span for span in spans() if span.name == "candidate"]
    assert [span.attributes["likewise.entries"] for span in learned] == [len(feedback(100))]
    judged = [span for span in candidates if "likewise.passes" in span.attributes]
    assert len(judged) == len(versions) - 1
    assert all(span.parent.span_id == learned[0].context.span_id for span in candidates)
    assert judged[0].attributes["likewise.queries"] >= 20


def test_without_an_exporter_nothing_is_traced(monkeypatch):
    for name in _tracing._ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    _tracing.start_tracing()
    assert _tracing.span("search", k=3) is _tracing._NO_SPAN
    monkeypatch.setenv(_tracing._ENDPOINTS[0], "http://127.0.0.1:9")
    monkeypatch.setattr(_tracing, "find_spec", lambda name: None)  # the SDK is not installed
    _tracing.start_tracing()
    assert _tracing.request_span({}) is _tracing._NO_SPAN
    with _tracing.span("search") as span:
        span.set_attribute("likewise.k", 3)


def test_spans_are_exported_to_the_address_in_the_environment():
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as collector:
        Thread(target=collector.serve_forever, daemon=True).start()
        code = (
            "from likewise.server._tracing import *\n"
            "start_tracing()\n"
            "with span('a span of ours', k=3): pass\n"
            "stop_tracing()\n"
        )
        address = f"http://127.0.0.1:{collector.server_port}"
        environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": address}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=120)
        collector.shutdown()
    ((path, body),) = received
    assert path == "/v1/traces"
    assert b"a span of ours" in body
    assert b"likewise" in body
