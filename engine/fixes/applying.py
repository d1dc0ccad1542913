"""Applies edits: to a text, and to the files of a folder."""

from __future__ import annotations

import io
import json
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from engine.findings import Edit, Finding, Fix
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
    raw = target.read_text(encoding="utf-8")
    document = json.loads(raw)
    by_cell: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_cell[int(split_cell(finding.path)[1])].append(finding)
    number = 0
    code_cells = [cell for cell in document["cells"] if cell.get("cell_type") == "code"]
    for index, concerned in by_cell.items():
        cell = code_cells[index - 1]
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        fixes = compatible(concerned)
        source = apply_edits(source, [edit for fix in fixes for edit in fix.edits])
        cell["source"] = source if isinstance(cell["source"], str) else source.splitlines(keepends=True)
        number += len(fixes)
    first = raw.split("\n")[1] if "\n" in raw else ""
    indent = len(first) - len(first.lstrip()) or 1
    ending = "\n" if raw.endswith("\n") else ""
    target.write_text(json.dumps(document, indent=indent, ensure_ascii=False) + ending, encoding="utf-8")
    return number
