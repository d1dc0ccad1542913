"""The 90 % range around an estimate: split-conformal quantiles of the relative error, by class of evidence.

The quantiles stand in `data/intervals.toml` with the number of runs behind each; `make calibrate`
makes them from measured and simulated runs.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from engine.findings import ByteRange


class Spread(BaseModel):
    """Quantiles of truth / estimate - 1 for one class of evidence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: float
    high: float
    runs: int
    source: str


@cache
def spreads() -> dict[str, Spread]:
    """Every class of evidence and its quantiles."""
    text = files("engine.memory").joinpath("data", "intervals.toml").read_text(encoding="utf-8")
    return {name: Spread.model_validate(row) for name, row in tomllib.loads(text).items()}


def around(expected: int, evidence: str, *, fixed_low: int = 0, fixed_high: int = 0) -> ByteRange:
    """The range of a quantity; `fixed_low` and `fixed_high` are bytes that a device may differ by on its own."""
    known = spreads()
    # A class that no run stands behind is as wide as what is assumed.
    spread = known.get(evidence) or known[f"{evidence.split('-')[0]}-assumed"]
    low = int(expected * (1 + spread.low)) - fixed_low
    high = int(expected * (1 + spread.high)) + fixed_high
    return ByteRange(low=max(0, min(low, expected)), expected=expected, high=max(high, expected))
