"""One connection to GitHub for the process: a client per installation, and the App's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from pydantic import SecretStr

from bot.clock import Clock
from bot.github.client import REQUEST_SECONDS, Client
from bot.github.models import AppObject, Delivery, InstallationObject, RepositoryObject
from bot.github.pacing import WritePacer
from bot.github.repository import Repository
from bot.github.tokens import Tokens


class GitHub:
    """Hands out clients. Clients are kept, as each holds its installation's cache and write lock."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        app_id: int,
        private_key: SecretStr,
        api_url: str,
        graphql_url: str,
        clock: Clock,
        write_interval_seconds: float = 1.0,
        request_seconds: float = REQUEST_SECONDS,
    ) -> None:
        self._session = session
        self.app_id = app_id
        self._tokens = Tokens(app_id, private_key, clock)
        self._clock = clock
        self._api_url = api_url
        self._graphql_url = graphql_url
        self._interval = write_interval_seconds
        self._request_seconds = request_seconds
        self._clients: dict[int | None, Client] = {}
        self._slug: str | None = None

    def client(self, installation_id: int | None) -> Client:
        """Return the client of an installation, or with None the App's own."""
        if installation_id not in self._clients:
            self._clients[installation_id] = Client(
                self._session,
                tokens=self._tokens,
                clock=self._clock,
                pacer=WritePacer(self._clock, self._interval),
                base_url=self._api_url,
                graphql_url=self._graphql_url,
                installation_id=installation_id,
                request_seconds=self._request_seconds,
            )
        return self._clients[installation_id]

    def repository(self, installation_id: int, owner: str, name: str) -> Repository:
        """Return a repository as seen by an installation."""
        return Repository(self.client(installation_id), owner, name)

    def forget(self, installation_id: int) -> None:
        """Drop what is kept for an installation that is gone."""
        self._clients.pop(installation_id, None)
        self._tokens.forget(installation_id)

    async def slug(self) -> str:
        """Return the App's slug; its comments come from `<slug>[bot]`."""
        if self._slug is None:
            self._slug = AppObject.model_validate(await self.client(None).getitem("/app")).slug
        return self._slug

    async def installations(self) -> list[InstallationObject]:
        """Return the installations that are not suspended."""
        found = [
            InstallationObject.model_validate(item)
            async for item in self.client(None).getiter("/app/installations?per_page=100")
        ]
        return [installation for installation in found if installation.suspended_at is None]

    async def repositories(self, installation_id: int) -> list[RepositoryObject]:
        """Return the repositories that an installation covers."""
        pages = self.client(installation_id).getiter(
            "/installation/repositories?per_page=100", iterable_key="repositories"
        )
        return [RepositoryObject.model_validate(item) async for item in pages]

    async def deliveries(self) -> AsyncIterator[Delivery]:
        """Yield the webhook deliveries that GitHub remembers, newest first."""
        item: Any
        async for item in self.client(None).getiter("/app/hook/deliveries?per_page=100"):
            yield Delivery.model_validate(item)

    async def redeliver(self, delivery_id: int) -> None:
        """Ask for one delivery again; it keeps its GUID."""
        await self.client(None).post(f"/app/hook/deliveries/{delivery_id}/attempts", data={})
