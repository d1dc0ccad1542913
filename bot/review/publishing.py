"""Writing a review to GitHub. Each part may be done again after a crash, and then says nothing twice."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import gidgethub

from bot import messages
from bot.clock import Clock
from bot.github.errors import is_refused
from bot.github.models import CheckRun, IssueComment
from bot.github.repository import Output, Repository
from bot.review import plan as planning
from bot.review.annotating import Overtaken, append_all_but_last, outstanding
from bot.review.plan import Plan, Said
from engine.findings import Annotation, ReviewReport

logger = logging.getLogger(__name__)


async def said_so_far(repository: Repository, number: int, *, slug: str, app_id: int) -> Said:
    """Read back the bot's own texts."""
    comments = await repository.review_comments(number)
    conversation: Sequence[IssueComment] = await repository.issue_comments(number)
    return planning.what_was_said(comments, conversation, slug=slug, app_id=app_id)


async def publish_review(repository: Repository, number: int, head_sha: str, wanted: Plan) -> bool:
    """Post the new comments as one review, and return whether GitHub took it.

    One comment that GitHub cannot place makes it refuse all, without a word about which; then the check run's
    annotations, which need no place in the diff, stand alone.
    """
    if not wanted.comments:
        return False
    comments = [planning.comment_fields(comment) for comment in wanted.comments]
    body = messages.review_body(len(comments), wanted.elsewhere)
    try:
        await repository.create_review(number, head_sha, body, comments)
    except gidgethub.BadRequest as error:
        if not is_refused(error):
            raise
        logger.warning("review of %s/%s#%d refused: %s", repository.owner, repository.name, number, error)
        return False
    return True


async def fold_outdated(repository: Repository, wanted: Plan) -> tuple[str, ...]:
    """Fold away comments whose finding is gone, and return their node ids. It is a courtesy: refusal is no failure."""
    nodes = [comment.node_id for comment in wanted.outdated if comment.node_id]
    if not nodes:
        return ()
    try:
        await repository.minimise_outdated(nodes)
    except gidgethub.GraphQLException as error:
        logger.warning("folding refused: %s", error)
        return ()
    return tuple(nodes)


async def publish_summary(repository: Repository, number: int, said: Said, text: str | None) -> None:
    """Bring the sticky comment up to date; edits send no mail, and nothing is sent where nothing changed."""
    if text is None or text == said.summary:
        return
    # GitHub stores line ends as it likes.
    if text.strip() == said.summary.replace("\r\n", "\n").strip():
        return
    try:
        if said.summary_id is None:
            await repository.create_comment(number, text)
        else:
            await repository.edit_comment(said.summary_id, text)
    except gidgethub.BadRequest as error:
        if not is_refused(error):
            raise
        logger.warning("summary of %s/%s#%d refused: %s", repository.owner, repository.name, number, error)


async def begin_check(
    repository: Repository, clock: Clock, *, name: str, head_sha: str, external_id: str, runs: Sequence[CheckRun]
) -> int:
    """Return the id of a check run in progress: one that a crash left behind, or a new one."""
    for run in runs:
        if run.status != "completed" and run.external_id == external_id:
            return run.id
    created = await repository.create_check_run(
        name,
        head_sha,
        status="in_progress",
        external_id=external_id,
        started_at=_moment(clock),
        output=Output(messages.IN_PROGRESS_TITLE, messages.IN_PROGRESS_SUMMARY).body(),
    )
    return created.id


async def complete_check(
    repository: Repository,
    clock: Clock,
    run_id: int,
    *,
    conclusion: str,
    title: str,
    summary: str,
    text: str | None = None,
    annotations: Sequence[Annotation] = (),
    ignorable: bool = False,
    page: str | None = None,
    overtaken: Overtaken | None = None,
) -> None:
    """Complete a check run, its annotations in as many requests as it takes; `page` is where its details link leads.

    The last of them completes it: until then whoever waits for the check waits for all of it.
    """
    missing = await outstanding(repository, run_id, annotations)
    last = await append_all_but_last(repository, run_id, missing, overtaken)

    def output(part: Sequence[Any]) -> dict[str, Any]:
        return Output(title[: messages.TITLE_LIMIT], messages.cut(summary, messages.CHECK_LIMIT), text, part).body()

    ending: dict[str, Any] = {
        "status": "completed",
        "conclusion": conclusion,
        "completed_at": _moment(clock),
        "actions": messages.check_actions(ignorable),
    }
    if page is not None:
        ending["details_url"] = page
    try:
        await repository.update_check_run(run_id, **ending, output=output(last))
    except gidgethub.BadRequest as error:
        if not last or not is_refused(error):
            raise
        # The verdict must not be lost over a place that GitHub does not take: the summary names all findings.
        logger.warning("annotations of check run %d refused: %s", run_id, error)
        await repository.update_check_run(run_id, **ending, output=output(()))


def check_summary(report: ReviewReport) -> str:
    """Return the text of the check run."""
    return report.summary_markdown.strip() or messages.NO_FINDINGS_SUMMARY


def _moment(clock: Clock) -> str:
    return datetime.fromtimestamp(clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
