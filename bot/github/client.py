"""The HTTP client: gidgethub with authentication, limits, pacing and GitHub's API version."""

from __future__ import annotations

import http
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import gidgethub
from cachetools import LRUCache
from gidgethub import sansio
from gidgethub.aiohttp import GitHubAPI
from uritemplate.variable import VariableValue

from bot.clock import Clock
from bot.github.errors import InstallationGone, LimitedUntil, Unavailable, is_suspended
from bot.github.fencing import pass_fence
from bot.github.pacing import WritePacer
from bot.github.tokens import Scope, Tokens

API_VERSION = "2022-11-28"
REQUESTER = "preflight-review"
REQUEST_SECONDS = 30.0
TOKEN_PATH = "/access_tokens"
LONGEST_WAIT_SECONDS = 60.0
"""Longer waits are not sat out inside a request: the job's step is put off instead."""
SECONDARY_WAIT_SECONDS = 60.0
"""GitHub's advice where a secondary limit comes without Retry-After: a minute, then exponentially more."""
MOST_REPEATS = 2
"""Further tries of one request before the step is put off as a whole."""
CACHED_ANSWERS = 500
"""Answers kept per installation for conditional requests; a 304 costs nothing."""

Called = Callable[[int | None, str, int, Mapping[str, str]], None]
"""Told of every answer: installation, method, status and headers."""


def nobody_counts(_installation: int | None, _method: str, _status: int, _headers: Mapping[str, str]) -> None:
    """Let an answer pass uncounted."""


_LIMITED = frozenset({http.HTTPStatus.FORBIDDEN, http.HTTPStatus.TOO_MANY_REQUESTS})
_WRITES = frozenset({"POST", "PATCH", "PUT", "DELETE"})


@dataclass
class Shared:
    """What all clients of one installation have in common: limits and answers are counted for it as a whole."""

    pacer: WritePacer
    # Own cache per installation: the library keys it by address alone.
    answers: LRUCache[str, tuple[str | None, str | None, Any, str | None]] = field(
        default_factory=lambda: LRUCache(CACHED_ANSWERS)
    )
    rate_limit: sansio.RateLimit | None = None
    quiet_until: float = 0.0
    """When GitHub wants to hear of the installation again, in epoch seconds."""


class Client(GitHubAPI):
    """Speaks for one repository of an installation, for one as a whole, or, without a scope, for the App itself."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        tokens: Tokens,
        clock: Clock,
        shared: Shared,
        base_url: str,
        graphql_url: str,
        scope: Scope | None,
        sibling: Callable[[str], Client] | None = None,
        called: Called = nobody_counts,
        request_seconds: float = REQUEST_SECONDS,
    ) -> None:
        self._shared, limit = shared, shared.rate_limit
        super().__init__(session, REQUESTER, base_url=base_url, cache=shared.answers)
        shared.rate_limit = limit  # The library begins with none.
        self._tokens = tokens
        self._clock = clock
        self._graphql_url = graphql_url
        self._scope = scope
        self._sibling = sibling
        self._called = called
        self._timeout = aiohttp.ClientTimeout(total=request_seconds)

    @property
    def rate_limit(self) -> sansio.RateLimit | None:
        """The limit as the installation's last answer told it; the library writes it."""
        return self._shared.rate_limit

    @rate_limit.setter
    def rate_limit(self, limit: sansio.RateLimit | None) -> None:
        self._shared.rate_limit = limit

    def sibling(self, name: str) -> Client:
        """Return the client of another repository of the same owner, with a token of its own."""
        return self if self._sibling is None else self._sibling(name)

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        sent = {**headers, "x-github-api-version": API_VERSION}
        reads = method not in _WRITES or (url.startswith(self._graphql_url) and b"mutation" not in body[:40])
        if reads or url.endswith(TOKEN_PATH):
            return await self._send(method, url, sent, body)
        async with self._shared.pacer.turn():
            await pass_fence()
            return await self._send(method, url, sent, body)

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        try:
            async with self._session.request(
                method, url, headers=headers, data=body, timeout=self._timeout
            ) as response:
                installation = None if self._scope is None else self._scope.installation_id
                self._called(installation, method, response.status, response.headers)
                return response.status, response.headers, await response.read()
        except (TimeoutError, aiohttp.ClientError) as error:
            raise Unavailable(f"{method} {url}: {error or type(error).__name__}") from error

    async def _make_request(
        self,
        method: str,
        url: str,
        url_vars: Mapping[str, VariableValue] | None,
        data: Any,
        accept: str,
        jwt: str | None = None,
        oauth_token: str | None = None,
        content_type: str = "application/json",
        extra_headers: dict[str, str] | None = None,
    ) -> tuple[bytes, str | None, int]:
        renewed = False
        broken = 0
        while True:
            app, installation = jwt, oauth_token
            if app is None and installation is None:
                app, installation = await self._credentials()
            try:
                return await super()._make_request(
                    method, url, url_vars, data, accept, app, installation, content_type, extra_headers
                )
            except gidgethub.HTTPException as error:
                expired = error.status_code == http.HTTPStatus.UNAUTHORIZED and jwt is None and not renewed
                if expired and self._scope is not None:
                    self._tokens.forget(self._scope)
                    renewed = True
                    continue
                if self._scope is not None and is_suspended(error):
                    raise InstallationGone(self._scope.installation_id) from error
                if isinstance(error, gidgethub.GitHubBroken):
                    raise Unavailable(f"{method} {url}: {int(error.status_code)}") from error
                raise
            except Unavailable:
                # The connection broke; of answers that say so the library asks `handle_rate_limit_error`.
                broken += 1
                if not _repeatable(method, url) or broken > MOST_REPEATS:
                    raise
                await self._clock.sleep(float(broken))

    async def _credentials(self) -> tuple[str | None, str | None]:
        if self._scope is None:
            return self._tokens.app_token(), None
        return None, await self._tokens.installation_token(self, self._scope)

    async def manage_rate_limit(self, *, method: str, url: str) -> None:
        """Refuse to start a request that GitHub would refuse: going on while limited can ban the App.

        What one request was told holds for all of the installation.
        """
        quiet = self._shared.quiet_until - self._clock.now()
        if quiet > LONGEST_WAIT_SECONDS:
            raise LimitedUntil(self._shared.quiet_until, "secondary")
        if quiet > 0:
            await self._clock.sleep(quiet)
        limit = self.rate_limit
        if limit is None or limit.remaining >= 0 or method not in ("GET", *_WRITES):
            return
        reset = limit.reset_datetime.timestamp()
        if reset > self._clock.now():
            raise LimitedUntil(reset, "primary")

    async def handle_rate_limit_error(
        self, *, method: str, url: str, exception: gidgethub.HTTPException, attempt: int
    ) -> bool:
        """Sit out short waits; put off long ones; repeat reads that met a broken gateway."""
        if isinstance(exception, gidgethub.GitHubBroken):
            if not _repeatable(method, url) or attempt > MOST_REPEATS:
                return False
            await self._clock.sleep(float(attempt))
            return True
        wait = seconds_to_wait(exception, self._clock.now(), attempt)
        if wait is None:
            return False
        self._shared.quiet_until = max(self._shared.quiet_until, self._clock.now() + wait)
        if wait > LONGEST_WAIT_SECONDS or attempt > MOST_REPEATS:
            raise LimitedUntil(self._clock.now() + wait, "secondary" if _is_secondary(exception) else "primary")
        await self._clock.sleep(wait)
        return True

    async def query(self, text: str, variables: Mapping[str, Any], *, partial: bool = False) -> Mapping[str, Any]:
        """Run a GraphQL query or mutation; its errors, rate limits included, come with status 200.

        With `partial`, data that came beside errors is returned: an object that is not there must not lose the rest.
        """
        if self._scope is None:
            raise ValueError("GraphQL needs an installation")
        self.oauth_token = await self._tokens.installation_token(self, self._scope)
        limit = self.rate_limit  # GraphQL counts separately: its answer must not stand for REST.
        try:
            data = await self.graphql(text, endpoint=self._graphql_url, **variables)
        except gidgethub.QueryError as error:
            response = error.response
            if any(part.get("type") == "RATE_LIMITED" for part in response.get("errors", ())):
                raise LimitedUntil(self._clock.now() + SECONDARY_WAIT_SECONDS, "GraphQL") from error
            if not partial or not response.get("data"):
                raise
            data = response["data"]
        except gidgethub.GraphQLAuthorizationFailure as error:
            self._tokens.forget(self._scope)
            raise Unavailable("GraphQL: the token was not accepted") from error
        except gidgethub.BadGraphQLRequest as error:
            raise LimitedUntil(self._clock.now() + SECONDARY_WAIT_SECONDS, "GraphQL") from error
        except gidgethub.GraphQLException as error:
            raise Unavailable(f"GraphQL: {type(error).__name__}") from error
        except gidgethub.GitHubBroken as error:
            raise Unavailable(f"GraphQL: {int(error.status_code)}") from error
        finally:
            self.rate_limit = limit
            self.oauth_token = None
        return data if isinstance(data, Mapping) else {}


def _repeatable(method: str, url: str) -> bool:
    """A write may have been carried out although its answer was lost; only the job can tell, by reading. Another
    token does no harm."""
    return method == "GET" or url.endswith(TOKEN_PATH)


def seconds_to_wait(error: gidgethub.HTTPException, now: float, attempt: int) -> float | None:
    """Return how long GitHub wants us to wait after this answer, or None where it is no limit."""
    if error.status_code not in _LIMITED:
        return None
    retry_after = error.headers.get("retry-after")
    if retry_after is not None and retry_after.isdigit():
        return float(retry_after)
    limit = sansio.RateLimit.from_http(error.headers)
    if limit is not None and limit.remaining == 0:
        return max(limit.reset_datetime.timestamp() - now, 1.0)
    if _is_secondary(error):
        return float(SECONDARY_WAIT_SECONDS * 2 ** (attempt - 1))
    return None


def _is_secondary(error: gidgethub.HTTPException) -> bool:
    text = str(error).lower()
    return (
        "secondary rate limit" in text
        or "abuse" in text
        or error.status_code == http.HTTPStatus.TOO_MANY_REQUESTS
        or "retry-after" in error.headers
    )
