"""One connection to GitHub for the process: a client per installation, and the App's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import aiohttp
from cachetools import LRUCache
from pydantic import SecretStr

from bot.clock import Clock
from bot.github.client import REQUEST_SECONDS, Called, Client, Shared, nobody_counts
from bot.github.identity import RepositoryKey
from bot.github.models import AppObject, Delivery, InstallationObject, RepositoryObject
from bot.github.pacing import WritePacer
from bot.github.repository import Repository
from bot.github.tokens import Scope, Tokens

MOST_CLIENTS = 10_000


class GitHub:
    """Hands out clients. Those of one installation share its limits, its kept answers and its turns to write."""

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
        called: Called = nobody_counts,
        reserve: Callable[[int, float], Awaitable[float]] | None = None,
    ) -> None:
        """`reserve` agrees with other workers on when an installation's next write may go out; see `Reserve`."""
        self._session = session
        self.app_id = app_id
        self._tokens = Tokens(app_id, private_key, clock)
        self._clock = clock
        self._api_url = api_url
        self._graphql_url = graphql_url
        self._interval = write_interval_seconds
        self._request_seconds = request_seconds
        self._called = called
        self._reserve = reserve
        self._app: Client | None = None
        self._shared: dict[int, Shared] = {}
        self._clients: LRUCache[Scope, Client] = LRUCache(MOST_CLIENTS)
        self._slug: str | None = None

    def app(self) -> Client:
        """Return the App's own client."""
        if self._app is None:
            self._app = self._client(None, Shared(WritePacer(self._clock, self._interval)))
        return self._app

    def client(self, scope: Scope) -> Client:
        """Return the client of a scope."""
        if scope not in self._clients:
            shared = self._shared.setdefault(scope.installation_id, Shared(self._pacer(scope.installation_id)))
            self._clients[scope] = self._client(scope, shared)
        return self._clients[scope]

    def _client(self, scope: Scope | None, shared: Shared) -> Client:
        def sibling(name: str) -> Client:
            return self.app() if scope is None else self.client(Scope(scope.installation_id, name=name))

        return Client(
            self._session,
            tokens=self._tokens,
            clock=self._clock,
            shared=shared,
            base_url=self._api_url,
            graphql_url=self._graphql_url,
            scope=scope,
            sibling=sibling,
            called=self._called,
            request_seconds=self._request_seconds,
        )

    def _pacer(self, installation_id: int) -> WritePacer:
        reserve = None if self._reserve is None else partial(self._reserve, installation_id)
        return WritePacer(self._clock, self._interval, reserve)

    def repository(self, key: RepositoryKey, *, owner: str = "", name: str = "") -> Repository:
        """Return a repository as seen by its installation, under the name it has now where that is another."""
        client = self.client(Scope(key.installation_id, repository_id=key.repository_id))
        return Repository(client, owner or key.owner, name or key.name)

    def looking(self, installation_id: int) -> Client:
        """Return the client that looks through all of an installation's repositories, and writes nothing."""
        return self.client(Scope(installation_id))

    def looked_at(self, installation_id: int, owner: str, name: str) -> Repository:
        """Return a repository of which nothing but pull requests and check runs is read: one token does for all."""
        return Repository(self.looking(installation_id), owner, name)

    def forget(self, installation_id: int) -> None:
        """Drop what is kept for an installation that is gone, or that covers other repositories now."""
        self._shared.pop(installation_id, None)
        for scope in [scope for scope in self._clients if scope.installation_id == installation_id]:
            self._clients.pop(scope, None)
        self._tokens.forget_installation(installation_id)

    async def slug(self) -> str:
        """Return the App's slug; its comments come from `<slug>[bot]`."""
        if self._slug is None:
            self._slug = AppObject.model_validate(await self.app().getitem("/app")).slug
        return self._slug

    async def installations(self) -> list[InstallationObject]:
        """Return the installations that are not suspended."""
        found = [
            InstallationObject.model_validate(item)
            async for item in self.app().getiter("/app/installations?per_page=100")
        ]
        return [installation for installation in found if installation.suspended_at is None]

    async def repositories(self, installation_id: int) -> list[RepositoryObject]:
        """Return the repositories that an installation covers."""
        pages = self.client(Scope(installation_id)).getiter(
            "/installation/repositories?per_page=100", iterable_key="repositories"
        )
        return [RepositoryObject.model_validate(item) async for item in pages]

    async def deliveries(self) -> AsyncIterator[Delivery]:
        """Yield the webhook deliveries that GitHub remembers, newest first."""
        item: Any
        async for item in self.app().getiter("/app/hook/deliveries?per_page=100"):
            yield Delivery.model_validate(item)

    async def redeliver(self, delivery_id: int) -> None:
        """Ask for one delivery again; it keeps its GUID."""
        await self.app().post(f"/app/hook/deliveries/{delivery_id}/attempts", data={})
