"""Small rewrites by span: what a fix changes is exactly what the trace names."""

from __future__ import annotations

import ast
from collections.abc import Callable

from engine import fixes
from engine.findings import Edit, Fix
from engine.fixes.locating import statement_at
from engine.project import Module, Project, UnreadableFile
from engine.rules.rule import FixMaker
from engine.trace import Place


def source_of(project: Project, place: Place) -> str:
    """The text of a place; empty where the file can not be read or the place has no span."""
    try:
        lines = project.module(place.path).lines
    except UnreadableFile:
        return ""
    if not place.end_line or place.end_line > len(lines):
        return ""
    if place.line == place.end_line:
        return lines[place.line - 1][place.column - 1 : place.end_column - 1]
    first, last = lines[place.line - 1][place.column - 1 :], lines[place.end_line - 1][: place.end_column - 1]
    return "\n".join([first, *lines[place.line : place.end_line - 1], last])


def replace(place: Place, text: str, description: str, safe: bool = True) -> FixMaker:
    """Replace a place by text."""

    def make(_: Project) -> Fix | None:
        if not place.end_line:
            return None
        edit = Edit(
            line=place.line, column=place.column, end_line=place.end_line, end_column=place.end_column, text=text
        )
        return Fix(description=description, safe=safe, edits=(edit,))

    return make


def append(place: Place, suffix: str, description: str, safe: bool = True) -> FixMaker:
    """Append a suffix such as `.detach()` to the expression at a place, in parentheses where it needs them."""

    def make(project: Project) -> Fix | None:
        text = source_of(project, place)
        if not text:
            return None
        edits = [_insert(place.end_line, place.end_column, suffix)]
        if not is_primary(text):
            edits = [
                _insert(place.line, place.column, "("),
                _insert(place.end_line, place.end_column, f"){suffix}"),
            ]
        return Fix(description=description, safe=safe, edits=tuple(edits))

    return make


def remove_lines(place: Place, description: str, safe: bool = True) -> FixMaker:
    """Take out the statement at a place, whose value nothing uses; where it is alone in its block, `pass` stays."""

    def build(module: Module) -> Fix | None:
        located = statement_at(module, place.line)
        if located is None or not isinstance(located.node, ast.Expr):
            return None
        return fixes.remove_statement(module, place.line, safe=safe, description=description)

    return in_file(place, build)


def together(description: str, *makers: FixMaker | None) -> FixMaker:
    """One fix of several in one file; none if any of them can not be made."""

    def make(project: Project) -> Fix | None:
        made = [maker(project) if maker else None for maker in makers]
        present = [fix for fix in made if fix is not None]
        if not present or len(present) != len(made):
            return None
        edits = [edit for fix in present for edit in fix.edits]
        return Fix(description=description, safe=all(fix.safe for fix in present), edits=tuple(edits))

    return make


def in_file(place: Place, build: Callable[[Module], Fix | None]) -> FixMaker:
    """A fix of the file that a place is in."""

    def make(project: Project) -> Fix | None:
        try:
            module = project.module(place.path)
        except UnreadableFile:
            return None
        return build(module)

    return make


def is_primary(text: str) -> bool:
    """Whether a suffix binds to the whole expression: a name, attribute, call or subscript, or bracketed."""
    depth = 0
    for position, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth < 0:
                return False
        elif depth == 0 and not (character.isalnum() or character in "_."):
            return False
        if character in "\"'":
            return False
        if position == 0 and character in "-+~*":
            return False
    return depth == 0


def _insert(line: int, column: int, text: str) -> Edit:
    return Edit(line=line, column=column, end_line=line, end_column=column, text=text)
