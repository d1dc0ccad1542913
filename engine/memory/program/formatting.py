"""Text made of values, with bounds on its width."""

from __future__ import annotations

import re
from typing import Any

from engine.memory.program.budget import OutOfBudget

_WIDE_FORMAT = re.compile(r"\d{5,}")


def render(value: Any, spec: str) -> str:
    """`format(value, spec)` with bounded widths; a value that cannot be rendered so is rendered plainly."""
    if _WIDE_FORMAT.search(spec):
        raise OutOfBudget("a format specification is too wide")
    unformatted: Any = object.__format__
    if spec and type(value).__format__ is unformatted:
        return str(value)
    return format(value, spec)


def percent(text: str, values: Any) -> Any:
    """`text % values` with bounded widths; a width that is an argument (`%*d`) counts among them."""
    wide = "*" in text and any(
        isinstance(v, int) and abs(v) > 99_999 for v in (values if type(values) is tuple else ())
    )
    if wide or _WIDE_FORMAT.search(text):
        raise OutOfBudget("a format specification is too wide")
    return text % values
