"""Which activation a loss's input went through."""

from __future__ import annotations

from engine.trace import Step, Value
from engine.trace.events import LossCall


def activation_of(value: Value | None, *kinds: str) -> Value | None:
    """The activation of one of these kinds that the value is a result of, on every path."""
    if value is None:
        return None
    found: Value | None = None
    for option in value.options():
        activation = option.activation
        if activation is None or activation.kind not in kinds:
            return None
        found = found or activation
    return found


_SUMS = frozenset({"operator", "matmul", "add", "sub", "mm", "bmm"})
_REARRANGES = frozenset(
    {"view", "reshape", "squeeze", "unsqueeze", "flatten", "transpose", "permute", "getitem", "forward-result", "float"}
    | {"contiguous", "to", "t", "element", "index_select", "chunk", "select", "sum"}
)


def unbounded(value: Value | None) -> Value | None:
    """The output of a linear layer that a value is, or that other terms were added to, on every path."""
    if value is None:
        return None
    found: Value | None = None
    for option in value.options():
        linear = _linear_term(option, 8)
        if linear is None:
            return None
        found = found or linear
    return found


def _linear_term(value: Value, depth: int) -> Value | None:
    activation = value.activation
    if activation is not None:
        return activation if activation.kind == "logits" else None
    if not depth or not value.parents:
        return None
    if value.op in _REARRANGES:
        return unbounded(value.parents[0]) if depth > 1 else None
    if value.op in _SUMS:
        return next((term for part in value.parents if (term := _linear_term(part, depth - 1))), None)
    return None


def applied(activation: Value, loss: LossCall, named: str) -> tuple[Step, ...]:
    """Evidence: where the activation is applied, and where the loss was built."""
    steps = [Step(activation.place, f"{named} is applied here")]
    if loss.made_at is not None and loss.made_at != loss.place:
        steps.append(Step(loss.made_at, "the loss is built here"))
    return tuple(steps)
