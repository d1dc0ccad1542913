"""The parts of the bot, put together."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import aiohttp
import sqlalchemy as sa
from aiohttp import web

from bot.clock import Clock, SystemClock
from bot.deliveries.receiver import Receiver
from bot.deliveries.reconciler import HOURLY_PULL_AGE, PULL_AGE, Reconciler
from bot.github.connection import GitHub
from bot.github.egress import GitHubConnector
from bot.handler import JobHandler
from bot.jobs.intents import Intent
from bot.jobs.queue import Jobs
from bot.listening import listen
from bot.observability.metrics import Metrics
from bot.observability.watching import Watch
from bot.reports.access import Access
from bot.reports.explorer import Explorer
from bot.reports.keeping import ReportKeeper
from bot.reports.pages import ReportPages
from bot.reports.sign_in import OAuthApp, SignIn
from bot.reports.sources import Sources
from bot.reports.store import ReportStore
from bot.review.analysis import Analyst, Limits, ProcessAnalyst
from bot.review.configuration import Configurations
from bot.review.hub import Hub
from bot.review.pipeline import ReviewPipeline
from bot.review.results import ResultFolders
from bot.settings import Settings, StorageSettings
from bot.setup.door import make_tables
from bot.setup.server import add_locked
from bot.storage.database import Turns, WriteTurns, create_engine
from bot.storage.remembered import Remembered
from engine.plugins import plugins

logger = logging.getLogger(__name__)

RECONCILE_SECONDS = 3600.0
DAY_SECONDS = 86_400.0
YOUNG_OBJECTS = 10_000
"""Objects between two collections; Python's 700 is less than one delivery makes."""


class FrontDesk:
    """The bot's `Desk`: passes decisions of event handlers on to whom they concern."""

    def __init__(
        self,
        settings: Settings,
        jobs: Jobs,
        github: GitHub,
        configurations: Configurations,
        remembered: Remembered,
        reports: ReportStore,
        clock: Clock,
    ) -> None:
        self._reports = reports
        self._clock = clock
        self._settings = settings
        self._remembered = remembered
        self._jobs = jobs
        self._github = github
        self._configurations = configurations

    @property
    def synchronize_delay_seconds(self) -> float:
        """See `Desk`."""
        return self._settings.synchronize_delay_seconds

    async def accept(self, delivery: str, intent: Intent, *, delay_seconds: float = 0.0) -> None:
        """See `Desk`."""
        await self._jobs.accept(delivery, intent, delay_seconds=delay_seconds)

    async def forget_words(self, installation_id: int, repository_ids: Sequence[int] | None) -> None:
        """See `Desk`."""
        await self._remembered.forget(installation_id, repository_ids)
        if repository_ids is None:
            await self._reports.erase_installation(installation_id)
        else:
            await self._reports.erase_repositories(repository_ids)

    def forget_installation(self, installation_id: int) -> None:
        """See `Desk`."""
        self._github.forget(installation_id)

    def forget_configuration(self, owner: str, name: str | None) -> None:
        """See `Desk`."""
        self._configurations.forget(owner, name)

    async def pull_closed(self, repository_id: int, number: int) -> None:
        """See `Desk`."""
        await self._reports.close_pull(repository_id, number, self._clock.now())

    async def pull_reopened(self, repository_id: int, number: int) -> None:
        """See `Desk`."""
        await self._reports.reopen_pull(repository_id, number)


@dataclass(frozen=True)
class Service:
    """A running bot."""

    jobs: Jobs
    github: GitHub
    reconciler: Reconciler
    application: web.Application
    """Receives deliveries, and can be watched."""
    watched: web.Application
    """Can only be watched."""


@asynccontextmanager
async def running(
    settings: Settings,
    *,
    worker: bool,
    receiver: bool = True,
    clock: Clock | None = None,
    analyst: Analyst | None = None,
) -> AsyncIterator[Service]:
    """Run the bot for the duration of the block; without `worker` it only accepts deliveries, and without `receiver`
    others accept them."""
    clock = clock or SystemClock()
    metrics = Metrics()
    engine = create_engine(settings.database_url)
    connector = GitHubConnector((settings.github_api_url, settings.graphql_url, settings.web_url))
    async with (
        aiohttp.ClientSession(connector=connector, trust_env=True) as session,
        _model_hub(settings.hub_url, clock) as hub,
    ):
        github = GitHub(
            session,
            app_id=settings.app_id,
            private_key=settings.private_key,
            api_url=settings.github_api_url,
            graphql_url=settings.graphql_url,
            clock=clock,
            write_interval_seconds=settings.write_interval_seconds,
            request_seconds=settings.request_seconds,
            called=metrics.called,
            reserve=_writing_in_turn(engine, clock),
        )
        configurations = Configurations(clock, hears_of_pushes=receiver)
        limits = Limits(settings.analysis_seconds, settings.analysis_memory_bytes)
        results = (
            ResultFolders(Path(settings.results_folder), settings.results_bytes) if settings.results_folder else None
        )
        remembered = Remembered(engine, clock)
        reports = ReportStore(engine, retention_days=settings.report_days)
        pipeline = ReviewPipeline(
            github,
            analyst or ProcessAnalyst(limits, hub=hub, results=results, details=settings.has_reports),
            configurations,
            remembered,
            clock,
            observer=metrics,
            check_name=settings.check_name,
            reports=ReportKeeper(reports, clock, settings.public_url) if settings.has_reports else None,
        )

        async def accept(job_id: str, intent: Intent) -> None:
            await jobs.accept(job_id, intent)

        handler = JobHandler(github, pipeline, accept, metrics)
        jobs = Jobs(
            engine,
            executor_id=settings.executor_id,
            handler=handler if worker else None,
            worker_concurrency=settings.worker_concurrency,
            retention=timedelta(days=settings.retention_days),
            silent_worker_seconds=settings.silent_worker_seconds,
            lanes=settings.installation_concurrency,
        )
        reconciler = Reconciler(github, jobs, clock, check_name=settings.check_name)
        desk = FrontDesk(settings, jobs, github, configurations, remembered, reports, clock)
        application = Receiver(desk, jobs, metrics, settings.webhook_secret).application()
        watched = web.Application()
        Watch(jobs, metrics).add_to(watched)
        add_locked(application)
        if settings.has_reports:
            report_pages(settings, session, github, reports, clock).add_to(application)
        await jobs.start()
        keeper: asyncio.Task[None] | None = None
        if worker and settings.reconcile_on_start:
            keeper = asyncio.create_task(
                _keep_up(reconciler, remembered, Turns(engine), clock, settings.remembered_days)
            )
        try:
            yield Service(jobs, github, reconciler, application, watched)
        finally:
            if keeper is not None:
                keeper.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await keeper
            await jobs.stop()


def report_pages(
    settings: Settings, session: aiohttp.ClientSession, github: GitHub, store: ReportStore, clock: Clock
) -> ReportPages:
    """Put the report pages together. What visitors try is played in a process of its own, one at a time."""
    oauth = OAuthApp(
        settings.client_id, settings.client_secret, settings.web_url, settings.github_api_url, settings.public_url
    )
    sources = Sources()
    played = ProcessAnalyst(Limits(settings.analysis_seconds, settings.analysis_memory_bytes), processes=1)
    return ReportPages(
        store=store,
        sign_in=SignIn(oauth, session, clock),
        access=Access(github, clock),
        sources=sources,
        explorer=Explorer(played, store, sources, clock),
        clock=clock,
        web_url=settings.web_url,
    )


@asynccontextmanager
async def _model_hub(url: str, clock: Clock) -> AsyncIterator[Hub | None]:
    """The hub that the operator names, through a session of its own that reaches nothing else and sends no token."""
    if not url:
        yield None
        return
    async with aiohttp.ClientSession(connector=GitHubConnector((url,)), trust_env=True) as session:
        yield Hub(session, url, clock)


def _writing_in_turn(engine: sa.Engine, clock: Clock) -> Callable[[int, float], Awaitable[float]] | None:
    """How the workers of several machines agree on when to write; a SQLite file has one worker."""
    if engine.dialect.name == "sqlite":
        return None
    turns = WriteTurns(engine)

    async def reserve(installation_id: int, seconds: float) -> float:
        return await asyncio.to_thread(turns.reserve, installation_id, clock.now(), seconds)

    return reserve


async def _keep_up(reconciler: Reconciler, remembered: Remembered, turns: Turns, clock: Clock, days: int) -> None:
    """Look for what was missed: at every start, and then hourly in one process for all."""
    apart, pull_age = 0.0, PULL_AGE
    while True:
        try:
            await remembered.forget_older(clock.now() - days * DAY_SECONDS)
            if await asyncio.to_thread(turns.take, "reconcile", clock.now(), apart):
                await reconciler.run(pull_age)
        except Exception:
            # An hour later the next round tries again.
            logger.exception("reconciling failed")
        apart, pull_age = 0.9 * RECONCILE_SECONDS, HOURLY_PULL_AGE
        await asyncio.sleep(RECONCILE_SECONDS)


def _tell_of_plugins() -> None:
    """Log which rules and frameworks other packages bring, and which of them cannot be loaded."""
    found = plugins()
    for rule in found.rules:
        logger.info("rule %s %s comes from %s", rule.code, rule.name, rule.origin)
    for framework in found.frameworks:
        logger.info("the framework %s comes from another package", framework.name)
    for problem in found.problems:
        logger.warning("%s %s", problem.path, problem.reason)


def _settle() -> None:
    """Keep what stays until the end out of the collection of garbage.

    To go through it all takes a tenth of a second, in which nothing is answered, and finds nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


async def serve(
    settings: Settings, *, host: str, port: int, worker: bool, stop: asyncio.Event, analyst: Analyst | None = None
) -> None:
    """Serve until `stop` is set; a `port` of 0 takes a free one."""
    _tell_of_plugins()
    async with (
        running(settings, worker=worker, analyst=analyst) as service,
        # Left first: no new deliveries, and then the jobs.
        _listening(service.application, host, port),
    ):
        _settle()
        await stop.wait()


async def work(
    settings: Settings, *, stop: asyncio.Event, host: str, port: int | None, analyst: Analyst | None = None
) -> None:
    """Carry out jobs until `stop` is set; with a `port`, answer there about health and figures."""
    _tell_of_plugins()
    async with running(settings, worker=True, receiver=False, analyst=analyst) as service:
        _settle()
        if port is None:
            await stop.wait()
            return
        async with _listening(service.watched, host, port):
            await stop.wait()


async def migrate(settings: StorageSettings) -> None:
    """Bring the database's tables up to date, for which no App is needed.

    Every process does so at its start; this is for those whose database role may not change tables.
    """
    engine = create_engine(settings.database_url)
    make_tables(engine)
    Remembered(engine, SystemClock())
    ReportStore(engine, retention_days=1)
    # The queue brings its tables and ours when it starts; without a handler it takes no job.
    jobs = Jobs(engine, executor_id="migrate", handler=None)
    try:
        await jobs.start()
        logger.info("the tables are up to date")
    finally:
        await jobs.stop()


@asynccontextmanager
async def _listening(application: web.Application, host: str, port: int) -> AsyncIterator[None]:
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await listen(runner, host, port)
        for address in runner.addresses:
            logger.info("listening on http://%s:%s", *address[:2])
        yield
    finally:
        await runner.cleanup()
