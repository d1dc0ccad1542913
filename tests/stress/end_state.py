"""Whether each pull request ended as it should: one check run on its head, one summary, nothing said twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from bot import markers
from bot.standin import CheckRun, PullRequest, StandIn

LOOK_SECONDS = 0.1
QUIET_LOOKS = 20
"""Looks in a row that must show the same end, so that a repetition under way is not missed."""


class NotFinished(Exception):
    """Time was up."""


async def until(condition: Callable[[], bool], seconds: float, what: Callable[[], str]) -> None:
    """Wait until it is so.

    Raises:
        NotFinished: after `seconds`.
    """
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        raise NotFinished(what()) from None


def checks_of_head(github: StandIn, pull: PullRequest) -> list[CheckRun]:
    """The check runs on a pull request's present head."""
    return [run for run in github.checks if run.head_sha == pull.head_sha and run.repository is pull.repository]


def is_reviewed(github: StandIn, pull: PullRequest) -> bool:
    """Whether the present head has a conclusion."""
    runs = checks_of_head(github, pull)
    return bool(runs) and all(run.status == "completed" for run in runs)


def unfinished(github: StandIn) -> list[PullRequest]:
    """Open pull requests whose head has no conclusion yet."""
    completed = {(run.repository.id, run.head_sha) for run in github.checks if run.status == "completed"}
    return [
        pull for pull in github.pulls if pull.state == "open" and (pull.repository.id, pull.head_sha) not in completed
    ]


async def all_reviewed(github: StandIn, seconds: float) -> None:
    """Wait until every open pull request's head has a conclusion, and nothing more is written for a while.

    Raises:
        NotFinished: after `seconds`.
    """
    await until(lambda: not unfinished(github), seconds, lambda: _waiting(unfinished(github)))
    calm, calls = 0, -1
    while calm < QUIET_LOOKS:
        writes = sum(call.method != "GET" for call in github.log)
        calm = calm + 1 if writes == calls else 0
        calls = writes
        await asyncio.sleep(LOOK_SECONDS)


def _waiting(pulls: Sequence[PullRequest]) -> str:
    return f"{len(pulls)} pull requests have no review, such as #{pulls[0].number} of {pulls[0].repository.full_name}"


def complaints(github: StandIn, findings: Callable[[PullRequest], int], *, conclusion: str = "neutral") -> list[str]:
    """What is wrong, a line each; `findings` tells how many comments a pull request's head should have."""
    wrong = []
    for pull in github.pulls:
        name = f"{pull.repository.full_name}#{pull.number}"
        wrong += [f"{name}: {fault}" for fault in _faults(github, pull, findings(pull), conclusion)]
    dangling = [run for run in github.checks if run.status != "completed"]
    wrong += [f"{run.repository.full_name}: check run {run.id} of {run.head_sha[:7]} never ended" for run in dangling]
    return wrong


def _faults(github: StandIn, pull: PullRequest, expected: int, conclusion: str) -> Sequence[str]:
    wrong = []
    runs = checks_of_head(github, pull)
    if [run.conclusion for run in runs] != [conclusion]:
        shown = [f"{run.conclusion}: {run.title}" for run in runs]
        wrong.append(f"{len(runs)} check runs on its head, {shown} instead of one {conclusion}")
    for run in runs:
        if len(run.annotations) != expected:
            wrong.append(f"{len(run.annotations)} annotations instead of {expected}")
    summaries = [entry for entry in github.comments if entry.pull is pull and entry.body.startswith(markers.SUMMARY)]
    if len(summaries) != (1 if expected else 0):
        wrong.append(f"{len(summaries)} summaries")
    said = Counter(
        markers.finding_of(comment.body)
        for comment in github.review_comments
        if comment.pull is pull and comment.is_bot and comment.minimized is None
    )
    if len(said) != expected:
        wrong.append(f"comments on {len(said)} findings instead of {expected}")
    wrong += [f"finding {finding} is commented {times} times" for finding, times in said.items() if times > 1]
    reviews = [review for review in github.reviews if review.pull is pull and review.is_bot]
    if len(reviews) > max(1, expected):
        wrong.append(f"{len(reviews)} reviews")
    return wrong
