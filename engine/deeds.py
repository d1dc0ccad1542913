"""What each line of a program does, by the trace: what can be missing once the line is another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from engine.interpreter import trace_project
from engine.project import Project
from engine.trace import events
from engine.trace.events import Event
from engine.trace.values import Value

Deed = tuple[str, str]
"""The kind of an event, and a trait of it: how it happens, or what is given to it."""

_TRAITS = frozenset({"how", "kind", "mode", "via", "name"})
_NO_DEEDS = (
    events.FunctionCall,
    events.MethodCall,
    events.Referenced,
    events.Report,
    events.Return,
    events.Store,
)
"""That something is called, kept or told is no trait that another line could lack."""
_COMMON = frozenset(each.name for each in fields(Event))


def deeds(project: Project, paths: Sequence[str]) -> Mapping[tuple[str, int], frozenset[Deed]]:
    """What the program does that starts at these files, by path and line; nothing where it cannot be followed."""
    found: dict[tuple[str, int], set[Deed]] = defaultdict(set)
    try:
        trace = trace_project(project, paths)
    except Exception:
        # `check` met the same, and names the file; only what former lines did is not known then.
        return {}
    for event in trace.events:
        if not isinstance(event, _NO_DEEDS):
            found[event.place.path, event.place.line].update(_deeds_of(event))
    return {place: frozenset(each) for place, each in found.items()}


def _deeds_of(event: Event) -> Iterator[Deed]:
    kind = type(event).__name__
    yield kind, ""
    for each in fields(event):
        held = getattr(event, each.name)
        if each.name in _COMMON or held is None:
            continue
        if each.name in _TRAITS and isinstance(held, str):
            yield kind, f"{each.name}={held}"
        elif isinstance(held, Value):
            yield kind, each.name
            yield from ((kind, f"{each.name}.{key}") for key in held.keywords)
        elif isinstance(held, dict):
            yield from ((kind, str(key)) for key in held)
