"""GitHub's objects as far as the bot reads them: unknown fields are ignored, doubtful ones optional."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class GitHubObject(BaseModel):
    """Base: lenient, since GitHub adds fields at any time and older servers lack some."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Account(GitHubObject):
    """A person, an organisation or an App's own account."""

    id: int = 0
    login: str = ""
    type: str = "User"

    @property
    def is_bot(self) -> bool:
        """Whether an App or a machine account of GitHub's acts here."""
        return self.type == "Bot" or self.login.endswith("[bot]")


class RepositoryObject(GitHubObject):
    """A repository, by id and by its present name."""

    id: int
    name: str
    full_name: str
    node_id: str = ""
    html_url: str = ""
    default_branch: str = "main"
    owner: Account = Account()


class Reference(GitHubObject):
    """One end of a pull request. `repo` is null when the fork is gone."""

    ref: str = ""
    sha: str
    repo: RepositoryObject | None = None


class Label(GitHubObject):
    """A label of a pull request."""

    name: str = ""


class PullRequest(GitHubObject):
    """A pull request's state."""

    node_id: str = ""
    number: int
    state: str = "open"
    draft: bool | None = False
    merged: bool | None = None
    title: str = ""
    user: Account | None = None
    head: Reference
    base: Reference
    labels: tuple[Label, ...] = ()
    changed_files: int = 0
    created_at: str = ""
    updated_at: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it can still be reviewed."""
        return self.state == "open"


class ChangedFile(GitHubObject):
    """One file of a pull request. `patch` is absent for binary and for large changes."""

    filename: str
    status: str = "modified"
    sha: str | None = None
    previous_filename: str | None = None
    patch: str | None = None


class AppObject(GitHubObject):
    """The App itself."""

    id: int
    slug: str = ""


class CheckOutput(GitHubObject):
    """What a check run shows."""

    title: str | None = None
    text: str | None = None
    annotations_count: int = 0


class AnnotationObject(GitHubObject):
    """An annotation of a check run, as far as it is known again by it."""

    path: str
    start_line: int
    end_line: int
    title: str | None = None


class CheckRun(GitHubObject):
    """A check run."""

    id: int
    name: str
    head_sha: str
    status: str
    conclusion: str | None = None
    external_id: str | None = None
    app: AppObject | None = None
    output: CheckOutput = CheckOutput()


class ReviewCommentObject(GitHubObject):
    """A comment on a line of a pull request."""

    id: int
    node_id: str = ""
    body: str = ""
    path: str = ""
    line: int | None = None
    original_commit_id: str = ""
    """The head that it was written for; unlike `commit_id` it stays when the branch moves."""
    user: Account | None = None
    in_reply_to_id: int | None = None


class IssueComment(GitHubObject):
    """A comment in the conversation of a pull request."""

    id: int
    node_id: str = ""
    body: str | None = ""
    user: Account | None = None
    performed_via_github_app: AppObject | None = None


class TreeEntry(GitHubObject):
    """One entry of a git tree. `size` in bytes, of blobs only."""

    path: str
    mode: str = ""
    type: str
    sha: str
    size: int | None = None


class Tree(GitHubObject):
    """A git tree; `truncated` where GitHub gave up (100,000 entries or 7 MB)."""

    tree: tuple[TreeEntry, ...] = ()
    truncated: bool = False


class Blob(GitHubObject):
    """A file's content."""

    content: str
    encoding: str


class MergeBase(GitHubObject):
    """A commit."""

    sha: str


class Comparison(GitHubObject):
    """Answer of the compare operation, as far as needed."""

    merge_base_commit: MergeBase


class Permission(GitHubObject):
    """What a person may do in a repository; maintain counts as write, triage as read."""

    permission: Literal["admin", "write", "read", "none"] | str = "none"
    user: Account | None = None


class Delivery(GitHubObject):
    """One webhook delivery as GitHub remembers it."""

    id: int
    guid: str
    delivered_at: str
    status_code: int = 0
    event: str = ""
    action: str | None = None
    redelivery: bool = False


class InstallationObject(GitHubObject):
    """An installation of the App."""

    id: int
    account: Account | None = None
    created_at: str = ""
    suspended_at: str | None = None


class ManifestConversion(GitHubObject):
    """What GitHub hands over, once, for a registered manifest."""

    id: int
    slug: str
    html_url: str
    client_id: str = ""
    client_secret: str | None = Field(default=None, repr=False)
    webhook_secret: str | None = Field(default=None, repr=False)
    pem: str = Field(repr=False)
