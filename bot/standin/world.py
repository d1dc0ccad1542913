"""``World``: what a GitHub of local repositories knows, and what people do there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path

from bot.standin.anchors import anchor, moved
from bot.standin.app import App, installation_token
from bot.standin.git import GitFolder, UnknownRevision
from bot.standin.refusals import not_found
from bot.standin.state import (
    Call,
    CheckRun,
    CheckSuite,
    Comment,
    Delivery,
    PullRequest,
    Reaction,
    Repository,
    Review,
    ReviewComment,
    Token,
)

API_VERSIONS = ("2022-11-28", "2026-03-10")


@dataclass(kw_only=True, eq=False)
class World:
    """The state behind every answer; plain records, changed by what people and Apps do."""

    app: App = field(default_factory=App)
    webhook_url: str | None = None
    clock: Callable[[], float] = time.time
    enterprise: bool = False
    permissions: InitVar[dict[str, str] | None] = None
    api_versions: Sequence[str] = API_VERSIONS
    most_tree_entries: int = 100_000
    latency_seconds: float = 0.0
    """What each answer takes at least."""

    repositories: list[Repository] = field(default_factory=list, init=False)
    pulls: list[PullRequest] = field(default_factory=list, init=False)
    suites: list[CheckSuite] = field(default_factory=list, init=False)
    checks: list[CheckRun] = field(default_factory=list, init=False)
    reviews: list[Review] = field(default_factory=list, init=False)
    review_comments: list[ReviewComment] = field(default_factory=list, init=False)
    comments: list[Comment] = field(default_factory=list, init=False)
    reactions: list[Reaction] = field(default_factory=list, init=False)
    deliveries: list[Delivery] = field(default_factory=list, init=False)
    log: list[Call] = field(default_factory=list, init=False)
    tokens: dict[str, Token] = field(default_factory=dict, init=False)
    people: set[str] = field(default_factory=lambda: {"octocat"}, init=False)
    manifest_codes: set[str] = field(default_factory=lambda: {"standin-manifest-code"}, init=False)
    suspended: set[int] = field(default_factory=set, init=False)
    redelivery_queue: list[Delivery] = field(default_factory=list, init=False)
    web_url: str = field(default="", init=False)
    pull_page: str | None = field(default=None, init=False)
    """Where somebody shows the pull request as a page, if anybody does."""
    _old_names: dict[str, Repository] = field(default_factory=dict, init=False)
    _last_id: int = field(default=1000, init=False)

    def __post_init__(self, permissions: dict[str, str] | None) -> None:
        if permissions is not None:
            self.app.permissions = {"metadata": "read", **permissions}

    # ---- addresses

    @property
    def prefix(self) -> str:
        return "/api/v3" if self.enterprise else ""

    @property
    def graphql_path(self) -> str:
        return "/api/graphql" if self.enterprise else "/graphql"

    @property
    def url(self) -> str:
        """Base of the REST API, without a slash at the end."""
        return f"{self.web_url}{self.prefix}"

    @property
    def graphql_url(self) -> str:
        return f"{self.web_url}{self.graphql_path}"

    # ---- making state

    def new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def add_repository(
        self,
        path: Path,
        *,
        owner: str = "acme",
        name: str | None = None,
        private: bool = False,
        installed: bool = True,
        default_branch: str | None = None,
    ) -> Repository:
        git = GitFolder(path)
        same_owner = [entry.installation_id for entry in self.repositories if entry.owner == owner]
        repository = Repository(
            id=self.new_id(),
            owner=owner,
            name=name or path.resolve().name.removesuffix(".git"),
            private=private,
            default_branch=default_branch or git.default_branch(),
            installation_id=same_owner[0] if same_owner else self.new_id(),
            installed=installed,
            git=git,
        )
        self.repositories.append(repository)
        return repository

    def open_pull(
        self,
        repository: Repository,
        *,
        base: str,
        head: str,
        title: str = "",
        body: str = "",
        author: str = "octocat",
        draft: bool = False,
        fork: bool = False,
    ) -> PullRequest:
        git = repository.git
        self.people.add(author)
        number = 1 + sum(pull.repository is repository for pull in self.pulls)
        head_sha = git.commit_sha(head)
        pull = PullRequest(
            id=self.new_id(),
            number=number,
            repository=repository,
            title=title or git.commit(head_sha).message.partition("\n")[0],
            body=body,
            author=author,
            base=base,
            base_sha=git.commit_sha(base),
            head=head if git.is_branch(head) else f"change-{number}",
            head_sha=head_sha,
            draft=draft,
            fork=fork,
            opened_at=self.clock(),
            updated_at=self.clock(),
        )
        self.pulls.append(pull)
        if not fork:
            self.suite_for(repository, head_sha)
        return pull

    def push(self, pull: PullRequest, head: str) -> None:
        """Moves the head. Open comments follow their lines; where those changed, the comments are outdated."""
        pull.previous_sha, pull.head_sha = pull.head_sha, pull.repository.git.commit_sha(head)
        pull.updated_at = self.clock()
        if not pull.fork:
            self.suite_for(pull.repository, pull.head_sha)
        for comment in self.review_comments:
            if comment.pull is pull:
                self.follow(comment)

    def follow(self, comment: ReviewComment) -> None:
        """Re-anchors a comment to the head of its pull request."""
        pull = comment.pull
        if comment.commit_sha == pull.head_sha or comment.line is None:
            return
        git = pull.repository.git
        line, start = comment.line, comment.start_line
        target: int | None = line
        target_start = start
        if comment.side == "RIGHT":
            changes = {file.path: file for file in git.diff(comment.commit_sha, pull.head_sha)}
            if (file := changes.get(comment.path)) is not None:
                target = moved(file.patch, line) if file.patch else None
                target_start = moved(file.patch, start) if file.patch and start is not None else None
        place = anchor(pull.patch(comment.path), target, comment.side, target_start, comment.start_side)
        if isinstance(place, str) or (start is not None and target_start is None):
            comment.line = comment.start_line = comment.position = None
            return
        comment.line, comment.start_line, comment.position = target, target_start, place.position
        comment.commit_sha, comment.diff_hunk = pull.head_sha, place.diff_hunk

    def retarget(self, pull: PullRequest, base: str) -> None:
        pull.base, pull.base_sha = base, pull.repository.git.commit_sha(base)
        pull.updated_at = self.clock()

    def close_pull(self, pull: PullRequest, merged: bool = False) -> None:
        pull.state, pull.merged, pull.updated_at = "closed", merged, self.clock()

    def mark_ready(self, pull: PullRequest) -> None:
        pull.draft, pull.updated_at = False, self.clock()

    def delete_fork(self, pull: PullRequest) -> None:
        pull.fork_deleted = True

    def add_comment(self, pull: PullRequest, author: str, body: str) -> Comment:
        self.people.add(author)
        now = self.clock()
        comment = Comment(self.new_id(), pull, author, author.endswith("[bot]"), body, now, now)
        self.comments.append(comment)
        return comment

    def edit_comment(self, comment: Comment, body: str) -> None:
        comment.edits.append(comment.body)
        comment.body, comment.updated_at = body, self.clock()

    def add_reply(self, review_comment: ReviewComment, author: str, body: str) -> ReviewComment:
        self.people.add(author)
        return self.reply_to(review_comment, author, body)

    def reply_to(self, top: ReviewComment, author: str, body: str) -> ReviewComment:
        now, bot = self.clock(), author.endswith("[bot]")
        review = Review(self.new_id(), top.pull, author, bot, "", "COMMENT", top.commit_sha, now)
        comment = ReviewComment(
            id=self.new_id(),
            pull=top.pull,
            review_id=review.id,
            author=author,
            is_bot=bot,
            path=top.path,
            body=body,
            side=top.side,
            line=top.line,
            start_line=top.start_line,
            start_side=top.start_side,
            diff_hunk=top.diff_hunk,
            position=top.position,
            commit_sha=top.commit_sha,
            original_commit_sha=top.original_commit_sha,
            original_line=top.original_line,
            original_start_line=top.original_start_line,
            created_at=now,
            updated_at=now,
            in_reply_to=top.in_reply_to or top.id,
            subject=top.subject,
        )
        review.comments.append(comment)
        self.reviews.append(review)
        self.review_comments.append(comment)
        return comment

    def thread(self, thread_id: str) -> list[ReviewComment]:
        return [comment for comment in self.review_comments if comment.thread_id == thread_id]

    def resolve(self, review_comment: ReviewComment, by: str | None) -> None:
        """Resolves the thread of a comment; ``by=None`` opens it again."""
        for comment in self.thread(review_comment.thread_id):
            comment.resolved_by = by

    def rename(self, repository: Repository, name: str) -> None:
        """Gives a repository a new name; the old one redirects."""
        self._old_names[repository.full_name.lower()] = repository
        repository.name = name

    def renamed(self, owner: str, name: str) -> Repository | None:
        return self._old_names.get(f"{owner}/{name}".lower())

    def set_permission(self, repository: Repository, login: str, role: str) -> None:
        self.people.add(login)
        repository.permissions[login] = role

    def suite_for(self, repository: Repository, sha: str) -> CheckSuite:
        for suite in self.suites:
            if suite.repository is repository and suite.head_sha == sha:
                return suite
        branches = [pull.head for pull in self.pulls if pull.head_sha == sha and not pull.fork]
        suite = CheckSuite(self.new_id(), repository, sha, branches[0] if branches else None, self.clock())
        self.suites.append(suite)
        return suite

    # ---- credentials

    def jwt(self, seconds: int = 540) -> str:
        return self.app.sign(self.clock(), seconds)

    def installation_token(self, repository: Repository, permissions: dict[str, str] | None = None) -> str:
        granted = {"metadata": "read", **(self.app.permissions if permissions is None else permissions)}
        value = installation_token(self.app.id)
        self.tokens[value] = Token(value, repository.installation_id, granted, None, self.clock() + 3600)
        return value

    def expire_tokens(self) -> None:
        for token in self.tokens.values():
            token.expires_at = 0

    def installations(self) -> list[int]:
        return sorted({entry.installation_id for entry in self.repositories if entry.installed})

    def installation_owner(self, installation_id: int) -> str:
        return next(entry.owner for entry in self.repositories if entry.installation_id == installation_id)

    def reaches(self, token: Token, repository: Repository) -> bool:
        chosen = token.repository_ids
        return (
            repository.installed
            and repository.installation_id == token.installation_id
            and (chosen is None or repository.id in chosen)
        )

    def find_repository(self, owner: str, name: str) -> Repository | None:
        wanted = f"{owner}/{name}".lower()
        return next((entry for entry in self.repositories if entry.full_name.lower() == wanted), None)

    def resolve_revision(self, repository: Repository, revision: str) -> str:
        """A commit by sha, branch, ``refs/...`` or ``refs/pull/N/head``; a refusal with 404 where there is none."""
        parts = revision.split("/")
        if parts[:2] == ["refs", "pull"] and parts[3:] == ["head"]:
            heads = [
                entry.head_sha
                for entry in self.pulls
                if entry.repository is repository and str(entry.number) == parts[2]
            ]
            if heads:
                return heads[0]
        try:
            return repository.git.commit_sha(revision)
        except UnknownRevision:
            raise not_found() from None

    # ---- what a test looks at

    def stale_reads(self, pull: PullRequest, count: int) -> None:
        pull.stale_reads = count

    def calls(self, operation: str) -> list[Call]:
        return [call for call in self.log if call.operation == operation]
