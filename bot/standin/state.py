"""What the stand-in remembers: plain records, shown to tests and to the demo's page as they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.standin.anchors import Side
from bot.standin.git import ChangedFile, GitFolder

Json = dict[str, Any]


def stamp(seconds: float) -> str:
    """Epoch seconds as GitHub writes times."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Repository:
    id: int
    owner: str
    name: str
    private: bool
    default_branch: str
    installation_id: int
    installed: bool
    git: GitFolder
    permissions: dict[str, str] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


@dataclass
class PullRequest:
    id: int
    number: int
    repository: Repository
    title: str
    body: str
    author: str
    base: str
    base_sha: str
    head: str
    head_sha: str
    draft: bool
    fork: bool
    opened_at: float
    updated_at: float
    state: str = "open"
    merged: bool = False
    fork_deleted: bool = False
    previous_sha: str | None = None
    stale_reads: int = 0

    @property
    def node_id(self) -> str:
        return f"PR_{self.id}"

    def merge_base(self, head: str | None = None) -> str:
        return self.repository.git.merge_base(self.base_sha, head or self.head_sha)

    def files(self, head: str | None = None) -> list[ChangedFile]:
        return self.repository.git.diff(self.merge_base(head), head or self.head_sha)

    def patch(self, path: str) -> str | None:
        return next((file.patch for file in self.files() if file.path == path), None)


@dataclass
class CheckSuite:
    id: int
    repository: Repository
    head_sha: str
    head_branch: str | None
    created_at: float
    status: str = "queued"


@dataclass
class CheckRun:
    id: int
    repository: Repository
    suite: CheckSuite
    name: str
    head_sha: str
    status: str
    started_at: str
    conclusion: str | None = None
    completed_at: str | None = None
    details_url: str | None = None
    external_id: str = ""
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    by_other: str = ""
    """Slug of another App that made it."""
    annotations: list[Json] = field(default_factory=list)
    actions: list[Json] = field(default_factory=list)


@dataclass
class ReviewComment:
    id: int
    pull: PullRequest
    review_id: int
    author: str
    is_bot: bool
    path: str
    body: str
    side: Side
    line: int | None
    start_line: int | None
    start_side: Side | None
    diff_hunk: str
    position: int | None
    commit_sha: str
    original_commit_sha: str
    original_line: int | None
    original_start_line: int | None
    created_at: float
    updated_at: float
    in_reply_to: int | None = None
    subject: str = "line"
    minimized: str | None = None
    resolved_by: str | None = None

    @property
    def node_id(self) -> str:
        return f"PRRC_{self.id}"

    @property
    def thread_id(self) -> str:
        """Node id of the thread, named after its first comment."""
        return f"PRRT_{self.in_reply_to or self.id}"

    @property
    def resolved(self) -> bool:
        return self.resolved_by is not None

    @property
    def outdated(self) -> bool:
        return self.subject == "line" and self.line is None


@dataclass
class Review:
    id: int
    pull: PullRequest
    author: str
    is_bot: bool
    body: str
    event: str | None
    commit_sha: str
    submitted_at: float
    comments: list[ReviewComment] = field(default_factory=list)
    minimized: str | None = None

    @property
    def number(self) -> int:
        return self.pull.number

    @property
    def node_id(self) -> str:
        return f"PRR_{self.id}"

    @property
    def state(self) -> str:
        states = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}
        return states[self.event] if self.event else "PENDING"


@dataclass
class Comment:
    id: int
    pull: PullRequest
    author: str
    is_bot: bool
    body: str
    created_at: float
    updated_at: float
    edits: list[str] = field(default_factory=list)
    minimized: str | None = None

    @property
    def number(self) -> int:
        return self.pull.number

    @property
    def node_id(self) -> str:
        return f"IC_{self.id}"


@dataclass
class Reaction:
    id: int
    subject: int
    kind: str
    content: str
    author: str
    created_at: float


@dataclass
class Delivery:
    """One attempt to reach the App's webhook."""

    id: int
    guid: str
    event: str
    action: str | None
    payload: Json
    delivered_at: float
    redelivery: bool
    status_code: int = 0
    answer: str = ""
    installation_id: int | None = None
    repository_id: int | None = None


@dataclass(frozen=True)
class Call:
    """One request as it was answered; ``counted`` tells whether it cost a request of the hourly limit."""

    operation: str
    method: str
    path: str
    status: int
    body: Any
    counted: bool


@dataclass
class Token:
    value: str
    installation_id: int
    permissions: dict[str, str]
    repository_ids: frozenset[int] | None
    expires_at: float
    login: str | None = None
    """The person whose token it is; None for an installation's."""
