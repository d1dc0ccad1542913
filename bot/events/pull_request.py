"""Pull requests opened, pushed to, marked ready, given another base, or closed."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import PullRequestPayload
from bot.jobs.intents import ReviewIntent

router = routing.Router()


async def _review(event: sansio.Event, desk: Desk, *, force: bool = False, delay_seconds: float = 0.0) -> None:
    payload = PullRequestPayload.read(event.data)
    if payload.key is None or not payload.pull_request.is_open:
        return
    intent = ReviewIntent(
        repository=payload.key,
        number=payload.number,
        reason=f"pull_request.{payload.action}",
        head_sha=payload.pull_request.head.sha,
        force=force,
    )
    await desk.accept(event.delivery_id, intent, delay_seconds=delay_seconds)


@router.register("pull_request", action="opened")
async def review_opened(event: sansio.Event, desk: Desk) -> None:
    """Review a pull request that is new."""
    await _review(event, desk)


@router.register("pull_request", action="reopened")
async def review_reopened(event: sansio.Event, desk: Desk) -> None:
    """Review a pull request that is open again."""
    payload = PullRequestPayload.read(event.data)
    if payload.key is not None:
        await desk.pull_reopened(payload.key.repository_id, payload.number)
    await _review(event, desk)


@router.register("pull_request", action="closed")
async def note_closed(event: sansio.Event, desk: Desk) -> None:
    """Count its findings no longer."""
    payload = PullRequestPayload.read(event.data)
    if payload.key is not None:
        await desk.pull_closed(payload.key.repository_id, payload.number)


@router.register("pull_request", action="synchronize")
async def review_push(event: sansio.Event, desk: Desk) -> None:
    """Review the new head, a moment later, since pushes come in bursts."""
    await _review(event, desk, delay_seconds=desk.synchronize_delay_seconds)


@router.register("pull_request", action="ready_for_review")
async def review_ready(event: sansio.Event, desk: Desk) -> None:
    """Say in comments what the draft only had in its check."""
    await _review(event, desk, force=True)


@router.register("pull_request", action="edited")
async def review_new_base(event: sansio.Event, desk: Desk) -> None:
    """Review against another base branch; edits of title and text change nothing."""
    if PullRequestPayload.read(event.data).base_changed:
        await _review(event, desk, force=True)
