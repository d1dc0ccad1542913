"""The gradient scaler's calls do not fit together."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import same
from engine.rules.facts.order import nearest_before
from engine.rules.remedies.order import built_before
from engine.rules.remedies.stepping import scaled, updated
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import (
    Backward,
    Event,
    ModuleCreated,
    OptimizerCreated,
    OptimizerStep,
    ScalerCreated,
    ScalerStep,
    ScalerUpdate,
    Unscale,
)


@rule("PF205", "gradscaler-protocol", "error", "scale, step and update of a GradScaler do not fit together")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _built_in_loop(trace)
    for step in trace.of(ScalerStep):
        around: list[Event] = list(trace.family(step))
        if not any(isinstance(e, ScalerUpdate) and same(e.scaler, step.scaler) for e in around):
            yield Draft(
                step.place,
                "No `update()` of this scaler was found: the scale never adapts, and the next `step()` raises because "
                "the optimizer's state was not reset.",
                fix=updated(step),
            )
        backward = nearest_before([e for e in around if e.root is step.root], step, Backward)
        if isinstance(backward, Backward) and backward.via == "tensor" and not _any_scaled(around, step, backward):
            yield Draft(
                backward.place,
                "The loss is back-propagated unscaled and the step divides the gradients by the loss scale: "
                "they vanish.",
                (Step(step.place, "stepped through the scaler here"),),
                fix=scaled(backward, step),
            )
    for direct in trace.of(OptimizerStep):
        yield from _direct(trace, direct)


def _any_scaled(events: list[Event], step: ScalerStep, backward: Backward) -> bool:
    """Whether a scaled backward may give the gradients of this step: one since the step before it, or, where nothing
    tells the steps of a loop apart, any."""
    earlier = [e for e in events if isinstance(e, ScalerStep) and e.index < backward.index and not e.excludes(step)]
    since = max((e.index for e in earlier if e.loops == step.loops and e.iterations == step.iterations), default=-1)
    return any(
        isinstance(e, Backward)
        and e.via == "scaler"
        and not e.excludes(step)
        and (since < e.index < step.index or since < 0)
        for e in events
    )


def _built_in_loop(trace: Trace) -> Iterator[Draft]:
    for created in trace.of(ScalerCreated):
        loop = next((loop for loop in created.loops if loop.innermost_training), None)
        if loop is None:
            yield from _built_per_epoch(created, trace)
        if loop is not None and created.enabled is not False:
            yield Draft(
                created.place,
                "A new scaler in each step starts at the initial scale again: it never adapts. Build it once.",
                (Step(loop.place, "the training loop"),),
                fix=built_before(created, loop),
            )


def _built_per_epoch(created: ScalerCreated, trace: Trace) -> Iterator[Draft]:
    """A scaler of each epoch, while the optimizer that it serves lives on."""
    loop = created.loop
    if loop is None or not loop.trains or loop.innermost_training or created.enabled is False or created.guards:
        return
    made = [event for event in trace.within(loop, OptimizerCreated, ModuleCreated) if event.loop is loop]
    if not made:
        yield Draft(
            created.place,
            "A new scaler in each pass of this loop starts at the initial scale again and skips steps until it has "
            "adapted. Build it once.",
            (Step(loop.place, "the training loop"),),
            severity="warning",
            fix=built_before(created, loop),
        )


def _direct(trace: Trace, step: OptimizerStep) -> Iterator[Draft]:
    if step.via != "direct":
        return
    family: Iterator[Event] = trace.family(step)
    around = [event for event in family if event.root is step.root]
    backward = nearest_before(around, step, Backward)
    if not isinstance(backward, Backward) or backward.via != "scaler":
        return
    for event in around:
        if isinstance(event, Unscale) and not event.excludes(step):
            return
        if isinstance(event, ScalerStep) and same(event.optimizer, step.optimizer) and not event.excludes(step):
            return
    if not backward.common_loops(step) and (backward.loops or step.loops):
        return
    yield Draft(
        step.place,
        "The optimizer steps directly on gradients that are still multiplied by the loss scale; call "
        "`scaler.step(optimizer)` and `scaler.update()`.",
        (Step(backward.place, "the scaled backward"),),
    )
