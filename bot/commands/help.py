"""`/preflight help`: which commands there are."""

from __future__ import annotations

from bot.commands import answers
from bot.commands.command import Call, SlashCommand


def make(others: tuple[SlashCommand, ...]) -> SlashCommand:
    """Return the command that lists `others` and itself."""

    async def run(call: Call) -> str:
        return answers.usage([(command.form, command.meaning) for command in (itself, *others)])

    itself = SlashCommand("help", "/preflight help", "shows this table", run)
    return itself
