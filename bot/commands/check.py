"""`/preflight check`: review the present head again."""

from __future__ import annotations

from bot.commands import answers
from bot.commands.command import Call, SlashCommand


async def run(call: Call) -> str:
    """Order a review, whatever was reviewed before."""
    pull = await call.repository.pull(call.intent.number)
    if not pull.is_open:
        return answers.CLOSED
    await call.review_again()
    return answers.reviewing(call.pipeline.check_name, pull.head.sha)


command = SlashCommand(
    "check", "/preflight check", "reviews the newest commit again", run, aliases=("review", "recheck", "rerun")
)
