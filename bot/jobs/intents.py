"""What a webhook asks for: small, serialisable, and free of GitHub's payload.

A review intent means "this pull request should have a review of its current head". It carries no diff and no
order, so a lost, late or repeated delivery does no harm.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from bot.github.identity import RepositoryKey


class _Intent(BaseModel):
    model_config = ConfigDict(frozen=True)

    QUICK: ClassVar[bool] = False
    """Whether somebody waits for it, and it takes no analysis of its own: such jobs do not stand behind reviews."""

    repository: RepositoryKey


class Begun(BaseModel):
    """A check run in progress that an earlier attempt left behind."""

    model_config = ConfigDict(frozen=True)

    run_id: int
    head_sha: str


class ReviewIntent(_Intent):
    """Bring the review of a pull request up to date."""

    kind: Literal["review"] = "review"
    number: int
    reason: str
    head_sha: str | None = None
    """Head according to the event; what GitHub answers right after it may be older."""
    force: bool = False
    """Review again although this head has a finished check run."""
    by_person: bool = False
    """Somebody asked for it, so that it is made although reviews are paused."""
    begun: Begun | None = None

    @property
    def partition(self) -> str:
        """Jobs with one partition run one after the other."""
        return f"{self.repository.repository_id}#{self.number}"


class CommandIntent(_Intent):
    """Answer a slash command."""

    QUICK = True

    kind: Literal["command"] = "command"
    number: int
    comment_id: int
    in_thread: bool = False
    """Whether the comment stands in a review's thread instead of the conversation."""
    reply_to: int | None = None
    """The first comment of that thread, where this is a reply."""
    login: str
    is_author: bool
    """Whether the person opened the pull request."""
    command: str
    arguments: tuple[str, ...] = ()
    others: int = 0
    """Further commands of the comment, which are not carried out."""

    @property
    def partition(self) -> str:
        """Apart from the reviews, which take longer than an answer may."""
        return f"{self.repository.repository_id}#{self.number}/commands"


class ThreadIntent(_Intent):
    """Remember that a person resolved, or opened again, the thread of a finding."""

    kind: Literal["thread"] = "thread"
    number: int
    comment_id: int
    """The thread's first comment."""
    login: str
    resolved: bool

    @property
    def partition(self) -> str:
        """Shared with the pull request's reviews."""
        return f"{self.repository.repository_id}#{self.number}"


class IgnoreIntent(_Intent):
    """Carry out the button "Ignore these findings" of a check run."""

    kind: Literal["ignore"] = "ignore"
    number: int
    head_sha: str
    """The commit whose findings the person saw."""
    login: str

    @property
    def partition(self) -> str:
        """Shared with the pull request's reviews."""
        return f"{self.repository.repository_id}#{self.number}"


class RerunIntent(_Intent):
    """Review again every pull request whose head is this commit."""

    QUICK = True

    kind: Literal["rerun"] = "rerun"
    head_sha: str

    @property
    def partition(self) -> str:
        """One at a time for a commit."""
        return f"{self.repository.repository_id}@{self.head_sha}"


class MergeGroupIntent(_Intent):
    """Report on a merge queue's commit, or the queue stalls where the check is required."""

    QUICK = True

    kind: Literal["merge-group"] = "merge-group"
    head_sha: str

    @property
    def partition(self) -> str:
        """One at a time for a commit."""
        return f"{self.repository.repository_id}@{self.head_sha}"


AnyIntent = ReviewIntent | CommandIntent | ThreadIntent | IgnoreIntent | RerunIntent | MergeGroupIntent
Intent = Annotated[AnyIntent, Field(discriminator="kind")]
INTENT: TypeAdapter[AnyIntent] = TypeAdapter(Intent)
