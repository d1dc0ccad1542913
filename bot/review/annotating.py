"""Annotations of a check run: fifty a request, appended, and none of them twice.

GitHub appends what each request brings and takes nothing back. What a request brought whose answer was lost, or one
before a crash, is therefore read back from the run itself: there is no other record that cannot differ from it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import gidgethub

from bot import messages
from bot.github.errors import is_refused, status
from bot.github.repository import Output, Repository
from engine.findings import Annotation

logger = logging.getLogger(__name__)

ANNOTATIONS_AT_ONCE = 50
"""GitHub refuses more in one request."""
MOST_ANNOTATIONS = 5_000
"""A hundred requests, a second apart: under two minutes. Should GitHub count them as content, of which an installation
may write 500 an hour, they are a fifth. Whatever a pull request holds, the others keep their turn."""
BATCHES_BETWEEN_LOOKS = 10
"""Requests after which it is asked whether anybody still waits for the rest."""

Overtaken = Callable[[], Awaitable[bool]]
"""Tells whether the pull request has moved on."""


def annotation_fields(annotation: Annotation) -> Mapping[str, Any]:
    """Return an annotation as GitHub takes it."""
    fields = annotation.model_dump(exclude_none=True, exclude={"fingerprint"})
    if annotation.start_line != annotation.end_line:
        fields.pop("start_column", None)
        fields.pop("end_column", None)
    fields["title"] = annotation.title[: messages.TITLE_LIMIT]
    fields["message"] = _bytes_cut(annotation.message)
    if annotation.raw_details is not None:
        fields["raw_details"] = _bytes_cut(annotation.raw_details)
    return fields


def _bytes_cut(text: str, limit: int = 64_000) -> str:
    return text.encode("utf-8")[:limit].decode("utf-8", "ignore")


async def outstanding(
    repository: Repository, run_id: int, annotations: Sequence[Annotation]
) -> Sequence[Mapping[str, Any]]:
    """Return those that the check run does not have yet, as GitHub takes them, `MOST_ANNOTATIONS` at most.

    They are known again by place and title: texts GitHub may store with other line ends.
    """
    wanted = [annotation_fields(annotation) for annotation in annotations[:MOST_ANNOTATIONS]]
    if not wanted or not (await repository.check_run(run_id)).output.annotations_count:
        return wanted
    there = Counter(
        (each.path, each.start_line, each.end_line, each.title) for each in await repository.annotations(run_id)
    )
    missing = []
    for fields in wanted:
        identity = (fields["path"], fields["start_line"], fields["end_line"], fields["title"])
        if there[identity]:
            there[identity] -= 1
        else:
            missing.append(fields)
    return missing


async def append_all_but_last(
    repository: Repository, run_id: int, missing: Sequence[Mapping[str, Any]], overtaken: Overtaken | None = None
) -> Sequence[Mapping[str, Any]]:
    """Append whole batches to a run in progress, and return what the request that completes it brings.

    A batch in which GitHub does not take a place is left out, and those behind it still arrive. Once the pull request
    has moved on, the rest is nobody's any more.
    """
    starts = range(0, len(missing) - ANNOTATIONS_AT_ONCE, ANNOTATIONS_AT_ONCE)
    for number, start in enumerate(starts):
        if overtaken is not None and number % BATCHES_BETWEEN_LOOKS == BATCHES_BETWEEN_LOOKS - 1 and await overtaken():
            return ()
        batch = missing[start : start + ANNOTATIONS_AT_ONCE]
        progress = messages.annotating(start, len(missing))
        try:
            await repository.update_check_run(
                run_id, output=Output(messages.ANNOTATING_TITLE, progress, annotations=batch).body()
            )
        except gidgethub.BadRequest as error:
            if not is_refused(error):
                raise
            logger.warning("annotations of check run %d refused: %s", run_id, error)
            if status(error) != HTTPStatus.UNPROCESSABLE_ENTITY:
                return ()
    return missing[len(starts) * ANNOTATIONS_AT_ONCE :]
