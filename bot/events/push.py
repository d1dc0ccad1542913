"""Pushes that change the configuration."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import PushPayload
from bot.review.configuration import CONFIGURATION_PATHS, ORGANISATION_REPOSITORY

router = routing.Router()


@router.register("push")
async def forget_configuration(event: sansio.Event, desk: Desk) -> None:
    """Drop the kept configuration: of one repository, or of all of an organisation if its `.github` was pushed to."""
    payload = PushPayload.read(event.data)
    if payload.repository is None or not payload.ref.startswith("refs/heads/"):
        return
    owner, _, name = payload.repository.full_name.partition("/")
    if name == ORGANISATION_REPOSITORY:
        # `extends` may name any file there.
        if any(path.endswith((".yml", ".yaml")) for path in payload.paths):
            desk.forget_configuration(owner, None)
    elif not payload.paths.isdisjoint(CONFIGURATION_PATHS):
        desk.forget_configuration(owner, name)
