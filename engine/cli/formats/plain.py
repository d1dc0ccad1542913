"""Text from a repository, made fit for a terminal or a log: it may hold anything."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """`text` without control characters and direction overrides, which could rewrite what a terminal shows."""
    return _CONTROL.sub("�", text)


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
