"""Slash commands: one module a command. Composed here."""

from __future__ import annotations

from difflib import get_close_matches

from bot.commands import check, compare, config, estimate, explain, gpus, help, ignore, pause
from bot.commands.command import SlashCommand

_WORKING = (
    check.command,
    estimate.command,
    compare.command,
    explain.command,
    gpus.command,
    config.command,
    ignore.ignore_command,
    ignore.unignore_command,
    pause.pause_command,
    pause.resume_command,
)
HELP = help.make(_WORKING)
COMMANDS: dict[str, SlashCommand] = {
    name: command for command in (HELP, *_WORKING) for name in (command.name, *command.aliases)
}


def closest(name: str) -> str | None:
    """Return the command that somebody probably meant."""
    found = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    return COMMANDS[found[0]].name if found else None
