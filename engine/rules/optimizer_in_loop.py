"""A new optimizer in every step."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.remedies.order import built_before
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import OptimizerCreated


@rule("PF209", "optimizer-in-loop", "error", "A new optimizer is built in each training step")
def check(trace: Trace) -> Iterator[Draft]:
    for created in trace.of(OptimizerCreated):
        loop = next((loop for loop in created.loops if loop.innermost_training), None)
        if loop is None or (created.guards and any(guard.place >= loop.place for guard in created.guards)):
            continue
        held = [option.origin for module in created.optimizer.of for option in module.options()]
        if not held or any(loop in module.loops for module in held):
            continue
        yield Draft(
            created.place,
            "A new optimizer in each step starts without moments or momentum. Build it once, before the loop.",
            (Step(loop.place, "the training loop"),),
            fix=built_before(created, loop),
        )
