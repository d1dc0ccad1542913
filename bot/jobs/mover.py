"""From the inbox into the queue, while nobody waits for an answer.

To store a job in the queue takes fifteen times as long as to put a row into the inbox. In a burst of deliveries the
answers come first, and the queue fills behind them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

import sqlalchemy as sa

from bot.storage.inbox import Inbox, Letter

logger = logging.getLogger(__name__)

AT_ONCE = 20
PATIENCE_SECONDS = 0.25
"""How long a group waits for calm at most: as long as the queue takes between two looks for work."""
AGAIN_SECONDS = 1.0
"""Pause after a fault of the database."""
UNREACHABLE = (sa.exc.OperationalError, sa.exc.InterfaceError)


class Mover:
    """Moves letters in groups; each group is taken out and stored in one transaction, so that none is lost."""

    def __init__(
        self,
        engine: sa.Engine,
        inbox: Inbox,
        store: Callable[[sa.Connection, Letter], None],
        calm: Callable[[float], Awaitable[None]],
    ) -> None:
        """`store` puts one letter into the queue, in a thread; `calm` waits until nobody waits, so long at most."""
        self._engine = engine
        self._inbox = inbox
        self._store = store
        self._calm = calm
        self._rung = asyncio.Event()
        self._stuck: set[int] = set()
        """Letters that the queue does not take. They stay, and the next start tries again."""
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin with what is there."""
        self._running = asyncio.create_task(self._run())
        self.ring()

    def ring(self) -> None:
        """Tell that there may be something."""
        self._rung.set()

    async def stop(self) -> None:
        """End, with nothing left behind where the database allows it."""
        if self._running is not None:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running
            with contextlib.suppress(sa.exc.SQLAlchemyError):
                while await asyncio.to_thread(self._move, AT_ONCE):
                    pass

    async def _run(self) -> None:
        while True:
            await self._rung.wait()
            self._rung.clear()
            try:
                moved = AT_ONCE
                while moved:
                    await self._calm(PATIENCE_SECONDS)
                    moved = await asyncio.to_thread(self._move, AT_ONCE)
            except Exception:
                logger.exception("what was accepted waits before the queue")
                await asyncio.sleep(AGAIN_SECONDS)
                self.ring()

    def _move(self, most: int) -> int:
        letters: list[Letter] = []
        try:
            with self._engine.begin() as connection:
                letters = self._inbox.take(connection, most, self._stuck)
                for letter in letters:
                    self._store(connection, letter)
        except UNREACHABLE:
            raise
        except Exception:
            if len(letters) > 1:
                # One that cannot be stored must not hold up the others.
                return sum(self._move(1) for _ in letters)
            if not letters:
                raise
            logger.exception("job %s cannot be stored", letters[0].job_id)
            self._stuck.add(letters[0].id)
            return 1
        return len(letters)
