"""Merge queues."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import MergeGroupPayload
from bot.jobs.intents import MergeGroupIntent

router = routing.Router()


@router.register("merge_group", action="checks_requested")
async def pass_merge_group(event: sansio.Event, desk: Desk) -> None:
    """Let a merge queue go on: the pull requests in it were reviewed already."""
    payload = MergeGroupPayload.read(event.data)
    if payload.key is not None:
        intent = MergeGroupIntent(repository=payload.key, head_sha=payload.merge_group.head_sha)
        await desk.accept(event.delivery_id, intent)
