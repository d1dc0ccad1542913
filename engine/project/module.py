"""One parsed Python file, or one notebook read as a file."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from engine.project.notebooks import Cell
from engine.project.suppressions import Suppression


class Span(NamedTuple):
    """1-based lines and columns; columns count characters; the end column is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


def split_cell(display_path: str) -> tuple[str, str]:
    """The file of a reported path, and the number of the notebook cell in it or "". Names of files may hold a `#`."""
    path, mark, cell = display_path.rpartition("#cell=")
    return (path, cell) if mark and cell.isdigit() and path.endswith(".ipynb") else (display_path, "")


@dataclass(frozen=True, eq=False)
class Module:
    """`text` has `\\n` newlines and, for a notebook, all code cells joined; `lines` is `text` split at them.

    Lines of `tree` count in `text`; `display_path` turns them into what people see.
    """

    path: str
    text: str
    tree: ast.Module
    lines: Sequence[str]
    cells: Sequence[Cell] = ()
    suppressions: Sequence[Suppression] = ()
    _first_lines: Sequence[int] = field(default=(), repr=False)

    @cached_property
    def _is_ascii(self) -> bool:
        """Whether bytes and characters are the same all through."""
        return self.text.isascii()

    @property
    def is_notebook(self) -> bool:
        return self.path.endswith(".ipynb")

    def display_path(self, line: int) -> tuple[str, int]:
        """Path and line as reported: `("nb.ipynb#cell=3", 8)` for a notebook, the file's own otherwise."""
        if not self.cells:
            return self.path, line
        cell = self.cells[max(0, bisect_right(self._first_lines, line) - 1)]
        return f"{self.path}#cell={cell.number}", line - cell.first_line + 1

    def module_line(self, display_path: str, line: int) -> int:
        """The inverse of `display_path`: the line in `text`."""
        _, number = split_cell(display_path)
        if not number:
            return line
        return next((c.first_line + line - 1 for c in self.cells if c.number == int(number)), line)

    def file_line(self, line: int) -> int:
        """The line of the file itself that a line of `text` stands on: for a notebook, a line of its JSON."""
        if not self.cells:
            return line
        cell = self.cells[max(0, bisect_right(self._first_lines, line) - 1)]
        if not cell.file_lines:
            return 1
        return cell.file_lines[min(max(0, line - cell.first_line), len(cell.file_lines) - 1)]

    def rewritten(self, line: int) -> int | None:
        """Characters of the cell that `text` leaves out in front of a line's code; None where both read the same."""
        if not self.cells:
            return None
        return self.cells[max(0, bisect_right(self._first_lines, line) - 1)].rewritten.get(line)

    def column(self, line: int, byte_offset: int) -> int:
        """The 1-based character column of an `ast` offset, which counts UTF-8 bytes."""
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        if text.isascii():
            return byte_offset + 1
        return len(text.encode("utf-8")[:byte_offset].decode("utf-8", "replace")) + 1

    def span(self, node: ast.AST) -> Span:
        """Where a node stands. Nodes without a place (operators, contexts) stand at the first character."""
        line = getattr(node, "lineno", None)
        if line is None:
            return Span(1, 1, 1, 1)
        end_line = getattr(node, "end_lineno", None) or line
        start_offset: int = getattr(node, "col_offset", 0)
        end_offset: int = getattr(node, "end_col_offset", None) or start_offset
        if self._is_ascii:
            return Span(line, start_offset + 1, end_line, end_offset + 1)
        return Span(line, self.column(line, start_offset), end_line, self.column(end_line, end_offset))

    def source(self, node: ast.AST) -> str:
        """The text of a node."""
        span = self.span(node)
        if span.line == span.end_line:
            return self.lines[span.line - 1][span.column - 1 : span.end_column - 1]
        first = self.lines[span.line - 1][span.column - 1 :]
        middle = self.lines[span.line : span.end_line - 1]
        return "\n".join([first, *middle, self.lines[span.end_line - 1][: span.end_column - 1]])
