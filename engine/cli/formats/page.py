"""An estimate as one self-contained page: no script, nothing loaded from anywhere, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jinja2
from markupsafe import Markup

from engine.cli.formats.plain import printable
from engine.findings import EstimateReport, Setting
from engine.memory.timeline import COLOURS, Sample, as_svg
from engine.presentation.memory import (
    COUNTERS,
    VERDICT_WORDS,
    show_bytes,
    show_missing,
    show_origin,
    show_prices_dated,
    show_range,
    show_rent,
    show_setting,
    smaller_device,
)
from engine.project import Project, UnreadableFile
from engine.project.module import split_cell

_WIDEST = 160
_OWN_COLOURS = {"allocator_slack": "#dddddd", "device_context": "#999999"}
"""Parts of the breakdown that the timeline does not have."""


@dataclass(frozen=True)
class Assumption:
    """One value of the configuration, where it was read, and the line that stands there."""

    key: str
    value: str
    origin: str
    source: str


@dataclass(frozen=True)
class Part:
    """One part of the peak, with its share of it."""

    name: str
    size: str
    percent: float
    colour: str


def estimate_page(report: EstimateReport, script: str, project: Project, curve: Sequence[Sample]) -> str:
    """The page's HTML. `curve` is the memory over time, empty where none could be followed."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("engine.cli.formats", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters.update(size=show_bytes, range=show_range, rent=show_rent, missing=show_missing)
    return environment.get_template("estimate.html").render(
        report=report,
        script=script,
        # The plot escapes its own text.
        timeline=Markup(as_svg(curve, script)) if curve else None,
        counters=[(meaning, show_range(getattr(report.memory, name))) for name, meaning in COUNTERS]
        if report.memory is not None
        else [],
        parts=_parts(report),
        assumptions=[_assumption(key, setting, project) for key, setting in report.configuration.items()],
        verdicts=VERDICT_WORDS,
        dated=show_prices_dated(report.targets),
        smaller=smaller_device(report.smaller) if report.smaller is not None else "",
    )


def _parts(report: EstimateReport) -> list[Part]:
    if report.memory is None:
        return []
    total = max(1, report.memory.occupied.expected)
    return [
        Part(name.replace("_", " "), show_bytes(size), 100 * size / total, (COLOURS | _OWN_COLOURS)[name])
        for name, size in report.memory.breakdown.model_dump().items()
        if size > 0
    ]


def _assumption(key: str, setting: Setting, project: Project) -> Assumption:
    return Assumption(key.replace("_", " "), show_setting(setting), show_origin(setting), _source(setting, project))


def _source(setting: Setting, project: Project) -> str:
    """The line that a setting was read from; empty where it is no line of the project."""
    if setting.path is None or setting.line is None:
        return ""
    file, cell = split_cell(setting.path)
    number = setting.line
    try:
        if cell:
            module = project.module(file)
            lines, number = module.lines, module.module_line(setting.path, number)
        else:
            lines = project.read_text(file).split("\n")
    except UnreadableFile:
        return ""
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return line if len(line) <= _WIDEST else f"{line[:_WIDEST]}…"
