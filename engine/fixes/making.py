"""From edits to a Fix: checked that they do not overlap and that the file still parses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.findings import Edit, Fix
from engine.fixes.applying import apply_edits, overlap
from engine.project import Module, UnreadableFile
from engine.project.reading import parse


class Span(Protocol):
    """A place: 1-based lines and columns, the end column exclusive."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def end_column(self) -> int: ...


def made(module: Module, description: str, safe: bool, edits: Sequence[Edit]) -> Fix | None:
    """The fix, None if the edits overlap, change nothing, or leave a file that does not parse."""
    if not keeps_parsing(module, edits):
        return None
    return Fix(description=description, safe=safe, edits=tuple(sorted(edits, key=lambda e: (e.line, e.column))))


def keeps_parsing(module: Module, edits: Sequence[Edit]) -> bool:
    """Whether edits go together, change something, and leave a file that parses."""
    if not edits or overlap(edits):
        return False
    text = apply_edits(module.text, edits)
    if text == module.text:
        return False
    try:
        parse(module.path, text)
    except UnreadableFile:
        return False
    return True


def combine(module: Module, *fixes: Fix | None, description: str | None = None) -> Fix | None:
    """Several fixes of one file as one; safe if all are. None if one is missing or they overlap.

    Insertions at one place follow each other in the order of the fixes."""
    present = [fix for fix in fixes if fix is not None]
    if not present or len(present) != len(fixes):
        return None
    text = description or "; ".join(fix.description for fix in present)
    edits = [edit for fix in present for edit in fix.edits]
    return made(module, text, all(fix.safe for fix in present), _joined(edits))


def _joined(edits: Sequence[Edit]) -> list[Edit]:
    joined: dict[tuple[int, int], Edit] = {}
    others: list[Edit] = []
    for edit in edits:
        if (edit.line, edit.column) != (edit.end_line, edit.end_column):
            others.append(edit)
            continue
        before = joined.get((edit.line, edit.column))
        text = before.text + edit.text if before is not None else edit.text
        joined[edit.line, edit.column] = edit.model_copy(update={"text": text})
    return [*others, *joined.values()]


def edit_at(line: int, column: int, text: str) -> Edit:
    """An insertion."""
    return Edit(line=line, column=column, end_line=line, end_column=column, text=text)


def edit_over(span: Span, text: str) -> Edit:
    """A replacement of a span."""
    return Edit(line=span.line, column=span.column, end_line=span.end_line, end_column=span.end_column, text=text)
