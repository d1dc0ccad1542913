"""Rewrites the source of notebook cells and nothing else: indentation, order of keys, escapes, outputs and newlines of
the file stay as they are, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_OFTEN_ESCAPED = "<>&'="
"""Characters that some notebook services write as `\\u003c` and the like."""


@dataclass(frozen=True)
class CellText:
    """The source of one cell in the text of its file: from `start` up to, not including, `end`."""

    start: int
    end: int
    value: str | Sequence[str]
    """One string, or strings that each hold a line with its newline."""

    @property
    def text(self) -> str:
        """The source with the newlines that it has."""
        return self.value if isinstance(self.value, str) else "".join(self.value)


def code_cells(raw: str) -> list[CellText]:
    """The sources of a notebook's code cells, in order.

    Raises ValueError if it is no notebook of format 4, the first format whose cells stand in one list.
    """
    # Of a key that stands twice, the last one counts.
    listed = [place for key, place in _members(raw, _after_space(raw, raw.startswith("\ufeff"))) if key == "cells"]
    if not listed:
        raise ValueError("has no list of cells; `jupyter nbconvert --to notebook` brings it to the present format")
    found: list[CellText] = []
    for position in _elements(raw, listed[-1]):
        cell, _ = _DECODER.raw_decode(raw, position)
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            sources = [place for name, place in _members(raw, position) if name == "source"]
            found.append(_cell_text(raw, sources[-1]) if sources else CellText(position, position, ""))
    return found


def _cell_text(raw: str, place: int) -> CellText:
    value, end = _DECODER.raw_decode(raw, place)
    return CellText(place, end, _as_source(value))


def rewritten(raw: str, sources: Mapping[int, str]) -> str:
    """The file's text with new sources for some code cells, counted from 1.

    Newlines of a source are those that the cell had; the last line ends as it did. Raises LookupError for a cell that
    is not there, ValueError where the result would not say exactly what is meant.
    """
    cells = code_cells(raw)
    text = raw
    for number, source in sorted(sources.items(), reverse=True):
        cell = cells[number - 1]
        if cell.start == cell.end:
            raise ValueError(f"cell {number} has no source")
        text = text[: cell.start] + _spelled(raw, cell, _ended_alike(cell.text, source)) + text[cell.end :]
    _compared(raw, text, frozenset(sources))
    return text


def _ended_alike(before: str, after: str) -> str:
    if "\r\n" in before:
        if before.count("\r\n") != before.count("\n"):
            raise ValueError("a cell mixes two kinds of newlines")
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    return after if before.endswith("\n") else after.removesuffix("\n").removesuffix("\r")


def _spelled(raw: str, cell: CellText, source: str) -> str:
    """The source as JSON, as the cell wrote its own."""
    written = raw[cell.start : cell.end]
    if isinstance(cell.value, str):
        return _string(source, written, raw)
    before, after = list(cell.value), source.splitlines(keepends=True)
    same = _common(before, after)
    left = min(_common(before[::-1], after[::-1]), min(len(before), len(after)) - same)
    starts = list(_elements(raw, cell.start))
    places = [_DECODER.raw_decode(raw, place)[1] for place in starts]
    spelled = [raw[start:end] for start, end in zip(starts, places, strict=True)]
    changed = [_string(line, written, raw) for line in after[same : len(after) - left]]
    parts = [*spelled[:same], *changed, *(spelled[len(spelled) - left :] if left else [])]
    if not starts:
        return f"[{', '.join(parts)}]"
    opening, closing = raw[cell.start : starts[0]], raw[places[-1] : cell.end]
    between = raw[places[0] : starts[1]] if len(starts) > 1 else f",{opening[1:] or ' '}"
    return opening + between.join(parts) + closing


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many elements are the same from the front."""
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def _string(text: str, written: str, raw: str) -> str:
    spelled = json.dumps(text, ensure_ascii=written.isascii() and not text.isascii() and raw.isascii())
    for character in _OFTEN_ESCAPED:
        escape = f"\\u{ord(character):04x}"
        if character in text and character not in raw and escape in raw:
            spelled = spelled.replace(character, escape)
    return spelled


def _compared(before: str, after: str, changed: frozenset[int]) -> None:
    """Raises ValueError unless both files say the same apart from the sources of some code cells."""
    old, new = (json.loads(text.removeprefix("\ufeff")) for text in (before, after))
    for document in (old, new):
        ours = [cell for cell in document["cells"] if isinstance(cell, dict) and cell.get("cell_type") == "code"]
        for number in changed:
            ours[number - 1]["source"] = None
    if old != new:
        raise ValueError("its cells could not be told apart")


def _as_source(value: Any) -> str | Sequence[str]:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(value)
    if isinstance(value, str):
        return value
    raise ValueError("a cell's source is neither text nor a list of lines")


def _after_space(raw: str, position: int) -> int:
    match = _SPACE.match(raw, position)
    return match.end() if match is not None else position


def _members(raw: str, position: int) -> Iterator[tuple[str, int]]:
    """The keys of an object in valid JSON, each with the place of its value."""
    if raw[position : position + 1] != "{":
        raise ValueError("is not a notebook")
    position = _after_space(raw, position + 1)
    while raw[position : position + 1] not in ("}", ""):
        key, position = _DECODER.raw_decode(raw, position)
        place = _after_space(raw, _after_space(raw, position) + 1)
        yield key, place
        position = _behind(raw, place)


def _elements(raw: str, position: int) -> Iterator[int]:
    """The places of the elements of an array in valid JSON."""
    if raw[position : position + 1] != "[":
        raise ValueError("is not a notebook")
    position = _after_space(raw, position + 1)
    while raw[position : position + 1] not in ("]", ""):
        yield position
        position = _behind(raw, position)


def _behind(raw: str, position: int) -> int:
    """The place of what follows a value and its comma."""
    _, end = _DECODER.raw_decode(raw, position)
    end = _after_space(raw, end)
    return _after_space(raw, end + 1) if raw[end : end + 1] == "," else end
