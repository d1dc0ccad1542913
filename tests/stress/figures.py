"""What a scenario measured, and what is wrong at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Outcome:
    """One line of figures; without faults the scenario passed."""

    figures: str
    faults: Sequence[str] = field(default=())

    @property
    def passed(self) -> bool:
        return not self.faults


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of the values do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def milliseconds(seconds: Sequence[float]) -> str:
    """Median, 99th percentile and worst of some latencies."""
    p50, p99, worst = percentile(seconds, 0.5), percentile(seconds, 0.99), max(seconds)
    return f"p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms, worst {worst * 1000:.0f} ms"
