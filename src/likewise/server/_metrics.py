"""Figures for Prometheus."""

from likewise.exceptions import require_extra


class Metrics:
    """What a server counts and measures, in a registry of its own."""

    def __init__(self) -> None:
        prometheus = require_extra("prometheus_client", "server", "a server")
        self.registry = prometheus.CollectorRegistry()
        self._seconds = prometheus.Histogram(
            "likewise_request_seconds",
            "Time that requests took.",
            ["route", "method"],
            registry=self.registry,
            buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
        )
        self._requests = prometheus.Counter(
            "likewise_requests", "Requests.", ["route", "method", "status"], registry=self.registry
        )
        self._gauges = {
            name: prometheus.Gauge(f"likewise_{name}", said, registry=self.registry)
            for name, said in (
                ("live_version", "Version that answers."),
                ("items", "Items that are served."),
                ("feedback_acknowledged", "Comparisons written down."),
                ("feedback_applied", "Comparisons the learner has consumed."),
                ("learner_up", "Whether this server's learning process runs."),
                ("gate_open", "Whether candidates may be promoted."),
            )
        }

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._seconds.labels(route, method).observe(seconds)
        self._requests.labels(route, method, str(status)).inc()

    def text(self, **values: float) -> bytes:
        """Return all figures, after setting those that are known from elsewhere."""
        from prometheus_client import generate_latest

        for name, value in values.items():
            self._gauges[name].set(value)
        return bytes(generate_latest(self.registry))
