"""Gradients are computed for an optimizer that never steps."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, same
from engine.rules.facts.text import append
from engine.rules.facts.training import OWN_PROTOCOL
from engine.rules.remedies.stepping import step_after
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import (
    Backward,
    Event,
    FunctionCall,
    HookRegistered,
    MethodCall,
    OptimizerStep,
    Referenced,
    ZeroGrad,
)

_MUST_BE_CALLED = {
    "optimizer": frozenset({"step", "zero_grad"}),
    "scheduler": frozenset({"step"}),
    "scaler": frozenset({"update"}),
    "module": frozenset({"eval", "train", "zero_grad"}),
    "tensor": frozenset({"backward"}),
}


@rule("PF207", "missing-optimizer-step", "error", "Gradients are computed and no optimizer uses them")
def check(trace: Trace) -> Iterator[Draft]:
    for named in trace.of(Referenced):
        if named.attribute in _MUST_BE_CALLED.get(named.receiver.role or "", ()):
            yield Draft(
                named.place,
                f"`{named.attribute}` is named but not called here: this line does nothing.",
                fix=append(named.place, "()", "Call it"),
            )
    for zero in trace.of(ZeroGrad):
        yield from _never_steps(trace, zero)


def _never_steps(trace: Trace, zero: ZeroGrad) -> Iterator[Draft]:
    loop = trace.step_loop(zero)
    if loop is None or not _optimizer(zero.target) or len(zero.target.options()) > 1:
        return
    events: list[Event] = list(trace.within(loop))
    steps = [event for event in events if isinstance(event, OptimizerStep)]
    if not steps:
        yield from _alone(trace, zero, events)
    if not steps or any(step.via in OWN_PROTOCOL for step in steps):
        return
    if any(same(step.optimizer, zero.target) or _spelled_alike(step, zero) for step in trace.of(OptimizerStep)):
        return
    known = identities(zero.target)
    for event in events:
        if isinstance(event, (FunctionCall, MethodCall)) and any(id(a.origin) in known for a in event.arguments):
            return
    backward = next((b for b in events if isinstance(b, Backward) and b.index > zero.index), None)
    if backward is None or backward.guards != zero.guards:
        return
    if any(isinstance(e, ZeroGrad) and zero.index < e.index < backward.index for e in events):
        return
    yield Draft(
        backward.place,
        f"The gradients of this backward are never used: no `step()` of {_name(zero)} was found, while another "
        "optimizer of the same loop steps.",
        (Step(zero.place, "cleared here in each iteration"), Step(steps[0].place, "the optimizer that does step")),
        fix=step_after(backward, zero),
    )


def _alone(trace: Trace, zero: ZeroGrad, events: list[Event]) -> Iterator[Draft]:
    """The only optimizer of a loop is built here, cleared in each iteration, handed to nobody, and never steps."""
    optimizer = zero.target.origin
    handed_on = any(use == "step" or (use.startswith("arg:") and "lr_scheduler" not in use) for use in optimizer.uses)
    if optimizer.op != "construct" or optimizer.role != "optimizer" or handed_on or optimizer.prepared is not None:
        return
    if any(True for _ in trace.of(OptimizerStep)) or any(True for _ in trace.family(zero, HookRegistered)):
        return
    for event in trace.of(FunctionCall, MethodCall):
        values = [*event.arguments, *event.keywords.values()]  # type: ignore[attr-defined]
        if any(optimizer in value.ancestors(limit=20) or optimizer in value.attributes.values() for value in values):
            return
    backward = next((e for e in events if isinstance(e, Backward)), None)
    if backward is None or backward.via in OWN_PROTOCOL or backward.loop is not zero.loop:
        return
    yield Draft(
        backward.place,
        f"The gradients of this backward are never used: no `step()` of {_name(zero)} was found.",
        (Step(optimizer.place, "built here"), Step(zero.place, "cleared here in each iteration")),
        fix=step_after(backward, zero) if backward.index > zero.index else None,
    )


def _spelled_alike(step: OptimizerStep, zero: ZeroGrad) -> bool:
    """The same expression steps in the same function: which optimizer it holds depends on the path there."""
    return step.function == zero.function and step.optimizer.name == zero.target.name


def _optimizer(value: Value) -> bool:
    """An optimizer, or something of which nothing but its clearing is seen."""
    return value.role == "optimizer" or (value.role is None and value.uses <= {"zero_grad"} and not value.is_constant)


def _name(zero: ZeroGrad) -> str:
    return f"`{zero.target.name}`" if zero.target.name else "the optimizer"
