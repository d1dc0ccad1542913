"""Facts about optimization: steps, what they update, and the loops they stand in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.rules.facts.identity import identities, modules_behind
from engine.trace import Guard, Loop, Trace, Value
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
    """Each optimizer step in the loop that repeats it (the framework's loop for Lightning's manual optimization)."""
    seen = set()
    for step in trace.of(OptimizerStep):
        if step.via in OWN_PROTOCOL:
            continue
        loop = trace.step_loop(step)
        key = (step.place, id(loop) if loop is not None else id(step.root))
        if key in seen:
            continue
        seen.add(key)
        if loop is not None:
            yield StepScope(step, loop, tuple(trace.within(loop)))
        elif lightning_step(step):
            yield StepScope(step, None, tuple(trace.family(step)))


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
    return "%" in guard.text and not any(sign in guard.text for sign in ("==", "<", ">", " in ", " is ", "not "))
