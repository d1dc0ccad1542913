"""Writes of one installation go out one at a time, with a pause between them.

GitHub asks for serial requests with at least one second between writes, and counts content creation (80 a
minute, 500 an hour); going on while limited can get an App banned.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.clock import Clock


class WritePacer:
    """A lock whose holder waits until `interval` seconds have gone since the last write."""

    def __init__(self, clock: Clock, interval: float) -> None:
        self._clock = clock
        self._interval = interval
        self._lock = asyncio.Lock()
        self._last = float("-inf")

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for this writer's turn, and hold it for the duration of the block."""
        async with self._lock:
            pause = self._last + self._interval - self._clock.now()
            if pause > 0:
                await self._clock.sleep(pause)
            try:
                yield
            finally:
                self._last = self._clock.now()
