"""A command that somebody wrote, wherever on the pull request: who may be heard, and the job that it becomes."""

from __future__ import annotations

from gidgethub import sansio

from bot.commands.parsing import find_command
from bot.events.desk import Desk
from bot.events.payloads import SpokenPayload
from bot.github.models import Account
from bot.jobs.intents import CommandIntent


async def accept_command(
    event: sansio.Event,
    desk: Desk,
    payload: SpokenPayload,
    *,
    number: int,
    author: Account | None,
    in_thread: bool = False,
) -> None:
    """Store the command of a comment as a job, unless a program wrote it; `author` opened the pull request.

    An edit counts where it brought the command in or changed it.
    """
    comment, person = payload.comment, payload.sender
    command = find_command(comment.body or "")
    if payload.action == "edited":
        before = payload.former_body
        if before is None or command == find_command(before):
            return
    if command is None or payload.key is None or person is None:
        return
    by_a_program = comment.performed_via_github_app is not None
    if person.is_bot or by_a_program or (comment.user is not None and comment.user.is_bot):
        # Bots that answer each other do not stop.
        return
    intent = CommandIntent(
        repository=payload.key,
        number=number,
        comment_id=comment.id,
        in_thread=in_thread,
        reply_to=comment.in_reply_to_id,
        login=person.login,
        is_author=author is not None and author.id == person.id,
        command=command.name,
        arguments=command.arguments,
        others=command.others,
    )
    await desk.accept(event.delivery_id, intent)
