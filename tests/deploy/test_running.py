"""The commands and settings of deploy/, run without a container: one pull request in, one review out.

`make installed` installs as the image does and has these tests run what came of it.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from bot.standin import StandIn
from tests.bot.conftest import Folder
from tests.bot.scripts import BUG, CLEAN
from tests.bot.test_serving import PATIENCE_SECONDS, concluded, free_port, until
from tests.deploy.files import PostgreSQL, compose, postgresql, unit

INSTALLED = os.environ.get("PREFLIGHT_INSTALLED", "")

pytestmark = pytest.mark.skipif(not INSTALLED, reason="`make installed` installs as the image does, and runs this")


@dataclass(frozen=True)
class Role:
    """One process as a file of deploy/ describes it."""

    arguments: Sequence[str]
    environment: Mapping[str, str]

    @property
    def port(self) -> int:
        return int(self.arguments[self.arguments.index("--port") + 1])


def from_unit(name: str, state: Path, instance: str = "1") -> Role:
    """Read a unit as systemd does, with another folder for its state and a free port for its own."""
    service = unit(name)["Service"]
    _, *arguments = service["ExecStart"][0].split()
    environment = {}
    for line in service["Environment"]:
        variable, _, value = line.partition("=")
        value = value.replace("%i", instance).replace("%H", socket.gethostname())
        environment[variable] = value.replace("/var/lib/preflight", str(state))
    return Role([str(free_port()) if word == "8000" else word for word in arguments], environment)


def from_compose(name: str, database: PostgreSQL) -> Role:
    """Read a service as compose does, with another address of the database, and free ports."""
    service = compose()["services"][name]
    environment = {
        key: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value) for key, value in service["environment"].items()
    } | {"PREFLIGHT_DATABASE_URL": database.url}
    arguments = [str(free_port()) if word == "8000" else word for word in service["command"]]
    if arguments[0] == "serve":
        arguments += ["--port", str(free_port())]
    return Role(arguments, environment)


@dataclass
class Machine:
    """Starts processes and ends them."""

    github: StandIn
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)

    async def start(self, role: Role) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            f"{INSTALLED}/bin/preflight-bot",
            *role.arguments,
            env={name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
            | {
                # What setup writes into .env.
                "PREFLIGHT_APP_ID": str(self.github.app.id),
                "PREFLIGHT_PRIVATE_KEY": self.github.app.private_key.replace("\n", "\\n"),
                "PREFLIGHT_WEBHOOK_SECRET": self.github.app.webhook_secret,
                "PREFLIGHT_GITHUB_API_URL": self.github.url,
                "PREFLIGHT_WRITE_INTERVAL_SECONDS": "0",
            }
            | role.environment,
            # Where nothing of the tree is found by chance.
            cwd="/",
            stderr=asyncio.subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    async def ready(self, role: Role) -> None:
        async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    async with session.get(f"http://127.0.0.1:{role.port}/readyz") as response:
                        if response.status == 200:
                            return
                except aiohttp.ClientConnectionError:
                    assert self.processes[-1].returncode is None, "it ended by itself"
                await asyncio.sleep(0.05)

    async def end(self) -> list[int]:
        for process in self.processes:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
        codes = [await process.wait() for process in self.processes]
        self.processes.clear()
        return codes


@asynccontextmanager
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    folder = Folder(tmp_path / "trainer")
    folder.commit({"train.py": CLEAN})
    folder.commit({"train.py": BUG}, "feature")
    async with StandIn() as github:
        repository = github.add_repository(folder.path, owner="acme", name="trainer")
        github.open_pull(repository, base="main", head="feature")
        at = Machine(github)
        try:
            yield at
        finally:
            for process in at.processes:
                if process.returncode is None:
                    process.kill()
                    await process.wait()


async def reviewed(at: Machine, web: Role, worker: Role) -> None:
    """Have the pull request reviewed by a web process and a worker, and end both in good order."""
    await at.start(web)
    await at.ready(web)
    at.github.webhook_url = f"http://127.0.0.1:{web.port}/webhook"
    delivery = await at.github.deliver("pull_request", "opened", pull=at.github.pulls[0])
    assert delivery.status_code == 202
    await at.start(worker)
    await until(lambda: concluded(at.github))

    (check,) = at.github.checks
    assert check.conclusion == "neutral", check.summary
    assert "zero-grad" in str(check.annotations)
    assert len(at.github.comments) == 1


async def test_web_and_worker_as_the_units_start_them_over_sqlite(tmp_path: Path) -> None:
    async with machine(tmp_path) as at:
        state = tmp_path / "state"
        state.mkdir()
        web = from_unit("preflight-web.service", state)
        worker = from_unit("preflight-worker@.service", state)

        await reviewed(at, web, worker)

        assert await at.end() == [0, 0]
        assert {entry.name for entry in state.iterdir()} >= {"preflight.sqlite3", "results-1"}


async def test_web_and_worker_as_compose_starts_them_over_postgresql(tmp_path: Path) -> None:
    with postgresql() as database:
        async with machine(tmp_path) as at:
            migrated = await at.start(from_compose("migrate", database))
            assert await migrated.wait() == 0
            assert "preflight_workers" in database.run(
                "psql", database.url, "--command=SELECT tablename FROM pg_tables"
            )
            web, worker = (from_compose(name, database) for name in ("web", "worker"))

            await reviewed(at, web, worker)

            await at.ready(worker)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{worker.port}/metrics") as response:
                    figures = await response.text()
                async with session.post(f"http://127.0.0.1:{worker.port}/webhook") as response:
                    assert response.status == 404, "a worker receives nothing"
            assert 'preflight_jobs_total{kind="review",outcome="done"} 1.0' in figures
            assert await at.end() == [0, 0, 0]
