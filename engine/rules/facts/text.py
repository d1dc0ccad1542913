"""Small rewrites by span: what a fix changes is exactly what the trace names."""

from __future__ import annotations

from engine.findings import Edit, Fix
from engine.project import Project, UnreadableFile
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


def new_line(anchor: Place, text: str, description: str, *, after: bool = False, safe: bool = True) -> FixMaker:
    """A new line of the same indentation before (or after) the statement that stands at a place."""

    def make(project: Project) -> Fix | None:
        try:
            lines = project.module(anchor.path).lines
        except UnreadableFile:
            return None
        number = (anchor.end_line or anchor.line) if after else anchor.line
        if number > len(lines):
            return None
        own = lines[anchor.line - 1]
        body = own.lstrip()
        if not body or ";" in own or body.startswith(("if ", "for ", "with ", "while ", "else", "elif", "try", "def ")):
            return None
        if anchor.line != 1 and _continues(lines[anchor.line - 2]):
            return None
        indent = own[: len(own) - len(body)]
        line = number + 1 if after else number
        return Fix(description=description, safe=safe, edits=(_insert(line, 1, f"{indent}{text}\n"),))

    return make


def remove_lines(place: Place, description: str, safe: bool = True) -> FixMaker:
    """Take out the whole lines of a statement; where it is alone in its block, `pass` stays."""

    def make(project: Project) -> Fix | None:
        try:
            lines = project.module(place.path).lines
        except UnreadableFile:
            return None
        last = place.end_line or place.line
        own = lines[place.line - 1]
        indent = len(own) - len(own.lstrip())
        statement = own.strip()
        if ";" in own or statement.endswith(":") or "=" in statement.split("(")[0]:
            return None
        above = lines[place.line - 2].rstrip() if place.line > 1 else ""
        below = next((text for text in lines[last:] if text.strip()), "")
        alone = above.endswith(":") and len(below) - len(below.lstrip()) < indent
        text = f"{' ' * indent}pass\n" if alone else ""
        edit = Edit(line=place.line, column=1, end_line=last + 1, end_column=1, text=text)
        return Fix(description=description, safe=safe, edits=(edit,))

    return make


def together(description: str, *makers: FixMaker | None) -> FixMaker:
    """One fix of several; none if any of them can not be made."""

    def make(project: Project) -> Fix | None:
        edits: list[Edit] = []
        safe = True
        for maker in makers:
            fix = maker(project) if maker else None
            if fix is None:
                return None
            edits += fix.edits
            safe = safe and fix.safe
        return Fix(description=description, safe=safe, edits=tuple(edits))

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


def _continues(line: str) -> bool:
    return line.rstrip().endswith(("(", ",", "\\", "[", "{"))
