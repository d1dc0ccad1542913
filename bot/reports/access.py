"""Who may see what of a repository: asked of GitHub at each view, with a short memory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import gidgethub
from cachetools import TTLCache

from bot.clock import Clock
from bot.github.connection import GitHub
from bot.github.errors import InstallationGone, is_missing, is_refused
from bot.github.identity import RepositoryKey
from bot.github.repository import Repository
from bot.reports.sign_in import Person

logger = logging.getLogger(__name__)

REMEMBERED_SECONDS = 60.0
"""How long a person who lost access may still look; GitHub's own pages answer about as late."""
AT_ONCE = 8
_UNASKED: Any = object()
READ = frozenset({"admin", "maintain", "write", "triage", "read"})


class Access:
    """Answers for the App's own installations; a repository that it cannot see is nobody's to see."""

    def __init__(self, github: GitHub, clock: Clock) -> None:
        self._github = github
        self._kept: TTLCache[tuple[int, int], Repository | None] = TTLCache(20_000, REMEMBERED_SECONDS, timer=clock.now)
        self._present: TTLCache[int, Repository | None] = TTLCache(5_000, REMEMBERED_SECONDS, timer=clock.now)

    async def repository(
        self, person: Person, installation_id: int, repository_id: int, owner: str, name: str
    ) -> Repository | None:
        """Return the repository under its present name if the person may read it; None where they may not, or where it
        is gone: nobody learns which."""
        key = (person.id, repository_id)
        kept: Repository | None = self._kept.get(key, _UNASKED)
        if kept is _UNASKED:
            kept = self._kept[key] = await self._ask(person, installation_id, repository_id, owner, name)
        return kept

    async def _ask(
        self, person: Person, installation_id: int, repository_id: int, owner: str, name: str
    ) -> Repository | None:
        present = await self._under_its_present_name(installation_id, repository_id, owner, name)
        if present is None:
            return None
        try:
            found = await present.permission_of(person.login)
        except InstallationGone:
            return None
        except gidgethub.BadRequest as error:
            if not (is_missing(error) or is_refused(error)):
                raise
            return None
        # A login can be given up and taken by somebody else; the id is the person.
        same = found.user is not None and found.user.id == person.id
        return present if same and found.permission in READ else None

    async def _under_its_present_name(
        self, installation_id: int, repository_id: int, owner: str, name: str
    ) -> Repository | None:
        """A name can be given to another repository, whose members must not see this one: the id decides."""
        kept: Repository | None = self._present.get(repository_id, _UNASKED)
        if kept is not _UNASKED:
            return kept
        found: Repository | None = None
        key = RepositoryKey(installation_id=installation_id, repository_id=repository_id, owner=owner, name=name)
        try:
            about = await self._github.repository(key).about()
            if about.id == repository_id:
                present = about.full_name.split("/", 1)
                found = self._github.repository(key, owner=present[0], name=present[1])
        except InstallationGone:
            logger.info("repository %d is the App's no more", repository_id)
        except gidgethub.BadRequest as error:
            if not (is_missing(error) or is_refused(error)):
                raise
        self._present[repository_id] = found
        return found

    async def readable(
        self, person: Person, repositories: Sequence[tuple[int, int, str, str]]
    ) -> dict[int, Repository]:
        """Return those of many that the person may read, by id; each is installation, id, owner and name."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(installation_id: int, repository_id: int, owner: str, name: str) -> Repository | None:
            async with gate:
                return await self.repository(person, installation_id, repository_id, owner, name)

        found = await asyncio.gather(*(one(*each) for each in repositories))
        return {each[1]: answer for each, answer in zip(repositories, found, strict=True) if answer is not None}
