"""Carrying out jobs: which intent is whose work."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

import gidgethub
from pydantic import BaseModel

from bot import messages
from bot.commands import COMMANDS, HELP
from bot.commands.command import Call
from bot.github.connection import GitHub
from bot.github.errors import is_missing, is_refused
from bot.github.models import CheckRun
from bot.github.repository import Output, Repository, is_own
from bot.intents import CommandIntent, Intent, MergeGroupIntent, RerunIntent, ReviewIntent, pull_number
from bot.review import markers
from bot.review.pipeline import ReviewPipeline
from bot.review.stages import Done
from bot.steps import Steps

logger = logging.getLogger(__name__)

MAY_COMMAND = frozenset({"admin", "write"})


class Accept(Protocol):
    """Stores a further job."""

    def __call__(self, job_id: str, intent: Intent) -> Awaitable[None]:
        """Store it under an id that makes a repetition harmless."""


class _Numbers(BaseModel):
    numbers: tuple[int, ...] = ()


class _Admitted(BaseModel):
    admitted: bool = False


class _Answer(BaseModel):
    text: str = ""


class JobHandler:
    """The bot's `Handler`."""

    def __init__(
        self,
        github: GitHub,
        pipeline: ReviewPipeline,
        accept: Accept,
        count: Callable[[str, str], None] = lambda _kind, _outcome: None,
    ) -> None:
        self._github = github
        self._pipeline = pipeline
        self._accept = accept
        self._count = count

    async def handle(self, job_id: str, intent: Intent, steps: Steps) -> str:
        """Carry out one job."""
        try:
            outcome = await self._handle(job_id, intent, steps)
        except Exception:
            self._count(intent.kind, "failed")
            raise
        self._count(intent.kind, "done")
        logger.info("%s %s of %s/%s: %s", intent.kind, job_id, intent.repository.owner, intent.repository.name, outcome)
        return outcome

    async def _handle(self, job_id: str, intent: Intent, steps: Steps) -> str:
        match intent:
            case ReviewIntent():
                return await self._pipeline.review(intent, steps)
            case CommandIntent():
                return await self._command(intent, steps)
            case RerunIntent():
                return await self._rerun(job_id, intent, steps)
            case MergeGroupIntent():
                await steps.run("pass", Done, lambda: self._pass_merge_group(intent))
                return "passed"

    def _repository(self, intent: Intent) -> Repository:
        key = intent.repository
        return self._github.repository(key.installation_id, key.owner, key.name)

    # Commands

    async def _command(self, intent: CommandIntent, steps: Steps) -> str:
        admitted = await steps.run("admit", _Admitted, lambda: self._admit(intent))
        if not admitted.admitted:
            return f"{intent.login} may not use commands here"
        command = COMMANDS.get(intent.command)
        call = Call(intent, self._repository(intent), self._pipeline, steps)
        if command is None:
            answer = messages.unknown_command(intent.command, await HELP.run(call))
        elif command.name == "review":
            # Its work is made of steps itself, and steps do not nest.
            answer = await command.run(call)
        else:
            run = command.run

            async def work() -> _Answer:
                return _Answer(text=await run(call))

            answer = (await steps.run("answer", _Answer, work)).text
        await steps.run("reply", Done, lambda: self._reply(intent, answer))
        return f"answered {intent.command}"

    async def _admit(self, intent: CommandIntent) -> _Admitted:
        repository = self._repository(intent)
        allowed = intent.is_author or await repository.permission(intent.login) in MAY_COMMAND
        try:
            await repository.react(intent.comment_id, "eyes" if allowed else "confused", in_thread=intent.in_thread)
        except gidgethub.BadRequest as error:
            # A reaction is a courtesy; the comment may also be gone by now.
            if not is_refused(error):
                raise
            logger.warning("reaction refused: %s", error)
        return _Admitted(admitted=allowed)

    async def _reply(self, intent: CommandIntent, answer: str) -> Done:
        repository = self._repository(intent)
        slug = await self._github.slug()
        mark = markers.answer(intent.comment_id)
        for comment in await repository.issue_comments(intent.number):
            if mark in (comment.body or "") and is_own(comment.user, slug):
                return Done()
        await repository.create_comment(intent.number, messages.answer(intent.comment_id, answer))
        return Done()

    # Check suites and merge queues

    async def _rerun(self, job_id: str, intent: RerunIntent, steps: Steps) -> str:
        found = await steps.run("find", _Numbers, lambda: self._pulls_of(intent))
        for number in found.numbers:
            review = ReviewIntent(repository=intent.repository, number=number, reason="rerequested", force=True)
            await self._accept(f"{job_id}:{number}", review)
        return f"reviews {len(found.numbers)} pull requests again"

    async def _pulls_of(self, intent: RerunIntent) -> _Numbers:
        repository = self._repository(intent)
        runs: list[CheckRun] = await repository.check_runs(
            intent.head_sha, self._pipeline.check_name, self._github.app_id
        )
        numbers = {pull_number(run.external_id, intent.repository.repository_id) for run in runs}
        if not any(numbers):
            try:
                pulls = await repository.pulls_of_commit(intent.head_sha)
            except gidgethub.BadRequest as error:
                if not is_missing(error):
                    raise
                pulls = []
            # The answer may name pull requests of other repositories of the fork network.
            numbers = {
                pull.number
                for pull in pulls
                if pull.base.repo is not None
                and pull.base.repo.id == intent.repository.repository_id
                and pull.head.sha == intent.head_sha
            }
        return _Numbers(numbers=tuple(sorted(number for number in numbers if number is not None)))

    async def _pass_merge_group(self, intent: MergeGroupIntent) -> Done:
        repository = self._repository(intent)
        name = self._pipeline.check_name
        runs = await repository.check_runs(intent.head_sha, name, self._github.app_id)
        if not any(run.status == "completed" for run in runs):
            output = Output(messages.MERGE_GROUP_TITLE, messages.MERGE_GROUP_SUMMARY).body()
            await repository.create_check_run(
                name, intent.head_sha, status="completed", conclusion="success", output=output
            )
        return Done()
