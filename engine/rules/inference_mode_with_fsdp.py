"""inference_mode around a sharded model."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.distributed import sharded_by_framework
from engine.rules.facts.identity import same
from engine.rules.rule import Draft, rule
from engine.trace import Context, Place, Step, Trace, Value
from engine.trace.events import Forward


@rule("PF305", "inference-mode-with-fsdp", "error", "A sharded model runs under inference_mode")
def check(trace: Trace) -> Iterator[Draft]:
    said: set[Place] = set()
    for forward in trace.of(Forward):
        context = forward.context("inference_mode")
        if context is None or not any(_sharded(trace, option, context) for option in forward.module.options()):
            continue
        if context.place in said:
            continue
        said.add(context.place)
        yield Draft(
            context.place.start,
            "FSDP gathers its parameters in the passes under this `inference_mode`, and they become inference tensors "
            "that later training passes can not use. Use `torch.no_grad()`.",
            (Step(forward.place, "the sharded model runs under it"),),
        )


def _sharded(trace: Trace, module: Value, context: Context) -> bool:
    """Wrapped here, or sharded by a framework's strategy and trained in the same file: with that, inference alone is
    common."""
    if module.origin.prepared is not None and sharded_by_framework(module.origin):
        return any(
            other.output.feeds_backward and other.place.path == context.place.path and same(other.module, module)
            for other in trace.of(Forward)
        )
    value: Value | None = module
    for _ in range(8):
        if value is None:
            return False
        if value.wrapping == "fsdp":
            return True
        value = value.wrapped
    return False
