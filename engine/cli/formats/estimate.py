"""A memory estimate for people at a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine.cli.formats.plain import printable
from engine.cli.formats.terminal import output
from engine.findings import EstimateReport
from engine.presentation.memory import (
    MAX_SAVINGS,
    VERDICT_WORDS,
    show_bytes,
    show_missing,
    show_origin,
    show_price,
    show_range,
    show_setting,
    smaller_device,
)

VERDICT_STYLES = {"fits": "green", "borderline": "yellow", "does-not-fit": "bold red", "unknown": "magenta"}
_BAR = 32


def print_estimate(report: EstimateReport, script: str, console: Console | None = None) -> None:
    """The peak, what it is made of, where it fits, what would save, and what it was read from."""
    console = console or output()
    model = printable(report.model.name)
    if report.model.parameters is not None:
        model += f", {report.model.parameters:,} parameters"
    console.print(Text.assemble((printable(script), "bold"), f"  {report.task}, {model}"))
    console.print(Text(f"confidence: {report.confidence}", "dim"))
    console.print()
    if report.memory is None:
        console.print(Text("The peak is unknown: the notes below say why.", "magenta"))
    else:
        _print_memory(report, console)
    _print_targets(report, console)
    _print_savings(report, console)
    _print_configuration(report, console)
    for note in report.notes:
        console.print(Text(f"note: {printable(note)}", "dim"))


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading)
    return table


def _print_memory(report: EstimateReport, console: Console) -> None:
    memory = report.memory
    assert memory is not None
    table = _table("Peak per device", "expected (90 % range)", "compares with")
    table.add_row("occupied", Text(show_range(memory.occupied), "bold"), Text("nvidia-smi", "dim"))
    table.add_row("reserved", show_range(memory.reserved), Text("torch.cuda.max_memory_reserved()", "dim"))
    table.add_row("allocated", show_range(memory.allocated), Text("torch.cuda.max_memory_allocated()", "dim"))
    console.print(table)
    console.print()
    total = max(1, memory.occupied.expected)
    for name, size in memory.breakdown.model_dump().items():
        if size > 0:
            bar = "█" * max(1, round(_BAR * size / total))
            label = f"  {name.replace('_', ' '):<16} {show_bytes(size):>10}  "
            console.print(Text.assemble(label, (bar, "blue"), f" {size / total:.0%}"))
    console.print()


def _print_targets(report: EstimateReport, console: Console) -> None:
    if not report.targets:
        return
    lacking = any(show_missing(target) for target in report.targets)
    table = _table("Device", "usable", "takes (90 % range)", "verdict", *(["lacks"] if lacking else []))
    for target in report.targets:
        verdict = Text(VERDICT_WORDS[target.verdict], VERDICT_STYLES[target.verdict])
        takes = show_range(target.occupied) if target.occupied is not None else ""
        missing = [show_missing(target)] if lacking else []
        table.add_row(target.gpu, show_bytes(target.usable_bytes), takes, verdict, *missing)
    console.print(table)
    console.print()
    priced = [target for target in report.targets if target.usd_per_hour is not None]
    if not priced:
        return
    table = _table("Rent", "an hour, whole instances", "GPUs rented", "for each GPU used", "price of")
    for target in priced:
        table.add_row(
            target.gpu,
            f"{show_price(target.usd_per_hour)} {target.instance}",
            f"{target.gpus_rented or ''}",
            show_price(target.usd_per_gpu_hour),
            Text(target.price_date or "undated", "dim"),
        )
    console.print(table)
    console.print()


def _print_savings(report: EstimateReport, console: Console) -> None:
    if not report.savings:
        return
    gpus = [target.gpu for target in report.targets]
    table = _table("What would save memory", "saves", "leaves", "cost", *gpus)
    for saving in report.savings[:MAX_SAVINGS]:
        verdicts = [saving.verdict.get(gpu, "unknown") for gpu in gpus]
        table.add_row(
            Text(printable(saving.change), "bold" if saving.recommended else ""),
            show_bytes(saving.saves_bytes),
            show_bytes(saving.occupied_bytes),
            Text(printable(saving.cost), "dim"),
            *(Text(VERDICT_WORDS[verdict], VERDICT_STYLES[verdict]) for verdict in verdicts),
        )
    console.print(table)
    console.print()
    if report.smaller is not None and (words := smaller_device(report.smaller)):
        console.print(Text(printable(words)))
        console.print()


def _print_configuration(report: EstimateReport, console: Console) -> None:
    if not report.configuration:
        return
    table = _table("Configuration", "value", "from")
    for key, setting in report.configuration.items():
        table.add_row(key, printable(show_setting(setting)), Text(printable(show_origin(setting)), "dim"))
    console.print(table)
    console.print()
