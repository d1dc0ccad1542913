"""What a command is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.github.repository import Repository
from bot.intents import CommandIntent
from bot.review.pipeline import ReviewPipeline
from bot.steps import Steps


@dataclass(frozen=True)
class Call:
    """One use of a command, by a person who may use it."""

    intent: CommandIntent
    repository: Repository
    pipeline: ReviewPipeline
    steps: Steps


@dataclass(frozen=True)
class SlashCommand:
    """A command: its name, how it is written, what it does, and the function that returns the answer's Markdown."""

    name: str
    form: str
    meaning: str
    run: Callable[[Call], Awaitable[str]]
