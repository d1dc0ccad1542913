"""The order of events inside one iteration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from engine.trace import Guard, Loop, Place, Trace
from engine.trace.events import Event, Iterate


def by_iteration(events: Iterable[Event], loop: Loop | None) -> list[list[Event]]:
    """Events of a loop, split into its iterations, each in order. Without a loop, all are one pass."""
    if loop is None:
        return [sorted(events, key=lambda event: event.index)]
    passes: dict[tuple[int, ...], list[Event]] = defaultdict(list)
    for event in events:
        depth = event.loops.index(loop)
        passes[event.iterations[: depth + 1]].append(event)
    return [sorted(found, key=lambda event: event.index) for _, found in sorted(passes.items())]


def nearest_before(events: list[Event], event: Event, *types: type[Event]) -> Event | None:
    """The nearest earlier event of these types that can happen in the same pass."""
    for other in reversed(events):
        if other.index < event.index and isinstance(other, types) and not other.excludes(event):
            return other
    return None


def guards_inside(trace: Trace, event: Event, loop: Loop) -> tuple[Guard, ...]:
    """The conditions that an event of a loop stands under within one iteration, those of called functions included."""
    entered = next((started.guards for started in trace.of(Iterate) if started.subject is loop), ())
    return tuple(guard for guard in event.guards if guard not in entered)


def parted(event: Event, other: Event) -> Place:
    """Where the way to an event parts from the way to another: its call in the function that both are reached from."""
    depth = 0
    for mine, theirs in zip(event.stack, other.stack, strict=False):
        if mine != theirs:
            break
        depth += 1
    return event.stack[depth] if len(event.stack) > depth else event.place
