"""By what the bot knows a repository, and the pull request of a check run."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

_EXTERNAL_ID = re.compile(r"(?P<repository>\d+)#(?P<number>\d+)")


class RepositoryKey(BaseModel):
    """Where to work. The id is the identity; owner and name are what it was called when the event was sent."""

    model_config = ConfigDict(frozen=True)

    installation_id: int
    repository_id: int
    owner: str
    name: str


def external_id(repository_id: int, number: int) -> str:
    """Return what a check run carries to lead back to its pull request; check events name none for forks."""
    return f"{repository_id}#{number}"


def pull_number(identifier: str | None, repository_id: int) -> int | None:
    """Return the pull request that `external_id` named, or None where it is another repository's or no such id."""
    match = _EXTERNAL_ID.fullmatch(identifier or "")
    if match is None or int(match["repository"]) != repository_id:
        return None
    return int(match["number"])
