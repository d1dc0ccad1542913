"""The pages of the demonstration: the pull request, the report behind the check's details, and the set-up of an App."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp import web
from rich.console import Console
from yarl import URL

from bot.demo.page import Page
from bot.demo.shown import Shown
from bot.listening import listen
from bot.setup.hosts import GitHubHost
from bot.setup.server import Proposal, SetupPages
from bot.setup.storing import FileStore
from bot.standin import StandIn

HOST = "127.0.0.1"


class NotServed(Exception):
    """A page did not come as it should."""


@dataclass(frozen=True)
class Addresses:
    """Where the pages are."""

    pull: str
    report: str | None
    """None where the review left none."""
    setup: str
    estimated: bool = False
    """Whether the report has a run to show."""


@asynccontextmanager
async def serving(shown: Shown, port: int, folder: Path) -> AsyncIterator[Addresses]:
    """Serve all pages for the duration of the block; the pull request's on `port`, or on a free one where it is 0."""
    async with AsyncExitStack() as stack:
        pull = await _listening(stack, Page(shown).application(), port)
        shown.github.pull_page = pull
        setup = await _setup(stack, shown, folder)
        check = shown.check
        # The title tells sizes where a run was estimated.
        estimated = check is not None and "GiB" in (check.title or "")
        yield Addresses(pull, check.details_url if check else None, setup, estimated)


async def _setup(stack: AsyncExitStack, shown: Shown, folder: Path) -> str:
    """Serve the set-up page over a GitHub of its own, so that registering there changes nothing here."""
    github = await stack.enter_async_context(StandIn(enterprise=True))
    repository = shown.pull.repository
    github.add_repository(repository.git.folder, owner=repository.owner, name=repository.name, installed=False)
    pages = SetupPages(FileStore(folder / "settings.env"), Proposal(github=GitHubHost(github.web_url, trusted=True)))
    application = web.Application()
    pages.add_to(application)
    root = await _listening(stack, application, 0)
    # All that is registered here stays on this machine.
    pages.is_at(root.rstrip("/"))
    return root.rstrip("/") + pages.link


async def _listening(stack: AsyncExitStack, application: web.Application, port: int) -> str:
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await listen(runner, HOST, port)
    return f"http://{HOST}:{runner.addresses[0][1]}/"


async def prove(addresses: Addresses, login: str) -> None:
    """Open every page once, as `login`.

    Raises:
        NotServed: naming the page that did not come.
    """
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        await _page(browser, addresses.pull, "wants to merge")
        await _page(browser, addresses.setup, "What the App may do")
        if addresses.report is not None:
            # GitHub asks who it is, and sends the browser back to the report.
            asked, place = await _page(browser, addresses.report, "Continue as")
            form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', asked))
            sent = {name: html.unescape(value) for name, value in form.items()} | {"login": login}
            async with browser.post(place.with_query(None), data=sent) as answer:
                await _checked(answer, "Memory over time" if addresses.estimated else "Findings")


async def _page(browser: aiohttp.ClientSession, address: str, words: str) -> tuple[str, URL]:
    async with browser.get(address) as answer:
        return await _checked(answer, words), answer.url


async def _checked(answer: aiohttp.ClientResponse, words: str) -> str:
    text = await answer.text()
    if answer.status != 200 or words not in text:
        raise NotServed(f"{answer.url.path} answered {answer.status} without {words!r}")
    return text


def show(console: Console, addresses: Addresses) -> None:
    """Print where the pages are."""
    console.print("\nIn a browser on this machine:")
    rows = [("the pull request", addresses.pull), ("its report", addresses.report), ("the set-up", addresses.setup)]
    for name, address in rows:
        if address is not None:
            console.print(f"  {name:<17} [link={address}]{address}[/link]", soft_wrap=True, highlight=False)
    console.print("The report asks who you are; the author of the pull request may read it. Stop with Ctrl-C.")
