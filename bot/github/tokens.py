"""App and installation tokens. An installation's are narrowed to the one repository that they are used for."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import gidgethub
import jwt
from cachetools import TTLCache
from gidgethub.abc import GitHubAPI
from pydantic import BaseModel, SecretStr

from bot.clock import Clock
from bot.github.errors import InstallationGone, NotCovered, is_missing, is_suspended, status

JWT_SECONDS = 9 * 60
"""Life of an App token, counted from its backdated start; GitHub takes ten minutes at most."""
BACKDATED_SECONDS = 60
"""GitHub's advice against clocks that run apart."""
TOKEN_SECONDS = 55 * 60
"""An installation token lives one hour; it is renewed five minutes early."""


@dataclass(frozen=True)
class Scope:
    """What a token is for: one repository, by id where that is known; with neither, to look through all of an
    installation's, and to write nothing."""

    installation_id: int
    repository_id: int | None = None
    name: str | None = None

    @property
    def request(self) -> dict[str, Any]:
        """What is asked of GitHub."""
        if self.repository_id is not None:
            return {"repository_ids": [self.repository_id]}
        if self.name is not None:
            return {"repositories": [self.name]}
        return {"permissions": {"metadata": "read", "pull_requests": "read", "checks": "read"}}


class TokenAnswer(BaseModel):
    """Answer of `POST /app/installations/{id}/access_tokens`. The token is opaque: no length or form is assumed."""

    token: SecretStr


class Tokens:
    """Makes App tokens, and keeps one installation token per scope."""

    def __init__(self, app_id: int, private_key: SecretStr, clock: Clock) -> None:
        self._app_id = app_id
        self._private_key = private_key
        self._clock = clock
        self._kept: TTLCache[Scope, SecretStr] = TTLCache(maxsize=10_000, ttl=TOKEN_SECONDS, timer=clock.now)
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    def app_token(self) -> str:
        """Return a fresh App token (RS256)."""
        issued = int(self._clock.now()) - BACKDATED_SECONDS
        claims = {"iat": issued, "exp": issued + JWT_SECONDS, "iss": str(self._app_id)}
        return jwt.encode(claims, self._private_key.get_secret_value(), algorithm="RS256")

    async def installation_token(self, api: GitHubAPI, scope: Scope) -> str:
        """Return the kept token of a scope, or ask GitHub for one.

        Raises:
            InstallationGone: where the installation was deleted or suspended.
            NotCovered: where it does not cover the repository.
        """
        async with self._locks[scope.installation_id]:
            kept = self._kept.get(scope)
            if kept is None:
                kept = await self._ask(api, scope)
                self._kept[scope] = kept
            return kept.get_secret_value()

    async def _ask(self, api: GitHubAPI, scope: Scope) -> SecretStr:
        try:
            answer = await api.post(
                "/app/installations/{installation_id}/access_tokens",
                {"installation_id": str(scope.installation_id)},
                data=scope.request,
                jwt=self.app_token(),
            )
        except gidgethub.HTTPException as error:
            if is_missing(error) or is_suspended(error):
                raise InstallationGone(scope.installation_id) from error
            if status(error) == HTTPStatus.UNPROCESSABLE_ENTITY:
                raise NotCovered(scope.installation_id) from error
            raise
        return TokenAnswer.model_validate(answer).token

    def forget(self, scope: Scope) -> None:
        """Drop a token that GitHub no longer takes."""
        self._kept.pop(scope, None)

    def forget_installation(self, installation_id: int) -> None:
        """Drop all tokens of an installation."""
        for scope in [scope for scope in self._kept if scope.installation_id == installation_id]:
            self._kept.pop(scope, None)
