"""A step's memory over time: by category as JSON, as an SVG plot, and as a snapshot for PyTorch's memory visualiser.

All figures are bytes on one device; the x axis is the order of allocations and releases, not seconds: the shadow run
has no clock.
"""

from __future__ import annotations

import json
import pickle
import re
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
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What XML can not hold."""

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
PLOT_WIDTH, PLOT_HEIGHT, MARGIN = 960, 360, 64
GRID_LINES = 4
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
    recorder = Recorder()
    shadow_run(project, plan(project, script), architecture=architecture, overrides=overrides, adjust=recorder)
    return recorder.events


class Recorder:
    """Sees an interpreter before it starts, and keeps every allocation and release of its device."""

    def __init__(self) -> None:
        self._kept: list[list[Event]] = []

    def __call__(self, interpreter: Interpreter) -> None:
        events: list[Event] = []
        interpreter.device.allocator.events = events
        self._kept.append(events)

    @property
    def events(self) -> list[Event]:
        """Those of the first device, in order."""
        return self._kept[0] if self._kept else []


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
    """A stacked area plot of the curve, with the reserved bytes as a dashed line above it."""
    size = f'viewBox="0 0 {PLOT_WIDTH} {PLOT_HEIGHT}" width="{PLOT_WIDTH}" height="{PLOT_HEIGHT}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif" font-size="12">'
    if not curve:
        return f"{start}</svg>"
    top = max(max(s.allocated, s.reserved) for s in curve) or 1
    span = max(1, len(curve) - 1)

    def x(number: int) -> float:
        return MARGIN + number / span * (PLOT_WIDTH - 2 * MARGIN)

    def y(value: int) -> float:
        return PLOT_HEIGHT - MARGIN - value / top * (PLOT_HEIGHT - 2 * MARGIN)

    shown = escape(_CONTROL.sub("\ufffd", title))
    parts = [start, f"<title>{shown}</title>", f'<text x="{MARGIN}" y="20" font-weight="bold">{shown}</text>']
    parts += [_grid_line(y(top * part // GRID_LINES), top * part // GRID_LINES) for part in range(GRID_LINES + 1)]
    below = [0] * len(curve)
    legend = float(MARGIN)
    for position, name in enumerate(CATEGORIES):
        above = [low + s.live[position] for low, s in zip(below, curve, strict=True)]
        if above == below:
            continue
        most = max(s.live[position] for s in curve)
        upper = " ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in enumerate(above))
        lower = " ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in reversed(list(enumerate(below))))
        label = name.replace("_", " ")
        tip = f"<title>{label}: at most {_size(most)}</title>"
        parts.append(f'<polygon points="{upper} {lower}" fill="{COLOURS[name]}">{tip}</polygon>')
        parts.append(f'<rect x="{legend:.0f}" y="{PLOT_HEIGHT - 22}" width="10" height="10" fill="{COLOURS[name]}"/>')
        parts.append(f'<text x="{legend + 14:.0f}" y="{PLOT_HEIGHT - 13}">{label}</text>')
        legend += 32 + 6.5 * len(label)
        below = above
    line = " ".join(f"{x(n):.1f},{y(s.reserved):.1f}" for n, s in enumerate(curve))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#000" stroke-dasharray="4 3"/>')
    parts.append(f'<text x="{legend:.0f}" y="{PLOT_HEIGHT - 13}">- - reserved</text></svg>')
    return "\n".join(parts)


def _grid_line(height: float, value: int) -> str:
    """A line across the plot with its size at the left."""
    line = f'<line x1="{MARGIN}" x2="{PLOT_WIDTH - MARGIN}" y1="{height:.1f}" y2="{height:.1f}" stroke="#ddd"/>'
    return f'{line}<text x="{MARGIN - 6}" y="{height + 4:.1f}" text-anchor="end" font-size="11">{_size(value)}</text>'


def _size(number: int) -> str:
    return f"{number / GIB:.1f} GiB" if number >= GIB or not number else f"{number / (1 << 20):.0f} MiB"


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
