"""Slash commands in the conversation of a pull request."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.commands.parsing import Command, find_command
from bot.events.desk import Desk
from bot.events.payloads import IssueCommentPayload
from bot.events.spoken import accept_command

router = routing.Router()


@router.register("issue_comment", action="created")
async def run_command(event: sansio.Event, desk: Desk) -> None:
    """Run the command of a new comment."""
    payload = IssueCommentPayload.read(event.data)
    await _accept(event, desk, payload, find_command(payload.comment.body or ""))


@router.register("issue_comment", action="edited")
async def run_edited_command(event: sansio.Event, desk: Desk) -> None:
    """Run a command that an edit brought in or changed."""
    payload = IssueCommentPayload.read(event.data)
    command = find_command(payload.comment.body or "")
    if payload.former_body is not None and command != find_command(payload.former_body):
        await _accept(event, desk, payload, command)


async def _accept(event: sansio.Event, desk: Desk, payload: IssueCommentPayload, command: Command | None) -> None:
    if payload.issue.pull_request is not None:
        await accept_command(
            event, desk, payload, payload.comment, command, number=payload.issue.number, author=payload.issue.user
        )
