"""Regular expressions of a program: those that could backtrack without end are not searched with.

The host's matcher does not count steps and cannot be stopped from another thread, so a pattern is judged before it is
used. Two things make it slow: a repeat inside of a repeat that can divide one text between them in many ways
(exponential), and several repeats of almost anything in a row (a power of the length).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

_parser: Any = import_module("re._parser")

MANY = 16
"""A repeat of at most this many rounds is not counted as one that backtracks."""
EXPONENTIAL_LENGTH = 26
"""Length from which a search that doubles with each character takes seconds."""
MAX_STEPS = 4 * 10**9
"""Positions that a search may have to try; the matcher does about 10^8 a second."""
MAX_DEPTH = 40

_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip


class TooSlow(ValueError):
    """Searching for this pattern may take longer than a shadow run grants."""


def check_search(pattern: Any, texts: Iterable[Any]) -> None:
    """Raises TooSlow where searching one of `texts` for `pattern` may take forever."""
    flags = pattern.flags & re.VERBOSE if isinstance(pattern, re.Pattern) else 0
    source = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    longest = max((len(text) for text in texts if isinstance(text, (str, bytes))), default=0)
    if not isinstance(source, (str, bytes)) or longest <= EXPONENTIAL_LENGTH:
        return
    nested, wide = _shape(source, flags)
    if nested or (wide and longest ** (wide + 1) > MAX_STEPS):
        raise TooSlow(f"searching {longest} characters for a regular expression that may backtrack without end")


@functools.lru_cache(maxsize=512)
def _shape(source: str | bytes, flags: int) -> tuple[bool, int]:
    """Whether it may take exponential time, and how many repeats of almost anything stand in a row."""
    try:
        tree = _parser.parse(source, flags)
    except (re.error, RecursionError, OverflowError):
        # The search itself tells of it.
        return False, 0
    return _is_exponential(tree, 0), _wide(tree, 0)


def _parts(argument: Any) -> Iterator[Any]:
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, (list, tuple)):
        for each in argument:
            yield from _parts(each)


def _is_repeat(operation: Any, argument: Any) -> bool:
    return str(operation) in ("MAX_REPEAT", "MIN_REPEAT") and argument[1] > MANY and argument[0] != argument[1]


def _is_exponential(tree: Any, depth: int) -> bool:
    if depth > MAX_DEPTH:
        return True
    for operation, argument in tree:
        if _is_repeat(operation, argument) and _is_ambiguous(argument[2]):
            return True
        if any(_is_exponential(part, depth + 1) for part in _parts(argument)):
            return True
    return False


def _is_ambiguous(body: Any) -> bool:
    """Whether rounds of a repeat over `body` can divide a text between them in several ways."""
    body = list(_flat(body))
    inner = [argument for operation, argument in body if _is_repeat(operation, argument)]
    others = [(operation, argument) for operation, argument in body if not _is_repeat(operation, argument)]
    if any(_holds_repeat(part, 0) for _, argument in others for part in _parts(argument)):
        return True
    if any(str(operation) == "BRANCH" and not _distinct(argument[1]) for operation, argument in others):
        return True
    # A character that no inner repeat takes tells the rounds apart: `(\w+\.)*`.
    marks = [argument for operation, argument in others if str(operation) == "LITERAL"]
    return bool(inner) and not any(all(not _takes(repeat[2], mark) for repeat in inner) for mark in marks)


def _unwrapped(body: Any) -> Any:
    while len(body) == 1 and str(body[0][0]) == "SUBPATTERN":
        body = body[0][1][3]
    return body


def _flat(body: Any) -> Iterator[tuple[Any, Any]]:
    """The items of a sequence, those of its groups in their place."""
    for operation, argument in body:
        if str(operation) == "SUBPATTERN":
            yield from _flat(argument[3])
        else:
            yield operation, argument


def _holds_repeat(tree: Any, depth: int) -> bool:
    if depth > MAX_DEPTH:
        return True
    return any(
        _is_repeat(operation, argument) or any(_holds_repeat(part, depth + 1) for part in _parts(argument))
        for operation, argument in tree
    )


def _distinct(alternatives: Any) -> bool:
    firsts = [each[0] for each in alternatives if len(each) and str(each[0][0]) == "LITERAL"]
    return len(firsts) == len(alternatives) == len({first[1] for first in firsts})


def _takes(body: Any, code: int) -> bool:
    """Whether a repeated item may take the character; anything but a plain class may."""
    body = _unwrapped(body)
    if len(body) != 1:
        return True
    operation, argument = str(body[0][0]), body[0][1]
    if operation in ("LITERAL", "NOT_LITERAL"):
        return bool((argument == code) == (operation == "LITERAL"))
    if operation != "IN":
        return True
    negated = any(str(kind) == "NEGATE" for kind, _ in argument)
    return negated != any(_is_member(str(kind), value, code) for kind, value in argument)


def _is_member(kind: str, value: Any, code: int) -> bool:
    if kind == "LITERAL":
        return bool(value == code)
    if kind == "RANGE":
        return bool(value[0] <= code <= value[1])
    return kind == "CATEGORY" and re.match(_CATEGORIES.get(str(value), r"[\s\S]"), chr(code)) is not None


def _wide(tree: Any, depth: int) -> int:
    """Repeats of a class that takes almost anything (`.`, `\\S`, `[^x]`): those that can share one text."""
    count = 0
    for operation, argument in tree:
        if _is_repeat(operation, argument):
            first, members = (str(argument[2][0][0]), argument[2][0][1]) if len(argument[2]) == 1 else ("", ())
            count += first in ("ANY", "NOT_LITERAL") or (
                first == "IN" and any(str(kind) == "NEGATE" or "_NOT_" in str(value) for kind, value in members)
            )
        elif depth <= MAX_DEPTH:
            count += sum(_wide(part, depth + 1) for part in _parts(argument))
    return count
