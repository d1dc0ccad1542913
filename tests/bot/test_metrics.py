"""The figures that operators watch."""

from __future__ import annotations

import pytest

from bot.handler import JobHandler
from bot.jobs.intents import ThreadIntent
from bot.observability.metrics import Metrics
from bot.review.pipeline import ReviewPipeline
from tests.bot.conftest import BUGGY, Bench


def figure(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics._registry.get_sample_value(name, labels)


@pytest.fixture
def metrics(bench: Bench) -> Metrics:
    metrics = Metrics()
    parts = (bench.connection, bench.analyst, bench.pipeline.configurations, bench.pipeline.remembered, bench.clock)
    bench.pipeline = ReviewPipeline(*parts, observer=metrics, check_name="Preflight")
    bench.connection._called = metrics.called

    async def accept(job_id: str, intent: object) -> None:
        raise AssertionError("no further job")

    bench.handler = JobHandler(bench.connection, bench.pipeline, accept, metrics)
    return metrics


async def test_a_review_is_counted_with_its_stages_findings_and_calls(bench: Bench, metrics: Metrics) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    await bench.review(pull)

    assert figure(metrics, "preflight_jobs_total", kind="review", outcome="done") == 2
    assert figure(metrics, "preflight_findings_total", rule="PF101") == 1
    for stage, times in (("load", 2), ("analyse", 1), ("publish-review", 1), ("publish-summary", 1), ("conclude", 1)):
        assert figure(metrics, "preflight_stage_seconds_count", stage=stage) == times, stage
    reads = [call for call in bench.github.log if call.method == "GET" and call.status == 200]
    assert figure(metrics, "preflight_github_calls_total", method="GET", status="200") == len(reads)
    installation = str(bench.repository.installation_id)
    left = figure(metrics, "preflight_github_limit_remaining", installation=installation, resource="core")
    assert left is not None
    assert 0 < left < 5000


async def test_what_people_dismiss_is_counted_by_rule(bench: Bench, metrics: Metrics) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    comment = bench.github.review_comments[0]
    comment.body = comment.body.replace("The whole", "**retained-graph** (PF101): The whole")
    thread = ThreadIntent(repository=bench.key(), number=pull.number, comment_id=comment.id, login="ada", resolved=True)
    await bench.handler.handle("thread", thread, bench.steps)

    assert figure(metrics, "preflight_suppressions_total", rule="PF101", means="thread") == 1


async def test_a_failure_is_counted_as_one(bench: Bench, metrics: Metrics) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.app.permissions["checks"] = "read"
    with pytest.raises(Exception, match="load"):
        await bench.review(pull)
    assert figure(metrics, "preflight_jobs_total", kind="review", outcome="failed") == 1
