"""Fixes as diffs: one finding's in a few lines, and those of all files as a patch."""

from __future__ import annotations

import difflib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.cli.formats.plain import printable
from engine.findings import Finding, Fix
from engine.fixes.applying import apply_edits, fix_files
from engine.project import Module
from engine.project.module import split_cell

_STYLES = {"-": "red", "+": "green", "@": "cyan"}
_LONGEST = 12
"""Changed lines shown of one fix; `--diff` shows all."""


@dataclass(frozen=True)
class ChangedLine:
    """A line that a fix removes (`-`) or adds (`+`), numbered as people see the file or cell before and after it."""

    sign: str
    number: int
    text: str


def changed_lines(fix: Fix, path: str, module: Module) -> list[ChangedLine]:
    """What a fix of a finding at `path` does, line by line; empty where it does more than fits beside a finding."""
    shift = module.module_line(path, 1) - 1
    edits = [
        edit.model_copy(update={"line": edit.line + shift, "end_line": edit.end_line + shift}) for edit in fix.edits
    ]
    before, after = list(module.lines), apply_edits(module.text, edits).split("\n")
    found: list[ChangedLine] = []
    for kind, start, end, new_start, new_end in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if kind != "equal":
            found += [ChangedLine("-", number + 1 - shift, before[number]) for number in range(start, end)]
            found += [ChangedLine("+", number + 1 - shift, after[number]) for number in range(new_start, new_end)]
    return found if len(found) <= _LONGEST else []


def patch(root: Path, findings: Sequence[Finding]) -> str:
    """What applying the safe fixes would change, as a patch that `git apply` takes. The files are left alone."""
    paths = sorted({split_cell(finding.path)[0] for finding in findings if finding.fix is not None})
    with tempfile.TemporaryDirectory(prefix="preflight-") as name:
        copy = Path(name)
        for path in paths:
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / path, copy / path, follow_symlinks=False)
        before = {path: _lines(copy / path) for path in paths}
        fix_files(copy, findings)
        return "".join(line for path in paths for line in _file_patch(path, before[path], _lines(copy / path)))


def print_patch(text: str) -> None:
    """The patch as it is; in a terminal in colours, and without what would rewrite the screen."""
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.text import Text

    from engine.cli.formats.terminal import output

    console = output()
    for line in text.split("\n"):
        bold = line.startswith(("--- ", "+++ "))
        console.print(Text(printable(line), "bold" if bold else _STYLES.get(line[:1], "")))


def _lines(path: Path) -> list[str]:
    if path.is_symlink():
        return []
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as stream:
        return stream.read().splitlines(keepends=True)


def _file_patch(path: str, before: Sequence[str], after: Sequence[str]) -> Iterable[str]:
    for line in difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
