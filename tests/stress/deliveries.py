"""Two hundred deliveries a second on one machine, with reviews going on beside."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from pydantic import TypeAdapter

from bot.standin import PullRequest, StandIn
from tests.stress.end_state import all_reviewed, complaints, is_reviewed, until
from tests.stress.figures import Outcome, milliseconds, percentile
from tests.stress.fleet import ROOT, Fleet
from tests.stress.repositories import script, small_pulls, write
from tests.stress.sender import Answered, Prepared

MOST_P99_SECONDS = 0.25
ANSWERS = TypeAdapter(list[Answered])


async def run(
    folder: Path,
    *,
    rate: float = 200.0,
    seconds: float = 10.0,
    pulls: int = 50,
    beside: int = 20,
    most_p99_seconds: float = MOST_P99_SECONDS,
    patience_seconds: float = 1200.0,
) -> Outcome:
    """Deliveries are spread over the pull requests; each is worked, left to a later one of its pull request, or finds
    its head reviewed already. Others were opened right before, and are being reviewed meanwhile."""
    write(folder / "trainer.git", {"train.py": script(0, buggy=False)}, small_pulls(pulls + beside))
    database = folder / "queue.sqlite3"
    async with StandIn(hourly_limit=10**9) as github:
        repository = github.add_repository(folder / "trainer.git", owner="acme")
        made = [github.open_pull(repository, base="main", head=f"pull-{number}") for number in range(pulls + beside)]
        prepared = await _prepare(github, made[:pulls], int(rate * seconds))
        fleet = Fleet(github, f"sqlite:///{database}", folder, {"PREFLIGHT_RECONCILE_ON_START": "false"})
        try:
            await fleet.serve()
            await _warm_up(github, patience_seconds)
            for pull in made[pulls:]:
                await github.deliver("pull_request", "opened", pull=pull)
            answered = await _send(github.webhook_url or "", rate, prepared)
            reviewed = sum(is_reviewed(github, pull) for pull in made[pulls:])
            await all_reviewed(github, patience_seconds)
            await until(lambda: _unfinished(database) == 0, patience_seconds, lambda: "jobs are left over")
            faults = complaints(github, lambda _pull: 1)
        finally:
            await fleet.kill_all()
    latencies = [each.seconds for each in answered]
    refused = [each.status for each in answered if each.status != 202]
    if refused:
        faults.append(f"{len(refused)} deliveries were not taken: {sorted(set(refused))}")
    if percentile(latencies, 0.99) > most_p99_seconds:
        faults.append(f"p99 over {most_p99_seconds * 1000:.0f} ms")
    done = _done(database, [each.headers["X-GitHub-Delivery"] for each in prepared])
    if done != len(prepared):
        faults.append(f"{len(prepared) - done} deliveries were lost")
    figures = (
        f"{len(answered)} at {rate:.0f}/s: {milliseconds(latencies)}; {reviewed} reviews made meanwhile; "
        f"{done} worked or superseded, {len(prepared) - done} lost"
    )
    return Outcome(figures, faults)


async def _warm_up(github: StandIn, patience_seconds: float) -> None:
    """Have one pull request reviewed: what is measured is a bot that has been running, as bots do."""
    first = github.pulls[0]
    await github.deliver("pull_request", "opened", pull=first)
    await until(lambda: is_reviewed(github, first), patience_seconds, lambda: "not even one is reviewed")


async def _prepare(github: StandIn, pulls: Sequence[PullRequest], count: int) -> list[Prepared]:
    prepared = []
    for index in range(count):
        pull = pulls[index % len(pulls)]
        action = "opened" if index < len(pulls) else "synchronize"
        made = await github.deliver("pull_request", action, pull=pull, lose=True)
        headers, body = github.signed("pull_request", made.payload, made.guid)
        prepared.append(Prepared(headers=headers, body=body.decode()))
    github.deliveries.clear()
    return prepared


async def _send(url: str, rate: float, prepared: list[Prepared]) -> list[Answered]:
    lines = "".join(f"{each.model_dump_json()}\n" for each in prepared)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.stress.sender",
        url,
        str(rate),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate(lines.encode())
    return ANSWERS.validate_json(output)


def _unfinished(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        queries = (
            "SELECT count(*) FROM preflight_inbox",
            "SELECT count(*) FROM workflow_status WHERE status IN ('PENDING', 'ENQUEUED', 'DELAYED')",
        )
        return sum(int(connection.execute(query).fetchone()[0]) for query in queries)


def _done(database: Path, guids: list[str]) -> int:
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT workflow_uuid FROM workflow_status WHERE status = 'SUCCESS'")
        return len(set(guids) & {row[0] for row in rows})
