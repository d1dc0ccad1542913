"""The Trace: events in order, and the questions that rules ask of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from engine.trace.events import Event
from engine.trace.places import Loop, Place, Root
from engine.trace.values import ClassValue, Value

E = TypeVar("E", bound=Event)


def _index(event: Event) -> int:
    return event.index


@dataclass(eq=False)
class Trace:
    """Everything the interpreter found. `classes` and `files` are by path; `failed` maps path to the reason."""

    project: Any
    events: list[Event] = field(default_factory=list)
    roots: list[Root] = field(default_factory=list)
    classes: list[ClassValue] = field(default_factory=list)
    #: Shared instance per class (the `self` that its methods see when analysed as roots).
    instances: dict[int, Value] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    #: Libraries imported anywhere in the analysed files, by file: `lightning`, `accelerate`, `deepspeed` ...
    imports: dict[str, set[str]] = field(default_factory=dict)
    #: Files whose last lines were not reached within the budget.
    truncated: set[str] = field(default_factory=set)
    #: Where each function that was played is defined, by its file and qualified name.
    functions: dict[tuple[str, str], Place] = field(default_factory=dict)
    #: By file: parameters that are called as modules, and the class that each may well be an object of.
    presumable: dict[str, dict[Place, str]] = field(default_factory=dict)
    _by_type: dict[type, list[Event]] | None = field(default=None, repr=False)
    _by_loop: dict[int, list[Event]] | None = field(default=None, repr=False)
    _by_family: dict[int, dict[type, list[Event]]] | None = field(default=None, repr=False)
    _by_root: dict[int, list[Event]] | None = field(default=None, repr=False)

    def _index(self) -> None:
        by_type: dict[type, list[Event]] = defaultdict(list)
        by_loop: dict[int, list[Event]] = defaultdict(list)
        by_family: dict[int, dict[type, list[Event]]] = defaultdict(dict)
        by_root: dict[int, list[Event]] = defaultdict(list)
        for event in self.events:
            by_type[type(event)].append(event)
            for loop in event.loops:
                by_loop[id(loop)].append(event)
            by_family[self._family_key(event)].setdefault(type(event), []).append(event)
            by_root[id(event.root)].append(event)
        self._by_type, self._by_loop, self._by_family, self._by_root = by_type, by_loop, by_family, by_root

    def _family_key(self, event: Event) -> int:
        return id(event.root.owner) if event.root.owner is not None else id(event.root)

    def of(self, *types: type[E]) -> Iterator[E]:
        """Events of these types in the order they would happen."""
        if self._by_type is None:
            self._index()
        assert self._by_type is not None
        if len(types) == 1:
            yield from self._by_type.get(types[0], ())  # type: ignore[misc]
            return
        found = [event for kind in types for event in self._by_type.get(kind, ())]
        yield from sorted(found, key=_index)  # type: ignore[misc]

    def within(self, loop: Loop, *types: type[E]) -> Iterator[E]:
        """Events inside a loop (calls included), of these types (all if none are given)."""
        if self._by_loop is None:
            self._index()
        assert self._by_loop is not None
        for event in self._by_loop.get(id(loop), ()):
            if not types or isinstance(event, types):
                yield event  # type: ignore[misc]

    def family(self, event: Event, *types: type[E]) -> Iterator[E]:
        """Events of the same root, or of all roots that share its class instance."""
        if self._by_family is None:
            self._index()
        assert self._by_family is not None
        kinds = self._by_family.get(self._family_key(event), {})
        found = [other for kind, others in kinds.items() if not types or issubclass(kind, types) for other in others]
        yield from sorted(found, key=_index) if len(kinds) > 1 else found  # type: ignore[misc]

    def between(self, first: Event, last: Event, *types: type[E]) -> Iterator[E]:
        """Events strictly between two events."""
        for event in self.events[first.index + 1 : last.index]:
            if not types or isinstance(event, types):
                yield event  # type: ignore[misc]

    def before(self, event: Event, *types: type[E]) -> Iterator[E]:
        """Earlier events of the same root, nearest first."""
        beside = self._beside(event)
        for position in range(bisect_left(beside, event.index, key=_index) - 1, -1, -1):
            other = beside[position]
            if not types or isinstance(other, types):
                yield other  # type: ignore[misc]

    def after(self, event: Event, *types: type[E]) -> Iterator[E]:
        """Later events of the same root, nearest first."""
        beside = self._beside(event)
        for position in range(bisect_right(beside, event.index, key=_index), len(beside)):
            other = beside[position]
            if not types or isinstance(other, types):
                yield other  # type: ignore[misc]

    def _beside(self, event: Event) -> list[Event]:
        """The events of the same root."""
        if self._by_root is None:
            self._index()
        assert self._by_root is not None
        return self._by_root.get(id(event.root), [])

    def step_loop(self, event: Event) -> Loop | None:
        """The innermost loop around the event that trains (a backward runs in each of its iterations)."""
        return next((loop for loop in reversed(event.loops) if loop.trains), None)

    def carried(self, value: Value, event: Event) -> tuple[Loop, ...]:
        """Loops around the event in whose previous iteration the value was made."""
        now = dict(zip(map(id, event.loops), event.iterations, strict=False))
        return tuple(
            loop
            for loop, iteration in zip(value.loops, value.iterations, strict=False)
            if id(loop) in now and iteration < now[id(loop)]
        )

    @staticmethod
    def first_per_place(events: Iterable[E]) -> Iterator[E]:
        """The first event of each place."""
        seen = set()
        for event in events:
            key = (event.place.path, event.place.line, event.place.column, type(event))
            if key not in seen:
                seen.add(key)
                yield event

    def imports_any(self, path: str, *libraries: str) -> bool:
        """Whether the file imports one of these libraries."""
        return not self.imports.get(path, set()).isdisjoint(libraries)
