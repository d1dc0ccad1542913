"""A step's memory over time: by category as JSON, as an SVG plot, and as a snapshot for PyTorch's memory visualiser.

All figures are bytes on one device; the x axis is the order of allocations and releases, not seconds: the shadow run
has no clock.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from engine.memory.launch import plan
from engine.memory.shadow import shadow_run
from hardware_catalog.allocator import CATEGORIES, Event

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter
    from engine.project import Project

GIB = 1 << 30

# One colour a category, from a palette that stays apart for colour-blind readers.
COLOURS = {
    "parameters": "#4477aa",
    "buffers": "#77aadd",
    "gradients": "#228833",
    "optimizer": "#ccbb44",
    "inputs": "#bbbbbb",
    "activations": "#ee6677",
    "temporaries": "#ee8866",
    "kv_cache": "#aa3377",
    "communication": "#66ccee",
    "workspace": "#999933",
    "other": "#555555",
}
PLOT_WIDTH, PLOT_HEIGHT, MARGIN = 960, 360, 48
# More points than pixels only make the file larger.
POINTS = 1200


@dataclass(frozen=True)
class Sample:
    """Live bytes by category after one allocation or release, and the bytes reserved then."""

    index: int
    label: str
    reserved: int
    live: tuple[int, ...]

    @property
    def allocated(self) -> int:
        """Live bytes over all categories."""
        return sum(self.live)


def record(
    project: Project, script: str, *, architecture: str = "sm80", overrides: Mapping[str, str] | None = None
) -> list[Event]:
    """Every allocation and release of a shadow run of `script`, in order.

    Raises CannotLaunch where the script names nothing that can be run.
    """
    kept: list[list[Event]] = []

    def watch(interpreter: Interpreter) -> None:
        events: list[Event] = []
        interpreter.device.allocator.events = events
        kept.append(events)

    shadow_run(project, plan(project, script), architecture=architecture, overrides=overrides, adjust=watch)
    return kept[0] if kept else []


def rendered(events: Sequence[Event], suffix: str, title: str = "") -> bytes:
    """The events in the format that a file name ends in: `.json`, `.svg` or `.pickle`; raises ValueError for others."""
    if suffix == ".json":
        return as_json(samples(events)).encode()
    if suffix == ".svg":
        return as_svg(samples(events), title).encode()
    if suffix == ".pickle":
        return as_snapshot(events)
    raise ValueError(f"a timeline ends in .json, .svg or .pickle, not {suffix!r}")


def samples(events: Sequence[Event], points: int = POINTS) -> list[Sample]:
    """The curve of the events, thinned to about `points` samples; the highest sample of each stretch is kept."""
    live = [0] * len(CATEGORIES)
    position = {name: index for index, name in enumerate(CATEGORIES)}
    stride = max(1, len(events) // points)
    kept: list[Sample] = []
    best: Sample | None = None
    for index, event in enumerate(events):
        live[position[event.category]] += event.number_of_bytes
        sample = Sample(index, event.label, event.reserved, tuple(live))
        if best is None or sample.allocated >= best.allocated:
            best = sample
        if (index + 1) % stride == 0 or index + 1 == len(events):
            kept.append(best)
            best = None
    return kept


def as_json(curve: Sequence[Sample]) -> str:
    """The curve as JSON: `{"categories": [...], "samples": [{"index", "label", "reserved", "live": [...]}]}`."""
    rows = [{"index": s.index, "label": s.label, "reserved": s.reserved, "live": list(s.live)} for s in curve]
    return json.dumps({"schema": 1, "unit": "bytes", "categories": list(CATEGORIES), "samples": rows})


def as_svg(curve: Sequence[Sample], title: str = "") -> str:
    """A stacked area plot of the curve, with the reserved bytes as a line above it."""
    if not curve:
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="{PLOT_WIDTH}" height="{PLOT_HEIGHT}"/>'
    top = max(max(s.allocated, s.reserved) for s in curve) or 1
    span = max(1, len(curve) - 1)

    def x(number: int) -> float:
        return MARGIN + number / span * (PLOT_WIDTH - 2 * MARGIN)

    def y(value: int) -> float:
        return PLOT_HEIGHT - MARGIN - value / top * (PLOT_HEIGHT - 2 * MARGIN)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{PLOT_WIDTH}" height="{PLOT_HEIGHT}" '
        f'font-family="sans-serif" font-size="12">',
        f'<text x="{MARGIN}" y="20">{escape(title)}</text>',
        f'<text x="{MARGIN}" y="{MARGIN - 6}">{top / GIB:.2f} GiB</text>',
    ]
    below = [0] * len(curve)
    legend = MARGIN
    for position, name in enumerate(CATEGORIES):
        above = [low + s.live[position] for low, s in zip(below, curve, strict=True)]
        if above == below:
            continue
        upper = " ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in enumerate(above))
        lower = " ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in reversed(list(enumerate(below))))
        parts.append(f'<polygon points="{upper} {lower}" fill="{COLOURS[name]}"/>')
        parts.append(f'<rect x="{legend}" y="{PLOT_HEIGHT - 22}" width="10" height="10" fill="{COLOURS[name]}"/>')
        parts.append(f'<text x="{legend + 14}" y="{PLOT_HEIGHT - 13}">{name}</text>')
        legend += 24 + 7 * len(name)
        below = above
    line = " ".join(f"{x(n):.1f},{y(s.reserved):.1f}" for n, s in enumerate(curve))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#000" stroke-dasharray="4 3"/>')
    parts.append("</svg>")
    return "\n".join(parts)


def as_snapshot(events: Sequence[Event]) -> bytes:
    """The events as a pickled snapshot, the format of `torch.cuda.memory._dump_snapshot`.

    PyTorch's memory visualiser reads it. The frame of each entry is the operator that asked.
    """
    trace = []
    for event in events:
        frame = {"filename": event.category, "line": 0, "name": event.label or event.category}
        entry = {"addr": event.position, "size": abs(event.number_of_bytes), "stream": 0, "frames": [frame]}
        if event.number_of_bytes >= 0:
            trace.append({"action": "alloc", **entry})
        else:
            # The visualiser ends a block's life at `free_completed`; PyTorch writes the request before it.
            trace.append({"action": "free_requested", **entry})
            trace.append({"action": "free_completed", **entry})
    snapshot = {"segments": [], "device_traces": [trace], "allocator_settings": {}, "external_annotations": []}
    return pickle.dumps(snapshot, protocol=4)
