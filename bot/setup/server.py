"""The set-up pages: choose, confirm, register at GitHub, install.

GitHub's manifest flow has three steps, all within an hour: a form is posted to GitHub, GitHub sends the browser back
with a code, and the code is traded for the secrets. GitHub shows those once, and so do we: they go into one file or to
standard output, and neither into a log nor into a page.

Whoever registers the App owns it, so the pages open only to the browser that brings the token printed at the start,
once; afterwards that browser is known by a cookie. Once an App is registered, all of this is locked.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.abc import AbstractResolver

from bot.clock import Clock, SystemClock
from bot.github.models import ManifestConversion
from bot.pages.rendering import Pages, add_assets, is_own_form
from bot.setup.conversion import ConversionFailed, convert
from bot.setup.door import HOUR_SECONDS, Begun, Door, OwnDoor, same
from bot.setup.hosts import GITHUB, GitHubHost, NotAHost
from bot.setup.manifest import FILE, NAME, Manifest, registration_url
from bot.setup.storing import Store, settings_text

LONGEST_FIELD = 300
COOKIE = "preflight-setup"
ORGANISATION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})")


@dataclass(frozen=True)
class Proposal:
    """What the operator said at the start, and what the form begins with."""

    public_url: str = ""
    organisation: str = ""
    github: GitHubHost | None = None
    """The only GitHub to register at; None lets the form choose."""
    local_url: str | None = None
    """Where the set-up pages are when they are not under the public address."""


@dataclass(frozen=True)
class Choice:
    """The form as filled in, and what is wrong with it by field."""

    name: str = FILE.name
    public_url: str = ""
    owner: str = "account"
    organisation: str = ""
    github: str = "github.com"
    enterprise: str = ""
    wrong: Mapping[str, str] = field(default_factory=dict)


class SetupPages:
    """One registration."""

    def __init__(
        self,
        store: Store,
        proposal: Proposal | None = None,
        *,
        door: Door | None = None,
        clock: Clock | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._door = door or OwnDoor()
        self.done: asyncio.Future[ManifestConversion] = asyncio.get_running_loop().create_future()
        self._store = store
        self._proposal = proposal or Proposal()
        self._clock = clock or SystemClock()
        self._resolver = resolver
        self._pages = Pages(person=None)

    @property
    def link(self) -> str:
        """Path and query that open the pages, once."""
        return f"/setup?token={self._door.token}"

    def is_at(self, address: str) -> None:
        """Propose the address of a server that knows it only once it listens."""
        self._proposal = replace(self._proposal, public_url=address)

    def add_to(self, application: web.Application) -> None:
        """Serve the pages."""
        application.router.add_get("/setup", self._guarded(self.form))
        application.router.add_post("/setup", self._guarded(self.confirm))
        application.router.add_get("/setup/registered", self._guarded(self.registered))
        add_assets(application)

    def _guarded(
        self, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def guarded(request: web.Request) -> web.StreamResponse:
            if self._is_known(request):
                return await handler(request)
            if self._door.is_closed:
                return locked(self._pages)
            if request.method == "GET" and self._door.admits(request.query.get("token", "")):
                raise self._admitted(request)
            return self._pages.message(
                "Not from here",
                "The set-up opens through the link that was printed where the server was started, and only once: "
                "whoever registers the App owns it. Start the server again for a new link.",
                status=403,
            )

        return guarded

    def _is_known(self, request: web.Request) -> bool:
        return same(request.cookies.get(COOKIE, ""), self._door.session)

    def _admitted(self, request: web.Request) -> web.HTTPSeeOther:
        # The token leaves the address at once, so that no history and no log behind us keeps one that works.
        answer = web.HTTPSeeOther("/setup")
        # Lax, since GitHub's redirect back has to bring it.
        answer.set_cookie(
            COOKIE,
            self._door.session,
            path="/setup",
            httponly=True,
            samesite="Lax",
            secure=request.headers.get("X-Forwarded-Proto", request.scheme) == "https",
            max_age=2 * int(HOUR_SECONDS),
        )
        return answer

    async def form(self, request: web.Request) -> web.StreamResponse:
        """Ask where the App is to be registered, and show what it will be allowed."""
        if self._door.is_closed:
            return locked(self._pages)
        public_url = self._proposal.public_url or _own_address(request)
        owner = "organisation" if self._proposal.organisation else "account"
        return self._form(Choice(public_url=public_url, owner=owner, organisation=self._proposal.organisation))

    def _form(self, choice: Choice, status: int = 200) -> web.Response:
        fixed = self._proposal.github
        return self._pages.answer(
            "setup/form.html",
            status=status,
            choice=choice,
            permissions=[(name, level, FILE.why[name]) for name, level in FILE.default_permissions.items()],
            events=FILE.default_events,
            fixed_host=fixed.name if fixed else None,
            place=self._store.place,
            problem=self._store.problem(),
        )

    async def confirm(self, request: web.Request) -> web.StreamResponse:
        """Check the choice, and show the form that carries the manifest to GitHub."""
        if not is_own_form(request):
            return self._pages.message("Another page's form", "This form was sent by another site.", status=403)
        if self._door.is_closed:
            return locked(self._pages)
        sent = await request.post()

        def given(name: str) -> str:
            return str(sent.get(name, "")).strip()[:LONGEST_FIELD]

        choice = Choice(
            name=given("name"),
            public_url=given("public_url"),
            owner=given("owner"),
            organisation=given("organisation"),
            github=given("github"),
            enterprise=given("enterprise"),
        )
        host, wrong = self._host(choice), dict(_mistakes(choice))
        if isinstance(host, str):
            wrong["enterprise"] = host
        if problem := self._store.problem():
            wrong["place"] = problem
        if wrong or isinstance(host, str):
            return self._form(replace(choice, wrong=wrong), status=422)
        public_url = choice.public_url.rstrip("/")
        state = self._door.begin(Begun(host, public_url, self._clock.now()))
        manifest = Manifest.of(
            public_url, f"{self._proposal.local_url or public_url}/setup/registered", name=choice.name
        )
        organisation = choice.organisation if choice.owner == "organisation" else None
        return self._pages.answer(
            "setup/confirm.html",
            form_targets=(host.web_url,),
            action=registration_url(host.web_url, organisation, state),
            manifest=manifest,
            host=host.name,
            organisation=organisation,
        )

    def _host(self, choice: Choice) -> GitHubHost | str:
        """The GitHub that was chosen, or what is wrong with it."""
        if self._proposal.github is not None:
            return self._proposal.github
        if choice.github != "enterprise":
            return GitHubHost(GITHUB, trusted=True)
        try:
            return GitHubHost.from_form(choice.enterprise)
        except NotAHost as error:
            return str(error)

    async def registered(self, request: web.Request) -> web.StreamResponse:
        """Take GitHub's redirect, and trade its code for the secrets."""
        if self._door.is_closed:
            return locked(self._pages)
        # The state proves that this browser began the registration here; it works once.
        begun = self._door.take(request.query.get("state", ""))
        if begun is None or self._clock.now() - begun.at > HOUR_SECONDS:
            return self._again("This answer belongs to no registration that was begun here within the last hour.", 403)
        try:
            conversion = await convert(begun.host, request.query.get("code", ""), self._resolver)
            text = settings_text(conversion, api_url=begun.host.api_url, public_url=begun.public_url)
        except ConversionFailed as error:
            return self._again(str(error), 502)
        if self._door.is_closed:
            return locked(self._pages)
        page = conversion.html_url if conversion.html_url.startswith(f"{begun.host.web_url}/") else None
        try:
            self._store.keep(text)
        except OSError as error:
            return self._pages.message(
                "Registered, and the secrets could not be kept",
                f"{error.strerror}: {self._store.place}. Delete the App {conversion.slug} at {begun.host.name} and "
                "start again; without its key nobody can use it.",
                status=500,
            )
        self._door.close()
        self.done.set_result(conversion)
        return self._pages.answer(
            "setup/done.html",
            slug=conversion.slug,
            install=f"{page}/installations/new" if page else None,
            host=begun.host.name,
            place=self._store.place,
        )

    def _again(self, text: str, status: int) -> web.Response:
        return self._pages.answer("setup/again.html", status=status, text=text)


def locked(pages: Pages) -> web.Response:
    """Return what the set-up answers once an App is registered."""
    return pages.message(
        "Set up already",
        "This server has its App, and its set-up is locked. To register another, start a server without settings.",
        status=403,
    )


def add_locked(application: web.Application) -> None:
    """Answer the addresses of the set-up on a server that has its App."""
    pages = Pages(person=None)

    async def answer(request: web.Request) -> web.Response:
        return locked(pages)

    add_assets(application)
    application.router.add_get("/setup", answer)
    application.router.add_get("/setup/registered", answer)


def _mistakes(choice: Choice) -> Mapping[str, str]:
    wrong = {}
    if not NAME.fullmatch(choice.name):
        wrong["name"] = "Letters, digits, spaces and . _ - only, 34 characters at most."
    if not is_public_address(choice.public_url):
        wrong["public_url"] = "An address that GitHub can reach over HTTPS, such as https://preflight.example.org."
    if choice.owner == "organisation" and not ORGANISATION.fullmatch(choice.organisation):
        wrong["organisation"] = "The organisation's name as it stands in its address."
    return wrong


def is_public_address(address: str) -> bool:
    """Tell whether an address can be a server's public one: HTTPS and a host alone, or HTTP on this machine."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    plain = re.fullmatch(r"[A-Za-z0-9.:/\[\]-]+", address) is not None
    secure = parts.scheme == "https" or (parts.scheme == "http" and host in ("127.0.0.1", "localhost", "::1"))
    return plain and secure and bool(host) and not parts.path.strip("/") and not parts.query and not parts.username


def _own_address(request: web.Request) -> str:
    """The address under which the browser reached us: behind a proxy that is the proxy's."""
    scheme = request.headers.get("X-Forwarded-Proto", request.scheme)
    address = f"{scheme}://{request.host}"
    return address if is_public_address(address) else ""
