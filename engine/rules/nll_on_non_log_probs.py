"""The negative log likelihood is given something that is not a log-probability."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.activations import activation_of, applied, unbounded
from engine.rules.remedies.activations import log_of_activation
from engine.rules.rule import Draft, rule
from engine.trace import Trace
from engine.trace.events import LossCall

_GIVEN = {"probabilities": "softmax", "sigmoid": "sigmoid", "relu": "relu", "logits": "a linear layer"}


@rule("PF402", "nll-on-non-log-probs", "error", "nll_loss is given something else than log-probabilities")
def check(trace: Trace) -> Iterator[Draft]:
    for loss in trace.of(LossCall):
        if loss.kind != "nll_loss" or loss.alternative:
            continue
        activation = activation_of(loss.input, *_GIVEN) or unbounded(loss.input)
        if activation is None:
            continue
        named = _GIVEN[activation.kind]
        yield Draft(
            loss.place,
            f"nll_loss expects log-probabilities and is given the output of {named}: the value is no likelihood and "
            "gradients point the wrong way. Use `log_softmax`, or `cross_entropy` on logits.",
            applied(activation, loss, named),
            fix=log_of_activation(trace, activation, loss) if activation.kind == "probabilities" else None,
        )
