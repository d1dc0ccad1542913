"""Reading a repository's configuration, always from the base branch: a pull request must not set its own rules."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cachetools import TTLCache

from bot.clock import Clock
from bot.github.errors import NotCovered
from bot.github.repository import Repository
from engine.project import Project
from engine.settings import PYPROJECT_PATH, YAML_PATHS, LoadedSettings, load_settings

ORGANISATION_REPOSITORY = ".github"
"""GitHub's own convention: what an organisation shares lives in its repository of this name."""
CONFIGURATION_PATHS = frozenset({*YAML_PATHS, PYPROJECT_PATH})
KEPT_SECONDS = 600.0
"""A push that changes the file drops what is kept at once; this only bounds what a lost event costs."""
KEPT_UNHEARD_SECONDS = 30.0
"""The same in a process that hears of no push, because another one receives the deliveries."""
MOST_ROUNDS = 3
"""Files that extend files that extend files."""


@dataclass
class _Texts:
    """Files of one branch as far as they were asked for; None for those that are not there."""

    files: dict[str, str | None] = field(default_factory=dict)

    def there(self) -> dict[str, str]:
        """Return the files that exist."""
        return {path: text for path, text in self.files.items() if text is not None}


class Configurations:
    """Configuration by repository and base branch, kept for a while."""

    def __init__(self, clock: Clock, *, hears_of_pushes: bool = True) -> None:
        seconds = KEPT_SECONDS if hears_of_pushes else KEPT_UNHEARD_SECONDS
        self._kept: TTLCache[tuple[str, str, str], _Texts] = TTLCache(10_000, seconds, timer=clock.now)

    def forget(self, owner: str, name: str | None) -> None:
        """Drop one repository's files, or with None those of all repositories of an owner."""
        for key in [key for key in self._kept if key[0] == owner and name in (None, key[1])]:
            self._kept.pop(key, None)

    async def load(self, repository: Repository, base_ref: str) -> LoadedSettings:
        """Return the settings that hold for pull requests against `base_ref`, and what in the files is wrong."""
        own, _ = await asyncio.gather(
            self._texts(repository, base_ref, (*YAML_PATHS, PYPROJECT_PATH)), self._shared(repository, YAML_PATHS)
        )
        return await self.over_organisation(repository, own.there())

    async def over_organisation(self, repository: Repository, files: Mapping[str, str | bytes]) -> LoadedSettings:
        """Return the settings that these files of a repository make on top of its organisation's."""
        project = Project.from_mapping({path: text for path, text in files.items() if path in CONFIGURATION_PATHS})
        shared = await self._shared(repository, YAML_PATHS)
        loaded = load_settings(project, shared.there())
        for _ in range(MOST_ROUNDS):
            unread = [path for path in loaded.missing if path not in shared.files and _is_inside(path)]
            if not unread:
                break
            shared = await self._shared(repository, unread)
            loaded = load_settings(project, shared.there())
        return loaded

    async def _shared(self, repository: Repository, paths: Iterable[str]) -> _Texts:
        try:
            return await self._texts(repository.sibling(ORGANISATION_REPOSITORY), "", paths)
        except NotCovered:
            # Where the installation leaves it out it may still be public, which any token reads.
            public = Repository(repository.client, repository.owner, ORGANISATION_REPOSITORY)
            return await self._texts(public, "", paths)

    async def _texts(self, repository: Repository, ref: str, paths: Iterable[str]) -> _Texts:
        kept = self._kept.setdefault((repository.owner, repository.name, ref), _Texts())
        unread = [path for path in paths if path not in kept.files]
        texts = [await repository.text_at(path, ref) for path in unread[:1]]
        # The first one shows whether the repository can be read at all.
        texts += await asyncio.gather(*(repository.text_at(path, ref) for path in unread[1:]))
        kept.files.update(zip(unread, texts, strict=True))
        return kept


def _is_inside(path: str) -> bool:
    """Tell whether a path that somebody wrote stays in the repository and names a YAML file."""
    parts = path.split("/")
    return path.endswith((".yml", ".yaml")) and all(part not in ("", ".", "..") for part in parts) and len(path) < 300
