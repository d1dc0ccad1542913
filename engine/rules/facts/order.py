"""The order of events inside one iteration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from engine.trace import Loop
from engine.trace.events import Event


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
