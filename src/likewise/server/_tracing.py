"""OpenTelemetry traces, where its SDK is installed and an exporter is configured.

Without it, a span costs a function call. Spans have no texts, vectors, ids or users.
"""

import os
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

_QUIET = {"record_exception": False, "set_status_on_exception": False}  # messages name ids


class _NoSpan(AbstractContextManager["_NoSpan"]):
    """A span that nobody sees."""

    def __exit__(self, *error: object) -> None:
        """End nothing."""

    def set_attribute(self, name: str, value: Any) -> None:
        """Set nothing."""


_NO_SPAN = _NoSpan()
_tracer: Any = None


def start_tracing(provider: Any = None) -> None:
    """Begin to trace.

    Parameters
    ----------
    provider : TracerProvider, optional
        By default the one that is set, as by ``opentelemetry-instrument``; or, where the variable
        ``OTEL_EXPORTER_OTLP_ENDPOINT`` is set, a new one that exports to that address.
    """
    global _tracer
    if provider is None and (provider := _current_provider()) is None:
        provider = _exporting_provider()
    _tracer = None if provider is None else provider.get_tracer("likewise")


def stop_tracing() -> None:
    """Export the remaining spans, and stop."""
    global _tracer
    provider, _tracer = _current_provider(), None
    if provider is not None and hasattr(provider, "force_flush"):
        provider.force_flush()


def span(name: str, **attributes: Any) -> Any:
    """Return a span that lasts until the end of a block.

    Parameters
    ----------
    name : str
    **attributes : str, int, float or bool
        Their names get the prefix ``likewise.``; None is left out.
    """
    if _tracer is None:
        return _NO_SPAN
    given = {f"likewise.{key}": value for key, value in attributes.items() if value is not None}
    return _tracer.start_as_current_span(name, attributes=given, **_QUIET)


def request_span(scope: Any) -> Any:
    """Return the span of a request, in the trace that its headers name."""
    if _tracer is None:
        return _NO_SPAN
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind

    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return _tracer.start_as_current_span(
        scope["method"],
        context=extract(headers),
        kind=SpanKind.SERVER,
        attributes={"http.request.method": scope["method"], "url.scheme": scope["scheme"]},
        **_QUIET,
    )


def end_request(current: Any, route: str, method: str, status: int) -> None:
    """Tell the span of a request which route answered, and how."""
    if _tracer is None:
        return
    current.update_name(f"{method} {route}")
    current.set_attribute("http.route", route)
    current.set_attribute("http.response.status_code", status)
    if status >= 500 or status == 0:
        from opentelemetry.trace import StatusCode

        current.set_status(StatusCode.ERROR)


def _current_provider() -> Any:
    """Return the provider of the process; None if there is none, or no SDK."""
    if not _has_sdk():
        return None
    provider = import_module("opentelemetry.trace").get_tracer_provider()
    sdk: Any = import_module("opentelemetry.sdk.trace")
    return provider if isinstance(provider, sdk.TracerProvider) else None


def _exporting_provider() -> Any:
    """Set and return a provider that exports by OTLP, if the environment asks for it."""
    if not any(os.environ.get(name) for name in _ENDPOINTS) or not _has_sdk():
        return None
    trace: Any = import_module("opentelemetry.trace")
    sdk: Any = import_module("opentelemetry.sdk.trace")
    export: Any = import_module("opentelemetry.sdk.trace.export")
    resources: Any = import_module("opentelemetry.sdk.resources")
    otlp: Any = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    name = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "likewise"}
    provider = sdk.TracerProvider(resource=resources.Resource.create(name))
    provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider


def _has_sdk() -> bool:
    try:
        return find_spec("opentelemetry.sdk") is not None
    except ModuleNotFoundError:
        return False
