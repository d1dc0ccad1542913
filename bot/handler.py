"""Carrying out jobs: which intent is whose work."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable
from typing import Protocol

import gidgethub
from pydantic import BaseModel

from bot import markers, messages
from bot.commands import COMMANDS, HELP, answers, closest
from bot.commands.command import Call
from bot.github.connection import GitHub
from bot.github.errors import InstallationGone, is_missing, is_refused
from bot.github.fencing import TakenOver
from bot.github.identity import pull_number
from bot.github.models import CheckRun
from bot.github.repository import Output, Repository, is_own
from bot.jobs.intents import (
    CommandIntent,
    IgnoreIntent,
    Intent,
    MergeGroupIntent,
    RerunIntent,
    ReviewIntent,
    ThreadIntent,
)
from bot.jobs.steps import PutOff, StepFailed, Steps
from bot.observability.observing import Observer, TimedSteps, Unobserved
from bot.observability.redaction import bound
from bot.review.analysis import AnalysisBroken
from bot.review.pipeline import ReviewPipeline
from bot.review.stages import Done
from bot.storage.remembered import Dismissal

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


class _Findings(BaseModel):
    fingerprints: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


def _ids(job_id: str, intent: Intent) -> dict[str, str | int]:
    """Return what every line about a job carries. A job that another one ordered has the delivery's id in front."""
    key = intent.repository
    ids: dict[str, str | int] = {
        "delivery": re.split("[:~]", job_id, maxsplit=1)[0],
        "job": job_id,
        "kind": intent.kind,
        "installation": key.installation_id,
        "repository_id": key.repository_id,
        "repository": f"{key.owner}/{key.name}",
    }
    number = getattr(intent, "number", None)
    return ids if number is None else ids | {"pull_request": number}


class JobHandler:
    """The bot's `Handler`."""

    def __init__(
        self,
        github: GitHub,
        pipeline: ReviewPipeline,
        accept: Accept,
        observer: Observer | None = None,
    ) -> None:
        self._github = github
        self._pipeline = pipeline
        self._accept = accept
        self._observer = observer or Unobserved()

    async def handle(self, job_id: str, intent: Intent, steps: Steps) -> str:
        """Carry out one job."""
        with bound(**_ids(job_id, intent)):
            try:
                outcome = await self._handle(job_id, intent, TimedSteps(steps, self._observer))
            except InstallationGone as gone:
                outcome = str(gone)
            except PutOff:
                self._observer.job_ended(intent.kind, "put off")
                raise
            except TakenOver:
                self._observer.job_ended(intent.kind, "taken over")
                raise
            except Exception:
                self._observer.job_ended(intent.kind, "failed")
                raise
            self._observer.job_ended(intent.kind, "done")
            logger.info("%s", outcome)
            return outcome

    async def _handle(self, job_id: str, intent: Intent, steps: Steps) -> str:
        match intent:
            case ReviewIntent():
                return await self._pipeline.review(intent, steps)
            case CommandIntent():
                return await self._command(job_id, intent, steps)
            case ThreadIntent():
                await steps.run("remember", Done, lambda: self._remember_thread(intent))
                return "resolved" if intent.resolved else "opened again"
            case IgnoreIntent():
                return await self._ignore(job_id, intent, steps)
            case RerunIntent():
                return await self._rerun(job_id, intent, steps)
            case MergeGroupIntent():
                await steps.run("pass", Done, lambda: self._pass_merge_group(intent))
                return "passed"

    def _repository(self, intent: Intent) -> Repository:
        return self._github.repository(intent.repository)

    # Commands

    async def _command(self, job_id: str, intent: CommandIntent, steps: Steps) -> str:
        admitted = await steps.run("admit", _Admitted, lambda: self._admit(intent))
        if not admitted.admitted:
            return f"{intent.login} may not use {intent.command} here"
        try:
            answer = (await steps.run("answer", _Answer, lambda: self._answer(job_id, intent))).text
        except StepFailed as failure:
            answer = answers.failed(failure.reason)
        await steps.run("reply", Done, lambda: self._reply(intent, answer))
        return f"answered {intent.command}"

    async def _admit(self, intent: CommandIntent) -> _Admitted:
        """React at once: eyes for what will be answered, confusion for what the person may not ask."""
        repository = self._repository(intent)
        command = COMMANDS.get(intent.command)
        by_author = intent.is_author and (command is None or command.who == "author")
        allowed = by_author or await repository.permission(intent.login) in MAY_COMMAND
        try:
            await repository.react(intent.comment_id, "eyes" if allowed else "confused", in_thread=intent.in_thread)
        except gidgethub.BadRequest as error:
            # A reaction is a courtesy; the comment may also be gone by now.
            if not is_refused(error):
                raise
            logger.warning("reaction refused: %s", error)
        return _Admitted(admitted=allowed)

    async def _answer(self, job_id: str, intent: CommandIntent) -> _Answer:
        async def order(review: ReviewIntent) -> None:
            await self._accept(f"{job_id}:review", review)

        slug = await self._github.slug()
        call = Call(intent, self._repository(intent), self._pipeline, slug, order, self._observer.suppressed)
        command = COMMANDS.get(intent.command)
        if command is None:
            text = answers.unknown_command(intent.command, closest(intent.command), await HELP.run(call))
        else:
            text = await command.run(call)
        if intent.others:
            text = f"{text}\n\n{answers.others_left(intent.others)}"
        return _Answer(text=text)

    async def _reply(self, intent: CommandIntent, answer: str) -> Done:
        """Answer once. An edited command edits its answer."""
        repository = self._repository(intent)
        slug = await self._github.slug()
        mark, text = markers.answer(intent.comment_id), messages.answer(intent.comment_id, answer)
        for comment in await repository.issue_comments(intent.number):
            body = (comment.body or "").replace("\r\n", "\n")
            if body.startswith(mark) and is_own(comment.user, slug):
                if body.strip() != text.strip():
                    await repository.edit_comment(comment.id, text)
                return Done()
        await repository.create_comment(intent.number, text)
        return Done()

    # What people dismiss

    async def _remember_thread(self, intent: ThreadIntent) -> Done:
        slug, remembered = await self._github.slug(), self._pipeline.remembered
        for comment in await self._repository(intent).review_comments(intent.number):
            fingerprint = markers.finding_of(comment.body)
            if comment.id != intent.comment_id or fingerprint is None or not is_own(comment.user, slug):
                continue
            if intent.resolved:
                dismissal = Dismissal(subject=fingerprint, means="thread", login=intent.login)
                await remembered.dismiss(intent.repository, intent.number, [dismissal])
                self._observer.suppressed(markers.rule_of(comment.body), "thread")
            else:
                await remembered.restore(intent.repository, intent.number, [fingerprint], "thread")
        return Done()

    async def _ignore(self, job_id: str, intent: IgnoreIntent, steps: Steps) -> str:
        found = await steps.run("find", _Findings, lambda: self._present_findings(intent))
        if not found.fingerprints:
            return "nothing to ignore"

        async def dismiss() -> Done:
            dismissals = [Dismissal(subject=each, means="button", login=intent.login) for each in found.fingerprints]
            await self._pipeline.remembered.dismiss(intent.repository, intent.number, dismissals)
            for rule in found.rules:
                self._observer.suppressed(rule, "button")
            return Done()

        await steps.run("dismiss", Done, dismiss)
        review = ReviewIntent(
            repository=intent.repository, number=intent.number, reason="ignored", force=True, by_person=True
        )
        await self._accept(f"{job_id}:review", review)
        return f"ignores {len(found.fingerprints)} findings"

    async def _present_findings(self, intent: IgnoreIntent) -> _Findings:
        """Return the findings of the commit whose button was pressed; none where it is not the head any more."""
        repository = self._repository(intent)
        if await repository.permission(intent.login) not in MAY_COMMAND:
            return _Findings()
        if (await repository.pull(intent.number)).head.sha != intent.head_sha:
            return _Findings()
        change = await self._pipeline.change_of(repository, intent.number)
        settings = change.configuration.settings
        if not settings.ignore_button:
            return _Findings()
        try:
            report = (await self._pipeline.analyst.review(change.sides, change.files, settings)).report
        except AnalysisBroken:
            return _Findings()
        return _Findings(
            fingerprints=tuple(finding.fingerprint for finding in report.introduced),
            rules=tuple(finding.rule for finding in report.introduced),
        )

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
