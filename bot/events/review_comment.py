"""Slash commands in the threads of a review, such as a reply to one of the bot's comments."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.commands.parsing import find_command
from bot.events.desk import Desk
from bot.events.payloads import ReviewCommentPayload
from bot.events.spoken import accept_command

router = routing.Router()


@router.register("pull_request_review_comment", action="created")
async def run_command(event: sansio.Event, desk: Desk) -> None:
    """Run the command of a new review comment. The answer goes into the conversation, where everyone sees it."""
    payload = ReviewCommentPayload.read(event.data)
    pull = payload.pull_request
    command = find_command(payload.comment.body or "")
    await accept_command(
        event, desk, payload, payload.comment, command, number=pull.number, author=pull.user, in_thread=True
    )
