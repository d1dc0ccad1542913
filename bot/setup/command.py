"""`preflight-bot setup`, and what `preflight-bot serve` does first where no App is registered."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from bot.github.models import ManifestConversion
from bot.listening import listen
from bot.setup.door import HOUR_SECONDS, Door
from bot.setup.hosts import GitHubHost, NotAHost
from bot.setup.server import Proposal, SetupPages, is_public_address
from bot.setup.storing import FileStore, PrintStore, Store

WATCHED_SECONDS = 2.0
"""Between two looks whether the App was registered through another server."""
SHOWN_SECONDS = 2.0
"""How long the browser has to load the last page's style sheet."""


def run(
    *, host: str, port: int, public_url: str, organisation: str | None, github_url: str | None, store: Store
) -> int:
    """Serve the set-up on this machine until the App is registered; 2 where what was given does not do."""
    try:
        github = GitHubHost.of_operator(github_url) if github_url else None
    except NotAHost as error:
        return _refused(str(error))
    if public_url and not is_public_address(public_url):
        return _refused(f"--url {public_url} is no address such as https://preflight.example.org")
    if problem := store.problem():
        return _refused(problem)
    local_url = f"http://{host}:{port}"
    proposal = Proposal(public_url.rstrip("/"), organisation or "", github, local_url)
    with contextlib.suppress(KeyboardInterrupt):
        return asyncio.run(_register(host, port, store, proposal))
    return 130


def _refused(text: str) -> int:
    print(f"preflight-bot: {text}", file=sys.stderr)
    return 2


async def _register(host: str, port: int, store: Store, proposal: Proposal) -> int:
    pages = SetupPages(store, proposal)
    opened = f"Open {proposal.local_url}{pages.link} in a browser on this machine; the link works once."

    def announce() -> None:
        # Standard output belongs to the settings where they are printed.
        print(opened, file=sys.stderr)

    conversion = await serve_until_registered(pages, host, port, asyncio.Event(), announce=announce)
    if conversion is None:
        print("preflight-bot: nobody registered the App within the hour; start again", file=sys.stderr)
        return 1
    print(
        f"Registered {conversion.slug}. Install it: {conversion.html_url}/installations/new",
        file=sys.stderr,
    )
    return 0


async def serve_until_registered(
    pages: SetupPages,
    host: str,
    port: int,
    stop: asyncio.Event,
    *,
    announce: Callable[[], None],
    seconds: float | None = HOUR_SECONDS,
) -> ManifestConversion | None:
    """Serve the set-up pages until an App is registered, `stop` is set, or time is up: then None.

    `announce` is called once they are served.

    Raises:
        CannotListen: where the address cannot be had.
    """
    application = web.Application(client_max_size=64 * 1024)
    pages.add_to(application)
    application.router.add_get("/", _to_the_form)
    application.router.add_get("/healthz", _alive)
    application.router.add_get("/readyz", _not_ready)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    stopping: asyncio.Future[object] = asyncio.ensure_future(stop.wait())
    registered: asyncio.Future[object] = asyncio.ensure_future(asyncio.shield(pages.done))
    try:
        await listen(runner, host, port)
        announce()
        await asyncio.wait({stopping, registered}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not pages.done.done():
            return None
        # The last page loads its style sheet.
        await asyncio.wait({stopping}, timeout=SHOWN_SECONDS)
        return pages.done.result()
    finally:
        stopping.cancel()
        registered.cancel()
        await runner.cleanup()


async def _to_the_form(request: web.Request) -> web.StreamResponse:
    raise web.HTTPSeeOther("/setup")


async def _alive(request: web.Request) -> web.StreamResponse:
    return web.json_response({"status": "ok"})


async def _not_ready(request: web.Request) -> web.StreamResponse:
    return web.json_response({"status": "no App is registered yet"}, status=503)


async def register_first(
    *,
    host: str,
    port: int,
    output: Path,
    public_url: str,
    github_url: str | None,
    stop: asyncio.Event,
    door: Door | None = None,
) -> bool:
    """Open the server's own `/setup` until an App is registered, and return whether one was, and its settings are here.

    `door` is what servers of one database share: the App may be registered through another of them.
    """
    store = FileStore(output)
    if problem := store.problem():
        _refused(problem)
        return False
    github = GitHubHost.of_operator(github_url) if github_url else None
    pages = SetupPages(store, Proposal(public_url.rstrip("/"), "", github), door=door)
    address = public_url.rstrip("/") or f"http://{'localhost' if host in ('0.0.0.0', '::') else host}:{port}"
    shared = "" if door is None else ", at whichever server of this database"
    opened = f"No App is registered yet. Open {address}{pages.link} in a browser; the link works once{shared}."

    def announce() -> None:
        print(opened, flush=True)

    ended = asyncio.Event()
    watching = asyncio.create_task(_ends(stop, pages, door, ended))
    try:
        conversion = await serve_until_registered(pages, host, port, ended, announce=announce, seconds=None)
    finally:
        watching.cancel()
    if conversion is not None or stop.is_set():
        return conversion is not None
    if not output.exists():
        _refused("the App was registered through another server: start this one again with the settings that it got")
    return output.exists()


async def _ends(stop: asyncio.Event, pages: SetupPages, door: Door | None, ended: asyncio.Event) -> None:
    """Set `ended` once the process is to stop, or the App is registered elsewhere."""
    while not stop.is_set() and not (door is not None and door.is_closed and not pages.done.done()):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), WATCHED_SECONDS if door is not None else None)
    ended.set()


__all__ = ["FileStore", "PrintStore", "register_first", "run"]
