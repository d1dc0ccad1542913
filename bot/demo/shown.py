"""What the terminal and the page show of a review, gathered from the stand-in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.standin import CheckRun, Comment, PullRequest, Review, ReviewComment, StandIn
from bot.standin.anchors import DiffLine, hunks_of
from bot.standin.git import ChangedFile, UnknownRevision

CONTEXT_LINES = 3
"""Lines of the diff that GitHub shows above a commented line."""


REACTIONS = {
    "+1": "👍",
    "-1": "👎",
    "laugh": "😄",
    "confused": "😕",
    "heart": "❤️",
    "hooray": "🎉",
    "rocket": "🚀",
    "eyes": "👀",
}


@dataclass(frozen=True)
class Thread:
    """A review comment with the piece of the diff above it, the lines it is about, and the answers to it."""

    top: ReviewComment
    replies: Sequence[ReviewComment]
    diff: Sequence[DiffLine]
    replaced: Sequence[str]

    @property
    def place(self) -> str:
        first, last = self.top.original_start_line, self.top.original_line
        if last is None:
            return self.top.path
        return f"{self.top.path}:{first}-{last}" if first else f"{self.top.path}:{last}"


def thread(github: StandIn, top: ReviewComment) -> Thread:
    hunks = hunks_of(top.diff_hunk)
    lines = hunks[0].lines if hunks else ()
    covered = (top.original_line or 1) - (top.original_start_line or top.original_line or 1)
    replies = [entry for entry in github.review_comments if entry.in_reply_to == top.id]
    return Thread(top, replies, lines[-(CONTEXT_LINES + 1 + covered) :], replaced_lines(top))


def replaced_lines(comment: ReviewComment) -> list[str]:
    """The lines that a suggestion block in the comment replaces."""
    if comment.original_line is None or comment.side == "LEFT":
        return []
    text = file_lines(comment.pull, comment.original_commit_sha, comment.path)
    return text[(comment.original_start_line or comment.original_line) - 1 : comment.original_line]


def file_lines(pull: PullRequest, commit: str, path: str) -> list[str]:
    git = pull.repository.git
    try:
        kind, sha = git.object_at(commit, path)
    except UnknownRevision:
        return []
    return git.blob(sha).decode(errors="replace").split("\n") if kind == "blob" else []


@dataclass(frozen=True)
class Shown:
    """A pull request and what was said on it."""

    github: StandIn
    pull: PullRequest

    @property
    def check(self) -> CheckRun | None:
        """The latest run on the head."""
        runs = [run for run in self.github.checks if run.head_sha == self.pull.head_sha]
        return runs[-1] if runs else None

    @property
    def comments(self) -> list[Comment]:
        return [comment for comment in self.github.comments if comment.pull is self.pull]

    @property
    def reviews(self) -> list[Review]:
        """Submitted reviews; answers in threads are shown in their threads."""
        return [
            review
            for review in self.github.reviews
            if review.pull is self.pull
            and review.event
            and (review.body or any(not c.in_reply_to for c in review.comments))
        ]

    @property
    def threads(self) -> list[Thread]:
        tops = [entry for entry in self.github.review_comments if entry.pull is self.pull and not entry.in_reply_to]
        return [thread(self.github, top) for top in tops]

    def threads_of(self, review: Review) -> list[Thread]:
        return [entry for entry in self.threads if entry.top.review_id == review.id]

    @property
    def timeline(self) -> list[Comment | Review]:
        entries: list[Comment | Review] = [*self.comments, *self.reviews]
        return sorted(entries, key=lambda entry: entry.id)

    @property
    def files(self) -> list[ChangedFile]:
        return self.pull.files()

    def reactions(self, comment: Comment) -> list[str]:
        """The pictures under a comment of the conversation."""
        found = [entry for entry in self.github.reactions if entry.subject == comment.id and entry.kind == "issue"]
        return [REACTIONS.get(entry.content, entry.content) for entry in found]

    @property
    def requests(self) -> tuple[int, int]:
        """How many requests the bot made, and how many of them wrote something."""
        writes = sum(call.method != "GET" and call.operation != "graphql" for call in self.github.log)
        return len(self.github.log), writes
