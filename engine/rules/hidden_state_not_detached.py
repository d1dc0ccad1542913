"""A recurrent state is carried into the next optimization step with its graph."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import call_in_loop, results
from engine.rules.facts.text import together
from engine.rules.remedies.detaching import detached_state, graph_freed
from engine.rules.rule import Draft, FixMaker, rule
from engine.trace import Loop, Place, Step, Trace, Value
from engine.trace.events import Backward, Forward, Return, Store


@rule("PF102", "hidden-state-not-detached", "error", "A state is carried into the next step with its graph")
def check(trace: Trace) -> Iterator[Draft]:
    reported: set[Place] = set()
    kept = list(_kept_on_module(trace))
    yield from (draft for _, draft in kept)
    told = {store.function for store, _ in kept}
    for forward in trace.of(Forward):
        if not forward.output.feeds_backward or forward.function in told:
            continue
        for value in (*forward.inputs, *forward.keywords.values()):
            for part in _parts(value):
                loop = next((loop for loop in trace.carried(part, forward) if loop.trains), None)
                if loop is None or part.carries_graph is not True or part.role == "parameter":
                    continue
                if not _backward_each_time(trace, loop) or _maybe_detached_inside(trace, forward):
                    continue
                if any(_cut_of(other, part) for other in _parts(value)):
                    # By path, a helper returns it detached.
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
                    fix=_remedy(trace, part, loop, place) if place == forward.place else None,
                )


def _remedy(trace: Trace, state: Value, loop: Loop, place: Place) -> FixMaker | None:
    """The state without its graph, and with it no reason to keep the graph of the loss."""
    detached = detached_state(place, state, loop)
    retaining = [b for b in trace.first_per_place(trace.within(loop, Backward)) if b.retain_graph is True]
    if detached is None or not retaining:
        return detached
    if len(retaining) > 1 or retaining[0].place.path != place.path:
        return None
    return together(
        "Detach the state between steps, and free each step's graph", detached, graph_freed(trace, *retaining)
    )


def _kept_on_module(trace: Trace) -> Iterator[tuple[Store, Draft]]:
    """A module's forward reads the state that its last call left on the module, and nothing cuts or resets it."""
    if not any(True for _ in trace.of(Backward)):
        return
    stores = [store for store in trace.of(Store) if store.how == "attribute"]
    for store in stores:
        owner = store.root.owner
        if owner is None or store.container is not owner or owner.cls is None or owner.cls.family != "module":
            continue
        if not store.function.endswith(".forward") or store.value.carries_graph is not True or store.guards:
            continue
        passed = next(
            (
                forward
                for forward in trace.before(store, Forward)
                if forward.function == store.function
                and any(value is store.previous for value in (*forward.inputs, *forward.keywords.values()))
                and any(part is made for part in store.value.options() for made in results(forward))
            ),
            None,
        )
        others = [s for s in stores if s.attribute == store.attribute and s.place != store.place]
        if passed is None or any(s.function.rpartition(".")[2] not in ("__init__", "__new__") for s in others):
            continue
        if not any("RNN" in made or "LSTM" in made or "GRU" in made for made in (passed.module.origin.made_by,)):
            continue
        draft = Draft(
            store.place,
            f"`{store.target}` keeps the state of this call with its graph, and the next call starts from it: its "
            "backward walks through graphs that are already freed. Detach the state before it is kept.",
            (Step(passed.place, "the kept state goes in here"),),
        )
        yield store, draft


def _cut_of(other: Value, part: Value) -> bool:
    return other is not part and bool(other.detached) and any(each is part for each in other.ancestors(limit=30))


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
