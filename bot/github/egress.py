"""The only hosts that the bot talks to: GitHub's API as configured, and its pages for signing people in."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

import aiohttp
from aiohttp import ClientRequest, ClientTimeout
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

_PORTS = {"http": 80, "https": 443}


class ForbiddenHost(Exception):
    """Something led to a host that is not GitHub's, such as a redirect or the address of a next page."""


class GitHubConnector(aiohttp.TCPConnector):
    """Connects to the hosts of some addresses and to no others: each request comes by here, redirected ones too."""

    def __init__(self, addresses: Iterable[str]) -> None:
        super().__init__()
        self._allowed = frozenset(_place(address) for address in addresses)

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: ClientTimeout) -> Connection:
        """Return a connection.

        Raises:
            ForbiddenHost: where it would lead elsewhere.
        """
        place = (req.url.scheme, req.url.host, req.url.port)
        if place not in self._allowed:
            raise ForbiddenHost(f"{req.url.origin()} is not the GitHub of this server")
        return await super().connect(req, traces, timeout)


def _place(address: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
