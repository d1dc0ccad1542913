"""What a command is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from bot.github.repository import Repository
from bot.jobs.intents import CommandIntent, ReviewIntent
from bot.review.pipeline import ReviewPipeline

Who = Literal["author", "write"]
"""Who may use a command: the pull request's author and people with write access, or the latter alone."""


@dataclass(frozen=True)
class Call:
    """One use of a command, by a person who may use it."""

    intent: CommandIntent
    repository: Repository
    pipeline: ReviewPipeline
    slug: str
    """The App's, whose own comments are `<slug>[bot]`'s."""
    order: Callable[[ReviewIntent], Awaitable[None]]
    """Stores a review as a job of its own: an answer does not wait for it."""
    suppressed: Callable[[str, str], None]
    """Counts a suppression by rule and means."""

    async def review_again(self) -> None:
        """Order a review of the newest commit, whatever was reviewed before."""
        await self.order(
            ReviewIntent(
                repository=self.intent.repository,
                number=self.intent.number,
                reason=f"command {self.intent.command}",
                force=True,
                by_person=True,
            )
        )


@dataclass(frozen=True)
class SlashCommand:
    """A command: its name, how it is written, what it does, and the function that returns the answer's Markdown."""

    name: str
    form: str
    meaning: str
    run: Callable[[Call], Awaitable[str]]
    who: Who = "author"
    aliases: tuple[str, ...] = ()
