"""No request leaves for a host that is not the configured GitHub."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.github.egress import ForbiddenHost, GitHubConnector


@dataclass
class Elsewhere:
    """A GitHub that leads away, and a host that waits for what comes."""

    github: TestServer
    visited: list[str] = field(default_factory=list)


@pytest.fixture
async def elsewhere() -> AsyncIterator[Elsewhere]:
    visited: list[str] = []

    async def note(request: web.Request) -> web.Response:
        visited.append(request.path)
        return web.Response()

    async def away(request: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect(f"http://127.0.0.1:{other.port}/stolen")

    async def home(request: web.Request) -> web.Response:
        raise web.HTTPMovedPermanently("/here")

    async def here(request: web.Request) -> web.Response:
        return web.Response(text="here")

    outside = web.Application()
    outside.router.add_route("*", "/{path:.*}", note)
    inside = web.Application()
    inside.router.add_get("/away", away)
    inside.router.add_get("/renamed", home)
    inside.router.add_get("/here", here)
    async with TestServer(outside) as other, TestServer(inside) as github:
        yield Elsewhere(github, visited)


async def test_a_redirect_to_another_host_is_not_followed(elsewhere: Elsewhere) -> None:
    root = f"http://127.0.0.1:{elsewhere.github.port}"
    async with aiohttp.ClientSession(connector=GitHubConnector([root])) as session:
        with pytest.raises(ForbiddenHost):
            await session.get(f"{root}/away")
        async with session.get(f"{root}/renamed") as answer:
            assert await answer.text() == "here"

    assert elsewhere.visited == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "https://127.0.0.1/", "http://localhost/", "http://[::1]/"])
async def test_another_host_port_or_scheme_is_refused(elsewhere: Elsewhere, url: str) -> None:
    root = f"http://127.0.0.1:{elsewhere.github.port}/api/v3"
    async with aiohttp.ClientSession(connector=GitHubConnector([root])) as session:
        with pytest.raises(ForbiddenHost):
            await session.get(url)
