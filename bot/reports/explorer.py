"""Trying changes of configuration on a reviewed head: an analysis process of its own, and a memory of its answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from bot.clock import Clock
from bot.github.repository import Repository
from bot.reports.document import ReportKey
from bot.reports.sources import Sources
from bot.reports.store import ReportStore, Stored
from engine.explored import Exploration

MOST_WAITING = 6
MOST_CHOSEN = 8
_KEY = re.compile(r"[a-z0-9-]{1,60}")


class Busy(Exception):
    """Too many people explore at once; nothing was begun."""


class Explores(Protocol):
    """Plays scripts in a process with limits."""

    async def explore(self, files: Mapping[str, str | bytes], base: Exploration, chosen: Sequence[str]) -> Exploration:
        """Play the script of `base` again under the chosen changes.

        Raises:
            AnalysisBroken: when there is no answer.
        """


class Explorer:
    """Answers one question at a time, so that visitors do not take the machine from the reviews."""

    def __init__(self, analyst: Explores, store: ReportStore, sources: Sources, clock: Clock) -> None:
        self._analyst = analyst
        self._store = store
        self._sources = sources
        self._clock = clock
        self._gate = asyncio.Semaphore(1)
        self._waiting = 0

    def chosen(self, given: Sequence[str], stored: Stored) -> tuple[str, ...]:
        """Return which of the keys in an address are changes of this report, in their order."""
        base = stored.document.details.exploration
        known = [option.key for option in base.options] if base is not None else []
        asked = {key for key in given if _KEY.fullmatch(key)}
        return tuple(key for key in known if key in asked)[:MOST_CHOSEN]

    async def explore(self, stored: Stored, repository: Repository, chosen: Sequence[str]) -> Exploration | None:
        """Return the run under the chosen changes; None where the report has no run.

        Raises:
            Busy: when too many wait already.
            AnalysisBroken: when there is no answer.
        """
        base = stored.document.details.exploration
        if base is None or not chosen:
            return base
        key = stored.row.key
        known = await self._store.explored(key, chosen)
        if known is not None:
            return known
        if self._waiting >= MOST_WAITING:
            raise Busy
        self._waiting += 1
        try:
            async with self._gate:
                return await self._play(key, repository, base, chosen)
        finally:
            self._waiting -= 1

    async def _play(
        self, key: ReportKey, repository: Repository, base: Exploration, chosen: Sequence[str]
    ) -> Exploration:
        known = await self._store.explored(key, chosen)
        if known is not None:
            return known
        files = await self._sources.project(repository, key.head_sha, base.script)
        found = await self._analyst.explore(files, base, chosen)
        await self._store.keep_explored(key, chosen, found, self._clock.now())
        return found
