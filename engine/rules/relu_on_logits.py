"""Logits are cut off at zero before the loss."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.activations import activation_of, applied
from engine.rules.rule import Draft, rule
from engine.trace import Trace
from engine.trace.events import LossCall

_TAKES_LOGITS = frozenset({"cross_entropy", "binary_cross_entropy_with_logits"})


@rule("PF407", "relu-on-logits", "error", "Logits go through a relu before the loss")
def check(trace: Trace) -> Iterator[Draft]:
    for loss in trace.of(LossCall):
        activation = activation_of(loss.input, "relu") if loss.kind in _TAKES_LOGITS else None
        if activation is not None:
            yield Draft(
                loss.place,
                "The logits of this loss go through a relu: none can fall below zero, and classes at zero get "
                "no gradient. "
                "Leave the last layer linear.",
                applied(activation, loss, "the relu"),
            )
