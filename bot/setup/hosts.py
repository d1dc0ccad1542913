"""Which GitHub: github.com, an Enterprise Server or a ghe.com tenant, and what a request to it may reach.

The name of an Enterprise Server comes from a form, and this process then sends a request there. So it is a plain host
name, spoken to over HTTPS, without redirects; and whatever it resolves to at that moment is looked at before the
connection is made. Private networks are allowed, since that is where such servers stand. This machine itself and the
addresses at which clouds hand out credentials are not.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver

GITHUB = "https://github.com"
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?")
"""A name with a dot; the last part begins with a letter, so that no way of writing an IP address is one."""
_CLOUD_METADATA = frozenset(
    ipaddress.ip_address(text) for text in ("169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254")
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class NotAHost(ValueError):
    """The text names no server that can be a GitHub; the message is for people."""


class RefusedAddress(OSError):
    """A name that leads to this machine or to a cloud's metadata."""


@dataclass(frozen=True)
class GitHubHost:
    """A GitHub by the address of its pages. `trusted`: named by whoever started this process, not in a form."""

    web_url: str
    trusted: bool = False

    @classmethod
    def from_form(cls, text: str) -> GitHubHost:
        """Take what a person typed: a host name, or an address that is pasted whole.

        Raises:
            NotAHost: for anything that is not the name of a host reached over HTTPS.
        """
        name = text.strip().lower().removeprefix("https://").rstrip("/")
        if not _HOST.fullmatch(name) or len(name) > 253:
            raise NotAHost("Give the name of the server alone, such as github.example.org.")
        if name == "localhost" or name.endswith((".localhost", ".local", ".internal.cloudapp.net")):
            raise NotAHost("This name stands for the machine itself or its cloud, and not for a GitHub.")
        return cls(f"https://{name}")

    @classmethod
    def of_operator(cls, address: str) -> GitHubHost:
        """Take the address that the operator gave at the start.

        Raises:
            NotAHost: where it is no address.
        """
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
            raise NotAHost(f"{address} is no address such as https://github.example.org")
        return cls(address.rstrip("/"), trusted=True)

    @property
    def name(self) -> str:
        """The host as people call it."""
        return urlsplit(self.web_url).netloc

    @property
    def api_url(self) -> str:
        """Where its REST interface is."""
        return api_url(self.web_url)


def api_url(web_url: str) -> str:
    """Return the REST address that belongs to the address of a GitHub's pages."""
    root = web_url.rstrip("/")
    if root == GITHUB:
        return "https://api.github.com"
    host = urlsplit(root).hostname or ""
    if host.endswith(".ghe.com"):
        return f"https://api.{host}"
    return f"{root}/api/v3"


def is_refused(address: str) -> bool:
    """Tell whether an IP address is no place for a GitHub."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_refused(str(inner))
    if ip in _CLOUD_METADATA or ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified:
        return True
    return ip.is_reserved


class GuardedResolver(AbstractResolver):
    """Resolves names, and refuses those that lead where no GitHub stands. The connection goes to the very addresses
    that were looked at, so a name cannot change its mind in between."""

    def __init__(self, inner: AbstractResolver | None = None) -> None:
        self._inner = inner or DefaultResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """See `AbstractResolver`."""
        found = await self._inner.resolve(host, port, family)
        if any(is_refused(entry["host"]) for entry in found):
            raise RefusedAddress(f"{host} leads to an address that is no GitHub's")
        return found

    async def close(self) -> None:
        """See `AbstractResolver`."""
        await self._inner.close()
