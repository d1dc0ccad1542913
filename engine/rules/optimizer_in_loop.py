"""A new optimizer in every step."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.order import guards_inside
from engine.rules.remedies.order import built_before
from engine.rules.rule import Draft, rule
from engine.trace import Loop, Step, Trace, Value
from engine.trace.events import Event, OptimizerCreated


@rule("PF209", "optimizer-in-loop", "error", "A new optimizer is built in each training step")
def check(trace: Trace) -> Iterator[Draft]:
    for created in trace.of(OptimizerCreated):
        loop = next((loop for loop in created.loops if loop.innermost_training), None)
        if loop is None:
            yield from _per_epoch(created)
        if loop is None or guards_inside(trace, created, loop) or _only_first(trace, created, loop):
            continue
        held = [option.origin for module in created.optimizer.of for option in module.options()]
        if not held or any(loop in module.loops for module in held):
            continue
        yield Draft(
            created.place,
            "A new optimizer in each step starts without moments or momentum. Build it once, before the loop.",
            (Step(loop.place, "the training loop"),),
            fix=built_before(created, loop) if _outermost(created, loop, held) else None,
        )


def _only_first(trace: Trace, created: OptimizerCreated, loop: Loop) -> bool:
    """Whether it is built in the loop's first iteration and not again: `if self.optimizer is None`."""
    depth = created.loops.index(loop)
    events: Iterator[Event] = trace.within(loop)
    if not any(event.iterations[depth] for event in events):
        return False
    return not any(
        other.place == created.place and other.iterations[depth] for other in trace.within(loop, OptimizerCreated)
    )


def _outermost(created: OptimizerCreated, loop: Loop, held: list[Value]) -> bool:
    """Whether the optimizer, once it is built before this loop, is built as often as what it steps."""
    return all(outer is loop or any(outer in module.loops for module in held) for outer in created.loops)


def _per_epoch(created: OptimizerCreated) -> Iterator[Draft]:
    """A new optimizer in each pass of a loop that trains a model made before it."""
    loop = created.loop
    if loop is None or not loop.trains or loop.kind in ("literal", "while") or created.guards:
        return
    held = [option.origin for module in created.optimizer.of for option in module.options()]
    if not held or any(loop in module.loops or module.op == "element" for module in held):
        return
    yield Draft(
        created.place,
        "A new optimizer in each pass of this loop forgets the moments and the momentum of the pass before. Where that "
        "is not meant, build it once, and change its learning rate.",
        (Step(loop.place, "the loop around the training"),),
        severity="warning" if loop.kind == "range" else "note",
    )
