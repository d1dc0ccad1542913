"""Finding a slash command in a comment."""

from __future__ import annotations

import re
from dataclasses import dataclass

_COMMAND = re.compile(r"/preflight(?:[ \t]+(?P<rest>.*))?[ \t]*")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)")
LONGEST_WORD = 60


@dataclass(frozen=True)
class Command:
    """`/preflight NAME ARGUMENT ...`; the name is `help` where none was given."""

    name: str
    arguments: tuple[str, ...] = ()


def find_command(body: str) -> Command | None:
    """Return the first command of a comment: at the start of a line, outside quotes, fences and HTML comments."""
    fence: str | None = None
    for line in re.sub(r"<!--.*?(?:-->|\Z)", "", body, flags=re.DOTALL).splitlines():
        opening = _FENCE.fullmatch(line)
        if fence is not None:
            closes = opening and opening["fence"].startswith(fence) and not opening["info"].strip()
            fence = None if closes else fence
            continue
        if opening and not (opening["fence"][0] == "`" and "`" in opening["info"]):
            fence = opening["fence"]
            continue
        match = _COMMAND.fullmatch(line)
        if match:
            words = [word[:LONGEST_WORD] for word in (match["rest"] or "").split()]
            return Command(words[0].lower(), tuple(words[1:])) if words else Command("help")
    return None
