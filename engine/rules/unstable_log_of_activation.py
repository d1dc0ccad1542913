"""A logarithm of a sigmoid or softmax, computed in two steps."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.activations import activation_of, applied
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import FunctionCall, LossCall, MethodCall


@rule("PF406", "unstable-log-of-activation", "note", "log of a sigmoid or softmax loses precision")
def check(trace: Trace) -> Iterator[Draft]:
    for loss in trace.of(LossCall):
        activation = activation_of(loss.input, "sigmoid") if loss.kind == "binary_cross_entropy" else None
        if activation is not None:
            yield Draft(
                loss.place,
                "Sigmoid and binary cross-entropy in two steps saturate for confident predictions; "
                "`binary_cross_entropy_with_logits` computes both in one stable step, and is allowed under autocast.",
                applied(activation, loss, "the sigmoid"),
            )
    for call in trace.of(FunctionCall, MethodCall):
        if isinstance(call, FunctionCall):
            taken = call.arguments[0] if call.name == "torch.log" and call.arguments else None
        elif isinstance(call, MethodCall):
            taken = call.receiver if call.method == "log" else None
        else:
            continue
        activation = activation_of(taken, "sigmoid", "probabilities")
        if activation is not None:
            better = "logsigmoid" if activation.kind == "sigmoid" else "log_softmax"
            yield Draft(
                call.place,
                f"The logarithm of a saturated activation is -inf in float32; `{better}` computes both in one "
                "stable step.",
                (Step(activation.place, "the activation"),),
            )
