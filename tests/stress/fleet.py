"""The bot's processes: started, killed, stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from bot.standin import StandIn

ROOT = Path(__file__).parents[2]
PASSED_ON = ("PATH", "HOME", "LANG", "PYTHONPATH")
READY_SECONDS = 120.0
SERVE_WITH_WORKER = "worker-1"
RECEIVER = "web"
LOOK_SECONDS = 0.05


class Unready(Exception):
    """A process ended, or was not ready in time."""


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Fleet:
    """Processes of one installation of the bot: a receiver, and workers beside it or within."""

    github: StandIn
    database_url: str
    logs: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    running: dict[str, asyncio.subprocess.Process] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.github.webhook_url = f"http://127.0.0.1:{self.port}/webhook"

    async def serve(self, *, worker: bool = True) -> None:
        """Start the receiver; `worker` says whether it works too. Ready when deliveries are taken."""
        name = SERVE_WITH_WORKER if worker else RECEIVER
        options = ("serve", "--host", "127.0.0.1", "--port", str(self.port), *(() if worker else ("--no-worker",)))
        await self._start(name, *options)
        async with aiohttp.ClientSession() as session, asyncio.timeout(READY_SECONDS):
            while not await self._ready(session, name):
                await asyncio.sleep(LOOK_SECONDS)

    async def work(self, name: str) -> None:
        """Start a worker of its own under this executor id."""
        await self._start(name, "worker")

    async def kill(self, name: str) -> None:
        """`kill -9`."""
        await self._end(name, signal.SIGKILL)

    async def stop(self, name: str) -> None:
        """SIGTERM, and wait for the end."""
        await self._end(name, signal.SIGTERM)

    def freeze(self, name: str) -> None:
        """SIGSTOP: it stands still, and does not know it."""
        self.running[name].send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """SIGCONT."""
        self.running[name].send_signal(signal.SIGCONT)

    async def kill_all(self) -> None:
        """End everything."""
        for name in tuple(self.running):
            await self.kill(name)

    async def _start(self, name: str, *options: str) -> None:
        environment = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
        environment |= {
            "PREFLIGHT_APP_ID": str(self.github.app.id),
            "PREFLIGHT_PRIVATE_KEY": self.github.app.private_key,
            "PREFLIGHT_WEBHOOK_SECRET": self.github.app.webhook_secret,
            "PREFLIGHT_DATABASE_URL": self.database_url,
            "PREFLIGHT_GITHUB_API_URL": self.github.url,
            "PREFLIGHT_WRITE_INTERVAL_SECONDS": "0",
            "PREFLIGHT_SYNCHRONIZE_DELAY_SECONDS": "0",
            "PREFLIGHT_EXECUTOR_ID": name,
            **self.settings,
        }
        with (self.logs / f"{name}.log").open("ab") as log:
            self.running[name] = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", *options, env=environment, cwd=ROOT, stdout=log, stderr=log
            )

    async def _ready(self, session: aiohttp.ClientSession, name: str) -> bool:
        if self.running[name].returncode is not None:
            log = (self.logs / f"{name}.log").read_text(errors="replace")
            raise Unready(f"{name} ended by itself:\n{log[-3000:]}")
        try:
            async with session.get(f"http://127.0.0.1:{self.port}/readyz") as response:
                return response.status == 200
        except aiohttp.ClientConnectionError:
            return False

    async def _end(self, name: str, how: signal.Signals) -> None:
        process = self.running.pop(name)
        if process.returncode is None:
            process.send_signal(how)
        await process.wait()
