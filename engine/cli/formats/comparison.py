"""A comparison of devices for people at a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine.cli.formats.estimate import VERDICT_STYLES
from engine.cli.formats.plain import printable
from engine.cli.formats.terminal import output
from engine.comparison import Comparison
from engine.presentation.memory import VERDICT_WORDS, show_bytes, show_price, show_range


def print_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """One row a device: those that hold the run first, the cheapest of them first."""
    console = console or output()
    console.print(Text.assemble((printable(comparison.script), "bold"), f"  {comparison.task}\n"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Device", no_wrap=True)
    for heading in ("usable", "takes (90 % range)"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for heading in ("rent an hour", "GB/s", "16-bit TFLOP/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("cheapest instance")
    for device in comparison.devices:
        table.add_row(
            device.gpu,
            show_bytes(device.usable_bytes),
            show_range(device.occupied) if device.occupied is not None else "",
            Text(VERDICT_WORDS[device.verdict], VERDICT_STYLES[device.verdict]),
            show_price(device.usd_per_hour),
            f"{device.memory_bandwidth_gb_s:,.0f}" if device.memory_bandwidth_gb_s is not None else "",
            f"{device.bf16_tflops:,.0f}" if device.bf16_tflops is not None else "",
            Text(device.instance or "", "dim"),
        )
    console.print(table)
    for note in comparison.notes:
        console.print(Text(f"note: {printable(note)}", "dim"))
    if any(device.usd_per_hour is not None for device in comparison.devices):
        dated = "prices are on demand, as published; `preflight gpus --instances` has their dates and sources"
        console.print(Text(f"note: {dated}", "dim"))
