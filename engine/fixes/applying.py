"""Applies edits: to a text, and to the files of a folder."""

from __future__ import annotations

import io
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from engine.findings import Edit, Finding, Fix
from engine.fixes.notebook_cells import code_cells, rewritten
from engine.project.module import split_cell
from engine.project.reading import UnreadableFile, parse


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """`text` (with `\\n` newlines) after the edits, which must not overlap."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for edit in sorted(edits, key=lambda e: (e.line, e.column, e.end_line, e.end_column), reverse=True):
        first = min(starts[min(edit.line, len(starts)) - 1] + edit.column - 1, len(text))
        last = min(starts[min(edit.end_line, len(starts)) - 1] + edit.end_column - 1, len(text))
        text = text[:first] + edit.text + text[last:]
    return text


def applied(text: str, fix: Fix) -> str:
    """`text` after a fix."""
    return apply_edits(text, fix.edits)


def overlap(edits: Iterable[Edit]) -> bool:
    """Whether two edits touch the same characters, or insert at the same place (whose order would be a guess)."""
    ordered = sorted(edits, key=lambda e: (e.line, e.column, e.end_line, e.end_column))
    for before, after in pairwise(ordered):
        if (after.line, after.column) < (before.end_line, before.end_column):
            return True
        if (after.line, after.column, after.end_line, after.end_column) == (
            before.line,
            before.column,
            before.end_line,
            before.end_column,
        ):
            return True
    return False


@dataclass(frozen=True)
class FixOutcome:
    """How many fixes were applied, and one message a file."""

    applied: int
    messages: Sequence[str]


def fix_files(root: Path, findings: Iterable[Finding]) -> FixOutcome:
    """Applies the safe fixes of findings to the files below `root`; of overlapping ones the first."""
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.fix is not None and finding.fix.safe:
            by_file[split_cell(finding.path)[0]].append(finding)
    total = 0
    messages: list[str] = []
    for path, concerned in sorted(by_file.items()):
        target = root / path
        if target.is_symlink():
            messages.append(f"{path}: is a link, left alone")
            continue
        rewrite = _fix_notebook if path.endswith(".ipynb") else _fix_source
        try:
            number = rewrite(target, concerned)
        except (OSError, ValueError, LookupError, UnreadableFile) as problem:
            messages.append(f"{path}: not fixed: {problem}")
            continue
        total += number
        if number:
            messages.append(f"{path}: {number} {'fix' if number == 1 else 'fixes'} applied")
    return FixOutcome(total, messages)


def compatible(findings: Iterable[Finding]) -> list[Fix]:
    """The fixes of findings that can be applied together, earlier findings first."""
    chosen: list[Fix] = []
    edits: list[Edit] = []
    for finding in findings:
        fix = finding.fix
        if fix is None or not fix.safe or all(edit in edits for edit in fix.edits):
            continue
        if not overlap([*edits, *fix.edits]):
            chosen.append(fix)
            edits += fix.edits
    return chosen


def _fix_source(target: Path, findings: Sequence[Finding]) -> int:
    data = target.read_bytes()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    raw = data.decode(encoding)
    newline = "\r\n" if "\r\n" in raw else "\n"
    text = raw.replace("\r\n", "\n")
    fixes = compatible(findings)
    text = apply_edits(text, [edit for fix in fixes for edit in fix.edits])
    parse(target.name, text)
    target.write_bytes(text.replace("\n", newline).encode(encoding))
    return len(fixes)


def _fix_notebook(target: Path, findings: Sequence[Finding]) -> int:
    data = target.read_bytes()
    text, number = notebook_after(data.decode("utf-8"), findings)
    target.write_bytes(text.encode("utf-8"))
    return number


def notebook_after(raw: str, findings: Sequence[Finding]) -> tuple[str, int]:
    """The text of a notebook's file after the fixes that go together, and how many those are. Raises ValueError."""
    by_cell: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_cell[int(split_cell(finding.path)[1])].append(finding)
    cells = code_cells(raw)
    number = 0
    sources: dict[int, str] = {}
    for index, concerned in by_cell.items():
        fixes = compatible(concerned)
        source = cells[index - 1].text.replace("\r\n", "\n")
        sources[index] = apply_edits(source, [edit for fix in fixes for edit in fix.edits])
        number += len(fixes)
    return rewritten(raw, sources), number
