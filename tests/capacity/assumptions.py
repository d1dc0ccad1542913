"""What the simulation takes for given: how people work, how fast GitHub answers, and what it allows.

Whoever knows better changes a figure here and runs `make capacity`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.capacity.costs import Kind

HOUR = 3600.0


@dataclass(frozen=True)
class Habits:
    """How repositories are worked on. Nobody has measured these: they are a busy organisation as we imagine it."""

    pulls_a_day: float = 0.5
    """Pull requests that the average repository opens on a working day."""
    pushes: float = 4.0
    """Pushes to one pull request on the average, the first included; each asks for a review."""
    spread: float = 1.2
    """Sigma of the log-normal by which repositories differ: with 1.2 a tenth of them has half of the pull requests."""
    hours: tuple[float, ...] = (0.05, 0.10, 0.13, 0.12, 0.07, 0.09, 0.13, 0.14, 0.11, 0.06)
    """Share of the day's pushes in each hour of a working day of ten."""
    kinds: Mapping[Kind, float] = field(
        default_factory=lambda: {"documentation": 0.45, "clean": 0.30, "findings": 0.20, "large": 0.05}
    )
    """Share of pull requests of each kind."""
    findings_change: float = 0.3
    """Share of the further pushes to a pull request with findings that change them, and so are told."""


@dataclass(frozen=True)
class Answers:
    """Seconds that GitHub takes to answer. Not measured: middle of what is commonly seen."""

    read: float = 0.25
    query: float = 0.6
    write: float = 0.8


@dataclass(frozen=True)
class Allowance:
    """What GitHub allows one installation, according to its documentation of rate limits for the REST API."""

    requests_an_hour: int = 5_000
    requests_a_repository: int = 50
    """More for each repository above twenty, up to the most."""
    repositories_included: int = 20
    most_requests_an_hour: int = 12_500
    points_a_minute: int = 900
    """One for a read, five for a write."""
    content_a_minute: int = 80
    content_an_hour: int = 500
    """Reviews and comments. GitHub says "in general", and that it may change."""
    least_wait: float = 60.0
    """Seconds that a refused client waits at least."""

    def requests(self, repositories: int) -> int:
        """Return the requests an hour of an installation on so many repositories."""
        more = self.requests_a_repository * max(0, repositories - self.repositories_included)
        return min(self.most_requests_an_hour, self.requests_an_hour + more)


@dataclass(frozen=True)
class Fleet:
    """The workers, with the defaults of the settings that matter."""

    workers: int
    concurrency: int = 8
    """`PREFLIGHT_WORKER_CONCURRENCY`."""
    lanes: int = 6
    """`PREFLIGHT_INSTALLATION_CONCURRENCY`: reviews of one installation at the same time, by all workers together."""
    analyses: int = 2
    """Analyses at the same time in one worker, each on a core."""
    write_interval: float = 1.0
    """`PREFLIGHT_WRITE_INTERVAL_SECONDS`, kept by all workers together for each installation."""
    delay: float = 3.0
    """`PREFLIGHT_SYNCHRONIZE_DELAY_SECONDS`."""
