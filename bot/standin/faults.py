"""The faults that a test asks for: GitHub's limits, an outage, a lost connection."""

from __future__ import annotations

import asyncio
import random

from aiohttp import web

from bot.standin.refusals import SECONDARY, Refused, not_found
from bot.standin.world import World

UNICORN = (
    "<!DOCTYPE html><html><head><title>Unicorn!</title></head>"
    "<body><p>This page is taking too long to load.</p></body></html>"
)
SECONDARY_WAIT_SECONDS = 60
HANG_SECONDS = 120
"""No client waits for longer."""
GLANCE_SECONDS = 0.05


class HtmlError(Exception):
    """An answer from the load balancer: no JSON."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class GraphqlLimit(Refused):
    """GraphQL reports its primary limit with status 200."""

    def __init__(self) -> None:
        super().__init__(
            200, "API rate limit exceeded", [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]
        )


class Faults:
    """What the next requests meet, in order, each for one operation or for any; and what any request may meet."""

    def __init__(self, github: World) -> None:
        self.github = github
        self.secondary_seconds = SECONDARY_WAIT_SECONDS
        self.met = 0
        """Faults met so far."""
        self._queue: list[tuple[str, str | None]] = []
        self._often: tuple[str, ...] = ()
        self._share = 0.0
        self._chance = random.Random(0)

    def ask(self, *faults: str, operation: str | None = None) -> None:
        self._queue.extend((fault, operation) for fault in faults)

    def ask_often(self, share: float, *faults: str, seed: int = 0) -> None:
        """From now on a share of all requests meets one of the faults, both drawn from `seed`; a share of 0 ends it."""
        self._share, self._often, self._chance = share, faults, random.Random(seed)

    def take(self, operation: str) -> str | None:
        fault = self._queued(operation)
        if fault is None and self._often and self._chance.random() < self._share:
            fault = self._chance.choice(self._often)
        self.met += fault is not None
        return fault

    def _queued(self, operation: str) -> str | None:
        for entry in self._queue:
            fault, wanted = entry
            if fault == "graphql-limit":
                wanted = "graphql"
            if wanted in (None, operation):
                self._queue.remove(entry)
                return fault
        return None

    async def fail(self, fault: str, http: web.Request) -> None:
        """Answers as the fault says: raises a refusal, cuts the connection, or says nothing until the client goes."""
        now = int(self.github.clock())
        match fault:
            case "secondary":
                raise Refused(403, SECONDARY, Retry_After=str(self.secondary_seconds))
            case "secondary-silent":
                raise Refused(403, SECONDARY)
            case "secondary-429":
                raise Refused(429, SECONDARY, Retry_After=str(self.secondary_seconds))
            case "primary" | "primary-403":
                status = 429 if fault == "primary" else 403
                left = {"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": str(now + 600)}
                raise Refused(status, f"API rate limit exceeded for installation ID {self.github.app.id}.", **left)
            case "502":
                raise HtmlError(502)
            case "500":
                raise Refused(500, "Server Error")
            case "401":
                raise Refused(401, "Bad credentials")
            case "404":
                raise not_found()
            case "timeout" | "hang":
                if fault == "hang":
                    await self.hang(http)
                if http.transport is not None:
                    http.transport.close()
                raise asyncio.CancelledError
            case "graphql-limit":
                raise GraphqlLimit
            case _:
                raise ValueError(f"unknown fault {fault!r}")

    @staticmethod
    async def hang(http: web.Request) -> None:
        for _ in range(int(HANG_SECONDS / GLANCE_SECONDS)):
            if http.transport is None or http.transport.is_closing():
                return
            await asyncio.sleep(GLANCE_SECONDS)
