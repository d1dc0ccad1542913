"""App and installation tokens."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import jwt
from cachetools import TTLCache
from gidgethub.abc import GitHubAPI
from pydantic import BaseModel, SecretStr

from bot.clock import Clock

JWT_SECONDS = 9 * 60
"""Life of an App token, counted from its backdated start; GitHub takes ten minutes at most."""
BACKDATED_SECONDS = 60
"""GitHub's advice against clocks that run apart."""
TOKEN_SECONDS = 55 * 60
"""An installation token lives one hour; it is renewed five minutes early."""


class TokenAnswer(BaseModel):
    """Answer of `POST /app/installations/{id}/access_tokens`. The token is opaque: no length or form is assumed."""

    token: SecretStr


class Tokens:
    """Makes App tokens, and keeps one installation token per installation."""

    def __init__(self, app_id: int, private_key: SecretStr, clock: Clock) -> None:
        self._app_id = app_id
        self._private_key = private_key
        self._clock = clock
        self._kept: TTLCache[int, SecretStr] = TTLCache(maxsize=10_000, ttl=TOKEN_SECONDS, timer=clock.now)
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    def app_token(self) -> str:
        """Return a fresh App token (RS256)."""
        issued = int(self._clock.now()) - BACKDATED_SECONDS
        claims = {"iat": issued, "exp": issued + JWT_SECONDS, "iss": str(self._app_id)}
        return jwt.encode(claims, self._private_key.get_secret_value(), algorithm="RS256")

    async def installation_token(self, api: GitHubAPI, installation_id: int) -> str:
        """Return the kept token of an installation, or ask GitHub for one."""
        async with self._locks[installation_id]:
            kept = self._kept.get(installation_id)
            if kept is None:
                answer = await api.post(
                    "/app/installations/{installation_id}/access_tokens",
                    {"installation_id": str(installation_id)},
                    data={},
                    jwt=self.app_token(),
                )
                kept = TokenAnswer.model_validate(answer).token
                self._kept[installation_id] = kept
            return kept.get_secret_value()

    def forget(self, installation_id: int) -> None:
        """Drop a token that GitHub no longer takes."""
        self._kept.pop(installation_id, None)
