"""A wrapped model is called past its wrapper."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities
from engine.rules.remedies.frameworks import through_wrapper
from engine.rules.rule import Draft, rule
from engine.trace import Guard, Step, Trace
from engine.trace.events import Forward, FunctionCall, ThroughWrapper, Wrapped


@rule("PF503", "ddp-module-bypass", "error", "A training pass calls the module inside its distributed wrapper")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _not_handed_on(trace)
    yield from _never_through(trace)
    for forward in trace.of(Forward):
        wrapper = forward.bypasses
        if wrapper is None or not forward.output.feeds_backward or wrapper.wrapping not in ("ddp", "fsdp"):
            continue
        if forward.method not in ("__call__", "forward") and any(
            other.module is wrapper and other.output.feeds_backward for other in trace.of(Forward)
        ):
            # The pass itself goes through the wrapper.
            continue
        if any(other.stack[: len(forward.stack) + 1] and other.module is wrapper for other in _around(trace, forward)):
            continue
        yield Draft(
            forward.place,
            "This training pass calls the inner module: the distributed wrapper prepares its gradient reduction "
            "in its own "
            "forward, so ranks drift apart. Call the wrapped model.",
            (Step(wrapper.place, "wrapped here"),),
            fix=through_wrapper(forward),
        )


def _never_through(trace: Trace) -> Iterator[Draft]:
    """The model inside is kept and trained, and no training pass goes through the wrapper around it."""
    for wrapped in trace.of(Wrapped):
        if wrapped.how != "ddp" or wrapped.guards or len(wrapped.module.options()) > 1:
            continue
        through = identities(wrapped.wrapper)
        inner = wrapped.module.origin
        passes = [f for f in trace.of(Forward) if f.grad is True and f.output.feeds_backward]
        if any(wrapped.wrapper in f.module.options() for f in passes) or not through:
            continue
        direct = next((f for f in passes if f.module is inner and f.bypasses is None and f.mode != "eval"), None)
        if direct is None or (direct.root is wrapped.root and direct.index < wrapped.index):
            continue
        if any(wrapped.wrapper in value.options() for call in trace.of(FunctionCall) for value in call.arguments):
            continue
        place = direct.place
        if inner.cls is not None and place.path == inner.cls.path and direct.stack:
            place = direct.stack[-1]
        yield Draft(
            place,
            "This training pass calls the model inside of its distributed wrapper, and none goes through the wrapper, "
            "which prepares the reduction of gradients in its own forward: ranks drift apart.",
            (Step(wrapped.place, "wrapped here"),),
        )


def _not_handed_on(trace: Trace) -> Iterator[Draft]:
    """A method of the model, asked of its wrapper."""
    for asked in trace.of(ThroughWrapper):
        wrapped = next((event for event in trace.of(Wrapped) if event.wrapper is asked.wrapper), None)
        if (
            not asked.certain
            or wrapped is None
            or wrapped.excludes(asked)
            or any(_tests_wrapping(guard) for guard in asked.guards)
        ):
            continue
        yield Draft(
            asked.place,
            f"The wrapper does not hand `{asked.name}` on to the model inside: with it this raises an AttributeError. "
            f"Ask `.module.{asked.name}`, or keep the model from before it is wrapped.",
            (Step(wrapped.place, "wrapped here"),),
        )


def _tests_wrapping(guard: Guard) -> bool:
    return "hasattr" in guard.text or "isinstance" in guard.text


def _around(trace: Trace, forward: Forward) -> Iterator[Forward]:
    """Passes through the wrapper that this call is a part of."""
    for other in trace.family(forward, Forward):
        if other is not forward and other.place in forward.stack:
            yield other
