"""Facts about optimization: steps, what they update, and the loops they stand in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.rules.facts.identity import identities, modules_behind
from engine.trace import Guard, Loop, Place, Trace, Value
from engine.trace.events import Backward, Event, OptimizerStep, ZeroGrad

OWN_PROTOCOL = frozenset({"engine", "deepspeed", "trainer"})
"""Steps and backwards whose owner clears and scales gradients by itself."""


def lightning_step(event: Event) -> bool:
    """Whether the event is reached from a step method of a Lightning module: Lightning's loop surrounds it."""
    owner = event.root.owner
    return bool(owner is not None and owner.cls is not None and owner.cls.family == "lightning-module")


@dataclass(frozen=True)
class StepScope:
    """An optimizer step, and everything that happens in one iteration of the loop that repeats it."""

    step: OptimizerStep
    loop: Loop | None
    events: tuple[Event, ...]

    def of(self, *types: type[Event]) -> Iterator[Event]:
        for event in self.events:
            if isinstance(event, types):
                yield event


def step_scopes(trace: Trace) -> Iterator[StepScope]:
    """Each optimizer's step in the loop that repeats it (the framework's loop for Lightning's manual optimization)."""
    seen = set()
    for step in trace.of(OptimizerStep):
        if step.via in OWN_PROTOCOL:
            continue
        loop = trace.step_loop(step)
        # One line may step several optimizers, one after the other.
        key = (step.place, step.optimizer.origin.place, id(loop) if loop is not None else id(step.root))
        if key in seen:
            continue
        seen.add(key)
        if loop is not None:
            yield StepScope(step, loop, tuple(trace.within(loop)))
        elif lightning_step(step):
            yield StepScope(step, None, tuple(trace.family(step)))


def called_steps(trace: Trace) -> Iterator[StepScope]:
    """Each optimizer step of a function that no loop of the project was seen to repeat, with what the function does.

    The optimizer outlives the call, so the function is one step of a loop elsewhere.
    """
    seen = set()
    for step in trace.of(OptimizerStep):
        if step.via in OWN_PROTOCOL or step.root.kind == "script" or trace.step_loop(step) is not None:
            continue
        if step.place in seen or lightning_step(step) or _made_in(step.root.place, step.optimizer.origin):
            continue
        seen.add(step.place)
        family: Iterator[Event] = trace.family(step)
        events = tuple(event for event in family if event.root is step.root)
        if any(isinstance(event, Backward) for event in events):
            yield StepScope(step, None, events)


def within_called_step(trace: Trace, event: Event) -> bool:
    """Whether an event outside of any loop belongs to a function that is one optimization step."""
    return not event.loops and any(scope.step.root is event.root for scope in called_steps(trace))


def _made_in(span: Place, value: Value) -> bool:
    made = value.place
    return value.op not in ("parameter-of-function", "attribute") and (
        made.path == span.path and span.line <= made.line <= max(span.end_line, span.line)
    )


def clears(zero: ZeroGrad, optimizer: Value) -> bool:
    """Whether a clearing covers an optimizer's parameters, as far as that can be told: in doubt it does."""
    if not identities(zero.target).isdisjoint(identities(optimizer)):
        return True
    if zero.how == "grad":
        return True
    if zero.target is not None and zero.target.role != "optimizer":
        held = modules_behind(optimizer)
        if not held:
            return True
        inside = identities(zero.target)
        return not held.isdisjoint(inside) or not any(option.role == "module" for option in zero.target.options())
    return zero.target is None or zero.target.role is None


def backwards_before(scope: StepScope) -> list[Backward]:
    """Backwards that the step may consume, nearest first."""
    found = [
        event
        for event in scope.of(Backward)
        if isinstance(event, Backward) and not event.excludes(scope.step) and event.via not in OWN_PROTOCOL
    ]
    return sorted(found, key=lambda event: (event.index > scope.step.index, -event.index))


def modulo_guard(event: Event, loop: Loop | None) -> Guard | None:
    """The guard that lets an event pass once in n iterations of the loop."""
    guard = event.guarded("modulo")
    if guard is None or guard.holds is _tests_remainder(guard):
        return None
    return guard


def _tests_remainder(guard: Guard) -> bool:
    """Whether the condition is a remainder itself, which is true in all iterations but one of n."""
    if "remainder" in guard.kinds:
        return True
    return "%" in guard.text and not any(sign in guard.text for sign in ("==", "<", ">", " in ", " is ", "not "))
