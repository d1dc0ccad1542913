"""Functional dropout that evaluation mode does not switch off."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.text import replace, source_of
from engine.rules.rule import Draft, FixMaker, rule
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
            fix=_fix(trace, dropout),
        )


def _off(dropout: FunctionalDropout) -> bool:
    probability = dropout.probability
    return probability is not None and probability.is_constant and not probability.constant


def _fix(trace: Trace, dropout: FunctionalDropout) -> FixMaker | None:
    text = source_of(trace.project, dropout.place)
    if dropout.kind == "scaled_dot_product_attention" or dropout.training is not None or not text.endswith(")"):
        return None
    if "forward" not in dropout.function.rpartition(".")[2]:
        return None
    return replace(dropout.place, f"{text[:-1].rstrip(', ')}, training=self.training)", "Follow the module's mode")
