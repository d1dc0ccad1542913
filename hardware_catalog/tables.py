"""Reads the catalogue's own tables: TOML of the plainest kind, which the general parser is slow at.

In `[[table]]` blocks of one `key = value` a line, strings in double quotes, numbers, truth values and arrays are
written alike in TOML and JSON. A text with anything else in it goes to the general parser.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

_HEADER = re.compile(r"\[\[(\w+)\]\]")


def read_tables(text: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table of a text, in their order. Raises tomllib.TOMLDecodeError for what is no TOML."""
    try:
        return _plain_tables(text)
    except ValueError:
        return tomllib.loads(text)


def _plain_tables(text: str) -> dict[str, list[dict[str, Any]]]:
    """Raises ValueError where the text is not of the plainest kind."""
    tables: dict[str, list[dict[str, Any]]] = {}
    row: dict[str, Any] | None = None
    for line in text.split("\n"):
        if not line or line[0] == "#":
            continue
        if line[0] == "[":
            header = _HEADER.fullmatch(line)
            if header is None:
                raise ValueError(line)
            row = {}
            tables.setdefault(header[1], []).append(row)
            continue
        key, equals, value = line.partition(" = ")
        if row is None or not equals or not key.isidentifier() or key in row:
            raise ValueError(line)
        row[key] = _value(value)
    return tables


def _value(text: str) -> Any:
    """A string without escapes is taken as it stands: most values are such, and JSON's reader costs ten times that."""
    if text[0] == '"' == text[-1] and len(text) > 1 and "\\" not in text and text.count('"') == 2:
        return text[1:-1]
    return json.loads(text)
