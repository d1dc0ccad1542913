"""Facts about evaluation: forward passes in loops that train nothing."""

from __future__ import annotations

from collections.abc import Iterator

from engine.trace import Loop, Place, Trace, Value
from engine.trace.events import Forward

_SMALL = frozenset({"literal"})


def evaluation_loop(forward: Forward) -> Loop | None:
    """The innermost loop around a forward pass, where it trains nothing and runs over more than a display."""
    loop = forward.loop
    if loop is None or loop.trains or loop.kind in _SMALL:
        return None
    return loop


def trains_nothing(forward: Forward) -> bool:
    """Whether no backward and no `autograd.grad` starts from what the forward pass computes."""
    return not any(v.feeds_backward or v.feeds_autograd_grad for v in (forward.output, *forward.inputs))


def inputs_want_gradients(forward: Forward) -> bool:
    """Whether an input asks for gradients: attribution, forces, adversarial examples."""
    values = [*forward.inputs, *forward.keywords.values()]
    return any(ancestor.requires_grad for value in values for ancestor in value.ancestors(limit=200))


def frozen(module: Value) -> bool:
    return module.requires_grad is False or module.origin.requires_grad is False


def forwards_by_place(trace: Trace) -> Iterator[list[Forward]]:
    """Forward passes grouped by the call that makes them, in order."""
    groups: dict[object, list[Forward]] = {}
    for forward in trace.of(Forward):
        groups.setdefault(forward.place, []).append(forward)
    yield from groups.values()


def call_in_loop(forward: Forward, loop: Loop) -> Place:
    """The call in the body of a loop that leads to a forward pass."""
    depth = len(forward.stack)
    for place in (*forward.stack, forward.place):
        inside = loop.place.line <= place.line <= max(loop.place.end_line, loop.place.line)
        if place.path == loop.place.path and inside:
            return place
    return forward.place if not depth else forward.stack[-1]
