"""Published configurations of models, from a hub of models. Off unless the operator names the hub.

A model that the catalogue does not have is known by its `config.json`. The code under review decides which names are
asked for, so that a name from a private repository leaves the house: therefore the switch. Nothing else is fetched.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import aiohttp
from cachetools import TTLCache

from bot.clock import Clock
from bot.github.egress import ForbiddenHost

logger = logging.getLogger(__name__)

MOST_NAMES = 4
"""Of one analysis."""
LARGEST_BYTES = 1_000_000
REQUEST_SECONDS = 10.0
KEPT_SECONDS = 24 * 3600.0
KEPT_NAMES = 5_000
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_NAME = re.compile(rf"{_PART}(/{_PART})?")


class ModelHub(Protocol):
    """Knows published configurations."""

    async def configurations(self, names: Sequence[str]) -> Mapping[str, dict[str, Any]]:
        """Return those of the names that are known. Never raises."""


class Hub:
    """A hub over HTTP, asked for `NAME/resolve/main/config.json` alone."""

    def __init__(self, session: aiohttp.ClientSession, url: str, clock: Clock) -> None:
        """The session reaches no host but the hub's."""
        self._session = session
        self._url = url.rstrip("/")
        self._kept: TTLCache[str, dict[str, Any] | None] = TTLCache(KEPT_NAMES, KEPT_SECONDS, timer=clock.now)

    async def configurations(self, names: Sequence[str]) -> Mapping[str, dict[str, Any]]:
        """See `ModelHub`."""
        asked = [name for name in dict.fromkeys(names) if _is_name(name)][:MOST_NAMES]
        found = await asyncio.gather(*(self._configuration(name) for name in asked))
        return {name: values for name, values in zip(asked, found, strict=True) if values is not None}

    async def _configuration(self, name: str) -> dict[str, Any] | None:
        if name not in self._kept:
            try:
                self._kept[name] = await self._fetch(name)
            except (aiohttp.ClientError, ForbiddenHost, TimeoutError, OSError, ValueError, RecursionError) as error:
                # Without it the estimate says that the model is not known; the review does not wait for a hub.
                logger.warning("the hub gave no configuration of %s: %s", name, error or type(error).__name__)
                return None
        return self._kept[name]

    async def _fetch(self, name: str) -> dict[str, Any] | None:
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
        async with self._session.get(f"{self._url}/{name}/resolve/main/config.json", timeout=timeout) as response:
            if response.status in (401, 403, 404):
                return None
            response.raise_for_status()
            content = await response.content.read(LARGEST_BYTES + 1)
            while len(content) <= LARGEST_BYTES and (more := await response.content.read(LARGEST_BYTES)):
                content += more
        if len(content) > LARGEST_BYTES:
            raise ValueError("larger than a configuration is")
        values = json.loads(content)
        return values if isinstance(values, dict) else None


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and ".." not in name
