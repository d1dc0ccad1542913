"""What event handlers may ask for: this is all they know of the rest of the bot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.jobs.intents import Intent


class Desk(Protocol):
    """Takes the decisions of the event handlers."""

    async def accept(self, delivery: str, intent: Intent, *, delay_seconds: float = 0.0) -> None:
        """Store a job durably. The delivery's GUID makes a repetition harmless."""

    @property
    def synchronize_delay_seconds(self) -> float:
        """How long a push waits for the next one."""

    async def forget_words(self, installation_id: int, repository_ids: Sequence[int] | None) -> None:
        """Drop what people told the bot in an installation, or in some of its repositories, and its reports there."""

    def forget_installation(self, installation_id: int) -> None:
        """Drop tokens and answers kept for an installation."""

    def forget_configuration(self, owner: str, name: str | None) -> None:
        """Drop the kept configuration of a repository, or with None of all of an owner."""

    async def pull_closed(self, repository_id: int, number: int) -> None:
        """Note that a pull request was closed: its findings are open no longer."""

    async def pull_reopened(self, repository_id: int, number: int) -> None:
        """Note that a pull request is open again."""
