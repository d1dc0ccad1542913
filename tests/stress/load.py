"""Many pull requests at once: whether more workers do more, and whether one organisation has all of them."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path

from bot.standin import PullRequest, StandIn
from tests.stress.end_state import all_reviewed, complaints, is_reviewed, unfinished, until
from tests.stress.figures import Outcome
from tests.stress.fleet import Fleet
from tests.stress.postgres import another_database
from tests.stress.repositories import Branch, module, script, write

LATENCY_SECONDS = 0.25
"""What a call to the stand-in takes, about as much as one to GitHub over the internet. With analyses of a second of
processor time this lets workers share a small machine as they would share several."""
ORGANISATIONS = 5
SIZES = (1, 1, 1, 1, 1, 1, 5, 5, 20, 60)
"""Files that a pull request changes, drawn with equal chances."""
WORKERS = (1, 3)
AT_A_TIME = 2
"""Pull requests of one worker, few enough that the machine's processors are not what limits them."""
LEAST_GROWTH = 1.5
SHARED = {"PREFLIGHT_WORKER_CONCURRENCY": str(AT_A_TIME), "PREFLIGHT_RECONCILE_ON_START": "false"}


def mixed_pulls(count: int, seed: int) -> list[Branch]:
    """Pull requests that change between 1 and 60 files, one of them a buggy script."""
    chance = random.Random(seed)
    branches = []
    for number in range(count):
        files: dict[str, str | bytes] = {"train.py": script(number, buggy=True)}
        files |= {f"part{index}/block.py": module(number + index) for index in range(chance.choice(SIZES) - 1)}
        branches.append(Branch(f"pull-{number}", files))
    return branches


async def throughput(
    folder: Path,
    database_url: str,
    *,
    pulls: int = 500,
    seed: int = 1,
    workers: Sequence[int] = WORKERS,
    latency_seconds: float = LATENCY_SECONDS,
    least_growth: float = LEAST_GROWTH,
    patience_seconds: float = 3600.0,
) -> Outcome:
    """The same pull requests, all opened at once, with fewer and with more workers; a database of its own each."""
    write(folder / "trainer.git", {"train.py": script(0, buggy=False)}, mixed_pulls(pulls, seed))
    rates: dict[int, float] = {}
    faults: list[str] = []
    for count in workers:
        async with StandIn(hourly_limit=10**9) as github:
            for name in range(ORGANISATIONS):
                github.add_repository(folder / "trainer.git", owner=f"organisation-{name}")
            for number in range(pulls):
                repository = github.repositories[number % ORGANISATIONS]
                github.open_pull(repository, base="main", head=f"pull-{number}")
            github.latency_seconds = latency_seconds
            logs = folder / f"workers-{count}"
            logs.mkdir()
            fleet = Fleet(github, another_database(database_url, f"workers_{count}"), logs, SHARED)
            try:
                await fleet.serve(worker=False)
                for pull in github.pulls:
                    await github.deliver("pull_request", "opened", pull=pull)
                for index in range(count):
                    await fleet.work(f"worker-{index + 1}")
                rates[count] = await _rate(github, patience_seconds)
                faults += complaints(github, lambda _pull: 1)
            finally:
                await fleet.kill_all()
    few, many = workers[0], workers[-1]
    growth = rates[many] / rates[few]
    if growth < least_growth:
        faults.append(f"{many} workers do {growth:.2f} times as much as {few}, less than {least_growth}")
    shown = ", ".join(f"{60 * rate:.0f} a minute with {count} workers" for count, rate in rates.items())
    return Outcome(f"{pulls} pull requests: {shown}: ratio {growth:.2f}", faults)


async def _rate(github: StandIn, patience_seconds: float) -> float:
    """Pull requests a second between the first and the last that was reviewed: starting processes is not counted."""
    total = len(github.pulls)
    await until(lambda: len(unfinished(github)) < total, patience_seconds, lambda: "nothing is reviewed")
    begun, left = time.monotonic(), len(unfinished(github))
    await until(lambda: not unfinished(github), patience_seconds, lambda: f"{len(unfinished(github))} are left")
    rate = left / (time.monotonic() - begun)
    await all_reviewed(github, patience_seconds)
    return rate


async def fairness(folder: Path, *, pulls: int = 100, quiet: int = 5, patience_seconds: float = 3600.0) -> Outcome:
    """One organisation opens many pull requests at once, and others one each while it waits for them."""
    branches = mixed_pulls(pulls + quiet, seed=1)
    write(folder / "trainer.git", {"train.py": script(0, buggy=False)}, branches)
    async with StandIn(hourly_limit=10**9) as github:
        busy = github.add_repository(folder / "trainer.git", owner="busy")
        others = [github.add_repository(folder / "trainer.git", owner=f"quiet-{name}") for name in range(quiet)]
        github.latency_seconds = LATENCY_SECONDS / 5
        settings = {"PREFLIGHT_RECONCILE_ON_START": "false"}
        fleet = Fleet(github, f"sqlite:///{folder / 'queue.sqlite3'}", folder, settings)
        try:
            await fleet.serve()
            for number in range(pulls):
                pull = github.open_pull(busy, base="main", head=f"pull-{number}")
                await github.deliver("pull_request", "opened", pull=pull)
            await until(lambda: len(unfinished(github)) < pulls, patience_seconds, lambda: "nothing is reviewed")
            late = [
                github.open_pull(repository, base="main", head=f"pull-{pulls + number}")
                for number, repository in enumerate(others)
            ]
            begun = time.monotonic()
            for pull in late:
                await github.deliver("pull_request", "opened", pull=pull)
            await until(lambda: _all(github, late), patience_seconds, lambda: "the others starve")
            waited, left = time.monotonic() - begun, len(unfinished(github))
            await all_reviewed(github, patience_seconds)
            drained = time.monotonic() - begun
            faults = complaints(github, lambda _pull: 1)
        finally:
            await fleet.kill_all()
    if left < pulls / 2:
        faults.append(f"only {left} of {pulls} were left when the others had their reviews")
    return Outcome(
        f"{quiet} organisations had their review after {waited:.1f} s, behind {pulls} pull requests of another, of "
        f"which {left} were left and took {drained:.0f} s",
        faults,
    )


def _all(github: StandIn, pulls: Sequence[PullRequest]) -> bool:
    return all(is_reviewed(github, pull) for pull in pulls)
