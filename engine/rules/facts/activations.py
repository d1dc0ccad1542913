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


def applied(activation: Value, loss: LossCall, named: str) -> tuple[Step, ...]:
    """Evidence: where the activation is applied, and where the loss was built."""
    steps = [Step(activation.place, f"{named} is applied here")]
    if loss.made_at is not None and loss.made_at != loss.place:
        steps.append(Step(loss.made_at, "the loss is built here"))
    return tuple(steps)
