"""A review, and a replay of many, for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine.cli.formats.plain import count, printable
from engine.cli.formats.terminal import output
from engine.cli.formats.text import SEVERITY_STYLES, print_finding
from engine.findings import ReviewReport
from engine.presentation.memory import VERDICT_WORDS, show_bytes, show_difference, show_range, show_rent
from engine.presentation.renting import rent_in_words
from engine.project import Project
from engine.replay import Replayed, per_week

_CONCLUSION_STYLES = {"success": "green", "neutral": "yellow", "failure": "bold red"}


def print_review(report: ReviewReport, head: Project, console: Console | None = None) -> None:
    """What is new in full, what is fixed and what was there in a line each, memory before and after."""
    console = console or output()
    for finding in report.introduced:
        print_finding(finding, head, console)
    for finding in report.fixed:
        place = printable(f"{finding.path}:{finding.line}")
        console.print(Text.assemble(("fixed  ", "green"), place, f"  {finding.rule} {finding.name}"))
    for failed in report.failed:
        console.print(Text.assemble(("not analysed  ", "magenta"), printable(f"{failed.path} {failed.reason}")))
    _print_memory(report, console)
    style = _CONCLUSION_STYLES[report.conclusion]
    told = f"{count(len(report.introduced), 'finding')} introduced, {len(report.fixed)} fixed, {report.existing} before"
    console.print(
        Text.assemble((report.conclusion, style), f"  {told}; {count(len(report.review_comments), 'comment')}.")
    )


def _print_memory(report: ReviewReport, console: Console) -> None:
    head = report.memory.head
    if report.memory.script is None or head is None or head.memory is None:
        return
    line = f"peak memory of {printable(report.memory.script)}: {show_range(head.memory.occupied)}"
    base = report.memory.base
    if base is not None and base.memory is not None:
        line += f", {show_difference(base.memory.occupied.expected, head.memory.occupied.expected)}"
    console.print(Text(line))
    for target in head.targets:
        price = f", an hour {show_rent(target)}" if target.usd_per_hour is not None else ""
        console.print(Text(f"  {target.gpu}: {VERDICT_WORDS[target.verdict]}{price}"))
    if rent := rent_in_words(base, head, str, str):
        console.print(Text(rent))


def print_replay(rows: Iterable[Replayed], console: Console | None = None) -> None:
    """One row a merge, what they add up to, and how often that is."""
    console = console or output()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Commit", no_wrap=True)
    table.add_column("Subject")
    for heading in ("Files", "New", "Fixed", "Comments"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Check", no_wrap=True)
    table.add_column("Rules")
    table.add_column("Memory")
    shown = list(rows)
    for row in shown:
        table.add_row(
            row.commit[:8],
            Text(printable(row.subject)[:60]),
            str(row.files),
            _new(row),
            str(row.fixed or ""),
            str(row.comments or ""),
            Text(row.conclusion, _CONCLUSION_STYLES[row.conclusion]),
            ", ".join(row.rules),
            _memory_change(row),
        )
    console.print(table)
    comments = sum(row.comments for row in shown)
    silent = sum(row.comments == 0 for row in shown)
    console.print(f"\n{count(len(shown), 'merge')}: {count(comments, 'comment')}, {silent} without any.")
    rates = per_week(shown)
    if rates is not None:
        told = f"{rates.merges:.1f} merges, {rates.comments:.1f} comments"
        if rates.failures:
            told += f", {rates.failures:.1f} failing checks"
        console.print(f"Over {rates.weeks:.1f} weeks that is {told} a week.")


def _new(row: Replayed) -> Text:
    levels = (("error", row.errors), ("warning", row.warnings), ("note", row.notes))
    return Text(", ").join(Text(count(number, level), SEVERITY_STYLES[level]) for level, number in levels if number)


def _memory_change(row: Replayed) -> str:
    if row.head_bytes is None:
        return ""
    told = show_bytes(row.head_bytes)
    return told if row.base_bytes is None else f"{told}, {show_difference(row.base_bytes, row.head_bytes)}"
