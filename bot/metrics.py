"""What `/metrics` shows, in Prometheus' text format."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The process's counters, in a registry of their own, so that two servers in one test do not collide."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.deliveries = Counter(
            "preflight_deliveries",
            "Webhook deliveries by answer",
            ["event", "status"],
            registry=self._registry,
        )
        self.jobs = Counter("preflight_jobs", "Jobs that ended", ["kind", "outcome"], registry=self._registry)
        self.waiting = Gauge("preflight_jobs_unfinished", "Jobs stored and not finished", registry=self._registry)
        self.queue_age_seconds = Gauge(
            "preflight_queue_age_seconds",
            "Seconds that the oldest job which a free worker would take has waited",
            registry=self._registry,
        )
        self.answer_seconds = Histogram(
            "preflight_delivery_seconds", "Time to answer a delivery", registry=self._registry
        )

    def count_job(self, kind: str, outcome: str) -> None:
        """Count one job that ended."""
        self.jobs.labels(kind, outcome).inc()

    def text(self) -> bytes:
        """Return all figures."""
        return generate_latest(self._registry)
