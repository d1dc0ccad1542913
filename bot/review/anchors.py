"""Where GitHub takes review comments: on lines inside the hunks of the diff that it shows itself."""

from __future__ import annotations

from collections.abc import Iterable

from bot.github.models import ChangedFile
from engine.diff import parse_hunks
from engine.findings import ReviewComment


class Anchors:
    """The commentable lines of a pull request. A file without a patch, binary or too large, has none."""

    def __init__(self, files: Iterable[ChangedFile]) -> None:
        self._hunks = {file.filename: parse_hunks(file.patch or "") for file in files}

    def takes(self, comment: ReviewComment) -> bool:
        """Tell whether GitHub takes the comment: first and last line inside one hunk, in order."""
        first = comment.start_line if comment.start_line is not None else comment.line
        if first > comment.line:
            return False
        for hunk in self._hunks.get(comment.path, ()):
            if comment.side == "RIGHT":
                if hunk.holds(first, comment.line):
                    return True
            elif first in hunk.removed and comment.line in hunk.removed:
                # The old numbering holds for deleted lines alone.
                return True
        return False
