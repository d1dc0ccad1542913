"""GitHub's greeting to a new webhook."""

from __future__ import annotations

import logging

from gidgethub import routing, sansio

from bot.events.desk import Desk

logger = logging.getLogger(__name__)
router = routing.Router()


@router.register("ping")
async def greet(event: sansio.Event, desk: Desk) -> None:
    """Note that the webhook reaches us."""
    logger.info("ping: the webhook is connected")
