"""Functional dropout that evaluation mode does not switch off."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.remedies.frameworks import following_mode
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import FunctionalDropout


@rule("PF304", "functional-dropout-always-on", "error", "Functional dropout ignores eval()")
def check(trace: Trace) -> Iterator[Draft]:
    for dropout in trace.of(FunctionalDropout):
        if dropout.in_module is None or _off(dropout) or any("training" in guard.text for guard in dropout.guards):
            continue
        if dropout.kind == "scaled_dot_product_attention":
            if dropout.probability is None or len(dropout.probability.options()) > 1:
                continue
            what = "`dropout_p` applies in every mode"
            advice = "pass `dropout_p=... if self.training else 0.0`"
        else:
            if dropout.training is not None and dropout.training.constant is not True:
                continue
            what = "its `training` defaults to True" if dropout.training is None else "`training` is True here"
            advice = "pass `training=self.training` or use a dropout module"
        yield Draft(
            dropout.place,
            f"This dropout stays on after `eval()`: {what}; {advice}.",
            (Step(dropout.in_module.place, "the module whose mode it does not follow"),),
            fix=following_mode(dropout),
        )


def _off(dropout: FunctionalDropout) -> bool:
    probability = dropout.probability
    return probability is not None and probability.is_constant and not probability.constant
