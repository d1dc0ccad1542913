"""Figures as drawings: inline SVG that is whole without a script, and coloured by the style sheet.

Positions are attributes and colours are classes, so that the page's policy can forbid inline styles.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from engine.explored import Curve
from engine.findings import Breakdown, ByteRange, Target, Verdict
from hardware_catalog import UnknownGPU, find_gpu

GIB = 1 << 30
MIB = 1 << 20
WIDTH, HEIGHT = 960, 340
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 16, 26
NEAR = 1.6
"""A device's capacity is drawn into a timeline where it is at most so many times the highest point."""
NAMES = {
    "parameters": "Parameters", "buffers": "Buffers", "gradients": "Gradients", "optimizer": "Optimizer state",
    "inputs": "Inputs", "activations": "Activations", "temporaries": "Temporaries", "kv_cache": "KV cache",
    "communication": "Communication", "workspace": "Workspaces", "other": "Other", "allocator_slack": "Allocator slack",
    "device_context": "Context and libraries",
}  # fmt: skip
CLASSES = {"kv_cache": "kv", "allocator_slack": "slack", "device_context": "context"}
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "fits": ("good", "fits"),
    "borderline": ("warn", "borderline"),
    "does-not-fit": ("bad", "does not fit"),
    "unknown": ("unknown", "unknown"),
}


def size(number_of_bytes: int | float) -> str:
    """Return bytes for people: MiB below one GiB, and two figures behind the point below ten."""
    if abs(number_of_bytes) < GIB:
        return f"{number_of_bytes / MIB:.0f} MiB"
    gib = number_of_bytes / GIB
    return f"{gib:.2f} GiB" if abs(gib) < 10 else f"{gib:.1f} GiB"


def gpu_name(name: str) -> str:
    """Return a device's full name for its key."""
    try:
        return find_gpu(name).name
    except UnknownGPU:
        # Of a report that an older catalogue made.
        return name


@dataclass(frozen=True)
class Band:
    """One category of a stacked plot."""

    name: str
    css: str
    path: str
    peak: int
    """Bytes at the plot's highest point."""


@dataclass(frozen=True)
class Rule:
    """A horizontal line with its label; `anchor` in SVG's units."""

    label: str
    y: float


@dataclass(frozen=True)
class Timeline:
    """A run's memory over time, ready to be drawn."""

    bands: Sequence[Band]
    reserved: str
    ticks: Sequence[Rule]
    capacities: Sequence[Rule]
    peak_x: float
    peak_y: float
    peak: int
    data: str
    """For the script: JSON of the samples."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def timeline(curve: Curve, targets: Sequence[Target]) -> Timeline | None:
    """Draw a curve; None where it has no samples."""
    samples = curve.samples
    if not samples:
        return None
    totals = [sum(sample.live) for sample in samples]
    highest = max(max(totals), max(sample.reserved for sample in samples), 1)
    room = {target.gpu: max(0, target.usable_bytes - curve.outside) for target in targets}
    near = {gpu: value for gpu, value in room.items() if 0 < value <= NEAR * highest}
    top = max([highest, *near.values()]) * 1.06
    span = max(1, len(samples) - 1)

    def x(position: int) -> float:
        return round(LEFT + position / span * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM), 1)

    peak = max(range(len(samples)), key=totals.__getitem__)
    bands = []
    below = [0] * len(samples)
    for index, category in enumerate(curve.categories):
        above = [low + sample.live[index] for low, sample in zip(below, samples, strict=True)]
        if above != below:
            upper = " ".join(f"{x(n)},{y(v)}" for n, v in enumerate(above))
            lower = " ".join(f"{x(n)},{y(v)}" for n, v in reversed(list(enumerate(below))))
            css = CLASSES.get(category, category)
            bands.append(Band(NAMES.get(category, category), css, f"M{upper} L{lower}Z", samples[peak].live[index]))
        below = above
    step = _step(top)
    ticks = [Rule(_tick(value * step), y(value * step)) for value in range(int(top / step) + 1)]
    return Timeline(
        bands=bands,
        reserved=" ".join(f"{x(n)},{y(sample.reserved)}" for n, sample in enumerate(samples)),
        ticks=ticks,
        capacities=[Rule(gpu_name(gpu), y(value)) for gpu, value in near.items()],
        peak_x=x(peak),
        peak_y=y(totals[peak]),
        peak=totals[peak],
        data=_data(curve, top),
    )


def _data(curve: Curve, top: float) -> str:
    shown = [index for index in range(len(curve.categories)) if any(sample.live[index] for sample in curve.samples)]
    categories = [curve.categories[index] for index in shown]
    return json.dumps(
        {
            "top": round(top),
            "categories": [
                {"name": NAMES.get(category, category), "css": CLASSES.get(category, category)}
                for category in categories
            ],
            "samples": [
                [sample.index, sample.label, sample.reserved, *(sample.live[index] for index in shown)]
                for sample in curve.samples
            ],
        },
        separators=(",", ":"),
    )


def _step(top: float) -> float:
    """A round distance that makes about five lines."""
    for step in (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500):
        if top / (step * GIB) <= 6:
            return step * GIB
    return top / 5


def _tick(value: float) -> str:
    return "0" if not value else f"{value / GIB:g} GiB"


@dataclass(frozen=True)
class Part:
    """One part of a stacked bar, in percent of its width."""

    name: str
    css: str
    x: float
    width: float
    size: int


def breakdown_parts(breakdown: Breakdown) -> list[Part]:
    """Return the categories of a breakdown, the largest first."""
    values = [(name, value) for name, value in breakdown.model_dump().items() if value > 0]
    whole = sum(value for _, value in values) or 1
    parts, at = [], 0.0
    for name, value in sorted(values, key=lambda pair: -pair[1]):
        share = 100 * value / whole
        parts.append(Part(NAMES.get(name, name), CLASSES.get(name, name), round(at, 2), round(share, 2), value))
        at += share
    return parts


@dataclass(frozen=True)
class Bullet:
    """A range against a device: percent of the drawing's width."""

    gpu: str
    verdict: str
    css: str
    usable: int
    low: float
    expected: float
    high: float
    capacity: float


def bullets(occupied: ByteRange, targets: Sequence[Target]) -> list[Bullet]:
    """Draw what is occupied against each device, all to one scale."""
    widest = max([occupied.high, *(target.usable_bytes for target in targets)], default=1) * 1.04 or 1

    def share(value: int) -> float:
        return round(100 * value / widest, 2)

    return [
        Bullet(
            gpu_name(target.gpu),
            VERDICTS[target.verdict][1],
            VERDICTS[target.verdict][0],
            target.usable_bytes,
            share(occupied.low),
            share(occupied.expected),
            share(occupied.high),
            share(target.usable_bytes),
        )
        for target in targets
    ]


@dataclass(frozen=True)
class Day:
    """Open findings at the end of a day."""

    label: str
    errors: int
    warnings: int


@dataclass(frozen=True)
class History:
    """Open findings over time, ready to be drawn."""

    errors: str
    warnings: str
    ticks: Sequence[Rule]
    first: str
    last: str
    now: Day
    width: int = WIDTH
    height: int = 220
    left: int = 14
    right: int = WIDTH - 44
    """The axis stands at the newest days, which a phone shows first."""
    bottom: int = 220 - 26


def history(days: Sequence[Day]) -> History:
    """Draw days as two stacked areas of steps, errors at the bottom; a day's count stands over the whole of it."""
    shape = History("", "", (), days[0].label, days[-1].label, days[-1])
    most = max(max(day.errors + day.warnings for day in days), 4)
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**6) if most / step <= 5)

    def edge(index: int) -> str:
        return f"{shape.left + index / len(days) * (shape.right - shape.left):.1f}"

    def level(value: float) -> float:
        return round(shape.bottom - value / (most * 1.08) * (shape.bottom - 14), 1)

    def area(upper: Sequence[int], lower: Sequence[int]) -> str:
        there = " ".join(f"{edge(at)},{level(value)} {edge(at + 1)},{level(value)}" for at, value in enumerate(upper))
        lowest = reversed(list(enumerate(lower)))
        back = " ".join(f"{edge(at + 1)},{level(value)} {edge(at)},{level(value)}" for at, value in lowest)
        return f"M{there} L{back}Z"

    errors = [day.errors for day in days]
    both = [day.errors + day.warnings for day in days]
    return History(
        errors=area(errors, [0] * len(days)),
        warnings=area(both, errors),
        ticks=[Rule(str(value), level(value)) for value in range(0, most + 1, step)],
        first=days[0].label,
        last=days[-1].label,
        now=days[-1],
    )
