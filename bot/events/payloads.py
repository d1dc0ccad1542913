"""Webhook payloads, as far as the bot reads them; everything else in them is ignored."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field

from bot.github.identity import RepositoryKey
from bot.github.models import Account, CheckRun, GitHubObject, PullRequest, RepositoryObject


class InstallationReference(GitHubObject):
    """The installation through which a delivery came."""

    id: int
    account: Account | None = None


class Payload(GitHubObject):
    """Fields that payloads share."""

    action: str | None = None
    sender: Account | None = None
    repository: RepositoryObject | None = None
    installation: InstallationReference | None = None

    @classmethod
    def read(cls, data: dict[str, Any]) -> Self:
        """Validate a payload."""
        return cls.model_validate(data)

    @property
    def key(self) -> RepositoryKey | None:
        """Where to work, or None for a delivery that names no installed repository."""
        if self.repository is None or self.installation is None:
            return None
        owner, _, name = self.repository.full_name.partition("/")
        return RepositoryKey(
            installation_id=self.installation.id, repository_id=self.repository.id, owner=owner, name=name
        )


class RemovedRepository(GitHubObject):
    """A repository that an installation covers no more."""

    id: int


class InstallationRepositoriesPayload(Payload):
    """Event `installation_repositories`."""

    repositories_removed: tuple[RemovedRepository, ...] = ()


class PullRequestPayload(Payload):
    """Event `pull_request`."""

    number: int
    pull_request: PullRequest
    changes: dict[str, Any] = Field(default_factory=dict)

    @property
    def base_changed(self) -> bool:
        """Whether an edit gave the pull request another base branch, and so another diff."""
        return "base" in self.changes


class RequestedAction(GitHubObject):
    """The button of a check run that somebody pressed."""

    identifier: str = ""


class CheckRunPayload(Payload):
    """Event `check_run`."""

    check_run: CheckRun
    requested_action: RequestedAction | None = None


class CheckSuite(GitHubObject):
    """A check suite."""

    id: int
    head_sha: str


class CheckSuitePayload(Payload):
    """Event `check_suite`."""

    check_suite: CheckSuite


class Issue(GitHubObject):
    """An issue; a pull request where `pull_request` is there."""

    number: int
    user: Account | None = None
    pull_request: dict[str, Any] | None = None


class CommentObject(GitHubObject):
    """A comment of the conversation."""

    id: int
    body: str | None = ""
    user: Account | None = None
    performed_via_github_app: dict[str, Any] | None = None
    in_reply_to_id: int | None = None


class SpokenPayload(Payload):
    """An event about a comment, in which a command may stand."""

    comment: CommentObject
    changes: dict[str, Any] = Field(default_factory=dict)

    @property
    def former_body(self) -> str | None:
        """Text before an edit, where the edit changed it."""
        change = self.changes.get("body")
        return str(change.get("from") or "") if isinstance(change, dict) else None


class IssueCommentPayload(SpokenPayload):
    """Event `issue_comment`."""

    issue: Issue


class NumberedPull(GitHubObject):
    """The pull request of a review comment, as far as a command needs it."""

    number: int
    user: Account | None = None


class ReviewCommentPayload(SpokenPayload):
    """Event `pull_request_review_comment`."""

    pull_request: NumberedPull


class ThreadObject(GitHubObject):
    """A thread of a review, its first comment first."""

    comments: tuple[CommentObject, ...] = ()


class ReviewThreadPayload(Payload):
    """Event `pull_request_review_thread`."""

    thread: ThreadObject
    pull_request: NumberedPull


class MergeGroup(GitHubObject):
    """A group of pull requests that a merge queue wants to merge."""

    head_sha: str


class MergeGroupPayload(Payload):
    """Event `merge_group`."""

    merge_group: MergeGroup


class Commit(GitHubObject):
    """A pushed commit's paths."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()


class PushPayload(Payload):
    """Event `push`."""

    ref: str
    commits: tuple[Commit, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """All paths that the push names; GitHub lists the files of the newest 2,048 commits only."""
        return frozenset(path for commit in self.commits for path in (*commit.added, *commit.removed, *commit.modified))
