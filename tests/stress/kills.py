"""`kill -9` at random moments, and GitHub at its worst: each pull request still ends as it should."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.standin import PullRequest, Repository, StandIn
from tests.stress.end_state import NotFinished, all_reviewed, complaints, unfinished
from tests.stress.figures import Outcome
from tests.stress.fleet import RECEIVER, SERVE_WITH_WORKER, Fleet
from tests.stress.repositories import script, small_pulls, write

PUSHED_TWICE = 3
"""Every third pull request gets a second push."""
BACKLOG = 12
"""Pull requests under way at a time: there is work to interrupt from the first kill to the last."""
MOST_REST_SECONDS = 2.0
"""From the state at which a kill is due to the kill: any moment of a review may be hit."""
LOOK_SECONDS = 0.05
LOST = "worker-3"
LASTING = ("worker-1", "worker-2")
SILENT_SECONDS = 60
"""Least that the setting takes."""
FAULTS = ("500", "502", "lost-answer", "secondary", "secondary-429", "timeout", "hang")
SHARE = 0.2
SECONDARY_SECONDS = 2
REQUEST_SECONDS = 5


@dataclass
class Stage:
    """A GitHub with pull requests that are opened and pushed to while the bot has its troubles."""

    folder: Path
    github: StandIn
    repository: Repository
    pulls: int
    chance: random.Random

    async def arrive(self) -> None:
        """Open all pull requests and push to some, never so many at a time that the troubles come too late."""
        for number in range(self.pulls):
            while len(unfinished(self.github)) >= BACKLOG:
                await asyncio.sleep(LOOK_SECONDS)
            pull = self.github.open_pull(self.repository, base="main", head=f"pull-{number}")
            await self.github.deliver("pull_request", "opened", pull=pull)
            earlier = number - 1
            if earlier >= 0 and earlier % PUSHED_TWICE == 0:
                await self._push(self.github.pulls[earlier], earlier)
        if (self.pulls - 1) % PUSHED_TWICE == 0:
            await self._push(self.github.pulls[-1], self.pulls - 1)

    async def _push(self, pull: PullRequest, number: int) -> None:
        self.github.push(pull, f"push-{number}")
        await self.github.deliver("pull_request", "synchronize", pull=pull)

    async def moments(self, count: int) -> AsyncIterator[int]:
        """Random moments, counted from 0, spread over the whole of the work."""
        due = sorted(self.chance.uniform(0, self.pulls) for _ in range(count))
        for index, reviewed in enumerate(due):
            while len(self.github.pulls) - len(unfinished(self.github)) < int(reviewed):
                await asyncio.sleep(LOOK_SECONDS)
            await asyncio.sleep(self.chance.uniform(0.0, MOST_REST_SECONDS))
            yield index

    async def end(self, patience_seconds: float) -> list[str]:
        """Wait for the end, and return what is wrong with it."""
        late = []
        try:
            await all_reviewed(self.github, patience_seconds)
        except NotFinished as error:
            late.append(str(error))
        return late + complaints(self.github, lambda pull: 2 if pull.previous_sha else 1)


@asynccontextmanager
async def staged(folder: Path, pulls: int, seed: int) -> AsyncIterator[Stage]:
    twice = range(0, pulls, PUSHED_TWICE)
    write(folder / "trainer.git", {"train.py": script(0, buggy=False)}, small_pulls(pulls, second_push=twice))
    async with StandIn(hourly_limit=10**9) as github:
        repository = github.add_repository(folder / "trainer.git", owner="acme")
        yield Stage(folder, github, repository, pulls, random.Random(seed))


async def on_sqlite(
    folder: Path, *, pulls: int = 200, kills: int = 50, seed: int = 1, patience_seconds: float = 1800.0
) -> Outcome:
    """One process, receiver and worker in one, is killed and started again."""
    async with staged(folder, pulls, seed) as stage:
        fleet = Fleet(stage.github, f"sqlite:///{folder / 'queue.sqlite3'}", folder)
        try:
            await fleet.serve()
            arriving = asyncio.create_task(stage.arrive())
            async for _ in stage.moments(kills):
                await fleet.kill(SERVE_WITH_WORKER)
                await fleet.serve()
            await arriving
            # What was sent while nobody listened is found by the reconciler of the next start.
            await fleet.stop(SERVE_WITH_WORKER)
            await fleet.serve()
            faults = await stage.end(patience_seconds)
        finally:
            await fleet.kill_all()
        return Outcome(_figures(stage, f"{kills} kills, seed {seed}"), faults)


async def on_postgres(
    folder: Path,
    database_url: str,
    *,
    pulls: int = 200,
    kills: int = 50,
    seed: int = 1,
    lasting: Sequence[str] = LASTING,
    patience_seconds: float = 1800.0,
) -> Outcome:
    """A receiver and three workers; one of the workers is lost for good, the others come back."""
    async with staged(folder, pulls, seed) as stage:
        fleet = Fleet(stage.github, database_url, folder, {"PREFLIGHT_SILENT_WORKER_SECONDS": str(SILENT_SECONDS)})
        lost_at = stage.chance.randrange(kills)
        try:
            await _begin(fleet, RECEIVER)
            for name in (*lasting, LOST):
                await _begin(fleet, name)
            arriving = asyncio.create_task(stage.arrive())
            async for kill in stage.moments(kills):
                name = LOST if kill == lost_at else stage.chance.choice((*lasting, RECEIVER))
                await fleet.kill(name)
                if name != LOST:
                    await _begin(fleet, name)
            await arriving
            await fleet.stop(lasting[0])
            await _begin(fleet, lasting[0])
            faults = await stage.end(patience_seconds)
        finally:
            await fleet.kill_all()
        return Outcome(_figures(stage, f"{kills} kills, worker {lost_at + 1} of them for good, seed {seed}"), faults)


async def _begin(fleet: Fleet, name: str) -> None:
    if name == RECEIVER:
        await fleet.serve(worker=False)
    else:
        await fleet.work(name)


async def under_faults(
    folder: Path, *, pulls: int = 60, seed: int = 1, share: float = SHARE, patience_seconds: float = 1800.0
) -> Outcome:
    """No kills; GitHub fails a share of all calls in every way it knows, some after carrying them out."""
    async with staged(folder, pulls, seed) as stage:
        settings = {"PREFLIGHT_REQUEST_SECONDS": str(REQUEST_SECONDS)}
        fleet = Fleet(stage.github, f"sqlite:///{folder / 'queue.sqlite3'}", folder, settings)
        stage.github.gate.faults.secondary_seconds = SECONDARY_SECONDS
        try:
            await fleet.serve()
            stage.github.refuse_often(share, *FAULTS, seed=seed)
            await stage.arrive()
            faults = await stage.end(patience_seconds)
        finally:
            await fleet.kill_all()
        met = stage.github.gate.faults.met
        return Outcome(_figures(stage, f"{met} calls failed by {share:.0%} chance, seed {seed}"), faults)


def _figures(stage: Stage, troubles: str) -> str:
    github = stage.github
    pushes = sum(pull.previous_sha is not None for pull in github.pulls)
    return (
        f"{len(github.pulls)} pull requests, {pushes} of them pushed to twice, {troubles}: {len(github.checks)} check "
        f"runs, {len(github.reviews)} reviews, {len(github.comments)} summaries, {len(github.log)} calls"
    )
