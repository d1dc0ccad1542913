"""The "Re-run all checks" button."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import CheckSuitePayload
from bot.jobs.intents import RerunIntent

router = routing.Router()


@router.register("check_suite", action="rerequested")
async def rerun_suite(event: sansio.Event, desk: Desk) -> None:
    """Review again what has this head. The event's own list of pull requests is empty for forks, so it is not used."""
    payload = CheckSuitePayload.read(event.data)
    if payload.key is not None:
        await desk.accept(event.delivery_id, RerunIntent(repository=payload.key, head_sha=payload.check_suite.head_sha))
