"""Threads that people resolve: what they dismissed is not said again."""

from __future__ import annotations

from gidgethub import routing, sansio

from bot.events.desk import Desk
from bot.events.payloads import ReviewThreadPayload
from bot.jobs.intents import ThreadIntent

router = routing.Router()


@router.register("pull_request_review_thread", action="resolved")
@router.register("pull_request_review_thread", action="unresolved")
async def remember_thread(event: sansio.Event, desk: Desk) -> None:
    """Remember what became of a thread that an App began. Whether it is this App's own, the job finds out."""
    payload = ReviewThreadPayload.read(event.data)
    person, comments = payload.sender, payload.thread.comments
    if payload.key is None or person is None or person.is_bot or not comments:
        return
    first = comments[0]
    if first.user is None or not first.user.is_bot:
        return
    intent = ThreadIntent(
        repository=payload.key,
        number=payload.pull_request.number,
        comment_id=first.id,
        login=person.login,
        resolved=payload.action == "resolved",
    )
    await desk.accept(event.delivery_id, intent)
