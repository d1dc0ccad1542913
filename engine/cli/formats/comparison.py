"""A comparison of devices for people at a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine.cli.formats.estimate import VERDICT_STYLES
from engine.cli.formats.plain import printable
from engine.cli.formats.terminal import output
from engine.comparison import ComparedDevice, Comparison
from engine.presentation.memory import VERDICT_WORDS, show_bytes, show_price, show_range


@dataclass(frozen=True)
class _Column:
    """A column, and the width of the terminal from which on there is room for it."""

    heading: str
    cell: Callable[[ComparedDevice], str | Text]
    width: int = 0
    is_figure: bool = True
    gives_way: bool = False
    """Whether it is cut where the line is too short."""


def _takes(device: ComparedDevice) -> str:
    return show_range(device.occupied) if device.occupied is not None else ""


def _instance(device: ComparedDevice) -> Text:
    return Text(device.instance or "", "dim", no_wrap=True, overflow="ellipsis")


def _figure(value: float | None) -> str:
    return f"{value:,.0f}" if value is not None else ""


_COLUMNS = (
    _Column("Device", lambda device: device.gpu, is_figure=False),
    _Column("usable", lambda device: show_bytes(device.usable_bytes)),
    _Column("takes (90 % range)", _takes, width=100),
    _Column(
        "verdict",
        lambda device: Text(VERDICT_WORDS[device.verdict], VERDICT_STYLES[device.verdict]),
        is_figure=False,
    ),
    _Column("rent an hour", lambda device: show_price(device.usd_per_hour)),
    _Column("per GPU", lambda device: show_price(device.usd_per_gpu_hour), width=100),
    _Column("price of", lambda device: Text(device.price_date or "", "dim"), is_figure=False),
    _Column("GB/s", lambda device: _figure(device.memory_bandwidth_gb_s), width=170),
    _Column("TFLOP/s", lambda device: _figure(device.bf16_tflops), width=170),
    _Column("cheapest instance", _instance, width=120, is_figure=False, gives_way=True),
)


def print_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """One row a device: those that hold the run first, the cheapest of them first."""
    console = console or output()
    console.print(Text.assemble((printable(comparison.script), "bold"), f"  {comparison.task}\n"))
    if all(device.verdict == "unknown" for device in comparison.devices):
        console.print(Text("Whether it fits is unknown on every device.", "magenta"))
        for note in comparison.notes:
            console.print(Text(f"note: {printable(note)}", "dim"))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown = [column for column in _COLUMNS if console.width >= column.width]
    for column in shown:
        justify: Literal["left", "right"] = "right" if column.is_figure else "left"
        table.add_column(column.heading, justify=justify, no_wrap=not column.gives_way)
    for device in comparison.devices:
        table.add_row(*(column.cell(device) for column in shown))
    console.print(table)
    for note in comparison.notes:
        console.print(Text(f"note: {printable(note)}", "dim"))
    if any(device.usd_per_hour is not None for device in comparison.devices):
        told = "an hour of whole instances, on demand, as published; per GPU: for each that the run uses"
        console.print(Text(f"note: rent is {told}; `preflight gpus --instances` lists the offers", "dim"))
