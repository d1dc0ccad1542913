"""Where GitHub takes review comments: on lines inside the hunks of the diff that it shows itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bot.github.models import ChangedFile
from engine.findings import ReviewComment

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class _Hunk:
    left: range
    right: range


class Anchors:
    """The commentable lines of a pull request. A file without a patch, binary or too large, has none."""

    def __init__(self, files: Iterable[ChangedFile]) -> None:
        self._hunks = {file.filename: _hunks(file.patch or "") for file in files}

    def takes(self, comment: ReviewComment) -> bool:
        """Tell whether GitHub takes the comment: first and last line inside one hunk, in order."""
        first = comment.start_line if comment.start_line is not None else comment.line
        if first > comment.line:
            return False
        for hunk in self._hunks.get(comment.path, ()):
            lines = hunk.right if comment.side == "RIGHT" else hunk.left
            if first in lines and comment.line in lines:
                return True
        return False


def _hunks(patch: str) -> tuple[_Hunk, ...]:
    found = []
    for match in _HUNK.finditer(patch) if patch.startswith("@@") else ():
        if match.start() and patch[match.start() - 1] != "\n":
            continue
        left, left_count, right, right_count = match.groups()
        found.append(_Hunk(_lines(left, left_count), _lines(right, right_count)))
    return tuple(found)


def _lines(start: str, count: str | None) -> range:
    return range(int(start), int(start) + (1 if count is None else int(count)))
