"""The whole bot as a process of its own: a delivery in, a review out, also when the process is killed in between."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from bot.standin import PullRequest, Repository, StandIn
from tests.bot.conftest import BUGGY, TRAIN, Folder
from tests.bot.scripts import BUG, CLEAN
from tests.bot.serving_process import HASTE, HOLD, RELEASE

PATIENCE_SECONDS = 90.0


async def until(condition: Callable[[], bool]) -> None:
    """Look until it is so; a bound keeps a fault from hanging the suite."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.02)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Bot:
    """Starts and kills the bot."""

    github: StandIn
    database: Path
    hold: Path
    port: int
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)
    executor_id: str = "worker-1"
    release: str = ""
    haste: str = ""
    database_url: str = ""

    async def start(self, *command: str) -> None:
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ} | {
            "PREFLIGHT_APP_ID": str(self.github.app.id),
            "PREFLIGHT_PRIVATE_KEY": self.github.app.private_key,
            "PREFLIGHT_WEBHOOK_SECRET": self.github.app.webhook_secret,
            "PREFLIGHT_DATABASE_URL": self.database_url or f"sqlite:///{self.database}",
            "PREFLIGHT_GITHUB_API_URL": self.github.url,
            "PREFLIGHT_WRITE_INTERVAL_SECONDS": "0",
            "PREFLIGHT_SYNCHRONIZE_DELAY_SECONDS": "0",
            "PREFLIGHT_EXECUTOR_ID": self.executor_id,
            HOLD: str(self.hold),
            RELEASE: self.release,
            HASTE: self.haste,
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *(command or ("-m", "tests.bot.serving_process", str(self.port))),
            env=environment,
            cwd=Path(__file__).parents[2],
            stderr=asyncio.subprocess.DEVNULL,
        )
        self.processes.append(process)
        await self._ready()

    async def _ready(self) -> None:
        async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    async with session.get(f"http://127.0.0.1:{self.port}/readyz") as response:
                        if response.status == 200:
                            return
                except aiohttp.ClientConnectionError:
                    assert self.processes[-1].returncode is None, "the bot ended by itself"
                await asyncio.sleep(0.05)

    async def get(self, path: str) -> str:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}{path}") as response:
            return await response.text()

    async def end(self, with_signal: signal.Signals) -> None:
        while self.processes:
            process = self.processes.pop()
            if process.returncode is None:
                process.send_signal(with_signal)
                await process.wait()


@dataclass
class Scene:
    """A bot, a GitHub, and a pull request with a bug."""

    bot: Bot
    github: StandIn
    folder: Folder
    repository: Repository
    pull: PullRequest


@asynccontextmanager
async def scene(tmp_path: Path, clean: str = TRAIN, bug: str = BUGGY) -> AsyncIterator[Scene]:
    folder = Folder(tmp_path / "trainer")
    folder.commit({"train.py": clean})
    folder.commit({"train.py": bug}, "feature")
    async with StandIn() as github:
        repository = github.add_repository(folder.path, owner="acme", name="trainer")
        pull = github.open_pull(repository, base="main", head="feature")
        port = free_port()
        github.webhook_url = f"http://127.0.0.1:{port}/webhook"
        bot = Bot(github, tmp_path / "queue.sqlite3", tmp_path / "hold", port)
        try:
            yield Scene(bot, github, folder, repository, pull)
        finally:
            await bot.end(signal.SIGKILL)


def concluded(github: StandIn) -> bool:
    return bool(github.checks) and all(check.status == "completed" for check in github.checks)


async def test_a_delivery_becomes_a_review(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.bot.start()

        delivery = await at.github.deliver("pull_request", "opened", pull=at.pull)
        await until(lambda: concluded(at.github))

        assert delivery.status_code == 202
        (check,) = at.github.checks
        assert check.conclusion == "failure"
        assert len(at.github.reviews) == 1
        assert len(at.github.comments) == 1
        assert 'preflight_deliveries_total{event="pull_request",status="202"} 1.0' in await at.bot.get("/metrics")


@pytest.mark.parametrize("moment", ["stored", "check begun", "review published"])
async def test_a_bot_that_is_killed_goes_on_and_says_everything_once(tmp_path: Path, moment: str) -> None:
    async with scene(tmp_path) as at:
        if moment != "review published":
            at.bot.hold.touch()
        await at.bot.start()
        await at.github.deliver("pull_request", "opened", pull=at.pull)
        if moment == "check begun":
            await until(lambda: bool(at.github.checks))
        elif moment == "review published":
            await until(lambda: bool(at.github.reviews))
        await at.bot.end(signal.SIGKILL)
        at.bot.hold.unlink(missing_ok=True)

        await at.bot.start()
        await until(lambda: concluded(at.github))

        assert len(at.github.checks) == 1
        assert len(at.github.checks[0].annotations) == 1
        assert len(at.github.reviews) == 1
        assert len(at.github.comments) == 1


async def test_the_jobs_of_a_worker_that_does_not_come_back_are_taken_over(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        at.bot.hold.touch()
        await at.bot.start()
        await at.github.deliver("pull_request", "opened", pull=at.pull)
        await until(lambda: bool(at.github.checks))
        await at.bot.end(signal.SIGKILL)
        at.bot.hold.unlink()
        # Long ago, as far as the database knows.
        with sqlite3.connect(at.bot.database) as connection:
            connection.execute("UPDATE preflight_workers SET seen = 0")

        at.bot.executor_id = "worker-2"
        await at.bot.start()
        await until(lambda: concluded(at.github))

        assert len(at.github.checks) == 1
        assert len(at.github.reviews) == 1


@pytest.mark.parametrize("successor", ["worker-1", "worker-2"], ids=["same name", "another name"])
async def test_an_upgrade_in_the_midst_of_a_review_loses_nothing(tmp_path: Path, successor: str) -> None:
    async with scene(tmp_path) as at:
        at.bot.haste = "1"
        at.bot.hold.touch()
        await at.bot.start()
        await at.github.deliver("pull_request", "opened", pull=at.pull)
        await until(lambda: bool(at.github.checks))
        await at.bot.end(signal.SIGTERM)
        assert not concluded(at.github)
        at.bot.hold.unlink()

        at.bot.release, at.bot.executor_id = "2", successor
        await at.bot.start()
        await until(lambda: concluded(at.github))

        assert len(at.github.checks) == 1
        assert len(at.github.reviews) == 1
        assert len(at.github.comments) == 1


async def test_a_repeated_delivery_changes_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.bot.start()
        first = await at.github.deliver("pull_request", "opened", pull=at.pull)
        again = await at.github.deliver("pull_request", "opened", pull=at.pull, guid=first.guid)
        await until(lambda: concluded(at.github))
        # A third delivery whose job comes after theirs shows that nothing of them is left over.
        await at.github.deliver("pull_request", "reopened", pull=at.pull)
        await at.bot.end(signal.SIGTERM)

        assert (first.status_code, again.status_code) == (202, 202)
        assert len(at.github.checks) == 1
        assert len(at.github.comments) == 1


async def test_what_arrived_while_the_bot_was_away_is_asked_for_again(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.github.deliver("pull_request", "opened", pull=at.pull, lose=True)

        await at.bot.start()
        await until(lambda: concluded(at.github))

        assert len(at.github.comments) == 1


@pytest.mark.parametrize("apart", [False, True], ids=["one process", "receiver and worker apart"])
async def test_the_command_with_the_real_engine(tmp_path: Path, apart: bool) -> None:
    async with scene(tmp_path, clean=CLEAN, bug=BUG) as at:
        if apart:
            await at.bot.start("-m", "bot", "serve", "--host", "127.0.0.1", "--port", str(at.bot.port), "--no-worker")
            await at.github.deliver("pull_request", "opened", pull=at.pull)
            assert not at.github.checks
            await at.bot.start("-m", "bot", "worker")
        else:
            await at.bot.start("-m", "bot", "serve", "--host", "127.0.0.1", "--port", str(at.bot.port))
            await at.github.deliver("pull_request", "opened", pull=at.pull)
        await until(lambda: concluded(at.github))

        (check,) = at.github.checks
        assert check.conclusion == "neutral", check.summary
        assert "zero-grad" in str(check.annotations)
        assert len(at.github.comments) == 1
