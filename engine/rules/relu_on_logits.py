"""Logits are cut off at zero before the loss."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.activations import activation_of, applied
from engine.rules.remedies.activations import without_activation
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Activation, LossCall

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
                fix=without_activation(trace, activation, loss),
            )
    for softmax in trace.of(Activation):
        relu = softmax.input.activation if softmax.kind == "log_softmax" and softmax.input is not None else None
        if relu is None or relu.kind != "relu" or not relu.parents:
            continue
        if activation_of(relu.parents[0], "logits") is not None:
            yield Draft(
                relu.place,
                "The logits go through a relu right before log-softmax: none can fall below zero, and classes at zero "
                "get no gradient. Leave the last layer linear.",
                (Step(softmax.place, "normalised here"),),
            )
