"""The faults that a test asks for: GitHub's limits, an outage, a lost connection."""

from __future__ import annotations

import asyncio

from aiohttp import web

from bot.standin.refusals import SECONDARY, Refused, not_found
from bot.standin.world import World

UNICORN = (
    "<!DOCTYPE html><html><head><title>Unicorn!</title></head>"
    "<body><p>This page is taking too long to load.</p></body></html>"
)
SECONDARY_WAIT_SECONDS = 60


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
    """What the next requests meet, in order; each stands for one operation or for any."""

    def __init__(self, github: World) -> None:
        self.github = github
        self._queue: list[tuple[str, str | None]] = []

    def ask(self, *faults: str, operation: str | None = None) -> None:
        self._queue.extend((fault, operation) for fault in faults)

    def take(self, operation: str) -> str | None:
        for entry in self._queue:
            fault, wanted = entry
            if fault == "graphql-limit":
                wanted = "graphql"
            if wanted in (None, operation):
                self._queue.remove(entry)
                return fault
        return None

    def fail(self, fault: str, http: web.Request) -> None:
        """Answers as the fault says: raises a refusal, or cuts the connection."""
        now = int(self.github.clock())
        match fault:
            case "secondary":
                raise Refused(403, SECONDARY, Retry_After=str(SECONDARY_WAIT_SECONDS))
            case "secondary-silent":
                raise Refused(403, SECONDARY)
            case "secondary-429":
                raise Refused(429, SECONDARY, Retry_After=str(SECONDARY_WAIT_SECONDS))
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
            case "timeout":
                if http.transport is not None:
                    http.transport.close()
                raise asyncio.CancelledError
            case "graphql-limit":
                raise GraphqlLimit
            case _:
                raise ValueError(f"unknown fault {fault!r}")
