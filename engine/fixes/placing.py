"""Fixes in the coordinates that people see: lines of a file, or of a notebook's cell."""

from __future__ import annotations

from engine.findings import Edit, Fix
from engine.project import Module


def shown_fix(module: Module, fix: Fix, path: str) -> Fix | None:
    """The fix in the coordinates that people see. In a notebook all its edits must stand in the finding's cell."""
    if not module.is_notebook:
        return fix
    edits = [_in_cell(module, edit, path) for edit in fix.edits]
    placed = tuple(edit for edit in edits if edit is not None)
    return fix.model_copy(update={"edits": placed}) if len(placed) == len(edits) else None


def _in_cell(module: Module, edit: Edit, path: str) -> Edit | None:
    """An edit in lines of its cell; None where it leaves the cell, or touches a line that reads differently there."""
    last = edit.end_line
    if edit.end_column == 1 and module.display_path(last - 1)[0] == path != module.display_path(last)[0]:
        # Up to the start of the next cell means up to the end of this one, which has no newline to give.
        last -= 1
        width = len(module.lines[last - 1]) + 1
        starts_here = edit.line <= last
        if not edit.text.endswith("\n"):
            return None
        edit = edit.model_copy(
            update={
                "line": edit.line if starts_here else last,
                "column": edit.column if starts_here else width,
                "end_line": last,
                "end_column": width,
                "text": edit.text[:-1] if starts_here else f"\n{edit.text[:-1]}",
            }
        )
    place, line = module.display_path(edit.line)
    end_place, end_line = module.display_path(edit.end_line)
    if place != path or end_place != path:
        return None
    if any(module.rewritten(number) is not None for number in range(edit.line, edit.end_line + 1)):
        return None
    return edit.model_copy(update={"line": line, "end_line": end_line})
