"""Slash commands in the threads of a review, such as a reply to one of the bot's comments."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import ReviewCommentPayload
from bot.events.spoken import accept_command

router = routing.Router()


@router.register("pull_request_review_comment", action="created")
@router.register("pull_request_review_comment", action="edited")
async def run_command(event: sansio.Event, desk: Desk) -> None:
    """Run the command of a review comment. The answer goes into the conversation, where everyone sees it."""
    payload = ReviewCommentPayload.read(event.data)
    pull = payload.pull_request
    await accept_command(event, desk, payload, number=pull.number, author=pull.user, in_thread=True)
