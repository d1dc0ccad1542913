"""What moved in many repositories, asked of GraphQL: a point for fifty of them.

A request for each would take the whole hour's allowance of an installation on some thousands of repositories. A query
of GraphQL costs a hundredth of the lists that it reads, of an allowance of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ConfigDict, Field

from bot.github.client import Client
from bot.github.models import GitHubObject, PullRequest, RepositoryObject

REPOSITORIES_PER_QUERY = 50
PULLS_OF_EACH = 10
"""Pull requests read of each repository, those that changed last. Where all of them are recent, there may be more."""
PULLS_PER_QUERY = 50

_MOVED = """
query($ids: [ID!]!, $first: Int!) {
  nodes(ids: $ids) {
    ... on Repository {
      databaseId
      pullRequests(first: $first, states: [OPEN], orderBy: {field: UPDATED_AT, direction: DESC}) {
        nodes { id number createdAt updatedAt headRefOid }
      }
    }
  }
}
"""
_CHECKED = """
query($ids: [ID!]!, $app: Int!, $name: String!) {
  nodes(ids: $ids) {
    ... on PullRequest {
      id
      headRefOid
      commits(last: 1) {
        nodes { commit { oid checkSuites(first: 1, filterBy: {appId: $app, checkName: $name}) { totalCount } } }
      }
    }
  }
}
"""


class Moved(GitHubObject):
    """An open pull request, as far as it matters whether it was overlooked."""

    model_config = ConfigDict(validate_by_name=True)

    node_id: str = Field(default="", validation_alias="id")
    number: int
    created_at: str = Field(validation_alias="createdAt")
    updated_at: str = Field(validation_alias="updatedAt")
    head_sha: str = Field(validation_alias="headRefOid")

    @classmethod
    def of(cls, pull: PullRequest) -> Moved:
        """Return what another list says of one."""
        known = pull.model_dump(include={"node_id", "number", "created_at", "updated_at"})
        return cls.model_validate({**known, "head_sha": pull.head.sha})


class _Pulls(GitHubObject):
    nodes: tuple[Moved | None, ...] = ()


class _Repository(GitHubObject):
    database_id: int = Field(default=0, validation_alias="databaseId")
    pulls: _Pulls | None = Field(default=None, validation_alias="pullRequests")


class _Suites(GitHubObject):
    total: int = Field(default=0, validation_alias="totalCount")


class _Commit(GitHubObject):
    oid: str = ""
    suites: _Suites | None = Field(default=None, validation_alias="checkSuites")


class _PullCommit(GitHubObject):
    commit: _Commit


class _Commits(GitHubObject):
    nodes: tuple[_PullCommit | None, ...] = ()


class _Pull(GitHubObject):
    node_id: str = Field(default="", validation_alias="id")
    head_sha: str = Field(default="", validation_alias="headRefOid")
    commits: _Commits | None = None

    @property
    def has_check(self) -> bool:
        shown = [] if self.commits is None else [each.commit for each in self.commits.nodes if each is not None]
        return any(each.oid == self.head_sha and each.suites is not None and each.suites.total > 0 for each in shown)


async def moved(client: Client, repositories: Sequence[RepositoryObject]) -> dict[int, tuple[Moved, ...]]:
    """Return the open pull requests of up to `REPOSITORIES_PER_QUERY` repositories by their ids, latest first.

    A repository that GraphQL does not show is missing.
    """
    ids = [repository.node_id for repository in repositories if repository.node_id]
    if not ids:
        return {}
    data = await client.query(_MOVED, {"ids": ids, "first": PULLS_OF_EACH}, partial=True)
    found = [_Repository.model_validate(node) for node in _nodes(data)]
    return {
        repository.database_id: tuple(pull for pull in repository.pulls.nodes if pull is not None)
        for repository in found
        if repository.pulls is not None
    }


async def checked(client: Client, pulls: Iterable[Moved], app_id: int, check_name: str) -> frozenset[str]:
    """Return the node ids of those pull requests whose head has a check of this name by this App.

    That one is missing here is no proof: who wants to act on it looks once more.
    """
    found: set[str] = set()
    ids = [pull.node_id for pull in pulls if pull.node_id]
    for begin in range(0, len(ids), PULLS_PER_QUERY):
        batch = ids[begin : begin + PULLS_PER_QUERY]
        data = await client.query(_CHECKED, {"ids": batch, "app": app_id, "name": check_name}, partial=True)
        found |= {pull.node_id for pull in map(_Pull.model_validate, _nodes(data)) if pull.has_check}
    return frozenset(found)


def _nodes(data: Any) -> list[Any]:
    """Return what a query of `nodes` found; what is gone, or not ours to see, is null."""
    return [node for node in data.get("nodes") or () if node]
