"""A learning-rate scheduler is stepped at the wrong moment or too often."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, same
from engine.rules.facts.text import remove_lines
from engine.rules.remedies.order import once_per_epoch, schedule_after
from engine.rules.rule import Draft, rule
from engine.trace import Loop, Place, Step, Trace, Value
from engine.trace.events import OptimizerStep, Prepare, SchedulerCreated, SchedulerStep, Store

_PER_EPOCH = {"StepLR": ("step_size", "1"), "MultiStepLR": ("milestones", "1"), "CosineAnnealingLR": ("T_max", "1")}

_HANDFUL = 100
"""Steps after which no training is over: a drop by half in so few is meant in epochs."""


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
        for part in _chained(step.scheduler.origin):
            yield from _every_batch(step, part)
        yield from _few_steps(step, name)
        yield from _once_per_epoch(step)
    yield from _shared_length(trace)


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
    if any(
        store.attribute == "last_epoch" and store.container is not None and same(store.container, step.scheduler)
        for store in trace.of(Store)
    ):
        # The count is set by hand: what the first step makes of it is the epoch that begins.
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


def _chained(scheduler: Value) -> Iterator[Value]:
    """The schedule itself, or those that it plays one after another or together."""
    parts = scheduler.keyword("schedulers", "1") if scheduler.made_by.endswith(_CHAINS) else None
    yield from (part.origin for part in parts.elements()) if parts is not None else (scheduler,)


_CHAINS = ("SequentialLR", "ChainedScheduler")


def _every_batch(step: SchedulerStep, built: Value) -> Iterator[Draft]:
    """An argument that counts epochs: it is made from what the loop over epochs counts to."""
    name = built.made_by.rpartition(".")[2]
    batch = next((loop for loop in reversed(step.loops) if loop.innermost_training), None)
    if name not in _PER_EPOCH or batch is None:
        return
    epochs = step.loops[: step.loops.index(batch)]
    argument = built.keyword(*_PER_EPOCH[name])
    if argument is None or not epochs or _in_batches(argument):
        return
    counted = next((loop for loop in epochs if _shares_source(argument, loop)), None)
    if counted is None:
        return
    yield Draft(
        step.place,
        f"This {name} counts epochs and is stepped in each batch: the learning rate decays within the first epochs.",
        (Step(built.place, "built with a number of epochs"), Step(counted.place, "the epochs")),
        fix=once_per_epoch(step, batch),
    )


def _in_batches(argument: Value) -> bool:
    """Whether a count of epochs was multiplied by something that the program works out: the batches of one, mostly."""
    parts = [value for part in (argument, *argument.elements()) for value in part.ancestors(limit=60)]
    return any(
        part.op == "len" or (part.op == "operator*" and not any(factor.is_constant for factor in part.parents))
        for part in parts
    )


def _few_steps(step: SchedulerStep, name: str) -> Iterator[Draft]:
    """A drop by half or more after a handful of steps, or milestones that are all reached by the number of epochs, and
    a step in each batch of each epoch."""
    batch = next((loop for loop in reversed(step.loops) if loop.innermost_training), None)
    if name not in ("StepLR", "MultiStepLR") or batch is None or step.loops.index(batch) == 0:
        return
    built = step.scheduler.origin
    argument, gamma = built.keyword(*_PER_EPOCH[name]), built.keyword("gamma", "2")
    counts = [part.constant for part in (argument, *argument.elements())] if argument is not None else []
    numbers = [count for count in counts if isinstance(count, int)]
    drop = gamma.constant if gamma is not None else 0.1
    epochs = step.loops[step.loops.index(batch) - 1]
    passes = _passes(epochs) or 0
    few = bool(numbers) and max(numbers) <= (max(_HANDFUL, passes) if name == "MultiStepLR" else _HANDFUL)
    if not few or not isinstance(drop, int | float) or drop > 0.5:
        return
    yield Draft(
        step.place,
        f"This {name} is stepped in each batch and multiplies the learning rate by {drop} after {numbers[0]} of them: "
        "within a few epochs it is practically zero. Step it once per epoch.",
        (Step(built.place, "built here"), Step(epochs.place, "the epochs")),
        fix=once_per_epoch(step, batch),
    )


def _passes(loop: Loop) -> int | None:
    """How often a loop runs, or would with the defaults of its function's parameters."""
    if loop.count is not None or loop.kind != "range" or loop.iterates is None:
        return loop.count
    bounds = [part.default or part for part in loop.iterates.parents]
    stop = bounds[0 if len(bounds) == 1 else 1].constant if bounds else None
    return stop if isinstance(stop, int) else None


def _once_per_epoch(step: SchedulerStep) -> Iterator[Draft]:
    """A schedule whose length was computed from the number of batches, stepped outside of the loop over them."""
    loop = step.loop
    if loop is None or not loop.trains or loop.innermost_training:
        return
    built = step.scheduler.origin
    for name, argument in built.keywords.items():
        if name == "optimizer" or argument.is_constant:
            continue
        counted = next((p for p in argument.ancestors(limit=30) if p.op == "len" and p.parents), None)
        if counted is None or counted.parents[0].origin.role != "loader":
            continue
        yield Draft(
            step.place,
            "The length of this schedule counts batches, and it is stepped once per pass of this loop: only its first "
            "part is ever reached. Step it after each optimizer step.",
            (Step(counted.place, "batches are counted here"), Step(loop.place, "stepped once in each of these")),
        )
        return


def _shared_length(trace: Trace) -> Iterator[Draft]:
    """A prepared scheduler advances once for each process, and its length was taken from one process's share.

    https://huggingface.co/docs/accelerate/concept_guides/gradient_synchronization, `AcceleratedScheduler.step`
    """
    prepares = [prepare for prepare in trace.of(Prepare) if prepare.library == "accelerate"]
    for created in trace.of(SchedulerCreated):
        known = identities(created.scheduler)
        handed = next((p for p in prepares if not known.isdisjoint(identities(*p.objects))), None)
        if handed is None:
            continue
        for argument in created.scheduler.keywords.values():
            made_from = list(argument.ancestors(limit=40))
            if any("num_processes" in part.name or "world-size" in part.about for part in made_from):
                continue
            counted = next((p for p in made_from if p.op == "len" and p.parents), None)
            if counted is None:
                continue
            data = identities(counted.parents[0])
            before = next((p for p in prepares if not data.isdisjoint(identities(*p.objects))), None)
            if before is not None and before.root is created.root and _earlier(before.place, counted.place):
                yield Draft(
                    created.place,
                    "This length counts the batches of one process, and a prepared scheduler advances once for each "
                    "process at every step: the schedule ends early. Count before `prepare`, or multiply by "
                    "`num_processes`.",
                    (Step(before.place, "split among processes here"), Step(counted.place, "counted here")),
                    severity="note",
                )
                break


def _earlier(first: Place, second: Place) -> bool:
    return first.path == second.path and first.line < second.line


def _shares_source(argument: Value, loop: Loop) -> bool:
    if loop.iterates is None:
        return False
    named = {id(value) for value in loop.iterates.ancestors(limit=60) if not value.is_constant}
    values = [value for part in (argument, *argument.elements()) for value in part.ancestors(limit=60)]
    return any(id(value) in named for value in values)
