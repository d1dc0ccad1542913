"""Cross-entropy takes logits, and is given probabilities."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.activations import activation_of, applied
from engine.rules.remedies.activations import without_activation
from engine.rules.rule import Draft, rule
from engine.trace import Trace
from engine.trace.events import LossCall


@rule("PF401", "softmax-before-cross-entropy", "error", "cross_entropy is given softmax probabilities")
def check(trace: Trace) -> Iterator[Draft]:
    for loss in trace.of(LossCall):
        activation = activation_of(loss.input, "probabilities", "sigmoid")
        if loss.kind != "cross_entropy" or activation is None or loss.alternative:
            continue
        named = "softmax" if activation.kind == "probabilities" else "sigmoid"
        yield Draft(
            loss.place,
            f"This cross-entropy applies log-softmax to an input that a {named} has already normalised: gradients "
            "become small and the loss can not reach zero. Pass the logits.",
            applied(activation, loss, named),
            fix=without_activation(trace, activation, loss),
        )
