"""A learning-rate scheduler is stepped at the wrong moment or too often."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import same
from engine.rules.facts.text import remove_lines
from engine.rules.remedies.order import once_per_epoch, schedule_after
from engine.rules.rule import Draft, rule
from engine.trace import Loop, Step, Trace, Value
from engine.trace.events import OptimizerStep, SchedulerStep

_PER_EPOCH = {"StepLR": ("step_size", "1"), "MultiStepLR": ("milestones", "1"), "CosineAnnealingLR": ("T_max", "1")}


@rule("PF203", "scheduler-misuse", "error", "A learning-rate scheduler is stepped at the wrong moment")
def check(trace: Trace) -> Iterator[Draft]:
    steps = list(trace.of(SchedulerStep))
    for step in steps:
        name = step.scheduler.origin.made_by.rpartition(".")[2]
        if name == "ReduceLROnPlateau":
            if not step.arguments:
                yield Draft(
                    step.place,
                    "`ReduceLROnPlateau.step` needs the monitored value; without it this call raises a TypeError.",
                    (Step(step.scheduler.origin.place, "built here"),),
                )
            continue
        if step.arguments or step.guarded("modulo"):
            continue
        yield from _twice(steps, step)
        yield from _before_optimizer(trace, step)
        yield from _every_batch(step, name)


def _twice(steps: list[SchedulerStep], step: SchedulerStep) -> Iterator[Draft]:
    """Stepped in the loop over batches, and again in the loop around it."""
    batch = next((loop for loop in reversed(step.loops) if loop.innermost_training), None)
    if batch is None:
        return
    for other in steps:
        outer = other.loops and batch not in other.loops and other.loops[-1] in step.loops
        if outer and same(other.scheduler, step.scheduler) and not other.arguments and not other.excludes(step):
            yield Draft(
                step.place,
                "This schedule advances in each batch here, and once more per epoch elsewhere: it counts neither.",
                (Step(other.place, "stepped here too, in the loop around"),),
                fix=remove_lines(step.place, "Step once per epoch only", safe=False),
            )
            return


def _before_optimizer(trace: Trace, step: SchedulerStep) -> Iterator[Draft]:
    if not step.loops or step.guards:
        return
    owner = step.scheduler.origin.keyword("optimizer", "0")
    optimizer_steps = [
        other
        for other in trace.of(OptimizerStep)
        if other.root is step.root and other.common_loops(step) and (owner is None or same(other.optimizer, owner))
    ]
    if not optimizer_steps or any(other.index < step.index for other in optimizer_steps):
        return
    yield Draft(
        step.place,
        "The schedule is stepped before the optimizer in each pass: the first learning rate is skipped. Step it after "
        "the optimizer.",
        (Step(optimizer_steps[0].place, "the optimizer's first step comes later"),),
        fix=schedule_after(step, optimizer_steps[-1]) if _only(trace, step) else None,
    )


def _only(trace: Trace, step: SchedulerStep) -> bool:
    """Whether the schedule is stepped nowhere else."""
    return all(
        other.place == step.place or not same(other.scheduler, step.scheduler) for other in trace.of(SchedulerStep)
    )


def _every_batch(step: SchedulerStep, name: str) -> Iterator[Draft]:
    """An argument that counts epochs: it is made from what the loop over epochs counts to."""
    batch = next((loop for loop in reversed(step.loops) if loop.innermost_training), None)
    if name not in _PER_EPOCH or batch is None:
        return
    epochs = step.loops[: step.loops.index(batch)]
    argument = step.scheduler.origin.keyword(*_PER_EPOCH[name])
    if argument is None or not epochs:
        return
    counted = next((loop for loop in epochs if _shares_source(argument, loop)), None)
    if counted is None:
        return
    yield Draft(
        step.place,
        f"This {name} counts epochs and is stepped in each batch: the learning rate decays within the first epochs.",
        (Step(step.scheduler.origin.place, "built with a number of epochs"), Step(counted.place, "the epochs")),
        fix=once_per_epoch(step, batch),
    )


def _shares_source(argument: Value, loop: Loop) -> bool:
    if loop.iterates is None:
        return False
    named = {id(value) for value in loop.iterates.ancestors(limit=60) if not value.is_constant}
    values = [value for part in (argument, *argument.elements()) for value in part.ancestors(limit=60)]
    return any(id(value) in named for value in values)
