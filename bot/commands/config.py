"""`/preflight config`: which settings are in force, and where each was read."""

from __future__ import annotations

from bot.commands import answers
from bot.commands.command import Call, SlashCommand


async def run(call: Call) -> str:
    """Show the settings that hold for this pull request: those of its base branch."""
    pull = await call.repository.pull(call.intent.number)
    loaded = await call.pipeline.configurations.load(call.repository, pull.base.ref)
    return answers.configuration(loaded, pull.base.ref)


command = SlashCommand("config", "/preflight config", "shows the settings in force, with file and line", run)
