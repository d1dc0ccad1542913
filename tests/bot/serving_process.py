"""`preflight-bot serve` with the analysis of the tests in place of the engine's: it finds a marked line.

While the file named by `HOLD` exists, the analysis does not end, so that a test can kill the process in its midst.
A `RELEASE` other than none is a later release of the bot, whose jobs are made of other steps. With `HASTE` a process
does not wait long for anything.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from bot import service
from bot.github.models import ChangedFile
from bot.jobs import queue
from bot.observability.redaction import configure_logging
from bot.review.analysis import Analysis
from bot.review.reading import Sides
from bot.settings import Settings
from engine.settings import Settings as Configuration
from tests.bot.conftest import FakeAnalyst

HOLD = "TEST_HOLD"
RELEASE = "TEST_RELEASE"
HASTE = "TEST_HASTE"

Result = TypeVar("Result", bound=BaseModel)


class LaterSteps(queue.DurableSteps):
    """The steps of a later release go by other names."""

    async def run(self, name: str, model: type[Result], work: Callable[[], Awaitable[Result]]) -> Result:
        return await super().run(f"{os.environ[RELEASE]}-{name}", model, work)


class HeldAnalyst(FakeAnalyst):
    """Waits for the test."""

    async def review(self, sides: Sides, changed: Sequence[ChangedFile], settings: Configuration) -> Analysis:
        while Path(os.environ[HOLD]).exists():
            await asyncio.sleep(0.02)
        return await super().review(sides, changed, settings)


async def main(port: int) -> None:
    """Serve until SIGTERM."""
    settings = Settings.from_environment()
    if os.environ.get(RELEASE):
        queue.DurableSteps = LaterSteps  # type: ignore[misc]
    if os.environ.get(HASTE):
        queue.DRAIN_SECONDS, queue.BEAT_SECONDS, queue.LEAVE_SECONDS = 1, 0.5, 0.0
    configure_logging("INFO", ())
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await service.serve(settings, host="127.0.0.1", port=port, worker=True, stop=stop, analyst=HeldAnalyst())


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
