"""What GitHub says where it refuses a request."""

from __future__ import annotations

from collections.abc import Sequence

from bot.standin.state import Json

SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    "If you reach out to GitHub Support for help, please include the request ID."
)


class Refused(Exception):
    """GitHub says no. ``errors`` are objects with a code, or plain strings where GitHub uses those."""

    def __init__(self, status: int, message: str, errors: Sequence[Json | str] = (), **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = list(errors)
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def not_found() -> Refused:
    return Refused(404, "Not Found")


def forbidden() -> Refused:
    return Refused(403, "Resource not accessible by integration")


def invalid(*errors: Json | str, message: str = "Validation Failed") -> Refused:
    return Refused(422, message, errors)
