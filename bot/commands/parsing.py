"""Finding a slash command in a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_COMMAND = re.compile(r"/preflight[:,]?(?:[ \t\u00a0]+(?P<rest>.*))?[ \t]*", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)")
LONGEST_WORD = 300
MOST_WORDS = 100
_QUOTES = "`'\"“”‘’()"
_ENDINGS = ".,;:?!"


@dataclass(frozen=True)
class Command:
    """`/preflight NAME ARGUMENT ...`; the name is `help` where none was given."""

    name: str
    arguments: tuple[str, ...] = ()
    others: int = 0
    """Further commands in the same comment, which are not carried out."""


def bare(word: str) -> str:
    """Return a word without the quotes around it and the punctuation behind it that people add."""
    return word.strip(_QUOTES).rstrip(_ENDINGS).strip(_QUOTES)


def find_command(body: str) -> Command | None:
    """Return the first command of a comment: at the start of a line, outside quotes, fences and HTML comments."""
    found = [_command(rest) for rest in _rests(body)]
    return replace(found[0], others=len(found) - 1) if found else None


def _command(rest: str) -> Command:
    words = [word[:LONGEST_WORD] for word in rest.split()[:MOST_WORDS]]
    return Command(words[0].lower().rstrip(_ENDINGS), tuple(words[1:])) if words else Command("help")


def _rests(body: str) -> Iterator[str]:
    """What stands behind the word that makes a command, line by line."""
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
            yield match["rest"] or ""
