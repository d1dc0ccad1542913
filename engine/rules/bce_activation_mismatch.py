"""A binary cross-entropy and its input disagree about the sigmoid."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.activations import activation_of, applied, unbounded
from engine.rules.remedies.activations import with_logits, without_activation
from engine.rules.rule import Draft, rule
from engine.trace import Trace
from engine.trace.events import LossCall


@rule("PF403", "bce-activation-mismatch", "error", "Binary cross-entropy gets a sigmoid too many, or one too few")
def check(trace: Trace) -> Iterator[Draft]:
    for loss in trace.of(LossCall):
        if loss.alternative:
            continue
        if loss.kind == "binary_cross_entropy_with_logits":
            activation = activation_of(loss.input, "sigmoid", "probabilities")
            if activation is not None:
                yield Draft(
                    loss.place,
                    "This loss applies a sigmoid itself, to an input that has already been through one: "
                    "predictions are "
                    "squeezed into (0.5, 0.73). Pass the logits.",
                    applied(activation, loss, "the sigmoid"),
                    fix=without_activation(trace, activation, loss),
                )
        elif loss.kind == "binary_cross_entropy":
            activation = activation_of(loss.input, "log-probabilities", "log-sigmoid") or unbounded(loss.input)
            if activation is not None:
                yield Draft(
                    loss.place,
                    "This loss takes probabilities and is given values outside of [0, 1]: it raises, or is not "
                    "a likelihood. "
                    "Use `binary_cross_entropy_with_logits`.",
                    applied(activation, loss, "the last layer"),
                    fix=with_logits(trace, loss) if activation_of(loss.input, "logits") else None,
                )
