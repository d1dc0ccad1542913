"""`/preflight review`: review the present head again."""

from __future__ import annotations

from bot import messages
from bot.commands.command import Call, SlashCommand
from bot.intents import ReviewIntent


async def run(call: Call) -> str:
    """Review, whatever was reviewed before, and say what came of it."""
    intent = ReviewIntent(repository=call.intent.repository, number=call.intent.number, reason="command", force=True)
    outcome = await call.pipeline.review(intent, call.steps)
    pull = await call.repository.pull(call.intent.number)
    return messages.reviewed_again(call.pipeline.check_name, pull.head.sha, outcome)


command = SlashCommand("review", "/preflight review", "reviews the newest commit again", run)
