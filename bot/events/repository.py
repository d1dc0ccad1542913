"""Repositories that get another name or owner."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import Payload

router = routing.Router()


@router.register("repository", action="deleted")
async def forget_repository(event: sansio.Event, desk: Desk) -> None:
    """Drop what people told the bot there."""
    payload = Payload.read(event.data)
    if payload.key is not None:
        await desk.forget_words(payload.key.installation_id, [payload.key.repository_id])


@router.register("repository", action="renamed")
@router.register("repository", action="transferred")
async def forget_names(event: sansio.Event, desk: Desk) -> None:
    """Drop what is kept under names; jobs know a repository by its id."""
    payload = Payload.read(event.data)
    if payload.repository is not None:
        desk.forget_configuration(payload.repository.full_name.partition("/")[0], None)
