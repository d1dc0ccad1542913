"""Finding what was missed: GitHub never sends a failed delivery again by itself.

A round costs an installation a request for each hundred of its repositories, a point of GraphQL for each fifty, and
little for each pull request that moved, however many repositories there are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

import gidgethub

from bot.clock import Clock
from bot.events import EVENTS
from bot.github.activity import PULLS_OF_EACH, REPOSITORIES_PER_QUERY, Moved, checked, moved
from bot.github.connection import GitHub
from bot.github.errors import InstallationGone, LimitedUntil, Unavailable
from bot.github.identity import RepositoryKey
from bot.github.models import Delivery, InstallationObject, RepositoryObject
from bot.jobs.intents import Intent, ReviewIntent

logger = logging.getLogger(__name__)

DELIVERY_AGE = timedelta(days=3)
"""GitHub redelivers nothing older."""
PULL_AGE = timedelta(days=3)
"""How far back the round at the start looks."""
HOURLY_PULL_AGE = timedelta(hours=6)
"""How far back the later rounds look: the rounds before have seen the older."""
MOST_REVIEWS = 50
"""Reviews that one round may ask for, so that a long outage does not end in a burst."""
MOST_LISTS = 500
"""Repositories of one installation that one round lists by themselves, where a query does not show all that moved: a
tenth of the least that GitHub allows in an hour."""
HOUR_SECONDS = 3600.0
UNANSWERED = (gidgethub.GitHubException, Unavailable)
"""A query that does not come through, or that an older server does not know."""


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
        repositories = await self._github.repositories(installation.id)
        # Where a round does not come to the end, the next one begins elsewhere.
        begin = int(self._clock.now() // HOUR_SECONDS) * MOST_LISTS % max(1, len(repositories))
        repositories = repositories[begin:] + repositories[:begin]
        lists = _Lists(self._github, installation.id, MOST_LISTS)
        asked = 0
        for start in range(0, len(repositories), REPOSITORIES_PER_QUERY):
            batch = repositories[start : start + REPOSITORIES_PER_QUERY]
            for about, pull in await self._unchecked(installation, batch, lists, pull_age):
                if asked >= most:
                    return asked
                key = _key(installation.id, about)
                repository = self._github.looked_at(installation.id, key.owner, key.name)
                # What many were asked for at once is no proof.
                if not await repository.check_runs(pull.head_sha, self._check_name, self._github.app_id):
                    await self._store.accept(*_missed(key, pull))
                    asked += 1
        return asked

    async def _unchecked(
        self,
        installation: InstallationObject,
        batch: Sequence[RepositoryObject],
        lists: _Lists,
        pull_age: timedelta,
    ) -> list[tuple[RepositoryObject, Moved]]:
        """Return the pull requests that changed within `pull_age` and whose head seems to have no check of ours."""
        oldest = self._now() - pull_age
        found = await lists.of(batch, oldest)
        recent = [
            (about, pull)
            for about in batch
            for pull in found.get(about.id, ())
            # Those from before the installation wait for their next push.
            if pull.created_at > installation.created_at and _moment(pull.updated_at) > oldest
        ]
        if not recent:
            return []
        try:
            done = await checked(
                self._github.looking(installation.id),
                [pull for _, pull in recent],
                self._github.app_id,
                self._check_name,
            )
        except UNANSWERED as error:
            logger.warning("checks are asked for one by one: %s", error)
            done = frozenset()
        return [(about, pull) for about, pull in recent if pull.node_id not in done]

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)


class _Lists:
    """The open pull requests of an installation's repositories, in one round."""

    def __init__(self, github: GitHub, installation_id: int, most: int) -> None:
        """`most` repositories are listed by themselves; each is a request."""
        self._github = github
        self._installation_id = installation_id
        self._left = most

    async def of(self, batch: Sequence[RepositoryObject], oldest: datetime) -> dict[int, tuple[Moved, ...]]:
        """Return those of each repository, at least those that changed since `oldest`; a repository for which there is
        no request left is missing."""
        try:
            found = await moved(self._github.looking(self._installation_id), batch)
        except UNANSWERED as error:
            logger.warning("repositories are listed one by one: %s", error)
            found = {}
        for about in batch:
            known = found.get(about.id)
            whole = known is not None and (len(known) < PULLS_OF_EACH or _moment(known[-1].updated_at) <= oldest)
            if not whole and self._left > 0:
                self._left -= 1
                found[about.id] = await self._listed(about)
        return found

    async def _listed(self, about: RepositoryObject) -> tuple[Moved, ...]:
        owner, _, name = about.full_name.partition("/")
        pulls = await self._github.looked_at(self._installation_id, owner, name).open_pulls()
        return tuple(map(Moved.of, pulls))


def _key(installation_id: int, about: RepositoryObject) -> RepositoryKey:
    owner, _, name = about.full_name.partition("/")
    return RepositoryKey(installation_id=installation_id, repository_id=about.id, owner=owner, name=name)


def _missed(key: RepositoryKey, pull: Moved) -> tuple[str, ReviewIntent]:
    intent = ReviewIntent(repository=key, number=pull.number, reason="missed", head_sha=pull.head_sha)
    return f"missed:{key.repository_id}#{pull.number}:{pull.head_sha}", intent


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
