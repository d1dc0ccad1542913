"""Slash commands in the conversation of a pull request."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import IssueCommentPayload
from bot.events.spoken import accept_command

router = routing.Router()


@router.register("issue_comment", action="created")
@router.register("issue_comment", action="edited")
async def run_command(event: sansio.Event, desk: Desk) -> None:
    """Run the command of a new comment, or the one that an edit brought in or changed."""
    payload = IssueCommentPayload.read(event.data)
    if payload.issue.pull_request is not None:
        await accept_command(event, desk, payload, number=payload.issue.number, author=payload.issue.user)
