"""Finding what was missed: GitHub never sends a failed delivery again by itself."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Protocol

import gidgethub

from bot.clock import Clock
from bot.events import EVENTS
from bot.github.connection import GitHub
from bot.github.errors import InstallationGone, LimitedUntil, Unavailable
from bot.github.identity import RepositoryKey
from bot.github.models import Delivery, InstallationObject, PullRequest, RepositoryObject
from bot.jobs.intents import Intent, ReviewIntent

logger = logging.getLogger(__name__)

DELIVERY_AGE = timedelta(days=3)
"""GitHub redelivers nothing older."""
PULL_AGE = timedelta(days=3)
"""How far back the round at the start looks."""
HOURLY_PULL_AGE = timedelta(hours=6)
"""How far back the later rounds look: each pull request costs a request, and the rounds before have seen the older."""
MOST_REVIEWS = 50
"""Reviews that one round may ask for, so that a long outage does not end in a burst."""


class Store(Protocol):
    """The queue as seen from here."""

    async def accept(self, job_id: str, intent: Intent, *, delay_seconds: float = 0.0) -> None:
        """Store a job."""

    async def knows(self, job_id: str) -> bool:
        """Tell whether a job of this id was ever stored."""


class Reconciler:
    """Asks for failed deliveries again, and for reviews that no delivery asked for."""

    def __init__(self, github: GitHub, store: Store, clock: Clock, *, check_name: str) -> None:
        self._github = github
        self._store = store
        self._clock = clock
        self._check_name = check_name

    async def run(self, pull_age: timedelta = PULL_AGE) -> None:
        """Look once, at pull requests that changed within `pull_age`.

        Trouble with one installation is logged and does not stop the others.
        """
        try:
            asked = await self.redeliver()
            if asked:
                logger.info("asked for %d failed deliveries again", asked)
            reviews = 0
            for installation in await self._github.installations():
                try:
                    reviews += await self._installation(installation, MOST_REVIEWS - reviews, pull_age)
                except (gidgethub.GitHubException, InstallationGone, LimitedUntil, Unavailable) as error:
                    logger.warning("installation %d could not be looked through: %s", installation.id, error)
            if reviews:
                logger.info("asked for %d reviews that were missed", reviews)
        except (gidgethub.GitHubException, LimitedUntil, Unavailable) as error:
            logger.warning("GitHub could not be asked for what was missed: %s", error)

    async def redeliver(self) -> int:
        """Ask GitHub for the deliveries that never reached the queue, and return how many."""
        oldest = self._now() - DELIVERY_AGE
        attempts: dict[str, list[Delivery]] = {}
        async for delivery in self._github.deliveries():
            if _moment(delivery.delivered_at) < oldest:
                break
            attempts.setdefault(delivery.guid, []).append(delivery)
        asked = 0
        for guid, tries in attempts.items():
            arrived = any(200 <= delivery.status_code < 300 for delivery in tries)
            if arrived or tries[0].event not in EVENTS or await self._store.knows(guid):
                continue
            await self._github.redeliver(tries[0].id)
            asked += 1
        return asked

    async def _installation(self, installation: InstallationObject, most: int, pull_age: timedelta) -> int:
        asked = 0
        for about in await self._github.repositories(installation.id):
            if asked >= most:
                break
            key = _key(installation.id, about)
            repository = self._github.looked_at(installation.id, key.owner, key.name)
            for pull in await repository.open_pulls():
                if asked >= most or not self._is_ours(pull, installation, pull_age):
                    continue
                if await repository.check_runs(pull.head.sha, self._check_name, self._github.app_id):
                    continue
                await self._store.accept(*_missed(key, pull))
                asked += 1
        return asked

    def _is_ours(self, pull: PullRequest, installation: InstallationObject, pull_age: timedelta) -> bool:
        """Tell whether an event about this pull request should have come: those from before the installation wait for
        their next push."""
        return pull.created_at > installation.created_at and _moment(pull.updated_at) > self._now() - pull_age

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)


def _key(installation_id: int, about: RepositoryObject) -> RepositoryKey:
    owner, _, name = about.full_name.partition("/")
    return RepositoryKey(installation_id=installation_id, repository_id=about.id, owner=owner, name=name)


def _missed(key: RepositoryKey, pull: PullRequest) -> tuple[str, ReviewIntent]:
    intent = ReviewIntent(repository=key, number=pull.number, reason="missed", head_sha=pull.head.sha)
    return f"missed:{key.repository_id}#{pull.number}:{pull.head.sha}", intent


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
