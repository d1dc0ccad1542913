"""Which values are the same object, behind wrappers and branches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.trace import Place, Value
from engine.trace.events import Event


def identities(*values: Value | None) -> frozenset[int]:
    """Identities of all objects that these values may be, behind DDP, compile, prepare and the like."""
    return frozenset(id(option.origin) for value in values if value is not None for option in value.options())


def same(first: Value | None, second: Value | None) -> bool:
    """Whether both may be the same object."""
    return not identities(first).isdisjoint(identities(second))


def modules_behind(value: Value | None) -> frozenset[int]:
    """Identities of the modules whose parameters an optimizer (or a list of parameters) holds; empty if unknown."""
    if value is None:
        return frozenset()
    return frozenset(
        identity for option in value.options() for part in option.origin.of for identity in identities(part)
    )


def distinct(places: Iterable[Event]) -> Iterator[Event]:
    """The last event at each place: its second pass knows what the first left behind."""
    last: dict[Place, Event] = {}
    for event in places:
        last[event.place] = event
    yield from last.values()


def reported_at(event: Event, value: Value) -> Place:
    """Where a person would point at when `value` is handed to a helper: the call in the code that made the value."""
    for place in (event.place, *reversed(event.stack)):
        if place.path == value.place.path and value.place.line <= place.line:
            return place
    return event.place


def viewed(value: Value, items: bool = True) -> Value:
    """The parameter that a value is a view of; PyTorch refuses in-place changes of such views as well.

    `items`: whether an item counts as a view; one that a mask or a list selects is a copy."""
    viewed = value
    for _ in range(8):
        if viewed.role == "parameter" or viewed.detached or viewed.op not in _VIEWS or not viewed.parents:
            break
        if viewed.op == "getitem" and not items:
            break
        viewed = viewed.parents[0]
    return viewed if viewed.role == "parameter" else value


_VIEWS = frozenset({"view", "getitem", "t", "transpose", "permute", "unsqueeze", "squeeze", "narrow", "select"})
