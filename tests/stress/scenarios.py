"""The scenarios by name, each with its full size and the small one of the ordinary tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.stress import deliveries, frozen, hostile, kills, load
from tests.stress.figures import Outcome
from tests.stress.postgres import binaries, private_server


class Unavailable(Exception):
    """This machine lacks what a scenario needs."""


@dataclass(frozen=True)
class Scenario:
    """One of them; sizes that it does not know are left out."""

    function: Callable[..., Awaitable[Outcome]]
    small: Mapping[str, Any]
    sizes: frozenset[str]
    postgres: bool = False
    sampled: bool = False
    """Whether the ordinary tests run the small one."""

    async def run(self, folder: Path, *, small: bool = False, **sizes: int) -> Outcome:
        """Run it at full size, or small, with some sizes given.

        Raises:
            Unavailable: where it needs PostgreSQL and there is none.
        """
        chosen = {**(self.small if small else {}), **{name: size for name, size in sizes.items() if name in self.sizes}}
        if not self.postgres:
            return await self.function(folder, **chosen)
        server = binaries()
        if server is None:
            raise Unavailable("no PostgreSQL server is installed here")
        with private_server(server) as address:
            return await self.function(folder, address, **chosen)


SCENARIOS: Mapping[str, Scenario] = {
    "deliveries": Scenario(
        deliveries.run,
        {"rate": 50.0, "seconds": 1.0, "pulls": 2, "beside": 1, "most_p99_seconds": 5.0},
        frozenset({"pulls"}),
    ),
    "kills-sqlite": Scenario(
        kills.on_sqlite, {"pulls": 2, "kills": 1}, frozenset({"pulls", "kills", "seed"}), sampled=True
    ),
    "kills-postgres": Scenario(
        kills.on_postgres,
        {"pulls": 2, "kills": 1, "lasting": ("worker-1",)},
        frozenset({"pulls", "kills", "seed"}),
        postgres=True,
        sampled=True,
    ),
    "faults": Scenario(kills.under_faults, {"pulls": 1}, frozenset({"pulls", "seed"}), sampled=True),
    "frozen": Scenario(frozen.run, {}, frozenset({"pulls"})),
    "hostile": Scenario(hostile.run, {"only": ("names",)}, frozenset()),
    "workers": Scenario(
        load.throughput,
        {"pulls": 4, "workers": (1, 2), "latency_seconds": 0.0, "least_growth": 0.0},
        frozenset({"pulls", "seed"}),
        postgres=True,
    ),
    "fairness": Scenario(load.fairness, {"pulls": 12, "quiet": 1}, frozenset({"pulls"})),
}
