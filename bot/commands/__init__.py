"""Slash commands: one module a command. Composed here."""

from __future__ import annotations

from bot.commands import estimate, help, review
from bot.commands.command import SlashCommand

_WORKING = (review.command, estimate.command)
HELP = help.make(_WORKING)
COMMANDS: dict[str, SlashCommand] = {command.name: command for command in (HELP, *_WORKING)}
