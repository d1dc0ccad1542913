"""Many deliveries, one transaction: what arrives while a transaction is being written goes into the next together.

A delivery is answered when it is on disk. One transaction each bounds a SQLite file at a few dozen a second beside
running jobs; together they wait for the disk, and for their turn to write, once.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import sqlalchemy as sa

Entry = TypeVar("Entry")

MOST_TOGETHER = 200


@dataclass(frozen=True)
class _Waiting(Generic[Entry]):
    entry: Entry
    stored: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Intake(Generic[Entry]):
    """Stores entries durably, in the order in which they came."""

    def __init__(self, engine: sa.Engine, store: Callable[[sa.Connection, Sequence[Entry]], None]) -> None:
        """`store` writes entries through a connection whose transaction is not its own; it runs in a thread."""
        self._engine = engine
        self._store = store
        # Of its own: in the loop's, running jobs would stand before those that are answered when they are stored.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="intake")
        self._waiting: list[_Waiting[Entry]] = []
        self._writer: asyncio.Task[None] | None = None
        self._calm = asyncio.Event()
        self._calm.set()

    async def put(self, entry: Entry) -> None:
        """Return when the entry is stored.

        Raises:
            Exception: whatever kept it from being stored.
        """
        waiting = _Waiting(entry)
        self._waiting.append(waiting)
        self._calm.clear()
        if self._writer is None or self._writer.done():
            # Apart from whatever the one who asks is in the middle of.
            self._writer = asyncio.create_task(self._write(), context=contextvars.Context())
        await waiting.stored

    async def calm(self, seconds: float) -> None:
        """Wait until nobody waits for anything to be stored, so long at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._calm.wait()

    async def close(self) -> None:
        """Wait until everything that was put is stored."""
        if self._writer is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._writer
        self._thread.shutdown(wait=False)

    async def _write(self) -> None:
        while self._waiting:
            together, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
            await self._write_together(together)
        self._calm.set()

    async def _write_together(self, together: Sequence[_Waiting[Entry]]) -> None:
        try:
            entries = [waiting.entry for waiting in together]
            await asyncio.get_running_loop().run_in_executor(self._thread, self._commit, entries)
        except Exception as error:
            if len(together) == 1:
                _settle(together[0], error)
                return
            # One that cannot be stored must not lose the others.
            for waiting in together:
                await self._write_together([waiting])
            return
        for waiting in together:
            _settle(waiting, None)

    def _commit(self, entries: Sequence[Entry]) -> None:
        with self._engine.begin() as connection:
            self._store(connection, entries)


def _settle(waiting: _Waiting[Entry], error: Exception | None) -> None:
    # Whoever waited may have gone: its client closed the connection.
    if waiting.stored.done():
        return
    if error is None:
        waiting.stored.set_result(None)
    else:
        waiting.stored.set_exception(error)
