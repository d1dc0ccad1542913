"""A scaler over parameters that are float16 themselves."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, modules_behind
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Forward, MethodCall, ScalerStep, Transfer


@rule("PF214", "fp16-params-with-gradscaler", "error", "A GradScaler steps float16 parameters")
def check(trace: Trace) -> Iterator[Draft]:
    steps = list(trace.of(ScalerStep))
    for event in trace.of(Transfer, MethodCall, Forward):
        if isinstance(event, Transfer):
            module = event.value if event.how == "half" else None
        elif isinstance(event, MethodCall):
            module = event.receiver if event.method == "half" else None
        elif isinstance(event, Forward):
            module = event.module if event.method == "half" else None
        else:
            continue
        if module is None or module.role != "module":
            continue
        known = identities(module)
        for step in steps:
            if not known.isdisjoint(modules_behind(step.optimizer)):
                yield Draft(
                    event.place,
                    "The parameters themselves become float16, and the scaler refuses to unscale float16 "
                    "gradients. Keep "
                    "them in float32 and use autocast.",
                    (Step(step.place, "stepped through the scaler here"),),
                )
                break
