"""Devices and cloud instances for people at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine.cli.formats.terminal import output
from hardware_catalog import (
    GIB,
    Gpu,
    Instance,
    bf16_tflops,
    instances_with,
    memory_bandwidth_gb_s,
    total_bytes,
    usable_bytes,
)


def _table(left: Sequence[str], right: Sequence[str], *, wide: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in left:
        table.add_column(heading, overflow="fold", no_wrap=wide)
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _wide(console: Console) -> bool:
    return console.width >= 120


def _cut(text: str) -> Text:
    """A cell that gives way where the line is short, in place of making its row several lines high."""
    return Text(text, "dim", no_wrap=True, overflow="ellipsis")


def print_gpus(gpus: Sequence[Gpu]) -> None:
    """One row a device. A narrow terminal has no room for architectures and names."""
    console = output()
    wide = _wide(console)
    table = _table(("Id",), ("Total", "Usable", "GB/s", "TFLOP/s", "An hour"), wide=wide)
    if wide:
        table.add_column("Architecture")
        table.add_column("Name")
    dates: set[str] = set()
    for gpu in gpus:
        bandwidth, rate = memory_bandwidth_gb_s(gpu), bf16_tflops(gpu)
        usable = f"{usable_bytes(gpu) / GIB:.2f} GiB{'*' if gpu.measured else ' '}"
        offer = _cheapest(gpu)
        price = _per_device(offer) if offer is not None else None
        dates |= {offer.price_date} if offer is not None and offer.price_date else set()
        table.add_row(
            gpu.id,
            f"{total_bytes(gpu) / GIB:.2f} GiB",
            usable,
            f"{bandwidth:,.0f}" if bandwidth is not None else "",
            f"{rate:,.0f}" if rate is not None else "",
            f"${price:,.2f}" if price is not None else "",
            *((_cut(gpu.architecture), _cut(gpu.name)) if wide else ()),
        )
    console.print(table)
    told = "usable: by one process; TFLOP/s: 16-bit, dense; an hour: the least published price for each device"
    if dates:
        told += f" of an instance, of {min(dates)}" + (f" to {max(dates)}" if len(dates) > 1 else "")
    console.print(Text(told, "dim"))
    if any(gpu.measured for gpu in gpus):
        console.print(Text("* as torch reported it on such a device", "dim"))


def print_gpu(gpu: Gpu) -> None:
    """The instances that carry a device, and where its figures come from."""
    console = output()
    instances = instances_with(gpu.id)
    if instances:
        console.print("\nCloud instances:")
        print_instances(instances)
    console.print(Text(f"\nSource: {gpu.source}", "dim"))


def print_instances(instances: Sequence[Instance]) -> None:
    """One row an instance, in the order given. A narrow terminal has no room for where a price holds."""
    console = output()
    wide = _wide(console)
    table = _table(("Instance", "Device"), ("Devices", "An hour", "A device"), wide=wide)
    table.add_column("Price of", no_wrap=True)
    if wide:
        table.add_column("Region")
    for row in instances:
        price, each = row.price_usd_per_hour, _per_device(row)
        table.add_row(
            row.id,
            row.gpu,
            f"{row.gpu_count:g}",
            f"${price:,.2f}" if price is not None else "",
            f"${each:,.2f}" if each is not None else "",
            Text(row.price_date or "", "dim"),
            *((_cut(row.price_region or ""),) if wide else ()),
        )
    console.print(table)


def _per_device(row: Instance) -> float | None:
    return row.price_usd_per_hour / row.gpu_count if row.price_usd_per_hour is not None and row.gpu_count else None


def _cheapest(gpu: Gpu) -> Instance | None:
    """The instance of whole devices with the least published price for each."""
    priced = [row for row in instances_with(gpu.id) if row.gpu_count >= 1 and _per_device(row) is not None]
    return min(priced, key=lambda row: _per_device(row) or 0.0, default=None)
