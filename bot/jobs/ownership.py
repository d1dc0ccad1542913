"""Whether a job is still this worker's to write for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from bot.github.fencing import TakenOver

FRESH_SECONDS = 5.0
"""How long an answer holds. Jobs are taken from workers that are silent for a minute or more, and a request ends after
half of that."""


class Ownership:
    """One execution of a job. Whoever takes the job over writes a token of its own beside it."""

    def __init__(
        self,
        job_id: str,
        token: str | None,
        owner: Callable[[str], str | None],
        now: Callable[[], float] = time.time,
    ) -> None:
        """`owner` reads the token of a job's present owner, in a thread. `now` should go on while the process, or the
        machine, stands still."""
        self._job_id = job_id
        self._token = token
        self._owner = owner
        self._now = now

    async def check(self) -> None:
        """Return where the job is ours at this moment.

        Raises:
            TakenOver: where another execution has it.
        """
        while True:
            asked = self._now()
            if await asyncio.to_thread(self._owner, self._job_id) != self._token:
                raise TakenOver(self._job_id)
            if self._now() - asked < FRESH_SECONDS:
                return
            # We stood still while we asked: the answer may be old as well.
