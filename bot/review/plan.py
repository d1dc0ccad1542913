"""What to say: a pure decision over the report and over what was said before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot import markers, messages
from bot.github.models import Account, IssueComment, ReviewCommentObject
from bot.github.repository import is_own
from engine.findings import EstimateReport, ReviewComment, ReviewReport
from engine.presentation.markdown import code_span, prose
from engine.presentation.summary import summary_markdown

WORTH_BYTES = 64 * 2**20
WORTH_SHARE = 0.01
"""A change of peak memory below both is no news."""


@dataclass(frozen=True)
class SaidComment:
    """One of the bot's own comments on a finding."""

    node_id: str
    fingerprint: str
    path: str
    answered: bool
    """Whether a person replied: such a thread is theirs, and stays."""
    title: str = ""
    """The rule's name and code."""
    head_sha: str = ""
    """The push that it was written for."""


@dataclass(frozen=True)
class Said:
    """What the bot has said on a pull request so far."""

    comments: Sequence[SaidComment] = ()
    summary_id: int | None = None
    summary: str = ""
    folded: frozenset[str] = frozenset()

    @property
    def fingerprints(self) -> frozenset[str]:
        """Findings that need no further comment, those included whose comment somebody deleted."""
        shown = {comment.fingerprint for comment in self.comments if comment.node_id not in self.folded}
        return frozenset(shown | set(markers.said_in(self.summary)))

    def written_for(self, head_sha: str) -> int:
        """Return how many comments a push has already: those that an attempt left which a crash ended, too."""
        return sum(comment.head_sha == head_sha for comment in self.comments)


@dataclass(frozen=True)
class Plan:
    """What to publish beside the check run."""

    comments: Sequence[ReviewComment] = ()
    elsewhere: int = 0
    """New findings that the check run alone shows."""
    outdated: Sequence[SaidComment] = field(default=())
    """Own comments whose finding is gone."""


def what_was_said(
    review_comments: Iterable[ReviewCommentObject],
    conversation: Iterable[IssueComment],
    *,
    slug: str,
    app_id: int,
) -> Said:
    """Pick the bot's own texts: by author and mark, since a mark alone could be anybody's."""
    everything = list(review_comments)
    answered = {
        comment.in_reply_to_id
        for comment in everything
        if comment.in_reply_to_id is not None and not is_own(comment.user, slug)
    }
    comments = []
    for comment in everything:
        fingerprint = markers.finding_of(comment.body)
        if fingerprint is not None and is_own(comment.user, slug):
            title = markers.title_of(comment.body)
            answer, head_sha = comment.id in answered, comment.original_commit_id
            comments.append(SaidComment(comment.node_id, fingerprint, comment.path, answer, title, head_sha))
    for entry in conversation:
        body = entry.body or ""
        if body.startswith(markers.SUMMARY) and _by_app(entry, slug, app_id):
            return Said(tuple(comments), entry.id, body, frozenset(markers.folded_in(body)))
    return Said(tuple(comments))


def _by_app(comment: IssueComment, slug: str, app_id: int) -> bool:
    author: Account | None = comment.user
    if comment.performed_via_github_app is not None:
        return comment.performed_via_github_app.id == app_id and author is not None and author.is_bot
    return is_own(author, slug)


def plan(report: ReviewReport, said: Said, limit: int, silent: Iterable[str] = ()) -> Plan:
    """Choose new comments, and the own ones that became stale. The `silent` findings get none."""
    known = said.fingerprints | frozenset(silent)
    fresh = [comment for comment in report.review_comments if comment.fingerprint not in known]
    chosen = fresh[:limit]
    commented = {comment.fingerprint for comment in chosen}
    elsewhere = [
        finding
        for finding in report.introduced
        if finding.fingerprint not in commented and finding.fingerprint not in known
    ]
    return Plan(tuple(chosen), len(elsewhere), tuple(_outdated(report, said)))


def _outdated(report: ReviewReport, said: Said) -> Iterable[SaidComment]:
    present = {finding.fingerprint for finding in report.introduced}
    if not all(file.is_file for file in report.failed):
        # Whatever a rule that did not run has said may still hold.
        return
    # Of a file that could not be read nothing is known, so nothing about it is stale.
    failed = {file.path for file in report.failed}
    for comment in said.comments:
        gone = comment.fingerprint not in present and comment.path not in failed
        if gone and not comment.answered and comment.node_id not in said.folded:
            yield comment


def summary_text(
    report: ReviewReport, said: Said, posted: Sequence[str], folded: Sequence[str], sections: str = ""
) -> str | None:
    """Return the sticky comment as it should be, or None where there should be none.

    `posted` are the fingerprints of this push's comments, `folded` the comments that it folded away, `sections` what
    stands below the engine's words.
    """
    if said.summary_id is None and not worth_a_comment(report):
        return None
    present = {finding.fingerprint for finding in report.introduced}
    failed = bool(report.failed)
    remembered = [
        fingerprint
        for fingerprint in dict.fromkeys((*sorted(said.fingerprints), *posted))
        if failed or fingerprint in present
    ]
    text = report.summary_markdown
    known, since = (present & said.fingerprints) - set(posted), _gone(said, present, folded)
    if known or since:
        parts = (report.introduced, report.fixed, report.existing, report.memory, report.failed, report.entry_points)
        text = "\n\n".join(part for part in (summary_markdown(*parts, known=known, since=since), sections) if part)
    if not text.strip():
        text = messages.all_clear(len(report.fixed))
    return messages.summary_comment(text, remembered, sorted({*said.folded, *folded}))


def _gone(said: Said, present: Collection[str], folded: Sequence[str]) -> list[str]:
    """Return a line for each finding that was said in a comment, and is gone."""
    away = {*said.folded, *folded}
    gone = {
        each.fingerprint: f"- {code_span(each.path)} ~~{prose(each.title)}~~"
        for each in said.comments
        if each.node_id in away and each.fingerprint not in present and each.title
    }
    return list(gone.values())


def worth_a_comment(report: ReviewReport) -> bool:
    """Tell whether a pull request that has no summary yet should get one: a clean one gets none."""
    programs = report.entry_points or (report.memory,)
    return bool(report.introduced) or any(memory_is_news(each.base, each.head) for each in programs)


def memory_is_news(base: EstimateReport | None, head: EstimateReport | None) -> bool:
    """Tell whether the peak memory changed noticeably, or no longer fits where it should."""
    if head is None or head.memory is None:
        return False
    before = {target.gpu: target.verdict for target in base.targets} if base else {}
    for target in head.targets:
        if target.verdict in ("does-not-fit", "borderline") and before.get(target.gpu) != target.verdict:
            return True
    if base is None or base.memory is None:
        return False
    former, present = base.memory.occupied.expected, head.memory.occupied.expected
    return abs(present - former) > max(WORTH_BYTES, WORTH_SHARE * former)


def comment_fields(comment: ReviewComment) -> Mapping[str, Any]:
    """Return a review comment as GitHub takes it: no `start_line` for one line, and the mark in the text."""
    mark = markers.finding(comment.fingerprint)
    body = comment.body
    if mark not in body:
        body = f"{messages.cut(body, messages.BODY_LIMIT - len(mark) - 2)}\n\n{mark}"
    fields: dict[str, Any] = {"path": comment.path, "line": comment.line, "side": comment.side, "body": body}
    if comment.start_line is not None and comment.start_line < comment.line:
        fields |= {"start_line": comment.start_line, "start_side": comment.side}
    return fields
