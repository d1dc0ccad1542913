"""What the parts of the bot report of their work, for whoever counts it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from bot.jobs.steps import Result, Steps


class Observer(Protocol):
    """Told of what happens."""

    def job_ended(self, kind: str, outcome: str) -> None:
        """A job ended, or was put off."""

    def stage_took(self, stage: str, seconds: float) -> None:
        """One attempt at a step of a job took so long."""

    def findings_said(self, rules: Iterable[str]) -> None:
        """Findings were said in review comments, one entry of `rules` for each."""

    def suppressed(self, rule: str, means: str) -> None:
        """Somebody dismissed a finding or a rule."""


class Unobserved:
    """Nobody counts."""

    def job_ended(self, kind: str, outcome: str) -> None:
        """See `Observer`."""

    def stage_took(self, stage: str, seconds: float) -> None:
        """See `Observer`."""

    def findings_said(self, rules: Iterable[str]) -> None:
        """See `Observer`."""

    def suppressed(self, rule: str, means: str) -> None:
        """See `Observer`."""


class TimedSteps:
    """Steps that report how long each attempt takes. What was done before a crash is not done, nor reported, again."""

    def __init__(self, steps: Steps, observer: Observer) -> None:
        self._steps = steps
        self._observer = observer

    async def run(self, name: str, model: type[Result], work: Callable[[], Awaitable[Result]]) -> Result:
        """See `Steps.run`."""

        async def timed() -> Result:
            start = time.monotonic()
            try:
                return await work()
            finally:
                self._observer.stage_took(name, time.monotonic() - start)

        return await self._steps.run(name, model, timed)
