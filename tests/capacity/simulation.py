"""A working day of deliveries, played against workers and GitHub's limits: a simulation of discrete events.

GraphQL has an allowance of its own, of which a review takes a point or two, and the reconciler one for fifty
repositories: it never binds first, and is left out.

A push stores a job. A job takes a slot of a worker, in the lane of its pull request; it reads and begins the check, is
analysed where the worker has an analysis free, and publishes, each write a second after those before. What GitHub
refuses for a minute waits in its slot, and what it refuses for longer leaves it and begins again, as `bot.jobs.queue`
does it. A job whose head was reviewed meanwhile ends at once; one whose head moves begins again.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field

from bot.github.repository import PAGE
from bot.jobs.queue import LONGEST_NAP_SECONDS
from tests.capacity.assumptions import HOUR, Allowance, Answers, Fleet, Habits
from tests.capacity.costs import Cost, Costs, Kind
from tests.capacity.limits import Installation

LOOK = Cost(
    reads=2, unchanged=0, writes=0, content=0, queries=0, mutations=0, analysis_seconds=0.0, worker_seconds=0.02
)
"""A job that finds its head reviewed reads the pull request and its checks."""


def list_pages(repositories: int) -> int:
    """Return the requests that it takes to list so many repositories."""
    return -(-repositories // PAGE)


@dataclass(frozen=True)
class Scenario:
    """What is simulated."""

    repositories: int
    fleet: Fleet
    installations: int = 1
    """Among which the repositories are divided evenly."""
    habits: Habits = field(default_factory=Habits)
    answers: Answers = field(default_factory=Answers)
    allowance: Allowance = field(default_factory=Allowance)
    seed: int = 7


@dataclass
class Pull:
    """A pull request of the day."""

    installation: int
    lane: int
    kind: Kind
    pushed: list[float]
    """When its heads came, those to come included."""
    told: list[Kind]
    """What reviewing each head costs."""
    reviewed: int = -1
    """Index of the last head with a finished check."""

    def head(self, now: float) -> int:
        """Return the index of the head at a moment."""
        return sum(moment <= now for moment in self.pushed) - 1


@dataclass
class Worker:
    """One process: slots for jobs, fewer for analyses, and one write to each installation at a time."""

    free: int
    analyses: int
    waiting: deque[Callable[[], None]] = field(default_factory=deque)
    written: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Day:
    """What came of it."""

    reviews: int
    """Heads that got a finished check."""
    busiest: int
    """Pushes in the busiest hour."""
    latencies: list[float]
    """Seconds from a push to the end of its check, in order of size."""
    looks: int
    """Jobs that found nothing left to do."""
    put_off: dict[str, int]
    """How often each of GitHub's limits put a review off."""
    cores: float
    """Cores that were busy on the average of the busiest hour."""
    requests: int
    points: int
    content: int
    """The most that one installation spent: requests within an hour, points within a minute, content within an hour."""

    def latency(self, share: float) -> float:
        """Return the seconds within which `share` of the reviews ended."""
        return self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))]


def pulls(scenario: Scenario, generator: random.Random) -> list[Pull]:
    """Make up the day's pull requests."""
    habits = scenario.habits
    weights = [generator.lognormvariate(0.0, habits.spread) for _ in range(scenario.repositories)]
    count = _poisson(generator, scenario.repositories * habits.pulls_a_day)
    chosen = generator.choices(range(scenario.repositories), weights, k=count)
    kinds = generator.choices(list(habits.kinds), list(habits.kinds.values()), k=count)
    made = []
    for repository, kind in zip(chosen, kinds, strict=True):
        pushes = 1 + _poisson(generator, habits.pushes - 1)
        hours = generator.choices(range(len(habits.hours)), habits.hours, k=pushes)
        moments = sorted((hour + generator.random()) * HOUR for hour in hours)
        told = [kind] + [_again(kind, generator, habits) for _ in moments[1:]]
        lane = generator.randrange(scenario.fleet.lanes)
        made.append(Pull(repository % scenario.installations, lane, kind, moments, told))
    return made


def _again(kind: Kind, generator: random.Random, habits: Habits) -> Kind:
    if kind != "findings":
        return kind
    return "findings" if generator.random() < habits.findings_change else "same-again"


def _poisson(generator: random.Random, mean: float) -> int:
    if mean > 50:
        return max(0, round(generator.gauss(mean, mean**0.5)))
    count, gone = 0, generator.expovariate(1.0)
    while gone < mean:
        count += 1
        gone += generator.expovariate(1.0)
    return count


class Simulation:
    """One day."""

    def __init__(self, scenario: Scenario, costs: Costs) -> None:
        self._scenario = scenario
        self._costs = costs.kinds
        self._answers = scenario.answers
        self._fleet = scenario.fleet
        self._now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._workers = [
            Worker(scenario.fleet.concurrency, scenario.fleet.analyses) for _ in range(self._fleet.workers)
        ]
        each = -(-scenario.repositories // scenario.installations)
        self._installations = [Installation(scenario.allowance, each) for _ in range(scenario.installations)]
        self._turns: dict[int, float] = {}
        self._lanes: dict[tuple[int, int], deque[Pull]] = {}
        self._ready: deque[tuple[int, int]] = deque()
        self._busy: set[tuple[int, int]] = set()
        self._latencies: list[float] = []
        self._looks = 0
        self._cpu = [0.0] * (len(scenario.habits.hours) + 24)

    def run(self) -> Day:
        """Play the day to its end."""
        every = pulls(self._scenario, random.Random(self._scenario.seed))
        for pull in every:
            for index, moment in enumerate(pull.pushed):
                delay = self._fleet.delay if index else 0.0
                self._at(moment + delay, lambda pull=pull: self._store(pull))  # type: ignore[misc]
        self._reconcile()
        while self._events:
            self._now, _, happen = heapq.heappop(self._events)
            happen()
        return self._day(every)

    def _reconcile(self) -> None:
        """Have every installation's repositories listed once an hour. What moved in them is asked of GraphQL."""
        own = -(-self._scenario.repositories // self._scenario.installations)
        for installation in self._installations:
            for hour in range(len(self._scenario.habits.hours)):
                for page in range(list_pages(own)):
                    moment = hour * HOUR + page * self._answers.read
                    self._at(moment, lambda to=installation: self._list(to))  # type: ignore[misc]

    def _list(self, installation: Installation) -> None:
        installation.ask(self._now, reads=1, writes=0, content=0)

    def _day(self, every: list[Pull]) -> Day:
        hours = [int(moment // HOUR) for pull in every for moment in pull.pushed]
        busiest = max(range(len(self._scenario.habits.hours)), key=hours.count)
        refused: dict[str, int] = {}
        for installation in self._installations:
            for name, count in installation.refused.items():
                refused[name] = refused.get(name, 0) + count
        return Day(
            reviews=len(self._latencies),
            busiest=hours.count(busiest),
            latencies=sorted(self._latencies),
            looks=self._looks,
            put_off=dict(sorted(refused.items())),
            cores=self._cpu[busiest] / HOUR,
            requests=max(each.requests.peak for each in self._installations),
            points=max(each.points.peak for each in self._installations),
            content=max(each.content.peak for each in self._installations),
        )

    def _at(self, moment: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self._order), happen))

    # The queue: the oldest job of a lane, and one job of a lane at a time.

    def _store(self, pull: Pull) -> None:
        lane = (pull.installation, pull.lane)
        queue = self._lanes.setdefault(lane, deque())
        queue.append(pull)
        if len(queue) == 1 and lane not in self._busy:
            self._ready.append(lane)
        self._take()

    def _take(self) -> None:
        while self._ready:
            worker = max(self._workers, key=lambda each: each.free)
            if worker.free == 0:
                return
            lane = self._ready.popleft()
            pull = self._lanes[lane].popleft()
            self._busy.add(lane)
            worker.free -= 1
            self._go(_job(self, pull, worker), lane, worker)

    def _go(self, job: Iterator[float], lane: tuple[int, int], worker: Worker) -> None:
        """Play a job to its next wait: seconds, or less than none where somebody else wakes it."""
        wait = next(job, None)
        if wait is None:
            worker.free += 1
            self._busy.discard(lane)
            if self._lanes[lane]:
                self._ready.append(lane)
            # As an event of its own: where GitHub refuses, one job after the other ends in its first moment.
            self._at(self._now, self._take)
        elif wait >= 0:
            self._at(self._now + wait, lambda: self._go(job, lane, worker))
        else:
            worker.waiting.append(lambda: self._go(job, lane, worker))

    # What jobs ask for.

    def cost(self, kind: Kind) -> Cost:
        """Return what reviewing a head of this kind costs."""
        return self._costs[kind]

    @property
    def now(self) -> float:
        """Seconds since the day began."""
        return self._now

    def read(self, cost: Cost, share: float) -> float:
        """Return the seconds that a share of a review's reads take."""
        return share * (
            (cost.reads + cost.unchanged) * self._answers.read + (cost.queries + cost.mutations) * self._answers.query
        )

    def write(self, worker: Worker, installation: int, count: int) -> float:
        """Return the seconds until `count` writes are done.

        One begins a while after the end of the worker's write before, and after the begin of the last of any worker.
        """
        interval, ended = self._fleet.write_interval, self._now
        for _ in range(count):
            own = worker.written.get(installation, -interval) + interval
            begun = max(self._now, own, self._turns.get(installation, 0.0))
            self._turns[installation] = begun + interval
            worker.written[installation] = ended = begun + self._answers.write
        return ended - self._now

    def ask(self, pull: Pull, *, reads: int, writes: int, content: int = 0) -> float:
        """Spend an installation's allowance, or return how long the job has to leave."""
        return self._installations[pull.installation].ask(self._now, reads=reads, writes=writes, content=content)

    def put_off(self, pull: Pull, wait: float) -> None:
        """Store the job again for later."""
        self._at(self._now + wait, lambda: self._store(pull))

    def looked(self) -> None:
        """Count a job that found nothing to do."""
        self._looks += 1

    def compute(self, seconds: float) -> None:
        """Count processor time."""
        self._cpu[min(len(self._cpu) - 1, int(self._now // HOUR))] += seconds

    def finished(self, pull: Pull, head: int) -> None:
        """Note that a head has its check, and with it those before that were never looked at."""
        self._latencies.append(self._now - pull.pushed[head])
        pull.reviewed = head


def _job(at: Simulation, pull: Pull, worker: Worker) -> Iterator[float]:
    """One job, which yields the seconds of each wait; -1 for a wait that the end of another's analysis ends."""
    while True:
        head = pull.head(at.now)
        if pull.reviewed >= head:
            at.looked()
            at.compute(LOOK.worker_seconds)
            if not at.ask(pull, reads=LOOK.reads, writes=0):
                yield at.read(LOOK, 1.0)
            return
        cost = at.cost(pull.told[head])
        # Two thirds of the reads come before the analysis, and the write that begins the check.
        before = round(cost.reads * 2 / 3)
        if not (yield from _allowed(at, pull, reads=before, writes=1)):
            return
        at.compute(cost.worker_seconds)
        yield at.read(cost, 2 / 3) + at.write(worker, pull.installation, 1)
        if cost.analysis_seconds:
            if worker.analyses == 0:
                yield -1.0
            worker.analyses -= 1
            at.compute(cost.analysis_seconds)
            yield cost.analysis_seconds
            worker.analyses += 1
            if worker.waiting:
                worker.waiting.popleft()()
        moved = pull.head(at.now) != head
        writes = 1 if moved else cost.writes - 1
        after = cost.reads - before
        content = 0 if moved else cost.content
        if not (yield from _allowed(at, pull, reads=after, writes=writes, content=content)):
            return
        yield at.read(cost, 1 / 3) + at.write(worker, pull.installation, writes + cost.mutations)
        if not moved:
            at.finished(pull, head)
            return


def _allowed(at: Simulation, pull: Pull, *, reads: int, writes: int, content: int = 0) -> Generator[float, None, bool]:
    """Spend the allowance, after a short wait where it takes one; False where the job was put off for a long one."""
    while wait := at.ask(pull, reads=reads, writes=writes, content=content):
        if wait > LONGEST_NAP_SECONDS:
            at.put_off(pull, wait)
            return False
        yield wait
    return True


def simulate(scenario: Scenario, costs: Costs) -> Day:
    """Play one day."""
    return Simulation(scenario, costs).run()
