"""The buttons of a check ("Re-run", and those that the bot puts there itself), and checks that measured a run."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import CheckRunPayload
from bot.github.identity import pull_number
from bot.jobs.intents import IgnoreIntent, RerunIntent, ReviewIntent
from bot.messages import IGNORE_ACTION, RERUN_ACTION
from bot.review.measured import evidence_of
from hardware_catalog.measurement import CHECK_NAME

router = routing.Router()


@router.register("check_run", action="rerequested")
async def rerun_check(event: sansio.Event, desk: Desk) -> None:
    """Review the check run's pull request again."""
    await _rerun(event, desk, CheckRunPayload.read(event.data))


@router.register("check_run", action="requested_action")
async def press_button(event: sansio.Event, desk: Desk) -> None:
    """Do what the button says. Only people with write access see it."""
    payload = CheckRunPayload.read(event.data)
    pressed = payload.requested_action.identifier if payload.requested_action is not None else ""
    if pressed == RERUN_ACTION:
        await _rerun(event, desk, payload)
    elif pressed == IGNORE_ACTION and payload.key is not None and payload.sender is not None:
        number = pull_number(payload.check_run.external_id, payload.key.repository_id)
        if number is not None:
            intent = IgnoreIntent(
                repository=payload.key, number=number, head_sha=payload.check_run.head_sha, login=payload.sender.login
            )
            await desk.accept(event.delivery_id, intent)


@router.register("check_run", action="completed")
async def take_measurement(event: sansio.Event, desk: Desk) -> None:
    """Review again where a check of the repository's own has measured a run: all others cost nothing."""
    payload = CheckRunPayload.read(event.data)
    run = payload.check_run
    if payload.key is None or run.name != CHECK_NAME:
        return
    if pull_number(run.external_id, payload.key.repository_id) is None and evidence_of((run,), run.head_sha):
        await desk.accept(event.delivery_id, RerunIntent(repository=payload.key, head_sha=run.head_sha))


async def _rerun(event: sansio.Event, desk: Desk, payload: CheckRunPayload) -> None:
    if payload.key is None:
        return
    number = pull_number(payload.check_run.external_id, payload.key.repository_id)
    if number is None:
        # The event's own list of pull requests is empty for forks.
        await desk.accept(event.delivery_id, RerunIntent(repository=payload.key, head_sha=payload.check_run.head_sha))
        return
    intent = ReviewIntent(
        repository=payload.key, number=number, reason=f"check_run.{payload.action}", force=True, by_person=True
    )
    await desk.accept(event.delivery_id, intent)
