"""docs/capacity.md, made of the measured costs and of simulated days."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import jinja2

from tests.capacity.assumptions import HOUR, Allowance, Answers, Fleet, Habits
from tests.capacity.costs import KINDS, Costs, Kind
from tests.capacity.simulation import Day, Scenario, list_pages, simulate

PAGE = Path(__file__).parents[2] / "docs" / "capacity.md"
TEMPLATE = Path(__file__).with_name("page.md.jinja")

PROMPT_SECONDS = 60.0
"""What is enough: nineteen of twenty reviews end within this time after the push."""
MOST_WORKERS = 16
SIZES = (100, 1_000, 10_000)
SPREADS = (2, 3, 4)
"""Installations over which ten thousand repositories are spread, instead of one."""
ROOMY_LANES = 24
"""Reviews of one installation at the same time where it stands alone."""


@dataclass(frozen=True)
class Need:
    """The fewest workers that are enough for a scenario, and the day with them."""

    scenario: Scenario
    day: Day
    enough: bool

    @property
    def workers(self) -> str:
        """Return the number, or that none is enough."""
        return str(self.scenario.fleet.workers) if self.enough else "no number is enough"


def need(scenario: Scenario, costs: Costs) -> Need:
    """Find the fewest workers with which reviews are prompt."""
    days: dict[int, Day] = {}

    def prompt(workers: int) -> bool:
        days[workers] = simulate(_with(scenario, workers), costs)
        return days[workers].latency(0.95) <= PROMPT_SECONDS

    # More workers lift neither a limit of GitHub's nor that of an installation's lanes.
    if (beyond(scenario, costs) or not prompt(1)) and not prompt(MOST_WORKERS):
        return Need(_with(scenario, MOST_WORKERS), days[MOST_WORKERS], enough=False)
    fewest, below = (MOST_WORKERS, 1) if MOST_WORKERS in days else (1, 0)
    while fewest - below > 1:
        # Few are enough nearly always.
        middle = min((fewest + below) // 2, 2 * below)
        if prompt(middle):
            fewest = middle
        else:
            below = middle
    return Need(_with(scenario, fewest), days[fewest], enough=True)


def beyond(scenario: Scenario, costs: Costs) -> bool:
    """Tell whether the busiest hour alone asks for more than GitHub allows, so that few workers need no trial."""
    habits = scenario.habits
    own = scenario.repositories / scenario.installations
    reviews = own * habits.pulls_a_day * habits.pushes * max(habits.hours)
    asked = reviews * mean(costs, habits, scenario.answers).requests + list_pages(round(own))
    return asked > scenario.allowance.requests(round(own))


def _with(scenario: Scenario, workers: int) -> Scenario:
    return replace(scenario, fleet=replace(scenario.fleet, workers=workers))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose first column stands left and whose others stand right."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def seconds(value: float) -> str:
    """Return a time as people say it."""
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 2 * HOUR else f"{value / HOUR:.1f} h"


WHOSE = ("repositories", "in")


def costs_table(costs: Costs) -> str:
    """Return what a review costs, by kind."""
    return table(
        ("review", "reads", "unchanged", "GraphQL", "writes", "of them content", "analysis", "worker"),
        (
            (
                KINDS[kind],
                str(cost.reads),
                str(cost.unchanged),
                str(cost.queries + cost.mutations),
                str(cost.writes),
                str(cost.content),
                f"{cost.analysis_seconds:.2f} s",
                f"{cost.worker_seconds:.2f} s",
            )
            for kind, cost in costs.kinds.items()
        ),
    )


@dataclass(frozen=True)
class Mean:
    """The mean review of a day, by the shares of its kinds."""

    requests: float
    points: float
    content: float
    writes: float
    cores: float
    seconds: float
    """From the start to the end, where nothing has to wait."""


def mean(costs: Costs, habits: Habits, answers: Answers) -> Mean:
    """Weigh the kinds: the first push of a pull request and those that follow."""
    first = 1 / habits.pushes
    shares: dict[Kind, float] = dict(habits.kinds)
    further = shares["findings"] * (1 - first)
    shares["findings"] -= further * (1 - habits.findings_change)
    shares["same-again"] = further * (1 - habits.findings_change)
    parts = [(share, costs.kinds[kind]) for kind, share in shares.items()]
    reads = math.fsum(share * cost.reads for share, cost in parts)
    writes = math.fsum(share * cost.writes for share, cost in parts)
    waits = math.fsum(
        share
        * (
            (cost.reads + cost.unchanged) * answers.read
            + (cost.queries + cost.mutations) * answers.query
            + cost.writes * answers.write
            + max(0, cost.writes - 2) * Fleet(1).write_interval
            + cost.analysis_seconds
        )
        for share, cost in parts
    )
    return Mean(
        requests=reads + writes,
        points=reads + 5 * writes,
        content=math.fsum(share * cost.content for share, cost in parts),
        writes=writes,
        cores=math.fsum(share * (cost.analysis_seconds + cost.worker_seconds) for share, cost in parts),
        seconds=waits,
    )


def bounds_table(costs: Costs, habits: Habits, answers: Answers, allowance: Allowance) -> str:
    """Return how many reviews an hour each limit allows one installation, tightest first."""
    each = mean(costs, habits, answers)
    findings = costs.kinds["findings"]
    minutes = HOUR / 60
    alone = Fleet(1)
    bounds = [
        ("requests an hour, up to 20 repositories", allowance.requests(1) / each.requests),
        ("requests an hour, from 170 repositories on", allowance.most_requests_an_hour / each.requests),
        ("points a minute (900: 1 a read, 5 a write)", allowance.points_a_minute * minutes / each.points),
        ("content an hour (500), with this mixture", allowance.content_an_hour / each.content),
        ("content an hour (500), if every push had new findings", allowance.content_an_hour / findings.content),
        (
            "content a minute (80), if every push had new findings",
            allowance.content_a_minute * minutes / findings.content,
        ),
        ("writes a second apart, over all workers", HOUR / (each.writes * alone.write_interval)),
        ("writes one after the other, in one worker", HOUR / (each.writes * (alone.write_interval + answers.write))),
        (f"{alone.lanes} reviews of one installation at a time", alone.lanes * HOUR / each.seconds),
    ]
    return table(
        ("limit of one installation", "reviews an hour"),
        ((name, f"{math.floor(value):,}") for name, value in sorted(bounds, key=lambda bound: bound[1])),
    )


def needs_table(needs: Sequence[Need]) -> str:
    """Return what each number of repositories needs."""
    return table(
        (
            "repositories",
            "in",
            "reviews at a time",
            "workers",
            "reviews",
            "busiest hour",
            "median",
            "95 %",
            "99 %",
            "cores",
        ),
        (
            (
                f"{each.scenario.repositories:,}",
                _installations(each.scenario.installations),
                str(each.scenario.fleet.lanes),
                each.workers,
                f"{each.day.reviews:,}",
                f"{each.day.busiest:,}",
                seconds(each.day.latency(0.5)),
                seconds(each.day.latency(0.95)),
                seconds(each.day.latency(0.99)),
                f"{each.day.cores:.1f}",
            )
            for each in needs
        ),
    )


def spent_table(needs: Sequence[Need]) -> str:
    """Return what the busiest installation of each scenario spends of its allowance."""

    def row(each: Need) -> Sequence[str]:
        scenario, allowance = each.scenario, each.scenario.allowance
        own = -(-scenario.repositories // scenario.installations)
        off = ", ".join(f"{count:,} by {name}" for name, count in each.day.put_off.items())
        return (
            f"{scenario.repositories:,}",
            _installations(scenario.installations),
            f"{each.day.requests:,} of {allowance.requests(own):,}",
            f"{each.day.points:,} of {allowance.points_a_minute:,}",
            f"{each.day.content:,} of {allowance.content_an_hour:,}",
            off or "none",
        )

    return table(
        ("repositories", "in", "requests an hour", "points a minute", "content an hour", "put off"), map(row, needs)
    )


def _workers(each: Need) -> str:
    return "1 worker" if each.workers == "1" else f"{each.workers} workers"


def _installations(count: int) -> str:
    return "1 installation" if count == 1 else f"{count} installations"


def written(costs: Costs) -> str:
    """Return the whole page."""
    habits, answers, allowance = Habits(), Answers(), Allowance()
    alone = Fleet(1)
    roomy = replace(alone, lanes=ROOMY_LANES)
    needs = [need(Scenario(size, alone), costs) for size in SIZES]
    spread = [needs[-1], *(need(Scenario(SIZES[-1], roomy, installations=count), costs) for count in SPREADS)]
    busy = replace(habits, pulls_a_day=4 * habits.pulls_a_day)
    busier = [need(Scenario(size, roomy, habits=busy), costs) for size in SIZES[:2]]
    enough = [one for one in spread if one.enough]
    verdict = "none of the numbers of installations below is enough"
    if enough:
        verdict = f"{_installations(enough[0].scenario.installations)} are enough, with {_workers(enough[0])} in all"
    template = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True).from_string(
        TEMPLATE.read_text(encoding="utf-8")
    )
    return template.render(
        prompt=f"{PROMPT_SECONDS:.0f}",
        sizes=[f"{size:,}" for size in SIZES],
        mean=mean(costs, habits, answers),
        measured=costs.measured,
        verdict=verdict,
        fleet=alone,
        habits=habits,
        busy=busy,
        answers=answers,
        allowance=allowance,
        hours=", ".join(f"{share:.0%}" for share in habits.hours),
        kinds=", ".join(f"{share:.0%} {KINDS[kind]}" for kind, share in habits.kinds.items()),
        findings_change=f"{habits.findings_change:.0%}",
        workers=[_workers(each) for each in needs],
        costs_table=costs_table(costs),
        bounds_table=bounds_table(costs, habits, answers, allowance),
        needs_table=needs_table(needs),
        spent_table=spent_table(needs),
        busier_needs_table=needs_table(busier),
        busier_spent_table=spent_table(busier),
        spread_needs_table=needs_table(spread),
        spread_spent_table=spent_table(spread),
    )
