"""Facts about evaluation: forward passes in loops that train nothing."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, modules_behind, same
from engine.trace import Loop, Place, Trace, Value
from engine.trace.events import (
    Collective,
    Detach,
    DeviceSync,
    Event,
    Forward,
    FunctionCall,
    LossCall,
    MethodCall,
    ModeChange,
    OptimizerStep,
    Return,
    Store,
)

_SMALL = frozenset({"literal"})


def evaluation_loop(forward: Forward) -> Loop | None:
    """The innermost loop around a forward pass, where it trains nothing and runs over more than a display."""
    loop = forward.loop
    if loop is None or loop.trains or loop.kind in _SMALL:
        return None
    return loop


def results(forward: Forward) -> list[Value]:
    """What a pass returns, with the elements of tuples and dictionaries."""
    found = [forward.output]
    for value in found:
        if len(found) < 100:
            found += value.elements()
    return found


def trains_nothing(forward: Forward) -> bool:
    """Whether no backward and no `autograd.grad` starts from what the forward pass computes."""
    if any(part.feeds_backward or part.feeds_autograd_grad for part in results(forward)):
        return False
    # Data that a training pass reads as well is no training; an input that the loss is differentiated by is.
    return not any((v.feeds_backward or v.feeds_autograd_grad) and v.carries_graph for v in forward.inputs)


def inputs_want_gradients(forward: Forward) -> bool:
    """Whether an input asks for gradients: attribution, forces, adversarial examples."""
    values = [*forward.inputs, *forward.keywords.values()]
    return any(ancestor.requires_grad for value in values for ancestor in value.ancestors(limit=200))


def taken_by_numpy(*values: Value) -> bool:
    """Whether NumPy is handed one of these as it is, or a list of it: it refuses tensors that carry a graph, so there
    is none."""
    return any(use.startswith("arg:numpy.") for value in values for use in value.uses)


def evaluated_once(trace: Trace, forward: Forward) -> Event | None:
    """What trains a module that a function puts into evaluation mode and calls once, outside of a loop of its
    own: a test on one graph or one batch."""
    if forward.mode != "eval" or (forward.loop is not None and not forward.loop.trains):
        return None
    set_here = any(
        change.place == forward.mode_set_at and change.function == forward.function
        for change in trace.family(forward, ModeChange)
    )
    if not set_here or not forward.function:
        return None
    for other in trace.family(forward, Forward, OptimizerStep):
        if isinstance(other, OptimizerStep):
            if not modules_behind(other.optimizer).isdisjoint(identities(forward.module)):
                return other
        elif (
            isinstance(other, Forward)
            and other.place != forward.place
            and other.output.feeds_backward
            and same(other.module, forward.module)
        ):
            return other
    return None


def only_read(trace: Trace, forward: Forward, cut: bool = False) -> bool:
    """Whether all that becomes of a result is that the host reads numbers from it: it is kept, returned or handed on
    nowhere.

    `cut`: the numbers may be of something that has no gradient, such as a comparison."""
    made = {id(part) for part in results(forward)}

    def live(value: Value) -> bool:
        return value.carries_graph is not False and from_it(value, through_detach=False)

    def from_it(value: Value, through_detach: bool) -> bool:
        return any(id(part) in made for part in value.ancestors(through_detach, limit=200))

    read = False
    for event in trace.after(forward, DeviceSync, Detach, Store, MethodCall, FunctionCall, Return, Collective):
        if isinstance(event, (DeviceSync, Detach)):
            if not read and event.value is not None:
                read = event.how in _READS and (from_it(event.value, True) if cut else live(event.value))
            continue
        if isinstance(event, Return) and event.function != event.root.name:
            continue
        if isinstance(event, FunctionCall) and event.name.startswith(_COMPUTES):
            continue
        if any(live(value) for value in event.named_values()):
            return False
    return read


_READS = frozenset({"item", "tolist", "numpy", "data", "float", "int", "cpu"})
_COMPUTES = ("torch.", "numpy.")


def _taken_from(value: Value) -> Value:
    """What an attribute, an entry or a moved tensor was taken from."""
    for _ in range(8):
        if value.op not in ("attribute", "getitem", "to", "cuda") or not value.parents:
            break
        value = value.parents[0]
    return value


def scored_as_a_whole(trace: Trace, forward: Forward) -> Place | None:
    """Where a figure of the result is read, of a pass over the same data in each turn of the loop that trains: the
    share of hits, or a loss. That is a test on one graph, or on data that is one tensor."""
    given = [*forward.inputs, *forward.keywords.values()]
    if forward.grad is not False or not forward.loops or not forward.loops[-1].trains:
        return None
    if any(loop in _taken_from(value).loops for value in given for loop in forward.loops):
        return None
    if any(outer.place in forward.stack for outer in trace.family(forward, Forward)):
        # A layer's own pass.
        return None
    made = {id(part) for part in results(forward)}
    figures = {
        id(call.output)
        for call in trace.after(forward, LossCall)
        if call.input is not None and any(id(part) in made for part in call.input.ancestors(limit=80))
    }
    for event in trace.after(forward, DeviceSync):
        if event.how not in _READS or event.value is None or event.loops[: len(forward.loops)] != forward.loops:
            continue
        made_from = list(event.value.ancestors(limit=120))
        hits = any(part.op == "compare" for part in made_from) and any(part.op == "argmax" for part in made_from)
        if any(id(part) in figures for part in made_from) or (hits and any(id(part) in made for part in made_from)):
            return event.place
    return None


def frozen(module: Value) -> bool:
    return module.requires_grad is False or module.origin.requires_grad is False


def forwards_by_place(trace: Trace) -> Iterator[list[Forward]]:
    """Forward passes grouped by the call that makes them and the calls that lead there, in order."""
    groups: dict[object, list[Forward]] = {}
    for forward in trace.of(Forward):
        groups.setdefault((forward.place, forward.stack), []).append(forward)
    yield from groups.values()


def call_in_loop(forward: Forward, loop: Loop) -> Place:
    """The call in the body of a loop that leads to a forward pass."""
    depth = len(forward.stack)
    for place in (*forward.stack, forward.place):
        inside = loop.place.line <= place.line <= max(loop.place.end_line, loop.place.line)
        if place.path == loop.place.path and inside:
            return place
    return forward.place if not depth else forward.stack[-1]
