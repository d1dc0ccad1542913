"""What `/metrics` shows, in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST
STAGE_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Metrics:
    """The process's figures, in a registry of their own, so that two servers in one test do not collide.

    Labels hold what we name ourselves, never a repository's or a person's text.
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.deliveries = Counter(
            "preflight_deliveries", "Webhook deliveries by answer", ["event", "status"], registry=registry
        )
        self.jobs = Counter("preflight_jobs", "Jobs that ended", ["kind", "outcome"], registry=registry)
        self.waiting = Gauge("preflight_jobs_unfinished", "Jobs stored and not finished", registry=registry)
        self.queue_age_seconds = Gauge(
            "preflight_queue_age_seconds",
            "Seconds that the oldest job which a free worker would take has waited",
            registry=registry,
        )
        self.answer_seconds = Histogram("preflight_delivery_seconds", "Time to answer a delivery", registry=registry)
        self.stage_seconds = Histogram(
            "preflight_stage_seconds",
            "Time of one attempt at a step of a job",
            ["stage"],
            buckets=STAGE_BUCKETS,
            registry=registry,
        )
        self.findings = Counter("preflight_findings", "Findings said in review comments", ["rule"], registry=registry)
        self.suppressions = Counter(
            "preflight_suppressions", "Findings and rules that people dismissed", ["rule", "means"], registry=registry
        )
        self.calls = Counter(
            "preflight_github_calls", "Requests to GitHub by answer", ["method", "status"], registry=registry
        )
        self.left = Gauge(
            "preflight_github_limit_remaining",
            "Requests, or points of GraphQL, that GitHub's hourly limit leaves",
            ["installation", "resource"],
            registry=registry,
        )

    def job_ended(self, kind: str, outcome: str) -> None:
        """See `Observer`."""
        self.jobs.labels(kind, outcome).inc()

    def stage_took(self, stage: str, seconds: float) -> None:
        """See `Observer`."""
        self.stage_seconds.labels(stage).observe(seconds)

    def findings_said(self, rules: Iterable[str]) -> None:
        """See `Observer`."""
        for rule in rules:
            self.findings.labels(rule).inc()

    def suppressed(self, rule: str, means: str) -> None:
        """See `Observer`."""
        self.suppressions.labels(rule or "unknown", means).inc()

    def called(self, installation_id: int | None, method: str, status: int, headers: Mapping[str, str]) -> None:
        """Count a request to GitHub, and note what its limit leaves. Without an installation the App itself called."""
        self.calls.labels(method, status).inc()
        left, resource = headers.get("x-ratelimit-remaining", ""), headers.get("x-ratelimit-resource", "core")
        if left.isdigit():
            self.left.labels("app" if installation_id is None else installation_id, resource[:30]).set(int(left))

    def text(self) -> bytes:
        """Return all figures."""
        return generate_latest(self._registry)
