"""Calls and returns that have no event of their own."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.trace.events.event import Event
from engine.trace.places import Place
from engine.trace.values import Value


@dataclass(eq=False, slots=True)
class MethodCall(Event):
    """Any other method called on a value that is not followed into the project. `discarded`: result unused."""

    receiver: Value = None  # type: ignore[assignment]
    method: str = ""
    arguments: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    result: Value = None  # type: ignore[assignment]
    discarded: bool = False
    #: Train/eval mode of the receiver at that point (for what turns out to be a module).
    mode: str = ""
    mode_set_at: Place | None = None
    bypasses: Value | None = None


@dataclass(eq=False, slots=True)
class FunctionCall(Event):
    """Any other call: of a library function (`name` is its qualified name), or of an unknown callable (`callee`)."""

    name: str = ""
    callee: Value | None = None
    arguments: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    result: Value = None  # type: ignore[assignment]
    discarded: bool = False
    #: Train/eval mode of the receiver at that point (for what turns out to be a module).
    mode: str = ""
    mode_set_at: Place | None = None
    bypasses: Value | None = None


@dataclass(eq=False, slots=True)
class Referenced(Event):
    """An expression statement that names a method without calling it (`opt.step`, `net.eval`)."""

    receiver: Value = None  # type: ignore[assignment]
    attribute: str = ""


@dataclass(eq=False, slots=True)
class Return(Event):
    """A function returns; `value` what (None for bare returns)."""

    value: Value | None = None
