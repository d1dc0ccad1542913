"""Installations that come, go, and change.

Nothing is reviewed on installation: open pull requests get their first review at their next push or by a command.
"""

from __future__ import annotations

import logging

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import Payload

logger = logging.getLogger(__name__)
router = routing.Router()


@router.register("installation")
@router.register("installation_repositories")
@router.register("installation_target")
async def forget_installation(event: sansio.Event, desk: Desk) -> None:
    """Drop the token and the answers kept: repositories, permissions or names are different now."""
    payload = Payload.read(event.data)
    if payload.installation is not None:
        logger.info("%s.%s for installation %d", event.event, payload.action, payload.installation.id)
        desk.forget_installation(payload.installation.id)
