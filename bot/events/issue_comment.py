"""Slash commands in the conversation of a pull request."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.commands.parsing import Command, find_command
from bot.events.desk import Desk
from bot.events.payloads import IssueCommentPayload
from bot.intents import CommandIntent

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
    person = payload.sender
    if command is None or payload.key is None or payload.issue.pull_request is None or person is None:
        return
    by_a_program = payload.comment.performed_via_github_app is not None
    if person.is_bot or by_a_program or (payload.comment.user is not None and payload.comment.user.is_bot):
        # Bots that answer each other do not stop.
        return
    intent = CommandIntent(
        repository=payload.key,
        number=payload.issue.number,
        comment_id=payload.comment.id,
        login=person.login,
        is_author=payload.issue.user is not None and payload.issue.user.id == person.id,
        command=command.name,
        arguments=command.arguments,
    )
    await desk.accept(event.delivery_id, intent)
