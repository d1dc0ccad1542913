"""Where in a pull request's diff a review comment may stand, and where it goes after a push."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Side = Literal["LEFT", "RIGHT"]
HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class DiffLine:
    """One line of a hunk with its numbers in the old and the new file; a number is absent where the line is."""

    mark: str
    text: str
    old: int | None
    new: int | None


@dataclass(frozen=True)
class Hunk:
    header: str
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: Sequence[DiffLine]

    def index_of(self, side: Side, line: int) -> int | None:
        """Position of a line in the hunk: added and context lines stand on the RIGHT, deleted ones on the LEFT."""
        for index, entry in enumerate(self.lines):
            if (side == "RIGHT" and entry.new == line) or (side == "LEFT" and entry.old == line and entry.mark == "-"):
                return index
        return None

    def text_until(self, index: int) -> str:
        """The hunk down to a line, as GitHub keeps it in ``diff_hunk``."""
        return "\n".join([self.header, *(entry.mark + entry.text for entry in self.lines[: index + 1])])


def hunks_of(patch: str | None) -> list[Hunk]:
    """Parses the text of ``patch`` (hunks without a file header)."""
    hunks: list[Hunk] = []
    header, numbers, lines = "", (0, 0, 0, 0), list[DiffLine]()
    old = new = 0

    def close() -> None:
        if header:
            hunks.append(Hunk(header, *numbers, tuple(lines)))

    for text in (patch or "").split("\n"):
        if match := HEADER.match(text):
            close()
            numbers = tuple(int(group) if group else 1 for group in match.groups())  # type: ignore[assignment]
            header, lines, old, new = text, [], numbers[0], numbers[2]
        elif text[:1] == "+":
            lines.append(DiffLine("+", text[1:], None, new))
            new += 1
        elif text[:1] == "-":
            lines.append(DiffLine("-", text[1:], old, None))
            old += 1
        elif text[:1] == " " and header:
            lines.append(DiffLine(" ", text[1:], old, new))
            old, new = old + 1, new + 1
    close()
    return hunks


@dataclass(frozen=True)
class Anchor:
    diff_hunk: str
    position: int


def anchor(
    patch: str | None, line: int | None, side: Side, start_line: int | None, start_side: Side | None
) -> Anchor | str:
    """The place of a comment in a file's patch, or GitHub's words for why there is none."""
    if line is None:
        return "Pull request review thread line can't be blank"
    if start_line is not None and (start_side or side) == side and start_line >= line:
        return "Pull request review thread start line must precede the end line."
    before = 0
    for hunk in hunks_of(patch):
        before += 1 if before else 0
        index = hunk.index_of(side, line)
        if index is None:
            before += len(hunk.lines)
            continue
        if start_line is not None and hunk.index_of(start_side or side, start_line) is None:
            return "Pull request review thread start line must be part of the same hunk as the line."
        return Anchor(hunk.text_until(index), before + index + 1)
    return "Pull request review thread line must be part of the diff"


def moved(patch: str | None, line: int) -> int | None:
    """Where a line of the old file stands in the new one; None when it was changed or removed."""
    shift = 0
    for hunk in hunks_of(patch):
        if line < hunk.old_start or (hunk.old_count == 0 and line <= hunk.old_start):
            break
        for entry in hunk.lines:
            if entry.old == line:
                return entry.new
        shift += hunk.new_count - hunk.old_count
    return line + shift
