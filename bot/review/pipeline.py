"""The review of one pull request: load, analyse, publish the comments, the summary, and the check.

Every stage reads the present state from GitHub and may run again after a crash, so that neither the order nor the
loss of a delivery matters, and nothing is said twice.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import gidgethub

from bot import messages
from bot.clock import Clock
from bot.github.connection import GitHub
from bot.github.errors import is_missing
from bot.github.identity import RepositoryKey, external_id
from bot.github.models import ChangedFile, CheckRun, PullRequest
from bot.github.repository import FILES_CAP, Repository
from bot.jobs.intents import Begun, ReviewIntent
from bot.jobs.steps import PutOff, StepFailed, Steps
from bot.messages import Skipped
from bot.observability.observing import Observer, Unobserved
from bot.review import plan as planning
from bot.review import publishing
from bot.review.analysis import Analysis, AnalysisBroken, Analyst
from bot.review.anchors import Anchors
from bot.review.annotating import MOST_ANNOTATIONS
from bot.review.chains import Source, with_chains
from bot.review.configuration import CONFIGURATION_PATHS, Configurations
from bot.review.dismissals import consider
from bot.review.measured import evidence_of, with_evidence
from bot.review.proposal import Proposal, propose
from bot.review.reading import Blobs, Sides, read_sides
from bot.review.selection import concerns_training
from bot.review.stages import Analysed, Done, Loaded, Published
from bot.storage.remembered import Remembered
from engine.findings import ReviewReport
from engine.settings import LoadedSettings, Settings
from hardware_catalog.measurement import CHECK_NAME

logger = logging.getLogger(__name__)

STALE_WAITS = (1.0, 2.0, 4.0)
"""Seconds between reads of a pull request that shows another head than its event: right after a push, GitHub may
still answer with the old one."""
MOST_ROUNDS = 4
"""Reviews within one job, each because the head moved while the one before was being made."""


class Overtaken(Exception):
    """The head moved; nothing was published."""


@dataclass(frozen=True)
class Change:
    """Both sides of a pull request with its configuration."""

    sides: Sides
    files: Sequence[ChangedFile]
    configuration: LoadedSettings


class KeepsReports(Protocol):
    """Stores what a report page shows."""

    async def keep(
        self, key: RepositoryKey, loaded: Loaded, analysis: Analysis, check_title: str, problems: Sequence[str]
    ) -> str | None:
        """Store it, and return the page's address; None where there is none."""


class ReviewPipeline:
    """Reviews pull requests."""

    def __init__(
        self,
        github: GitHub,
        analyst: Analyst,
        configurations: Configurations,
        remembered: Remembered,
        clock: Clock,
        *,
        observer: Observer | None = None,
        check_name: str,
        reports: KeepsReports | None = None,
    ) -> None:
        self.github = github
        self._reports = reports
        self.analyst = analyst
        self.check_name = check_name
        self.configurations = configurations
        self.remembered = remembered
        self._observer = observer or Unobserved()
        self._clock = clock
        self._blobs = Blobs()

    async def review(self, intent: ReviewIntent, steps: Steps) -> str:
        """Bring the review up to date, and return in a few words what came of it."""
        outcome = "superseded"
        for _ in range(MOST_ROUNDS):
            try:
                return await self._round(intent, steps)
            except Overtaken:
                # A read may have been stale: only a look at the state tells whether another review is due.
                intent = intent.model_copy(update={"head_sha": None, "force": False})
        return outcome

    async def _round(self, intent: ReviewIntent, steps: Steps) -> str:
        key = intent.repository
        loaded = await steps.run("load", Loaded, lambda: self._load(intent))
        if loaded.stop is not None:
            return loaded.stop
        try:
            analysed = await steps.run("analyse", Analysed, lambda: self._analyse(key, loaded))
            published = await steps.run("publish-review", Published, lambda: self._publish(key, loaded, analysed))
            if not published.superseded:
                await steps.run("publish-summary", Done, lambda: self._summarise(key, loaded, analysed, published))
        except StepFailed as failure:
            reason = failure.reason
            await steps.run("conclude", Done, lambda: self._conclude(key, loaded, Analysed(broken=reason), None))
            return f"failed: {reason}"
        except PutOff as later:
            begun = Begun(run_id=loaded.run_id, head_sha=loaded.head_sha)
            later.instead = intent.model_copy(update={"begun": begun})
            raise
        await steps.run("conclude", Done, lambda: self._conclude(key, loaded, analysed, published))
        if published.superseded:
            raise Overtaken
        return _outcome(analysed)

    # Stages

    async def _load(self, intent: ReviewIntent) -> Loaded:
        key = intent.repository
        repository = self.github.repository(key)
        try:
            pull = await self._present(repository, intent)
        except gidgethub.BadRequest as error:
            if is_missing(error):
                return Loaded(stop="the pull request is gone")
            raise
        if pull.base.repo is not None:
            # Events carry the name of their time; writes do not follow redirects.
            owner, _, name = pull.base.repo.full_name.partition("/")
            repository = self.github.repository(key, owner=owner, name=name)
        if intent.begun is not None and (intent.begun.head_sha != pull.head.sha or not pull.is_open):
            await publishing.complete_check(
                repository,
                self._clock,
                intent.begun.run_id,
                conclusion="neutral",
                title=messages.SUPERSEDED_TITLE,
                summary=messages.SUPERSEDED_SUMMARY,
            )
        if not pull.is_open:
            return Loaded(stop="the pull request is closed")
        mark = external_id(key.repository_id, pull.number)
        runs = await repository.check_runs(pull.head.sha, self.check_name, self.github.app_id)
        if not intent.force and any(_is_done(run, mark) for run in runs):
            return Loaded(stop="this head is reviewed")
        run_id = await publishing.begin_check(
            repository,
            self._clock,
            name=self.check_name,
            head_sha=pull.head.sha,
            external_id=mark,
            runs=runs,
        )
        evidence = None
        if intent.force:
            # A new head has no measurement yet; the one that comes asks for this review.
            others = await repository.check_runs_of_others(pull.head.sha, CHECK_NAME, self.github.app_id)
            evidence = evidence_of(others, pull.head.sha)
        paused = not intent.by_person and await self.remembered.paused_by(key, pull.number) is not None
        return Loaded(
            owner=repository.owner,
            name=repository.name,
            page=pull.base.repo.html_url if pull.base.repo is not None else "",
            number=pull.number,
            head_sha=pull.head.sha,
            base_sha=pull.base.sha,
            base_ref=pull.base.ref,
            run_id=run_id,
            title=pull.title,
            labels=tuple(label.name for label in pull.labels),
            draft=bool(pull.draft),
            by_bot=pull.user is not None and pull.user.is_bot,
            paused=paused,
            measured=evidence,
        )

    async def _present(self, repository: Repository, intent: ReviewIntent) -> PullRequest:
        pull = await repository.pull(intent.number)
        for wait in STALE_WAITS:
            if intent.head_sha in (None, pull.head.sha) or not pull.is_open:
                break
            await self._clock.sleep(wait)
            pull = await repository.pull(intent.number)
        return pull

    async def _analyse(self, key: RepositoryKey, loaded: Loaded) -> Analysed:
        repository = self._repository(key, loaded)
        configuration = await self.configurations.load(repository, loaded.base_ref)
        settings = configuration.settings
        skipped: Skipped | None = "paused" if loaded.paused else skip_reason(loaded, settings)
        problems = [str(problem) for problem in configuration.problems]
        if skipped in ("label", "title", "paused"):
            return Analysed(skipped=skipped, text=_text(problems))
        files = await repository.files(loaded.number)
        if not concerns_training(files):
            return Analysed(nothing=True, text=_text(problems))
        try:
            change = await self.read_change(repository, loaded, files, configuration)
            analysis = await self.analyst.review(change.sides, files, settings)
        except AnalysisBroken as error:
            return Analysed(broken=str(error), text=_text(problems))
        dismissals = await self.remembered.dismissed(key, loaded.number)
        considered = consider(analysis.report, dismissals, settings)
        report = with_evidence(considered.report, loaded.measured)
        proposal = await self._proposed(repository, change, loaded.base_ref)
        limited = _limits(change, analysis)
        unread = messages.not_looked_at(limited)
        anchors = Anchors(files)
        placed = tuple(comment for comment in report.review_comments if anchors.takes(comment))
        page = None
        if self._reports is not None:
            title = messages.check_title(report, skipped)
            kept = replace(analysis, report=report)
            page = await self._reports.keep(key, loaded, kept, title, problems)
        text = messages.check_text(
            problems=problems,
            annotations=(len(report.annotations), MOST_ANNOTATIONS),
            change=proposal.text if proposal is not None else "",
            notes=analysis.notes,
            failed=report.failed,
            left_out=change.sides.left_out,
            truncated=change.sides.truncated,
            capped_files=len(files) >= FILES_CAP,
        )
        return Analysed(
            report=report.model_copy(
                update={
                    "review_comments": placed,
                    "summary_markdown": f"{report.summary_markdown}\n\n{unread}" if unread else report.summary_markdown,
                    "annotations": (*(proposal.annotations if proposal is not None else ()), *report.annotations),
                }
            ),
            page=page,
            skipped=skipped,
            limited=limited,
            remarks=messages.on_configuration(len(problems), proposal.mistakes if proposal is not None else 0),
            sections="\n\n".join(part for part in (considered.section, unread) if part),
            text=with_chains(text, report.introduced, Source(loaded.page, loaded.head_sha)),
            most_comments=settings.max_comments,
            silent=considered.silent,
            ignorable=settings.ignore_button and bool(report.introduced),
        )

    async def _proposed(self, repository: Repository, change: Change, base_ref: str) -> Proposal | None:
        """Return what the pull request's own configuration would change; it does not hold before it is merged."""
        touched = {name for file in change.files for name in (file.filename, file.previous_filename)}
        if CONFIGURATION_PATHS.isdisjoint(touched):
            return None
        after = await self.configurations.over_organisation(repository, change.sides.head)
        return propose(change.configuration, after, base_ref)

    async def read_change(
        self,
        repository: Repository,
        loaded: Loaded,
        files: Sequence[ChangedFile],
        configuration: LoadedSettings,
    ) -> Change:
        """Fetch both sides. The diff that GitHub shows counts from the merge base, and so do we."""
        try:
            base_sha = await repository.merge_base(loaded.base_sha, loaded.head_sha)
        except gidgethub.BadRequest as error:
            if not is_missing(error):
                raise
            base_sha = loaded.base_sha
        sides = await read_sides(repository, self._blobs, base_sha=base_sha, head_sha=loaded.head_sha, changed=files)
        return Change(sides, files, configuration)

    async def _publish(self, key: RepositoryKey, loaded: Loaded, analysed: Analysed) -> Published:
        repository = self._repository(key, loaded)
        if await self._moved(repository, loaded):
            return Published(superseded=True)
        if analysed.report is None:
            return Published()
        said = await self._said(repository, loaded.number)
        # Where nothing new is to be said, what was said before, on what is a draft by now, is still kept true.
        most = analysed.most_comments - said.written_for(loaded.head_sha) if analysed.skipped is None else 0
        wanted = planning.plan(analysed.report, said, max(0, most), analysed.silent)
        posted = await publishing.publish_review(repository, loaded.number, loaded.head_sha, wanted)
        folded = await publishing.fold_outdated(repository, wanted)
        fingerprints = tuple(comment.fingerprint for comment in wanted.comments) if posted else ()
        said_now = frozenset(fingerprints)
        self._observer.findings_said(each.rule for each in analysed.report.introduced if each.fingerprint in said_now)
        worth = analysed.skipped is None and planning.worth_a_comment(analysed.report)
        quiet = said.summary_id is None and not worth
        return Published(posted=fingerprints, folded=folded, quiet=quiet)

    async def _moved(self, repository: Repository, loaded: Loaded) -> bool:
        """Look once more right before speaking, and twice before believing that the head is another."""
        pull = await repository.pull(loaded.number)
        if pull.is_open and pull.head.sha != loaded.head_sha:
            await self._clock.sleep(STALE_WAITS[0])
            pull = await repository.pull(loaded.number)
        return pull.head.sha != loaded.head_sha or not pull.is_open

    async def _summarise(self, key: RepositoryKey, loaded: Loaded, analysed: Analysed, published: Published) -> Done:
        if analysed.report is not None and not published.quiet:
            repository = self._repository(key, loaded)
            said = await self._said(repository, loaded.number)
            text = planning.summary_text(analysed.report, said, published.posted, published.folded, analysed.sections)
            await publishing.publish_summary(repository, loaded.number, said, text)
        return Done()

    async def _conclude(
        self, key: RepositoryKey, loaded: Loaded, analysed: Analysed, published: Published | None
    ) -> Done:
        repository = self._repository(key, loaded)
        report = ReviewReport()
        conclusion: str = "neutral"
        if published is not None and published.superseded:
            title, summary = messages.SUPERSEDED_TITLE, messages.SUPERSEDED_SUMMARY
        elif analysed.broken is not None:
            title, summary = messages.BROKEN_TITLE, messages.broken_summary(analysed.broken)
        elif analysed.nothing:
            title, summary = messages.NOTHING_TITLE, messages.NOTHING_SUMMARY
        elif analysed.report is None:
            summary = messages.SKIPPED_ENTIRELY[analysed.skipped or "label"]
            title = summary.partition(".")[0]
        else:
            report = analysed.report
            title = messages.check_title(report, analysed.skipped, analysed.limited, analysed.remarks)
            summary = publishing.check_summary(report)
            # A change of which a part could not be read is not shown as checked.
            incomplete = bool(report.failed or analysed.limited) and report.conclusion == "success"
            conclusion = "neutral" if incomplete else report.conclusion
        await publishing.complete_check(
            repository,
            self._clock,
            loaded.run_id,
            conclusion=conclusion,
            title=title,
            summary=summary,
            text=analysed.text,
            annotations=report.annotations,
            ignorable=analysed.ignorable,
            page=analysed.page,
            overtaken=lambda: self._moved(repository, loaded),
        )
        return Done()

    async def _said(self, repository: Repository, number: int) -> planning.Said:
        slug = await self.github.slug()
        return await publishing.said_so_far(repository, number, slug=slug, app_id=self.github.app_id)

    def _repository(self, key: RepositoryKey, loaded: Loaded) -> Repository:
        return self.github.repository(key, owner=loaded.owner, name=loaded.name)

    async def change_of(self, repository: Repository, number: int) -> Change:
        """Fetch both sides of a pull request for a command."""
        pull = await repository.pull(number)
        loaded = Loaded(number=number, head_sha=pull.head.sha, base_sha=pull.base.sha, base_ref=pull.base.ref)
        configuration = await self.configurations.load(repository, pull.base.ref)
        return await self.read_change(repository, loaded, await repository.files(number), configuration)


def _is_done(run: CheckRun, mark: str) -> bool:
    # A run that was closed as superseded says nothing about this head, should it be the pull request's again.
    return run.status == "completed" and run.external_id == mark and run.output.title != messages.SUPERSEDED_TITLE


def skip_reason(loaded: Loaded, settings: Settings) -> Skipped | None:
    """Return why there are no comments: `label` and `title` turn the review off, the others keep the check."""
    if not set(settings.skip_labels).isdisjoint(loaded.labels):
        return "label"
    title = loaded.title.lower()
    if any(word.lower() in title for word in settings.skip_title_words):
        return "title"
    if loaded.draft and not settings.review_drafts:
        return "draft"
    if loaded.by_bot and not settings.review_bots:
        return "bot"
    return None


def _limits(change: Change, analysis: Analysis) -> tuple[str, ...]:
    """Return what of the change itself was not looked at; that other files were left out is told in the text alone."""
    unread = set(change.sides.left_out) & {file.filename for file in change.files}
    limits = [f"{messages.count(len(unread), 'changed file')} not read"] if unread else []
    if len(change.files) >= FILES_CAP:
        limits.append(f"only the first {FILES_CAP:,} files read")
    if change.sides.truncated:
        limits.append("not all of the repository read")
    if analysis.notes:
        limits.append("memory not estimated")
    return tuple(limits)


def _text(problems: Sequence[str]) -> str | None:
    return messages.check_text(problems=problems)


def _outcome(analysed: Analysed) -> str:
    if analysed.report is not None:
        return messages.check_title(analysed.report, analysed.skipped, analysed.limited)
    if analysed.broken is not None:
        return f"not reviewed: {analysed.broken}"
    return "no training code changed" if analysed.nothing else f"skipped by {analysed.skipped}"
