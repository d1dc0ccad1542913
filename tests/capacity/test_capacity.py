"""The simulation keeps GitHub's limits and its own promises, and docs/capacity.md is what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.settings import Settings
from tests.capacity.assumptions import Allowance, Fleet, Habits
from tests.capacity.costs import KINDS, Cost, Costs
from tests.capacity.limits import FixedWindow, Installation, Window
from tests.capacity.measure import add_up
from tests.capacity.page import PAGE, written
from tests.capacity.simulation import Scenario, simulate

COSTS = Costs.kept()
SMALL = Scenario(50, Fleet(1))


def test_the_page_is_what_the_simulation_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(COSTS), "run `make capacity`"


def test_the_fleet_has_the_defaults_of_the_settings() -> None:
    settings = {name: field.default for name, field in Settings.model_fields.items()}
    fleet = Fleet(1)
    assert fleet.concurrency == settings["worker_concurrency"]
    assert fleet.lanes == settings["installation_concurrency"]
    assert fleet.delay == settings["synchronize_delay_seconds"]
    assert fleet.write_interval == settings["write_interval_seconds"]


def test_every_kind_of_review_was_measured() -> None:
    assert set(COSTS.kinds) == set(KINDS)
    for kind, cost in COSTS.kinds.items():
        assert cost.content <= cost.writes, kind
        assert cost.worker_seconds > 0, kind


def test_a_window_slides() -> None:
    window = Window(10, 60.0)
    window.spend(0.5, 6)
    window.spend(30.5, 4)
    assert window.wait(31.0, 1) == pytest.approx(30.0, abs=1.0)
    assert window.wait(61.5, 6) == 0.0
    assert window.wait(61.5, 7) > 0.0
    assert window.peak == 10


def test_an_hour_of_requests_begins_anew_all_at_once() -> None:
    window = FixedWindow(10, 3600.0)
    window.spend(3000.0, 10)
    assert window.wait(3100.0, 1) == 500.0
    assert window.wait(3600.0, 10) == 0.0


@pytest.mark.parametrize(
    ("wanted", "limit"),
    [
        ({"reads": 6_000, "writes": 0, "content": 0}, "requests an hour"),
        ({"reads": 0, "writes": 181, "content": 0}, "points a minute"),
        ({"reads": 0, "writes": 81, "content": 81}, "content a minute"),
    ],
)
def test_what_github_would_refuse_spends_nothing_and_names_its_limit(wanted: dict[str, int], limit: str) -> None:
    installation = Installation(replace(Allowance(), points_a_minute=900 if "points" in limit else 10_000), 1)
    assert installation.ask(0.0, **wanted) >= 60.0
    assert installation.refused == {limit: 1}
    assert installation.ask(0.0, reads=1, writes=0, content=0) == 0.0


def test_the_allowance_grows_with_the_repositories_up_to_its_cap() -> None:
    allowance = Allowance()
    assert [allowance.requests(count) for count in (1, 20, 21, 170, 10_000)] == [5_000, 5_000, 5_050, 12_500, 12_500]


def test_every_last_head_is_reviewed_and_the_same_seed_makes_the_same_day() -> None:
    day, again, other = (simulate(replace(SMALL, seed=seed), COSTS) for seed in (7, 7, 8))
    assert day == again != other
    assert day.reviews > 0
    assert not day.put_off
    assert day.latency(0.5) <= day.latency(0.95) <= day.latencies[-1]


def test_more_workers_help_where_workers_are_what_is_missing() -> None:
    heavy = Costs(
        measured="",
        kinds={kind: cost.model_copy(update={"analysis_seconds": 60.0}) for kind, cost in COSTS.kinds.items()},
    )
    scenario = Scenario(300, Fleet(1, lanes=24))
    few = simulate(scenario, heavy)
    many = simulate(replace(scenario, fleet=replace(scenario.fleet, workers=8)), heavy)
    assert few.latency(0.95) > 2 * many.latency(0.95)


def test_limits_bind_whatever_the_workers_and_spreading_lifts_them() -> None:
    strict = replace(Allowance(), content_an_hour=2)
    talkative = replace(Habits(), kinds={"documentation": 0.0, "clean": 0.0, "findings": 1.0, "large": 0.0})
    scenario = Scenario(40, Fleet(16), allowance=strict, habits=talkative)
    bound = simulate(scenario, COSTS)
    assert set(bound.put_off) == {"content an hour"}
    assert bound.content <= 2
    spread = simulate(replace(scenario, installations=40), COSTS)
    assert sum(spread.put_off.values()) < sum(bound.put_off.values())
    assert spread.latency(0.95) < bound.latency(0.95)


def test_what_costs_nothing_at_github_is_told_apart() -> None:
    from bot.standin.state import Call

    calls = [
        Call("apps/create-installation-access-token", "POST", "/token", 201, None, True),
        Call("pulls/get", "GET", "/pull", 200, None, True),
        Call("pulls/get", "GET", "/pull", 304, None, False),
        Call("checks/create", "POST", "/check", 201, {}, True),
        Call("pulls/create-review", "POST", "/review", 200, {}, True),
        Call("graphql", "POST", "/graphql", 200, {"query": "query { x }"}, True),
        Call("graphql", "POST", "/graphql", 200, {"query": "mutation { x }"}, True),
    ]
    assert add_up(calls, 1.5, 0.25) == Cost(
        reads=1,
        unchanged=1,
        writes=2,
        content=1,
        queries=1,
        mutations=1,
        analysis_seconds=1.5,
        worker_seconds=0.25,
    )
