"""Installations that come, go, and change.

Nothing is reviewed on installation: open pull requests get their first review at their next push or by a command.
"""

from __future__ import annotations

import logging

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import InstallationRepositoriesPayload, Payload

logger = logging.getLogger(__name__)
router = routing.Router()


@router.register("installation")
@router.register("installation_target")
async def forget_installation(event: sansio.Event, desk: Desk) -> None:
    """Drop the tokens and the answers kept: repositories, permissions or names are different now.

    Whether it is deleted, suspended or back again, the jobs find out when they ask for a token. A deleted one also
    takes along what was remembered for it.
    """
    payload = Payload.read(event.data)
    if payload.installation is None:
        return
    logger.info("%s.%s for installation %d", event.event, payload.action, payload.installation.id)
    desk.forget_installation(payload.installation.id)
    if payload.action == "deleted":
        await desk.forget_words(payload.installation.id, None)


@router.register("installation_repositories")
async def forget_repositories(event: sansio.Event, desk: Desk) -> None:
    """Drop the tokens, which cover other repositories now, and what was remembered for those taken away."""
    payload = InstallationRepositoriesPayload.read(event.data)
    if payload.installation is None:
        return
    desk.forget_installation(payload.installation.id)
    if payload.repositories_removed:
        await desk.forget_words(payload.installation.id, [each.id for each in payload.repositories_removed])
