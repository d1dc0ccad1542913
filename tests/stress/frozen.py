"""A worker that stands still between reading and writing, until another has done its job: nothing is said twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from bot.standin import StandIn
from tests.stress.end_state import all_reviewed, complaints, until
from tests.stress.figures import Outcome
from tests.stress.fleet import Fleet
from tests.stress.repositories import script, small_pulls, write

FROZEN, OTHER = "worker-1", "worker-2"
SILENT_SECONDS = 60
"""Least that the setting takes."""
WRITE_SECONDS = 45
"""Between two writes: after the first, which begins the check, the worker reads what it needs for the second and then
waits for its turn. It is stopped in that wait."""
ANSWERED_SECONDS = 1.0
LAST_READ = "issues/list-comments"
"""What was said before is read right before more is said, the conversation last."""


async def run(folder: Path, *, pulls: int = 1, patience_seconds: float = 900.0) -> Outcome:
    """One worker is stopped in the midst of its work, as by a hypervisor, and goes on when another has done it."""
    write(folder / "trainer.git", {"train.py": script(0, buggy=False)}, small_pulls(pulls))
    async with StandIn(hourly_limit=10**9) as github:
        repository = github.add_repository(folder / "trainer.git", owner="acme")
        settings = {
            "PREFLIGHT_SILENT_WORKER_SECONDS": str(SILENT_SECONDS),
            "PREFLIGHT_WRITE_INTERVAL_SECONDS": str(WRITE_SECONDS),
            "PREFLIGHT_RECONCILE_ON_START": "false",
        }
        fleet = Fleet(github, f"sqlite:///{folder / 'queue.sqlite3'}", folder, settings)
        try:
            await fleet.serve(worker=False)
            await fleet.work(FROZEN)
            for number in range(pulls):
                pull = github.open_pull(repository, base="main", head=f"pull-{number}")
                await github.deliver("pull_request", "opened", pull=pull)
            await until(_reads(github), patience_seconds, lambda: "nothing is about to be written")
            await asyncio.sleep(ANSWERED_SECONDS)
            fleet.freeze(FROZEN)
            begun, before = time.monotonic(), len(github.reviews)
            await fleet.work(OTHER)
            await all_reviewed(github, patience_seconds)
            stood, meanwhile = time.monotonic() - begun, len(github.reviews) - before
            fleet.thaw(FROZEN)
            # Whatever it is in the midst of comes within a few calls.
            await until(lambda: _taken_over(folder), patience_seconds, lambda: "the worker noticed nothing")
            await all_reviewed(github, patience_seconds)
            faults = complaints(github, lambda _pull: 1)
        finally:
            await fleet.kill_all()
    if not meanwhile:
        faults.append("the other worker had nothing to write")
    figures = (
        f"a worker stood still for {stood:.0f} s while another wrote {meanwhile} reviews of its jobs: "
        f"{len(github.reviews)} reviews of {pulls} pull requests"
    )
    return Outcome(figures, faults)


def _reads(github: StandIn) -> Callable[[], bool]:
    return lambda: any(call.operation == LAST_READ for call in github.log)


def _taken_over(folder: Path) -> bool:
    return "another worker has job" in (folder / f"{FROZEN}.log").read_text(errors="replace")
