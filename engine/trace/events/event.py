"""What every event of a Trace tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from engine.trace.places import Context, Guard, Loop, Place, Root
from engine.trace.values import Value


@dataclass(eq=False, slots=True)
class Event:
    place: Place
    root: Root
    index: int = 0
    #: Qualified name of the function it stands in ("" at top level).
    function: str = ""
    stack: tuple[Place, ...] = ()
    loops: tuple[Loop, ...] = ()
    iterations: tuple[int, ...] = ()
    guards: tuple[Guard, ...] = ()
    contexts: tuple[Context, ...] = ()
    #: Grad mode: None where the program decides at run time.
    grad: bool | None = True
    #: Autocast: True, False, or None (decided at run time). `autocast_dtype` is "float16", "bfloat16" or "".
    autocast: bool | None = False
    autocast_dtype: str = ""

    @property
    def loop(self) -> Loop | None:
        """The innermost loop."""
        return self.loops[-1] if self.loops else None

    def context(self, kind: str) -> Context | None:
        return next((c for c in reversed(self.contexts) if c.kind == kind), None)

    def guarded(self, kind: str) -> Guard | None:
        """The innermost guard of that kind (`rank`, `modulo`, `debug`) that holds here."""
        return next((g for g in reversed(self.guards) if kind in g.kinds), None)

    def excludes(self, other: Event) -> bool:
        """Whether both can not happen in one pass."""
        return any(a.excludes(b) for a in self.guards for b in other.guards)

    def named_values(self) -> Iterator[Value]:
        """The values that the event names itself, also those in its tuples and dictionaries."""
        for item in fields(self):
            held = getattr(self, item.name)
            parts = held.values() if isinstance(held, dict) else held if isinstance(held, tuple) else (held,)
            yield from (part for part in parts if isinstance(part, Value))

    def common_loops(self, other: Event) -> tuple[Loop, ...]:
        return tuple(loop for loop in self.loops if loop in other.loops)
