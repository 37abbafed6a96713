"""Health checks, and metrics for Prometheus."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from likewise.exceptions import require_extra
from likewise.server.api import _schemas as schemas
from likewise.server.api._state import Shared

router = APIRouter()


class Metrics:
    """The counters and gauges of a server, in a registry of their own.

    Parameters
    ----------
    folder : str, optional
        Where the workers of a server share their metrics, the one that prometheus_client found in
        ``PROMETHEUS_MULTIPROC_DIR`` when it was imported.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        prometheus = require_extra("prometheus_client", "server", "a server")
        self.registry = prometheus.CollectorRegistry()
        self._seconds = prometheus.Histogram(
            "likewise_request_seconds",
            "Duration of requests.",
            ["route", "method"],
            registry=self.registry,
            buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
        )
        self._requests = prometheus.Counter(
            "likewise_requests", "Requests.", ["route", "method", "status"], registry=self.registry
        )
        self._known: dict[tuple[str, str, int], Any] = {}
        self._gauges = {
            name: prometheus.Gauge(
                f"likewise_{name}",
                description,
                registry=self.registry,
                multiprocess_mode="mostrecent",  # that of the worker that is asked
            )
            for name, description in (
                ("live_version", "Number of the live version."),
                ("items", "Number of items."),
                ("feedback_acknowledged", "Comparisons in the journal."),
                ("feedback_applied", "Comparisons that the learner has consumed."),
                ("learner_up", "Whether this server's learning process is running."),
                ("gate_open", "Whether candidates can be promoted."),
            )
        }

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        kind = route, method, status
        known = self._known.get(kind)
        if known is None:  # `labels` takes longer than counting
            labeled = self._requests.labels(route, method, str(status))
            known = self._known[kind] = self._seconds.labels(route, method), labeled
        known[0].observe(seconds)
        known[1].inc()

    def text(self, **values: float) -> bytes:
        """Set the gauges, and return all metrics in Prometheus' format."""
        from prometheus_client import CollectorRegistry, generate_latest, multiprocess

        for name, value in values.items():
            self._gauges[name].set(value)
        registry = self.registry
        if self._folder is not None:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, self._folder)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(registry))


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Liveness check")
async def healthz() -> schemas.Status:
    """Answer as long as the process runs."""
    return schemas.Status(status="ok")


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", summary="Readiness check", responses={503: {"model": schemas.Status}})
async def readyz(state: Shared) -> Response:
    """Tell whether the server can search and take feedback."""
    ready = state.ready and state.service.store_available
    return JSONResponse({"status": "ready" if ready else "not ready"}, 200 if ready else 503)


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
async def metrics(state: Shared) -> Response:
    """Return counters and gauges in Prometheus' format."""
    service = state.service
    status, snapshot = await state.run(service.store.status), service.snapshot
    text = state.metrics.text(
        live_version=snapshot.version.number,
        items=len(snapshot.catalog),
        feedback_acknowledged=status.acknowledged,
        feedback_applied=status.applied,
        learner_up=service.learning is not None and service.learning.running,
        gate_open=not status.gate_held,
    )
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
