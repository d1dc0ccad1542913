"""Findings as workflow commands, which GitHub Actions turns into annotations.

Escaping as in actions/toolkit, packages/core/src/command.ts: `%`, CR and LF in messages, in properties also `:` and
`,`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from engine.findings import CheckReport, Finding
from engine.project.module import split_cell

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def workflow_commands(report: CheckReport, failing: Collection[str] = ()) -> Iterator[str]:
    """One line a finding, and one a file that could not be analysed or a rule that does not work. `failing` are the
    files that fail the check by not being readable."""
    for finding in report.findings:
        yield _command(finding)
    for failed in report.files.failed:
        where = f"file={_property(failed.path)},title=Not analysed" if failed.is_file else "title=Not working"
        yield f"::{'error' if failed.path in failing else 'notice'} {where}::{_data(f'{failed.path} {failed.reason}')}"


def _command(finding: Finding) -> str:
    path, cell = split_cell(finding.path)
    properties = {"file": path, "title": f"{finding.rule} {finding.name}"}
    message = finding.message
    if cell:
        # The lines of a cell are not lines of the file, so the place is told in words.
        message = f"Cell {cell}, line {finding.line}: {message}"
    else:
        properties["line"] = str(finding.line)
        properties["endLine"] = str(finding.end_line)
        if finding.line == finding.end_line:
            properties["col"] = str(finding.column)
            properties["endColumn"] = str(finding.end_column)
    for evidence in finding.evidence:
        message += f"\n{evidence.path}:{evidence.line}: {evidence.message}"
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
