"""The queue: what is stored once is done, once at a time for a pull request, and again only where it has to be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from pydantic import TypeAdapter

from bot.github.errors import LimitedUntil, Unavailable
from bot.github.identity import RepositoryKey
from bot.jobs.intents import Intent, ReviewIntent
from bot.jobs.queue import LANES, Jobs
from bot.jobs.steps import StepFailed, Steps
from bot.review.stages import Done
from bot.storage.database import CLAIM_SECONDS, Heartbeats, Turns, create_engine
from bot.storage.inbox import Inbox

KEY = RepositoryKey(installation_id=1, repository_id=5, owner="acme", name="trainer")


def review(number: int, installation: int = 1, *, force: bool = False) -> ReviewIntent:
    key = KEY.model_copy(update={"installation_id": installation})
    return ReviewIntent(repository=key, number=number, reason="test", force=force)


class Audit(ReviewIntent):
    """What a later release does besides."""

    kind: Literal["audit"] = "audit"  # type: ignore[assignment]


class Worker:
    """Writes down what it does, and does what the test says."""

    def __init__(self, step: Callable[[], None] = lambda: None) -> None:
        self.step = step
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.running: dict[str, int] = {}
        self.most_at_once = 0
        self.failures: list[str] = []

    async def handle(self, job_id: str, intent: Intent, steps: Steps) -> str:
        self.begun.append(job_id)
        self.running[intent.partition] = self.running.get(intent.partition, 0) + 1
        self.most_at_once = max(self.most_at_once, self.running[intent.partition])

        async def work() -> Done:
            self.step()
            await self.gate.wait()
            return Done()

        try:
            await steps.run("work", Done, work)
        except StepFailed as failure:
            self.failures.append(failure.reason)
        self.running[intent.partition] -= 1
        self.ended.append(job_id)
        return "done"


@asynccontextmanager
async def queue(path: Path, worker: Worker, *, worker_concurrency: int = 4) -> AsyncIterator[Jobs]:
    jobs = Jobs(
        create_engine(f"sqlite:///{path / 'queue.sqlite3'}"),
        executor_id="worker-1",
        handler=worker,
        worker_concurrency=worker_concurrency,
    )
    await jobs.start()
    try:
        yield jobs
    finally:
        await jobs.stop()


async def ended(worker: Worker, count: int) -> None:
    async with asyncio.timeout(60):
        while len(worker.ended) < count:
            await asyncio.sleep(0.02)


async def moved(path: Path) -> None:
    """Until what was accepted is in the queue."""
    inbox = Inbox(create_engine(f"sqlite:///{path / 'queue.sqlite3'}"))
    async with asyncio.timeout(60):
        while await asyncio.to_thread(inbox.count):
            await asyncio.sleep(0.02)


async def test_a_job_is_done_once_however_often_it_is_stored(tmp_path: Path) -> None:
    worker = Worker()
    async with queue(tmp_path, worker) as jobs:
        for _ in range(3):
            await jobs.accept("once", review(1))
        await jobs.accept("other", review(2))
        await ended(worker, 2)

        assert sorted(worker.begun) == ["once", "other"]
        assert await jobs.knows("once")
        assert not await jobs.knows("never")
        assert await jobs.healthy()


async def test_jobs_of_one_pull_request_never_run_at_the_same_time(tmp_path: Path) -> None:
    worker = Worker()
    async with queue(tmp_path, worker) as jobs:
        for number in range(4):
            await jobs.accept(f"a{number}", review(1, force=True))
            await jobs.accept(f"b{number}", review(2, force=True))
        await ended(worker, 8)

    assert worker.most_at_once == 1


async def test_of_a_burst_of_pushes_only_the_last_is_reviewed(tmp_path: Path) -> None:
    worker = Worker()
    worker.gate.clear()
    async with queue(tmp_path, worker) as jobs:
        await jobs.accept("running", review(1))
        async with asyncio.timeout(60):
            while not worker.begun:
                await asyncio.sleep(0.02)
        for number in range(20):
            await jobs.accept(f"push {number:02}", review(1))
        await jobs.accept("asked for", review(2, force=True))
        await jobs.accept("pushed after that", review(2))
        worker.gate.set()
        await ended(worker, 4)

        assert sorted(worker.ended) == ["asked for", "push 19", "pushed after that", "running"]
        async with asyncio.timeout(60):
            while await jobs.waiting():
                await asyncio.sleep(0.02)


async def test_a_job_ages_while_it_waits_for_a_worker_and_not_behind_its_own_pull_request(tmp_path: Path) -> None:
    worker = Worker()
    worker.gate.clear()
    async with queue(tmp_path, worker, worker_concurrency=1) as jobs:
        await jobs.accept("running", review(1))
        async with asyncio.timeout(60):
            while not worker.begun:
                await asyncio.sleep(0.02)
        await jobs.accept("behind it", review(1))
        await moved(tmp_path)
        assert await jobs.age_seconds() == 0.0

        await jobs.accept("without a worker", review(2))
        await moved(tmp_path)
        assert await jobs.age_seconds() > 0.0
        worker.gate.set()
        await ended(worker, 3)
        assert await jobs.age_seconds() == 0.0


async def test_a_job_of_a_newer_release_waits_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.jobs.queue.AGAIN_SECONDS", 0.0)
    worker = Worker()
    newer = review(1).model_copy(update={"kind": "audit"})
    async with queue(tmp_path, worker) as jobs:
        await jobs.accept("newer", newer)
        async with asyncio.timeout(60):
            while not await jobs.knows("newer~2"):
                await asyncio.sleep(0.02)
        assert worker.begun == []

        # As if this worker were of that release.
        monkeypatch.setattr("bot.jobs.queue.INTENT", TypeAdapter(Audit))
        await ended(worker, 1)

    assert worker.begun[0].startswith("newer~")


async def test_what_github_puts_off_is_done_later_and_faults_are_repeated(tmp_path: Path) -> None:
    troubles: list[Exception] = [LimitedUntil(0.0, "primary"), Unavailable("502")]

    def step() -> None:
        if troubles:
            raise troubles.pop(0)

    worker = Worker(step)
    async with queue(tmp_path, worker) as jobs:
        await jobs.accept("put-off", review(1))
        await ended(worker, 1)

    assert worker.failures == []
    assert not troubles


async def test_a_job_that_github_puts_off_for_long_leaves_its_worker_to_others(tmp_path: Path) -> None:
    troubles: list[Exception] = [LimitedUntil(time.time() + 3600, "primary")]

    def step() -> None:
        if troubles:
            raise troubles.pop(0)

    worker = Worker(step)
    async with queue(tmp_path, worker, worker_concurrency=1) as jobs:
        for number in (1, 2):
            await jobs.accept(f"job {number}", review(number))
        await ended(worker, 1)

        (went_on,) = worker.ended
        assert await jobs.knows("job 2~1" if went_on == "job 1" else "job 1~1")


async def test_one_busy_organisation_leaves_room_for_the_others(tmp_path: Path) -> None:
    worker = Worker()
    worker.gate.clear()
    async with queue(tmp_path, worker, worker_concurrency=LANES + 1) as jobs:
        for number in range(60):
            await jobs.accept(f"busy {number}", review(number))
        async with asyncio.timeout(60):
            while len(worker.begun) < LANES:
                await asyncio.sleep(0.02)
        await jobs.accept("quiet", review(1, installation=2))
        async with asyncio.timeout(60):
            while "quiet" not in worker.begun:
                await asyncio.sleep(0.02)

        assert len(worker.begun) == LANES + 1
        worker.gate.set()


async def test_a_worker_that_is_stopped_lets_its_job_end(tmp_path: Path) -> None:
    worker = Worker()
    worker.gate.clear()
    async with queue(tmp_path, worker) as jobs:
        await jobs.accept("running", review(1))
        async with asyncio.timeout(60):
            while not worker.begun:
                await asyncio.sleep(0.02)

        async def let_go() -> None:
            while jobs.ready:
                await asyncio.sleep(0.02)
            worker.gate.set()

        letting_go = asyncio.create_task(let_go())
    await letting_go

    assert worker.ended == ["running"]


def test_what_a_job_orders_while_its_worker_is_stopped_is_done_by_the_next(tmp_path: Path) -> None:
    first, second = Worker(), Worker()

    async def stopped() -> None:
        async with queue(tmp_path, first) as jobs:

            async def order(job_id: str, intent: Intent, steps: Steps) -> str:
                first.begun.append(job_id)
                while jobs.ready:
                    await asyncio.sleep(0.02)
                await jobs.accept("ordered", review(2))
                first.ended.append(job_id)
                return "done"

            first.handle = order  # type: ignore[method-assign]
            await jobs.accept("ordering", review(1))
            async with asyncio.timeout(60):
                while not first.begun:
                    await asyncio.sleep(0.02)

    async def next_one() -> None:
        async with queue(tmp_path, second):
            await ended(second, 1)

    asyncio.run(stopped())
    asyncio.run(next_one())
    assert (first.ended, second.ended) == (["ordering"], ["ordered"])


async def test_a_fault_of_our_own_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    def step() -> None:
        raise KeyError("surprise")

    worker = Worker(step)
    async with queue(tmp_path, worker) as jobs:
        await jobs.accept("failing", review(1))
        await ended(worker, 1)

    assert worker.failures == ["KeyError: 'surprise'"]


async def test_nothing_in_the_database_is_a_pickle(tmp_path: Path) -> None:
    worker = Worker()
    async with queue(tmp_path, worker) as jobs:
        await jobs.accept("plain", review(1))
        await ended(worker, 1)

    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"portable_json" in stored
    assert b'"number":1' in stored
    assert b"gASV" not in stored, "a pickle in base64 begins like this"


def test_what_one_process_does_for_all_is_done_once_in_its_time(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'turns.sqlite3'}"
    one, other = Turns(create_engine(address)), Turns(create_engine(address))

    assert one.take("reconcile", 1000.0, 3000.0)
    assert not other.take("reconcile", 1001.0, 3000.0)
    assert other.take("something else", 1001.0, 3000.0)
    assert other.take("reconcile", 4000.0, 3000.0)
    assert not one.take("reconcile", 4000.5, 3000.0)
    assert one.take("reconcile", 4000.5, 0.0), "as at a start"


def test_a_silent_worker_is_noticed(tmp_path: Path) -> None:
    heartbeats = Heartbeats(create_engine(f"sqlite:///{tmp_path / 'beats.sqlite3'}"))
    heartbeats.beat("a", 100.0)
    heartbeats.beat("b", 100.0)
    heartbeats.beat("b", 180.0)

    assert heartbeats.silent(200.0, 90.0) == ["a"]
    heartbeats.remove("a")
    assert heartbeats.silent(200.0, 90.0) == []


def test_one_alone_takes_over_from_a_silent_worker_and_another_if_it_is_lost_meanwhile(tmp_path: Path) -> None:
    heartbeats = Heartbeats(create_engine(f"sqlite:///{tmp_path / 'beats.sqlite3'}"))
    heartbeats.beat("lost", 100.0)

    assert not heartbeats.claim("lost", 150.0, 90.0)
    assert [heartbeats.claim("lost", 200.0, 90.0) for _ in range(3)] == [True, False, False]
    assert heartbeats.claim("lost", 200.0 + CLAIM_SECONDS + 1, 90.0)
    assert not heartbeats.claim("never there", 200.0, 90.0)
