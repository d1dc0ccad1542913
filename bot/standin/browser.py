"""What GitHub shows a browser, as far as an App's life needs it: registration, installation, and sign-in.

Nobody signs in here: each page asks who acts. What GitHub refuses is refused: a manifest without what it needs, a
redirect to an address that the App did not register, a code that is used twice or comes with the wrong verifier.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.pages.rendering import Pages, add_assets, security_headers
from bot.standin.git import UnknownRevision
from bot.standin.state import Json, Token
from bot.standin.webhooks import Webhooks
from bot.standin.world import World

CODE_SECONDS = 600
TOKEN_SECONDS = 8 * 3600
LONGEST_NAME = 34


class Hook(BaseModel):
    """`hook_attributes` of a manifest."""

    model_config = ConfigDict(extra="forbid")

    url: str
    active: bool = True


class PostedManifest(BaseModel):
    """A manifest as GitHub takes it."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(default="", max_length=LONGEST_NAME)
    url: str
    hook_attributes: Hook | None = None
    redirect_url: str = ""
    callback_urls: list[str] = Field(default=[], max_length=10)
    setup_url: str = ""
    description: str = ""
    public: bool = False
    default_events: list[str] = []
    default_permissions: dict[str, str] = {}
    request_oauth_on_install: bool = False
    setup_on_update: bool = False


@dataclass(frozen=True)
class Grant:
    """What a person agreed to, until the App trades the code for a token."""

    login: str
    redirect_uri: str
    challenge: str | None
    expires_at: float


class Browser:
    """The pages."""

    def __init__(self, github: World, webhooks: Webhooks) -> None:
        self.github = github
        self.webhooks = webhooks
        self.grants: dict[str, Grant] = {}
        self.pages = Pages("bot.standin", person=None)

    def add_to(self, application: web.Application) -> None:
        """Serve them."""
        router = application.router
        router.add_post("/settings/apps/new", self.review_manifest)
        router.add_post("/organizations/{organisation}/settings/apps/new", self.review_manifest)
        router.add_post("/settings/apps/create", self.create_app)
        router.add_get("/apps/{slug}/installations/new", self.choose_repositories)
        router.add_post("/apps/{slug}/installations/new", self.install)
        router.add_get("/login/oauth/authorize", self.ask_consent)
        router.add_post("/login/oauth/authorize", self.consent)
        router.add_post("/login/oauth/access_token", self.trade_code)
        router.add_get("/{owner}/{name}/pull/{number}", self.pull)
        router.add_get("/{owner}/{name}/commit/{sha}", self.pull)
        router.add_get("/{owner}/{name}/blob/{sha}/{path:.+}", self.blob)
        add_assets(application)

    def refuse(self, text: str, status: int = 422) -> web.Response:
        return self.pages.answer("standin/message.html", status=status, title="Refused", text=text)

    # What links lead to

    async def pull(self, request: web.Request) -> web.Response:
        if self.github.pull_page is None:
            return self.refuse("Nobody shows this pull request as a page.", 404)
        raise web.HTTPFound(self.github.pull_page)

    async def blob(self, request: web.Request) -> web.Response:
        match = request.match_info
        repository = self.github.find_repository(match["owner"], match["name"])
        try:
            if repository is None:
                raise UnknownRevision(match["sha"])
            kind, sha = repository.git.object_at(match["sha"], match["path"])
        except UnknownRevision:
            return self.refuse("There is no such file.", 404)
        text = repository.git.blob(sha).decode(errors="replace") if kind == "blob" else ""
        return web.Response(text=text, headers=security_headers())

    # Registration

    def manifest(self, sent: Any) -> PostedManifest | str:
        try:
            return PostedManifest.model_validate_json(str(sent.get("manifest", "")))
        except ValidationError as error:
            return "; ".join(f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors())

    async def review_manifest(self, request: web.Request) -> web.Response:
        sent = await request.post()
        manifest = self.manifest(sent)
        if isinstance(manifest, str):
            return self.refuse(f"The manifest is not valid: {manifest}")
        return self.pages.answer(
            "standin/register.html",
            manifest=manifest,
            raw=str(sent["manifest"]),
            state=request.query.get("state", ""),
            owner=request.match_info.get("organisation", "your account"),
            form_targets=(origin(manifest.redirect_url),),
        )

    async def create_app(self, request: web.Request) -> web.StreamResponse:
        sent = await request.post()
        manifest = self.manifest(sent)
        if isinstance(manifest, str):
            return self.refuse(f"The manifest is not valid: {manifest}")
        app = self.github.app
        app.slug = re.sub(r"[^a-z0-9]+", "-", (manifest.name or app.slug).lower()).strip("-")
        app.permissions = {"metadata": "read", **manifest.default_permissions}
        app.events = tuple(manifest.default_events)
        app.callback_urls = tuple(manifest.callback_urls)
        if manifest.hook_attributes is not None:
            self.github.webhook_url = manifest.hook_attributes.url
        code = secrets.token_hex(20)
        self.github.manifest_codes.add(code)
        raise web.HTTPFound(with_query(manifest.redirect_url, code=code, state=str(sent.get("state", ""))))

    # Installation

    async def choose_repositories(self, request: web.Request) -> web.Response:
        if request.match_info["slug"] != self.github.app.slug:
            return self.refuse("There is no such App.", 404)
        return self.pages.answer(
            "standin/install.html", app=self.github.app, repositories=self.github.repositories, done=False
        )

    async def install(self, request: web.Request) -> web.Response:
        chosen = set((await request.post()).getall("repository", []))
        for repository in self.github.repositories:
            if repository.full_name in chosen and not repository.installed:
                repository.installed = True
                await self.webhooks.deliver("installation", "created", repository=repository)
        return self.pages.answer(
            "standin/install.html", app=self.github.app, repositories=self.github.repositories, done=True
        )

    # Sign-in

    async def ask_consent(self, request: web.Request) -> web.Response:
        query = request.query
        app = self.github.app
        if query.get("client_id") != app.client_id:
            return self.refuse("There is no App of this client id.", 404)
        redirect = query.get("redirect_uri") or next(iter(app.callback_urls), "")
        if redirect not in app.callback_urls:
            return self.refuse("The redirect_uri is not associated with this application.")
        if query.get("code_challenge") and query.get("code_challenge_method") != "S256":
            return self.refuse("code_challenge_method must be S256.")
        return self.pages.answer(
            "standin/authorize.html",
            app=app,
            people=sorted(self.github.people),
            redirect_uri=redirect,
            state=query.get("state", ""),
            challenge=query.get("code_challenge", ""),
            form_targets=(origin(redirect),),
        )

    async def consent(self, request: web.Request) -> web.StreamResponse:
        sent = {name: str(value) for name, value in (await request.post()).items()}
        redirect, login = sent.get("redirect_uri", ""), sent.get("login", "")
        if redirect not in self.github.app.callback_urls or login not in self.github.people:
            return self.refuse("This form is not one of ours.")
        code = secrets.token_hex(10)
        expires = self.github.clock() + CODE_SECONDS
        self.grants[code] = Grant(login, redirect, sent.get("challenge") or None, expires)
        raise web.HTTPFound(with_query(redirect, code=code, state=sent.get("state", "")))

    async def trade_code(self, request: web.Request) -> web.Response:
        """GitHub answers 200 to mistakes as well, and names them in the body."""
        sent = {name: str(value) for name, value in (await request.post()).items()}
        app = self.github.app
        if sent.get("client_id") != app.client_id or not hmac.compare_digest(
            sent.get("client_secret", ""), app.client_secret
        ):
            return web.json_response({"error": "incorrect_client_credentials"})
        grant = self.grants.pop(sent.get("code", ""), None)
        if grant is None or grant.expires_at <= self.github.clock():
            return web.json_response({"error": "bad_verification_code"})
        if sent.get("redirect_uri", grant.redirect_uri) != grant.redirect_uri:
            return web.json_response({"error": "redirect_uri_mismatch"})
        if grant.challenge is not None and challenge_of(sent.get("code_verifier", "")) != grant.challenge:
            return web.json_response({"error": "bad_verification_code"})
        value = f"ghu_{secrets.token_hex(18)}"
        expires = self.github.clock() + TOKEN_SECONDS
        self.github.tokens[value] = Token(value, 0, {}, None, expires, login=grant.login)
        body: Json = {"access_token": value, "expires_in": TOKEN_SECONDS, "token_type": "bearer", "scope": ""}
        return web.json_response(body)


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a verifier (RFC 7636)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def with_query(address: str, **values: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}{urlencode(values)}"
