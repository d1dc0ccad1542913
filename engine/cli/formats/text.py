"""Reports for people at a terminal."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.text import Text

from engine.cli.formats.fixes import changed_lines
from engine.cli.formats.plain import count, printable
from engine.cli.formats.terminal import output
from engine.findings import CheckReport, Finding
from engine.fingerprints import place_order
from engine.project import Module, Project, UnreadableFile
from engine.project.module import split_cell

SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}

_FIX_STYLES = {"-": "red", "+": "green"}
_CONTEXT_LINES = 1
_WIDEST_LINE = 160


def print_check(report: CheckReport, project: Project, console: Console | None = None, *, quiet: bool = False) -> None:
    """Findings with their source lines and evidence (a line each, if `quiet`), what could not be read, a summary."""
    console = console or output()
    for finding in sorted(report.findings, key=place_order):
        if quiet:
            console.print(Text.assemble(_heading(finding), f"  {printable(finding.message)}"))
        else:
            print_finding(finding, project, console)
    for failed in report.files.failed:
        console.print(Text.assemble(("not analysed  ", "magenta"), printable(f"{failed.path} {failed.reason}")))
    if report.files.failed:
        console.print()
    console.print(_summary(report))


def print_finding(finding: Finding, project: Project, console: Console) -> None:
    """One finding: place, message, source, evidence, fix."""
    console.print(_heading(finding))
    console.print(Text(f"  {printable(finding.message)}"))
    for line in _source_lines(finding, project):
        console.print(line)
    if finding.evidence:
        console.print(Text("  how it comes about:", "dim"))
        width = max(len(f"{e.path}:{e.line}") for e in finding.evidence)
        for number, evidence in enumerate(finding.evidence, start=1):
            place = printable(f"{evidence.path}:{evidence.line}")
            console.print(
                Text.assemble(
                    (f"  {number:>3}. ", "dim"), (place.ljust(width), "blue"), f"  {printable(evidence.message)}"
                )
            )
    if finding.fix is not None:
        kind = "fix (--fix applies it)" if finding.fix.safe else "suggestion (needs a look)"
        console.print(Text.assemble((f"  {kind}: ", "green"), printable(finding.fix.description)))
        for line in _fix_lines(finding, project):
            console.print(line)
    console.print()


def _heading(finding: Finding) -> Text:
    """Where a finding stands, and which it is."""
    return Text.assemble(
        (printable(finding.path), "bold"),
        (f":{finding.line}:{finding.column}  ", "dim"),
        (finding.severity, SEVERITY_STYLES[finding.severity]),
        (f"  {finding.rule} {finding.name}", "bold"),
    )


def _fix_lines(finding: Finding, project: Project) -> list[Text]:
    """What the fix changes."""
    module = _module(finding, project)
    if module is None or finding.fix is None:
        return []
    changed = changed_lines(finding.fix, finding.path, module)
    width = max((len(str(line.number)) for line in changed), default=0)
    return [
        Text.assemble(
            (f"  {line.number:>{width}} ", "dim"),
            (f"{line.sign} {printable(line.text.expandtabs(4))[:_WIDEST_LINE]}", _FIX_STYLES[line.sign]),
        )
        for line in changed
    ]


def _source_lines(finding: Finding, project: Project) -> list[Text]:
    """The finding's lines with their neighbours, and a marker under the span."""
    module = _module(finding, project)
    if module is None:
        return []
    line = module.module_line(finding.path, finding.line)
    last = min(line + max(0, finding.end_line - finding.line), line + 3)
    offset = line - finding.line
    width = len(str(last - offset + _CONTEXT_LINES))
    shown: list[Text] = []
    for number in range(max(1, line - _CONTEXT_LINES), min(len(module.lines), last + _CONTEXT_LINES) + 1):
        if number - offset < 1 or (module.display_path(number)[0] != finding.path):
            continue
        code = printable(module.lines[number - 1].expandtabs(4))[:_WIDEST_LINE]
        inside = line <= number <= last
        if not code.strip() and not inside:
            continue
        shown.append(
            Text.assemble((f"  {number - offset:>{width}} ", "dim"), ("│ ", "dim"), (code, "" if inside else "dim"))
        )
        if number == line:
            shown.append(_marker(finding, module.lines[number - 1], width))
    return shown


def _marker(finding: Finding, raw: str, width: int) -> Text:
    start = len(raw[: finding.column - 1].expandtabs(4))
    end = len(raw) if finding.end_line > finding.line else finding.end_column - 1
    length = max(1, len(raw[:end].expandtabs(4)) - start)
    mark = "^" * min(length, max(1, _WIDEST_LINE - start))
    return Text.assemble((f"  {' ' * width} │ ", "dim"), " " * start, (mark, SEVERITY_STYLES[finding.severity]))


def _module(finding: Finding, project: Project) -> Module | None:
    try:
        return project.module(split_cell(finding.path)[0])
    except UnreadableFile:
        return None


def _summary(report: CheckReport) -> Text:
    files = report.files
    read = f"{count(files.read, 'file')} read"
    if files.skipped:
        read += f", {files.skipped} without training code"
    if files.failed:
        read += f", {len(files.failed)} not analysed"
    if not report.findings:
        return Text.assemble(("Nothing found. ", "green"), (read + ".", "dim"))
    counts = Counter[str](finding.severity for finding in report.findings)
    kinds = ", ".join(count(counts[level], level) for level in SEVERITY_STYLES if counts[level])
    fixable = sum(finding.fix is not None and finding.fix.safe for finding in report.findings)
    tail = f" {fixable} can be fixed with --fix." if fixable else ""
    return Text.assemble((f"{kinds}. ", "bold"), (read + "." + tail, "dim"))
