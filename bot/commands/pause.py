"""`/preflight pause` and `resume`: no reviews of this pull request for a while."""

from __future__ import annotations

from bot.commands import answers
from bot.commands.command import Call, SlashCommand


async def pause(call: Call) -> str:
    """Remember the pause; pushes still get a check run, which says so."""
    await call.pipeline.remembered.pause(call.intent.repository, call.intent.number, call.intent.login)
    return answers.PAUSED


async def resume(call: Call) -> str:
    """Forget the pause, and review what was pushed meanwhile."""
    if not await call.pipeline.remembered.resume(call.intent.repository, call.intent.number):
        return answers.NOT_PAUSED
    await call.review_again()
    return answers.RESUMED


pause_command = SlashCommand(
    "pause", "/preflight pause", "stops the reviews of this pull request", pause, who="write", aliases=("stop",)
)
resume_command = SlashCommand(
    "resume", "/preflight resume", "goes on with them", resume, who="write", aliases=("unpause", "start")
)
