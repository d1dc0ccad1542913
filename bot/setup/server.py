"""The three steps of the manifest flow, on a small local server: form, redirect, conversion.

All three must happen within an hour. GitHub shows the secrets once, and so do we: they go into one file that only
its owner can read, and neither into a log nor into a page.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import html
import os
import re
import secrets
from pathlib import Path

import aiohttp
from aiohttp import web
from pydantic import ValidationError

from bot.github.models import ManifestConversion
from bot.setup.manifest import Manifest, api_url, registration_url

HOUR_SECONDS = 3600
_CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")
"""It becomes part of an address, so nothing else passes."""

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Preflight setup</title>
<style>body{{font:16px/1.5 system-ui;max-width:40em;margin:4em auto;padding:0 1em}}</style>
<h1>Preflight setup</h1>{content}</html>"""

_FORM = """<p>This registers a GitHub App whose webhooks go to <code>{webhook}</code>.</p>
<form action="{action}" method="post"><input type="hidden" name="manifest" value="{manifest}">
<button type="submit">Register at GitHub</button></form>"""


class SetupServer:
    """One registration."""

    def __init__(self, manifest: Manifest, *, action: str, state: str, api: str, output: Path) -> None:
        self._manifest = manifest
        self._action = action
        self._state = state
        self._api = api
        self._output = output
        self.done: asyncio.Future[ManifestConversion] = asyncio.get_running_loop().create_future()

    def application(self) -> web.Application:
        """Return the aiohttp application."""
        application = web.Application()
        application.router.add_get("/", self.form)
        application.router.add_get("/registered", self.registered)
        return application

    async def form(self, request: web.Request) -> web.Response:
        """Show the form that posts the manifest to GitHub."""
        content = _FORM.format(
            webhook=html.escape(self._manifest.hook_attributes.url),
            action=html.escape(self._action, quote=True),
            manifest=html.escape(self._manifest.text(), quote=True),
        )
        return _page(content)

    async def registered(self, request: web.Request) -> web.Response:
        """Take GitHub's redirect, and trade its code for the secrets."""
        # The state proves that this browser began the registration here.
        if not hmac.compare_digest(request.query.get("state", "").encode(), self._state.encode()):
            return _page("<p>The state does not match. Start again from the first page.</p>", status=403)
        code = request.query.get("code", "")
        if not _CODE.fullmatch(code):
            return _page("<p>GitHub sent no code. Start again from the first page.</p>", status=400)
        if self.done.done():
            return _page("<p>The App is registered already.</p>")
        url = f"{self._api.rstrip('/')}/app-manifests/{code}/conversions"
        async with (
            aiohttp.ClientSession(trust_env=True) as session,
            session.post(url, headers={"accept": "application/vnd.github+json"}) as response,
        ):
            if response.status != 201:
                return _page(f"<p>GitHub refused the code ({response.status}). Start again.</p>", status=502)
            try:
                conversion = ManifestConversion.model_validate(await response.json())
            except ValidationError:
                return _page("<p>GitHub's answer lacks what was expected. Start again.</p>", status=502)
        write_settings(self._output, conversion, self._api)
        self.done.set_result(conversion)
        place = html.escape(conversion.html_url, quote=True)
        return _page(
            f"<p>Registered as <b>{html.escape(conversion.slug)}</b>. The settings are in the file that you named.</p>"
            f'<p><a href="{place}/installations/new">Install it</a> on your repositories.</p>'
        )


def write_settings(path: Path, conversion: ManifestConversion, api: str) -> None:
    """Write the settings file, readable by its owner alone, from the moment it exists.

    Raises:
        FileExistsError: a file is there: its secrets would be lost.
    """
    key = conversion.pem.strip().replace("\n", "\\n")
    lines = [
        f"PREFLIGHT_APP_ID={conversion.id}",
        f'PREFLIGHT_PRIVATE_KEY="{key}"',
        f"PREFLIGHT_WEBHOOK_SECRET={conversion.webhook_secret or ''}",
        f"PREFLIGHT_GITHUB_API_URL={api}",
    ]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def _page(content: str, status: int = 200) -> web.Response:
    return web.Response(text=_PAGE.format(content=content), content_type="text/html", status=status)


def run(*, host: str, port: int, public_url: str, organisation: str | None, github_url: str, output: Path) -> int:
    """Serve the setup until the App is registered; returns 2 where the settings file exists already."""
    if output.exists():
        print(f"preflight-bot: {output} exists already; move it away, or name another file with --output")
        return 2

    async def register() -> int:
        state = secrets.token_urlsafe(32)
        manifest = Manifest.of(public_url, f"http://{host}:{port}/registered")
        server = SetupServer(
            manifest,
            action=registration_url(github_url, organisation, state),
            state=state,
            api=api_url(github_url),
            output=output,
        )
        runner = web.AppRunner(server.application(), access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
            print(f"Open http://{host}:{port}/ in a browser on this machine.")
            conversion = await asyncio.wait_for(server.done, HOUR_SECONDS)
            # Let the browser have its page.
            await asyncio.sleep(1)
        except TimeoutError:
            print("preflight-bot: GitHub takes the three steps within one hour only; start again")
            return 1
        finally:
            await runner.cleanup()
        print(
            f"Registered {conversion.slug}; settings written to {output} (mode 0600). Install it: {conversion.html_url}"
        )
        return 0

    with contextlib.suppress(KeyboardInterrupt):
        return asyncio.run(register())
    return 130
