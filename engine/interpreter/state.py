"""The interpreter's state: frames, the heap of attributes, train/eval modes; snapshots and joins of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engine.trace.places import Context, Guard, Loop, Place
from engine.trace.values import Choice, Container, FunctionValue, Value

#: More alternatives than this are not told apart.
MAX_CHOICES = 8

Env = dict[str, Value]
Heap = dict[tuple[int, str], Value]
Modes = dict[int, tuple[str, Place]]


@dataclass(eq=False)
class Frame:
    """One activation of a function, or of a file's top level (`function` is None)."""

    path: str
    env: Env
    globals: Env
    function: FunctionValue | None = None
    parent: Frame | None = None
    qualified: str = ""
    owner: Value | None = None
    defining_class: Value | None = None
    returned: list[Value] = field(default_factory=list)
    return_states: list[Snapshot] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)
    declared_global: set[str] = field(default_factory=set)
    declared_nonlocal: set[str] = field(default_factory=set)
    #: Guards in force at the function's entry: those above are its own.
    guard_base: int = 0
    #: Names that are parameters of a function analysed as a root.
    loop_exits: list[list[Snapshot]] = field(default_factory=list)
    loop_continues: list[list[Snapshot]] = field(default_factory=list)
    #: Of a context manager's generator: the body to play at its `yield`.
    with_body: WithBody | None = None


@dataclass(eq=False)
class Snapshot:
    """What branches may change: a frame's names, the heap and the modes."""

    env: Env
    heap: Heap
    modes: Modes
    grad: bool | None


@dataclass(eq=False)
class WithBody:
    """The body of a `with` statement, for the generator that is its context manager: played at the `yield`."""

    call: Any
    frames: int
    stack: int
    play: Callable[[Value], str] | None = None
    #: How the body ended; None where it was not played.
    flow: str | None = None


class Flow:
    """How a statement ends."""

    NORMAL = "normal"
    RETURN = "return"
    BREAK = "break"
    CONTINUE = "continue"
    RAISE = "raise"


def join_values(first: Value, second: Value) -> Value:
    """One value for two paths. Equal constants stay one."""
    if first is second:
        return first
    options = _options(first, second)
    if len(options) == 1:
        return options[0]
    latest = second if second.place.line >= first.place.line else first
    role, about = options[0].role, options[0].about
    for option in options:
        if option.role != role:
            role = None
        if option.about:
            about |= option.about
    return Choice(
        place=latest.place,
        name=latest.name,
        role=role,
        op="choice",
        parents=options,
        loops=latest.loops,
        iterations=latest.iterations,
        choices=options,
        about=about,
    )


def _options(first: Value, second: Value) -> tuple[Value, ...]:
    """What either may be, equal constants once."""
    if type(first) is Value and type(second) is Value:
        # The most frequent by far.
        return first, second
    options: list[Value] = []
    seen: set[int] = set()
    constants: list[Value] = []
    for value in (*first.options(), *second.options()):
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value.is_constant:
            if any(_same_constant(value, other) for other in constants):
                continue
            constants.append(value)
        options.append(value)
    return tuple(options[:MAX_CHOICES])


def _same_constant(a: Value, b: Value) -> bool:
    return type(a.constant) is type(b.constant) and bool(a.constant == b.constant)


def join_env(first: dict[Any, Value], second: dict[Any, Value]) -> dict[Any, Value]:
    """Names of both paths; a name that only one path binds keeps that value."""
    joined = dict(first)
    get = first.get
    for name, value in second.items():
        mine = get(name)
        if mine is value:
            continue
        joined[name] = value if mine is None else join_values(mine, value)
    return joined


def join_modes(first: Modes, second: Modes) -> Modes:
    """Train/eval modes; `mixed` where paths differ, placed at the eval."""
    joined: Modes = {}
    for key in {*first, *second}:
        a, b = first.get(key), second.get(key)
        if a is None or b is None:
            known = a or b
            assert known is not None
            joined[key] = known if known[0] != "eval" else ("mixed", known[1])
        elif a[0] == b[0]:
            joined[key] = a
        else:
            joined[key] = ("mixed", a[1] if a[0] in ("eval", "mixed") else b[1])
    return joined


@dataclass(frozen=True)
class Active:
    """The parts of an event that the interpreter's position gives."""

    stack: tuple[Place, ...]
    loops: tuple[Loop, ...]
    iterations: tuple[int, ...]
    guards: tuple[Guard, ...]
    contexts: tuple[Context, ...]


__all__ = [
    "Active",
    "Container",
    "Env",
    "Flow",
    "Frame",
    "Heap",
    "Modes",
    "Snapshot",
    "join_env",
    "join_modes",
    "join_values",
]
