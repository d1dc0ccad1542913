"""Frames, cells and the signals that statements answer with."""

from __future__ import annotations

from collections.abc import Callable, Generator, MutableMapping
from typing import Any


class Cell:
    """A variable shared between a function and the functions inside it."""

    __slots__ = ("filled", "value")

    def __init__(self) -> None:
        self.filled = False
        self.value: Any = None

    def set(self, value: Any) -> None:
        """Bind the variable."""
        self.value = value
        self.filled = True

    def clear(self) -> None:
        """Unbind it."""
        self.value = None
        self.filled = False


class Frame:
    """Variables of one running call. Dropping it drops what only it held, as in CPython."""

    __slots__ = ("cells", "first_argument", "globals", "handled", "line", "locals", "result")

    def __init__(
        self, variables: MutableMapping[str, Any], global_variables: dict[str, Any], cells: dict[str, Cell]
    ) -> None:
        self.locals = variables
        self.globals = global_variables
        self.cells = cells
        self.first_argument: str | None = None
        self.handled: BaseException | None = None
        self.result: Any = None
        self.line = 0


class Signal:
    """What a statement answers when it does not simply end."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


RETURN = Signal("return")
BREAK = Signal("break")
CONTINUE = Signal("continue")

Expression = Callable[[Frame], Any]
Statement = Callable[[Frame], Signal | None]
Store = Callable[[Frame, Any], None]
LazyStatement = Callable[[Frame], Generator[Any, Any, Signal | None]]
