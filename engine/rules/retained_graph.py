"""A value that carries a graph outlives the loop iteration that made it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.rules.facts.identity import reported_at
from engine.rules.facts.retention import bounded, entered_as, in_training, kept_graphs
from engine.rules.facts.text import append, together
from engine.rules.remedies.detaching import detached_argument
from engine.rules.remedies.modes import without_gradients
from engine.rules.rule import Draft, FixMaker, rule
from engine.trace import Loop, Place, Step, Trace
from engine.trace.events import Backward, Forward, Store

_WHY = "so the autograd graph of every iteration stays in memory"


@rule("PF101", "retained-graph", "error", "A tensor is kept across iterations with its autograd graph")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _until_boundary(trace)
    for group in _together(kept_graphs(trace)):
        store = group[0]
        where = f" in `{store.target}`" if store.target else ""
        verb = "adds to a running total" if store.how == "accumulate" else "keeps a tensor"
        entered = next((e for e in entered_as(trace, store) if e.value.carries_graph is True), None)
        place = reported_at(store, store.value) if entered is None else entered.place
        evidence = [Step(store.value.place, "made here, with gradients recorded")]
        if place != store.place:
            evidence.append(Step(store.place, "kept here"))
        evidence += [Step(other.place, "and kept here in the same way") for other in group[1:]]
        evidence += [Step(loop.place, "the loop that it outlives") for loop in store.crossing[-1:]]
        yield Draft(
            place,
            f"This {verb}{where} that still carries its graph, {_WHY}; keep `.detach()` of it instead.",
            tuple(evidence),
            # Outside of training the graphs go when the function returns.
            severity=None if (in_training(store) or not store.crossing) and not bounded(store) else "warning",
            # The dictionary may be what the loss is taken from.
            fix=_remedy(trace, place, group) if entered is None else None,
        )


def _until_boundary(trace: Trace) -> Iterator[Draft]:
    """Losses of micro-batches that are summed with their graphs, and one backward at the end of the window."""
    sums = [store for store in trace.of(Store) if store.how == "accumulate" and store.grad is not False]
    told: set[Place] = set()
    for backward in trace.of(Backward):
        guard, loop = backward.guarded("modulo"), backward.loop
        if guard is None or not guard.holds or loop is None:
            continue
        made_from = {id(value) for value in backward.loss.graph_ancestors()}
        for store in sums:
            added = store.value
            if (
                loop not in store.loops
                or guard in store.guards
                or store.result is None
                or id(store.result) not in (made_from)
            ):
                continue
            before = [option for option in (store.previous.options() if store.previous else ()) if option.carries_graph]
            if added.carries_graph is not True or not any(loop in trace.carried(value, store) for value in before):
                continue
            if _carries_state(trace, loop):
                continue
            if store.place in told:
                break
            told.add(store.place)
            yield Draft(
                store.place,
                f"The losses of all micro-batches are summed with their graphs until `{guard.text}`: their activations "
                "are in memory together, as for one large batch. Call backward on each loss as it comes; gradients add "
                "up by themselves.",
                (Step(backward.place, "back-propagated together here"),),
                severity="note",
            )
            break


def _carries_state(trace: Trace, loop: Loop) -> bool:
    """Whether a pass takes what an earlier one computed: back-propagation through time needs the graphs together."""
    for forward in trace.within(loop, Forward):
        for value in (*forward.inputs, *forward.keywords.values()):
            for part in (value, *value.elements()):
                if any(option.carries_graph and loop in trace.carried(option, forward) for option in part.options()):
                    return True
    return False


def _together(stores: Iterable[Store]) -> list[list[Store]]:
    """Stores of one function and loop that stand beside each other are one finding."""
    groups: list[list[Store]] = []
    for store in sorted(stores, key=lambda store: store.place):
        last = groups[-1][-1] if groups else None
        beside = last is not None and store.place.line - (last.place.end_line or last.place.line) <= 1
        if last is not None and beside and last.function == store.function and last.crossing == store.crossing:
            groups[-1].append(store)
        else:
            groups.append([store])
    return groups


def _remedy(trace: Trace, place: Place, group: list[Store]) -> FixMaker | None:
    """Where nothing trains, no graph is needed at all; else the values that are kept are detached."""
    store = group[0]
    if store.loops and not any(loop.trains for loop in store.loops):
        return without_gradients(trace, store.place, store.crossing[-1] if store.crossing else store.loops[0])
    if place != store.place:
        return detached_argument(place, store.value) if len(group) == 1 else None
    return together("Keep the value without its graph", *map(_fix, group))


def _fix(store: Store) -> FixMaker | None:
    if store.value_place is None:
        return None
    return append(store.value_place, ".detach()", "Keep the value without its graph")
