"""Jobs as their handlers see them: made of steps of which each is finished once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from pydantic import BaseModel

from bot.jobs.intents import Intent

Result = TypeVar("Result", bound=BaseModel)


class StepFailed(Exception):
    """A step failed for a reason that repeating it does not mend; `reason` is for people."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(f"{step}: {reason}")
        self.reason = reason


class PutOff(Exception):
    """GitHub's limit ends so late that the job should leave its worker to others, and begin again then.

    Whoever began something that must be ended by the job that comes `instead` says so there.
    """

    def __init__(self, epoch_seconds: float) -> None:
        super().__init__(f"put off until {epoch_seconds:.0f}")
        self.epoch_seconds = epoch_seconds
        self.instead: Intent | None = None


class Steps(Protocol):
    """Runs the parts of a job so that a finished part is not done again after a crash."""

    async def run(self, name: str, model: type[Result], work: Callable[[], Awaitable[Result]]) -> Result:
        """Run `work` until it has ended once, and return its result, also when asked again after a restart.

        Raises:
            StepFailed: when it cannot succeed.
            PutOff: when it can only much later.
        """


class Handler(Protocol):
    """Carries out jobs. The same job may be started again after a crash: its steps say what is done already."""

    async def handle(self, job_id: str, intent: Intent, steps: Steps) -> str:
        """Carry out a job and return in a few words what came of it."""
