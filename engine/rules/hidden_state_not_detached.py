"""A recurrent state is carried into the next optimization step with its graph."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import call_in_loop
from engine.rules.remedies.detaching import detached_state
from engine.rules.rule import Draft, rule
from engine.trace import Loop, Place, Step, Trace, Value
from engine.trace.events import Backward, Forward, Return


@rule("PF102", "hidden-state-not-detached", "error", "A state is carried into the next step with its graph")
def check(trace: Trace) -> Iterator[Draft]:
    reported: set[Place] = set()
    for forward in trace.of(Forward):
        if not forward.output.feeds_backward:
            continue
        for value in (*forward.inputs, *forward.keywords.values()):
            for part in _parts(value):
                loop = next((loop for loop in trace.carried(part, forward) if loop.trains), None)
                if loop is None or part.carries_graph is not True or part.role == "parameter":
                    continue
                if not _backward_each_time(trace, loop) or _maybe_detached_inside(trace, forward):
                    continue
                place = call_in_loop(forward, loop)
                if place in reported or any(event_place.line == place.line for event_place in reported):
                    continue
                reported.add(place)
                yield Draft(
                    place,
                    "A state from the previous iteration goes in here with its graph: this iteration's backward walks "
                    "through graphs that are already freed, or grows with each step. Detach it between steps.",
                    (
                        Step(part.place, "made here, in the previous iteration"),
                        Step(loop.place, "a backward runs in each"),
                    ),
                    fix=detached_state(place, part, loop) if place == forward.place else None,
                )


def _parts(value: Value) -> Iterator[Value]:
    for option in value.options():
        yield option
        for element in option.elements():
            yield from element.options()


def _backward_each_time(trace: Trace, loop: Loop) -> bool:
    backwards = [b for b in trace.within(loop, Backward) if b.loop is loop or loop.innermost_training]
    return any(not b.guarded("modulo") for b in backwards) and loop.innermost_training


def _maybe_detached_inside(trace: Trace, forward: Forward) -> bool:
    """A model that was not seen, in a project one of whose models detaches the state that it returns."""
    if forward.module.origin.cls is not None or forward.module.origin.made_by:
        return False
    for returned in trace.of(Return):
        owner = returned.root.owner
        if owner is None or owner.role != "module" or returned.value is None:
            continue
        parts = returned.value.elements()
        if len(parts) > 1 and any(part.carries_graph is False for part in parts[1:]) and parts[0].carries_graph:
            return True
    return False
