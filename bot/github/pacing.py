"""Writes of one installation go out one at a time, with a pause between them.

GitHub asks for serial requests with at least one second between writes, and counts content creation (80 a
minute, 500 an hour); going on while limited can get an App banned.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from bot.clock import Clock

Reserve = Callable[[float], Awaitable[float]]
"""Takes the seconds that a write keeps to itself, and returns when it may go out, in epoch seconds: what the workers of
several machines agree on."""


class WritePacer:
    """A lock whose holder waits until `interval` seconds have gone since the last write."""

    def __init__(self, clock: Clock, interval: float, reserve: Reserve | None = None) -> None:
        self._clock = clock
        self._interval = interval
        self._reserve = reserve
        self._lock = asyncio.Lock()
        self._last = float("-inf")

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for this writer's turn, and hold it for the duration of the block."""
        async with self._lock:
            due = self._last + self._interval
            if self._reserve is not None and self._interval > 0:
                due = max(due, await self._reserve(self._interval))
            pause = due - self._clock.now()
            if pause > 0:
                await self._clock.sleep(pause)
            try:
                yield
            finally:
                self._last = self._clock.now()
