"""What `engine.exploration` answers. All figures are bytes on one device."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from engine.findings import Breakdown, ByteRange, Contract, Target


class Change(Contract):
    """A change of configuration that can be tried. Of two with one `group` only one can be taken; `key` names it."""

    key: str
    change: str
    cost: str
    group: str = ""


class CurveSample(Contract):
    """Live bytes by category after one allocation or release, the bytes reserved then, and the operation that asked."""

    index: int
    label: str
    reserved: int
    live: tuple[int, ...]


class Curve(Contract):
    """A run's memory over time. The order is that of allocations, not seconds; `outside` are the bytes that the device
    holds beside."""

    categories: tuple[str, ...]
    samples: tuple[CurveSample, ...]
    outside: int


class Exploration(Contract):
    """A run under the chosen changes. Without `occupied`, `problem` says why there are no figures."""

    script: str
    overrides: Mapping[str, str] = Field(default_factory=dict)
    """Settings that hold in place of those read, as with `--set`."""
    chosen: tuple[str, ...] = ()
    options: tuple[Change, ...] = ()
    occupied: ByteRange | None = None
    breakdown: Breakdown | None = None
    targets: tuple[Target, ...] = ()
    curve: Curve | None = None
    problem: str | None = None
