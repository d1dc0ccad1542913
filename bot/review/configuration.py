"""Reading a repository's configuration, always from the base branch: a pull request must not set its own rules."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from cachetools import TTLCache

from bot.clock import Clock
from bot.github.repository import Repository
from engine.project import Project
from engine.settings import PYPROJECT_PATH, YAML_PATHS, LoadedSettings, load_settings

ORGANISATION_REPOSITORY = ".github"
"""GitHub's own convention: what an organisation shares lives in its repository of this name."""
CONFIGURATION_PATHS = frozenset({*YAML_PATHS, PYPROJECT_PATH})
KEPT_SECONDS = 600.0
"""A push that changes the file drops what is kept at once; this only bounds what a lost event costs."""


@dataclass(frozen=True)
class _Texts:
    files: dict[str, str]


class Configurations:
    """Configuration by repository and base branch, kept for a while."""

    def __init__(self, clock: Clock) -> None:
        self._kept: TTLCache[tuple[str, str, str], _Texts] = TTLCache(10_000, KEPT_SECONDS, timer=clock.now)

    def forget(self, owner: str, name: str | None) -> None:
        """Drop one repository's files, or with None those of all repositories of an owner."""
        for key in [key for key in self._kept if key[0] == owner and name in (None, key[1])]:
            self._kept.pop(key, None)

    async def load(self, repository: Repository, base_ref: str) -> LoadedSettings:
        """Return the settings that hold for pull requests against `base_ref`, and what in the files is wrong."""
        own, shared = await asyncio.gather(
            self._texts(repository, base_ref, (*YAML_PATHS, PYPROJECT_PATH)),
            self._texts(self._organisation(repository), "", YAML_PATHS),
        )
        organisation = next(iter(shared.files.values()), None)
        return load_settings(Project.from_mapping(own.files), organisation)

    @staticmethod
    def _organisation(repository: Repository) -> Repository:
        return Repository(repository.client, repository.owner, ORGANISATION_REPOSITORY)

    async def _texts(self, repository: Repository, ref: str, paths: tuple[str, ...]) -> _Texts:
        key = (repository.owner, repository.name, ref)
        kept = self._kept.get(key)
        if kept is None:
            texts = await asyncio.gather(*(repository.text_at(path, ref) for path in paths))
            kept = _Texts({path: text for path, text in zip(paths, texts, strict=True) if text is not None})
            self._kept[key] = kept
        return kept
