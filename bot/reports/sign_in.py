"""Signing people in with GitHub: the App's own OAuth, with state and PKCE, and a session in a signed cookie.

GitHub is asked once who somebody is and which installations they see, and the token is dropped right after: whether
they may read a repository is asked anew with the App's own token, at each view. So a stolen session is worth no more
than what its owner may read at that moment, and there is no token of anybody's to steal.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp
import jwt
from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from bot.clock import Clock
from bot.github.client import API_VERSION, REQUESTER
from bot.github.models import Account

SESSION_SECONDS = 8 * 3600
SIGN_IN_SECONDS = 600
ANSWER_SECONDS = 20
MOST_INSTALLATIONS = 25
"""Installations that a session remembers: a cookie holds 4 KB."""
CALLBACK = "/login/callback"
_NEXT = re.compile(r"/(?:(?:reports|installations)/[0-9a-f/]+)?")
"""Where a sign-in may lead: one of our own pages."""


class Seen(BaseModel):
    """An installation as a person sees it."""

    model_config = ConfigDict(frozen=True)

    id: int
    login: str


class Person(BaseModel):
    """Who is signed in."""

    model_config = ConfigDict(frozen=True)

    id: int
    login: str
    installations: tuple[Seen, ...] = ()


class _Begun(BaseModel):
    """A sign-in on its way through GitHub."""

    state: str
    verifier: str
    next: str


class _TokenAnswer(BaseModel):
    access_token: SecretStr = SecretStr("")
    error: str = ""


class _Installation(BaseModel):
    id: int
    account: Account = Account()


class _Installations(BaseModel):
    installations: list[_Installation] = Field(default=[])


class SignInFailed(Exception):
    """Nobody is signed in; the message is for people."""


@dataclass(frozen=True)
class OAuthApp:
    """The App as GitHub's OAuth knows it, and where both sides are."""

    client_id: str
    client_secret: SecretStr
    web_url: str
    api_url: str
    public_url: str

    @property
    def redirect_uri(self) -> str:
        """Where GitHub sends the browser back to."""
        return self.public_url + CALLBACK


class SignIn:
    """Sessions, and the way to one."""

    def __init__(self, app: OAuthApp, session: aiohttp.ClientSession, clock: Clock) -> None:
        self._app = app
        self._http = session
        self._clock = clock
        self._secure = app.public_url.startswith("https://")
        # A __Host- cookie cannot be set by a neighbouring host of the same domain.
        prefix = "__Host-" if self._secure else ""
        self._session_cookie = f"{prefix}preflight-session"
        self._begun_cookie = f"{prefix}preflight-sign-in"
        # With a new client secret everybody signs in again.
        self._key = hmac.digest(
            app.client_secret.get_secret_value().encode(), b"preflight sessions, version 1", "sha256"
        )

    # Sessions

    def person(self, request: web.Request) -> Person | None:
        """Return who sends a request, if anybody is signed in."""
        claims = self._opened(request.cookies.get(self._session_cookie), "session")
        try:
            return None if claims is None else Person.model_validate(claims)
        except ValidationError:
            return None

    def leave(self, answer: web.StreamResponse) -> None:
        """End the session of the browser that gets this answer."""
        answer.del_cookie(self._session_cookie, path="/", secure=self._secure, httponly=True, samesite="Lax")

    def _sealed(self, kind: str, content: BaseModel, seconds: int) -> str:
        claims = {**content.model_dump(mode="json"), "aud": kind, "exp": int(self._clock.now()) + seconds}
        return jwt.encode(claims, self._key, algorithm="HS256")

    def _opened(self, text: str | None, kind: str) -> dict[str, Any] | None:
        if not text:
            return None
        try:
            # The clock is ours: expiry is checked below.
            claims = jwt.decode(text, self._key, algorithms=["HS256"], audience=kind, options={"verify_exp": False})
        except jwt.PyJWTError:
            return None
        fresh = isinstance(claims.get("exp"), int) and claims["exp"] > self._clock.now()
        return claims if fresh else None

    def _set(self, answer: web.StreamResponse, name: str, value: str, seconds: int) -> None:
        # Lax and not Strict: people come here by a link on GitHub, and GitHub sends them back here.
        answer.set_cookie(name, value, max_age=seconds, path="/", secure=self._secure, httponly=True, samesite="Lax")

    # The way to one

    def begin(self, destination: str) -> web.StreamResponse:
        """Return the answer that sends a browser to GitHub, and on its return to `destination`."""
        begun = _Begun(
            state=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
            next=destination if _NEXT.fullmatch(destination) else "/",
        )
        query = {
            "client_id": self._app.client_id,
            "redirect_uri": self._app.redirect_uri,
            "state": begun.state,
            # Servers that do not know PKCE pass over it.
            "code_challenge": _challenge(begun.verifier),
            "code_challenge_method": "S256",
        }
        answer = web.Response(
            status=302,
            headers={
                "Location": f"{self._app.web_url}/login/oauth/authorize?{urlencode(query)}",
                "Cache-Control": "no-store",
            },
        )
        self._set(answer, self._begun_cookie, self._sealed("sign-in", begun, SIGN_IN_SECONDS), SIGN_IN_SECONDS)
        return answer

    async def finish(self, request: web.Request) -> web.StreamResponse:
        """Take GitHub's redirect, and return the answer that signs the person in.

        Raises:
            SignInFailed: where the redirect belongs to no sign-in of this browser, or GitHub takes it back.
        """
        claims = self._opened(request.cookies.get(self._begun_cookie), "sign-in")
        begun = None if claims is None else _Begun.model_validate(claims)
        given = request.query.get("state", "")
        if begun is None or not hmac.compare_digest(given.encode("utf-8", "replace"), begun.state.encode()):
            raise SignInFailed("This answer belongs to no sign-in that this browser began within the last ten minutes.")
        code = request.query.get("code", "")
        if not code:
            raise SignInFailed("GitHub did not sign you in.")
        person = await self._ask(code, begun.verifier)
        answer = web.Response(status=303, headers={"Location": begun.next, "Cache-Control": "no-store"})
        answer.del_cookie(self._begun_cookie, path="/", secure=self._secure, httponly=True, samesite="Lax")
        self._set(answer, self._session_cookie, self._sealed("session", person, SESSION_SECONDS), SESSION_SECONDS)
        return answer

    async def _ask(self, code: str, verifier: str) -> Person:
        """Trade the code for a token, ask who it is, and drop the token."""
        sent = {
            "client_id": self._app.client_id,
            "client_secret": self._app.client_secret.get_secret_value(),
            "code": code,
            "redirect_uri": self._app.redirect_uri,
            "code_verifier": verifier,
        }
        try:
            async with self._http.post(
                f"{self._app.web_url}/login/oauth/access_token",
                data=sent,
                headers={"accept": "application/json", "user-agent": REQUESTER},
                timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS),
                allow_redirects=False,
            ) as response:
                answer = _TokenAnswer.model_validate_json(await response.read())
            token = answer.access_token.get_secret_value()
            if not token:
                raise SignInFailed("GitHub did not take the sign-in back. Try again.")
            account = Account.model_validate_json(await self._get("/user", token))
            listed = _Installations.model_validate_json(await self._get("/user/installations?per_page=100", token))
        except (aiohttp.ClientError, TimeoutError, ValidationError):
            raise SignInFailed("GitHub could not be asked who you are. Try again.") from None
        if not account.id or not account.login:
            raise SignInFailed("GitHub could not be asked who you are. Try again.")
        seen = [Seen(id=each.id, login=each.account.login) for each in listed.installations[:MOST_INSTALLATIONS]]
        return Person(id=account.id, login=account.login, installations=tuple(seen))

    async def _get(self, path: str, token: str) -> bytes:
        headers = {
            "accept": "application/vnd.github+json",
            "authorization": f"Bearer {token}",
            "user-agent": REQUESTER,
            "x-github-api-version": API_VERSION,
        }
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        url = self._app.api_url.rstrip("/") + path
        async with self._http.get(url, headers=headers, timeout=timeout, allow_redirects=False) as response:
            response.raise_for_status()
            return await response.read()


def _challenge(verifier: str) -> str:
    """The S256 challenge of a verifier (RFC 7636)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
