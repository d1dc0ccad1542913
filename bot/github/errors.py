"""What can go wrong when talking to GitHub, sorted by what to do next."""

from __future__ import annotations

from http import HTTPStatus

import gidgethub


class LimitedUntil(Exception):
    """GitHub asks us to wait for longer than a request should hang: try the whole step again at `epoch_seconds`."""

    def __init__(self, epoch_seconds: float, reason: str) -> None:
        super().__init__(f"GitHub's {reason} rate limit is used up until {epoch_seconds:.0f}")
        self.epoch_seconds = epoch_seconds


class Unavailable(Exception):
    """GitHub or the way to it is broken at the moment: trying again later may help."""


class InstallationGone(Exception):
    """The App was uninstalled or suspended, or the repository was taken from it: there is nothing left to do."""

    def __init__(self, installation_id: int) -> None:
        self.installation_id = installation_id
        super().__init__(f"installation {installation_id} is gone, suspended, or without this repository")


class NotCovered(InstallationGone):
    """The installation is there and does not cover the repository."""


def status(error: gidgethub.HTTPException) -> int:
    """Return the status code as a plain number."""
    return int(error.status_code)


def is_missing(error: gidgethub.HTTPException) -> bool:
    """Tell whether the thing asked for is not there, or not ours to see: GitHub answers 404 to both."""
    return status(error) in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)


def is_suspended(error: gidgethub.HTTPException) -> bool:
    """Tell whether the installation's owner suspended the App."""
    return status(error) == HTTPStatus.FORBIDDEN and "been suspended" in str(error).lower()


def is_refused(error: gidgethub.HTTPException) -> bool:
    """Tell whether GitHub understood the request and rejects its content, so that repeating it is useless."""
    return status(error) in (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
