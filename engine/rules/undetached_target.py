"""Gradients flow where a training scheme means a constant."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import results
from engine.rules.facts.identity import identities, modules_behind, same
from engine.rules.facts.order import by_iteration
from engine.rules.facts.training import clears
from engine.rules.remedies.detaching import detached_sample, detached_target
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import (
    Backward,
    Event,
    Forward,
    LoadStateDict,
    LossCall,
    OptimizerCreated,
    OptimizerStep,
    ZeroGrad,
)

_BOOTSTRAP = frozenset({"max", "amax", "min", "amin", "minimum"})


@rule("PF404", "undetached-target", "error", "A target or a fake sample keeps its graph")
def check(trace: Trace) -> Iterator[Draft]:
    forwards = {id(forward.output): forward for forward in trace.of(Forward)}
    yield from _bootstrap_targets(trace, forwards)
    yield from _target_networks(trace)
    done: set[object] = set()
    for backward in trace.of(Backward):
        loop = trace.step_loop(backward)
        key = id(loop) if loop is not None else id(backward.root)
        if key in done:
            continue
        done.add(key)
        events: list[Event] = list(trace.within(loop)) if loop else list(trace.family(backward))
        for iteration in by_iteration(events, loop)[:1]:
            yield from _shared_graph(iteration, forwards)


def _bootstrap_targets(trace: Trace, forwards: dict[int, Forward]) -> Iterator[Draft]:
    for loss in trace.of(LossCall):
        target, given = loss.target, loss.input
        if target is None or given is None or target.carries_graph is not True or given.carries_graph is not True:
            continue
        chain = list(target.graph_ancestors())
        if not any(value.op in _BOOTSTRAP for value in chain) or target.op in _BOOTSTRAP:
            continue
        theirs = [forwards[id(value)] for value in chain if id(value) in forwards]
        ours = [forwards[id(value)] for value in given.graph_ancestors() if id(value) in forwards]
        bootstrap = next((t for t in theirs if any(t is not o and same(t.module, o.module) for o in ours)), None)
        if bootstrap is None:
            continue
        yield Draft(
            target.place,
            "This bootstrap target is computed by the network that is being trained, with its graph: the update also "
            "moves the target. Compute it under `torch.no_grad()` or detach it.",
            (
                Step(bootstrap.place, "the same network, gradients recorded"),
                Step(loss.place, "used as the target here"),
            ),
            fix=detached_target(loss) if loss.place.path == target.place.path else None,
        )


def _target_networks(trace: Trace) -> Iterator[Draft]:
    """A copy of a trained network that no optimizer steps, and a loss that is differentiated by its weights too."""
    optimizers = [created.optimizer for created in trace.of(OptimizerCreated)]
    held = [modules_behind(optimizer) for optimizer in optimizers]
    if not held or not all(held):
        return
    trained = frozenset[int]().union(*held)
    copies = {
        id(load.target.origin): load
        for load in trace.of(LoadStateDict)
        if load.state is not None
        and load.state.op == "state_dict"
        and not identities(*load.state.parents).isdisjoint(trained)
    }
    reported: set[int] = set()
    for forward in trace.of(Forward):
        target = forward.module.origin
        load = copies.get(id(target))
        if load is None or id(target) in trained or id(target) in reported or forward.grad is not True:
            continue
        if target.requires_grad is False or any(value.carries_graph for value in forward.inputs):
            continue
        if not any(part.feeds_backward for part in results(forward)):
            continue
        reported.add(id(target))
        yield Draft(
            forward.place,
            "The target network computes this with gradients recorded, and no optimizer steps it: each backward also "
            "computes gradients for its weights, which are kept and never used. Compute it under `torch.no_grad()`.",
            (Step(load.place, "its weights are copied from the trained network"),),
            severity="warning",
        )


def _shared_graph(events: list[Event], forwards: dict[int, Forward]) -> Iterator[Draft]:
    """Two backwards over one generator's output: the first one's gradients stay for the second optimizer."""
    backwards = [event for event in events if isinstance(event, Backward)]
    steps = [event for event in events if isinstance(event, OptimizerStep)]
    for first in backwards:
        own = next((step for step in steps if step.index > first.index), None)
        if own is None:
            continue
        second = next((b for b in backwards if b.index > own.index), None)
        other = next((step for step in steps if second is not None and step.index > second.index), None)
        if second is None or other is None or same(own.optimizer, other.optimizer):
            continue
        if any(
            isinstance(e, ZeroGrad) and first.index < e.index < other.index and clears(e, other.optimizer)
            for e in events
        ):
            continue
        found = _generated(first.loss, second.loss, forwards)
        if found is None or first.excludes(second):
            continue
        shared, judged = found
        yield Draft(
            first.place,
            "This backward also reaches the network that the other optimizer updates: its gradients are still "
            "there when "
            "that optimizer steps. Detach the generated sample for this loss.",
            (
                Step(shared.place, "generated here, with its graph"),
                Step(other.place, "steps on both losses' gradients"),
            ),
            fix=detached_sample(judged, shared.output) if judged.place.path == first.place.path else None,
        )


def _generated(first: Value, second: Value, forwards: dict[int, Forward]) -> tuple[Forward, Forward] | None:
    """A forward pass whose output both losses reach through another network, and that one's pass in the first."""
    in_second = {id(value) for value in second.graph_ancestors()}
    chain = [value for value in first.graph_ancestors() if id(value) in forwards]
    for value in chain:
        forward = forwards[id(value)]
        judged = [
            forwards[id(v)]
            for v in chain
            if v is not value and not same(forwards[id(v)].module, forward.module) and value in v.parents
        ]
        if judged and id(value) in in_second:
            return forward, judged[0]
    return None
