"""A worker that stood still while another took its job over: it says nothing any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
from dbos import DBOS
from pydantic import SecretStr

from bot.github.connection import GitHub
from bot.github.fencing import TakenOver, fenced
from bot.handler import JobHandler
from bot.jobs.intents import Intent, ReviewIntent
from bot.jobs.ownership import FRESH_SECONDS, Ownership
from bot.jobs.queue import QUEUE, Jobs
from bot.jobs.steps import Steps
from bot.review.configuration import Configurations
from bot.review.pipeline import ReviewPipeline
from bot.storage.database import create_engine
from tests.bot.conftest import BUGGY, Bench, FakeClock

JOB = "delivery"


class Freezer(FakeClock):
    """The clock of a worker that stands still where it would wait for its turn to write."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen = asyncio.Event()
        self.thaw = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.frozen.set()
        await self.thaw.wait()
        await super().sleep(seconds)


class TwoWorkers:
    """The first time the job is carried out by one worker, and then by another."""

    def __init__(self, *workers: JobHandler) -> None:
        self._workers = list(workers)
        self.ended: list[str] = []

    async def handle(self, job_id: str, intent: Intent, steps: Steps) -> str:
        worker = self._workers.pop(0)
        try:
            outcome = await worker.handle(job_id, intent, steps)
        except BaseException as problem:
            self.ended.append(type(problem).__name__)
            raise
        self.ended.append(outcome)
        return outcome


def worker(bench: Bench, session: aiohttp.ClientSession, clock: FakeClock) -> JobHandler:
    app = bench.github.app
    connection = GitHub(
        session,
        app_id=app.id,
        private_key=SecretStr(app.private_key),
        api_url=bench.github.url,
        graphql_url=bench.github.graphql_url,
        clock=clock,
    )
    pipeline = ReviewPipeline(
        connection, bench.analyst, Configurations(clock), bench.pipeline.remembered, clock, check_name="Preflight"
    )

    async def accept(job_id: str, intent: Intent) -> None:
        raise AssertionError(f"a review orders nothing, and this one {job_id}")

    return JobHandler(connection, pipeline, accept)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.02)


async def test_a_worker_frozen_between_reading_and_writing_posts_nothing_after_another_did(
    bench: Bench, tmp_path: Path
) -> None:
    pull = bench.open({"train.py": BUGGY})
    freezer = Freezer()
    async with aiohttp.ClientSession() as session:
        workers = TwoWorkers(worker(bench, session, freezer), worker(bench, session, bench.clock))
        jobs = Jobs(create_engine(f"sqlite:///{tmp_path / 'queue.sqlite3'}"), executor_id="worker", handler=workers)
        await jobs.start()
        try:
            await jobs.accept(JOB, ReviewIntent(repository=bench.key(), number=pull.number, reason="test"))
            async with asyncio.timeout(60):
                await freezer.frozen.wait()
            assert not bench.github.reviews

            # As it is done with the jobs of a worker that was silent for too long.
            await DBOS.resume_workflows_async([JOB], queue_name=QUEUE)
            await until(lambda: bool(workers.ended))
            assert len(bench.github.reviews) == 1
            freezer.thaw.set()
            await until(lambda: len(workers.ended) == 2)
        finally:
            freezer.thaw.set()
            await jobs.stop()

    assert workers.ended[1] == "TakenOver"
    assert len(bench.github.reviews) == 1
    assert len(bench.github.review_comments) == 1
    assert [run.status for run in bench.github.checks] == ["completed"]
    assert len(bench.github.comments) == 1


async def test_reading_and_another_jobs_writing_pass(bench: Bench) -> None:
    repository = bench.connection.repository(bench.key())
    pull = bench.open({"train.py": BUGGY})

    async def closed() -> None:
        raise TakenOver(JOB)

    with fenced(closed):
        assert (await repository.pull(pull.number)).number == pull.number
        with pytest.raises(TakenOver):
            await repository.create_comment(pull.number, "never said")
    await repository.create_comment(pull.number, "said")

    assert [comment.body for comment in bench.github.comments] == ["said"]


async def test_an_answer_that_came_while_everything_stood_still_is_asked_for_again() -> None:
    moments = iter([0.0, 100.0, 100.0, 100.0 + FRESH_SECONDS / 2])
    owners = iter(["ours", "theirs"])
    ownership = Ownership(JOB, "ours", lambda _job: next(owners), lambda: next(moments))

    with pytest.raises(TakenOver):
        await ownership.check()
