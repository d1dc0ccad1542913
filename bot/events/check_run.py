"""The "Re-run" button of a check."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import CheckRunPayload
from bot.intents import RerunIntent, ReviewIntent, pull_number

router = routing.Router()


@router.register("check_run", action="rerequested")
async def rerun_check(event: sansio.Event, desk: Desk) -> None:
    """Review the check run's pull request again."""
    payload = CheckRunPayload.read(event.data)
    if payload.key is None:
        return
    number = pull_number(payload.check_run.external_id, payload.key.repository_id)
    if number is None:
        await desk.accept(event.delivery_id, RerunIntent(repository=payload.key, head_sha=payload.check_run.head_sha))
        return
    intent = ReviewIntent(repository=payload.key, number=number, reason="check_run.rerequested", force=True)
    await desk.accept(event.delivery_id, intent)
