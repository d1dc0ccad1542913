"""Gradients of n micro-batches are summed without dividing by n."""

from __future__ import annotations

from collections.abc import Iterator

from engine.project import UnreadableFile
from engine.rules.facts.training import StepScope, backwards_before, clears, modulo_guard, step_scopes
from engine.rules.remedies.stepping import divided_by_steps
from engine.rules.rule import Draft, rule
from engine.trace import ClassValue, FunctionValue, Guard, Step, Trace, Value
from engine.trace.events import (
    Backward,
    Divided,
    Event,
    FrameworkHook,
    FrameworkTrainer,
    InPlaceUpdate,
    LossCall,
    MethodCall,
    OptimizerStep,
    Return,
    ZeroGrad,
)

_SCALES_ITSELF = frozenset({"accelerator", "deepspeed", "trainer"})


@rule("PF202", "accumulation-unscaled", "error", "Accumulated gradients are a sum where a mean is meant")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _trainer_losses(trace)
    yield from _own_trainer_step(trace)
    yield from _unconfigured(trace)
    yield from _without_context(trace)
    for scope in step_scopes(trace):
        guard = modulo_guard(scope.step, scope.loop)
        if guard is None:
            yield from _inner_loop(trace, scope)
        if guard is None or not _accumulates(scope, guard):
            continue
        for backward in backwards_before(scope)[:1]:
            if guard in backward.guards or backward.via in _SCALES_ITSELF or backward.gradient is not None:
                continue
            if _scaled(trace, backward):
                yield from _short_window(backward, guard, scope)
                continue
            if _gradients_scaled(scope):
                continue
            by = f" by `{guard.divisor}`" if guard.divisor else ""
            yield Draft(
                backward.place,
                f"The loss of each micro-batch is back-propagated whole and the optimizer steps only every "
                f"{f'`{guard.divisor}`' if guard.divisor else 'n'} iterations, so gradients are their sum: the "
                "effective "
                f"learning rate grows with the number of micro-batches. Divide the loss{by}.",
                (Step(guard.place, "steps only when this holds"), Step(backward.loss.place, "the loss, undivided")),
                fix=divided_by_steps(backward, guard.divisor, guard.place, full=" or " not in guard.text),
            )


def _trainer_losses(trace: Trace) -> Iterator[Draft]:
    """A loss of a Hugging Face Trainer that leaves out the number of items it is to be divided by.

    Since transformers 4.46 the Trainer passes `num_items_in_batch`, and divides by the number of accumulation steps
    only where the model's forward does not take it: `Trainer.training_step`, `model_accepts_loss_kwargs`.
    """
    for hook in trace.of(FrameworkHook):
        given = hook.parameters.get("num_items_in_batch")
        if hook.name != "compute_loss" or given is None or _handles_accumulation(trace, hook.cls):
            continue
        played: list[Event] = list(trace.after(hook, Event))
        finished = any(isinstance(event, Return) and event.place.path == hook.place.path for event in played)
        if not finished or any(_passes_on(event, given) for event in played):
            continue
        accumulates = next((a for a in trace.of(FrameworkTrainer) if _accumulation_steps(a) > 1), None)
        yield Draft(
            hook.place.start,
            "This loss does not use `num_items_in_batch`. For a model whose forward takes loss arguments the Trainer "
            "then does not divide by the number of accumulation steps either: gradients are a sum over micro-batches. "
            "Divide by `num_items_in_batch`, or set `self.model_accepts_loss_kwargs = False` in `__init__`.",
            (Step(accumulates.place, "gradients are accumulated"),) if accumulates else (),
            severity="warning" if accumulates else "note",
        )


def _own_trainer_step(trace: Trace) -> Iterator[Draft]:
    """A `training_step` that replaces a Hugging Face Trainer's, which is where that one divides the loss."""
    accumulates = next((a for a in trace.of(FrameworkTrainer) if _accumulation_steps(a) > 1), None)
    if accumulates is None:
        return
    for backward in trace.of(Backward):
        owner = backward.root.owner
        if owner is None or owner.cls is None or owner.cls.family != "hf-trainer":
            continue
        if not backward.function.endswith(".training_step") or backward.loops or _scaled(trace, backward):
            continue
        given = owner.cls.method("training_step")
        names = [each.arg for each in given.node.args.args] if isinstance(given, FunctionValue) else []
        asked = backward.loss.ancestors(limit=40)
        if any(use.made_by.endswith("training_step") or use.name in names[3:] for use in asked):
            continue
        yield Draft(
            backward.place,
            "This step replaces the Trainer's own, which divides the loss by `gradient_accumulation_steps`: here "
            "nothing does, so the gradients are a sum over micro-batches.",
            (Step(accumulates.place, "gradients are accumulated"),),
        )
        return


def _unconfigured(trace: Trace) -> Iterator[Draft]:
    """Accelerate's `accumulate` around a training step, and the default of one step."""
    for backward in trace.of(Backward):
        context = backward.context("accumulate")
        accelerator = context.value if context is not None else None
        if accelerator is None or accelerator.made_by != "accelerate.Accelerator":
            continue
        if any(name.endswith("plugin") or name == "**" for name in accelerator.keywords):
            continue
        if accelerator.keyword("gradient_accumulation_steps", "3") or "gradient_accumulation_steps" in (
            accelerator.attributes
        ):
            continue
        yield Draft(
            accelerator.place,
            "`accumulate` is used with this Accelerator, which is built without `gradient_accumulation_steps`: unless "
            "the launch configuration sets it, each step is an optimizer step.",
            (Step(backward.place, "back-propagated inside of `accumulate`"),),
            severity="note",
        )
        return


def _without_context(trace: Trace) -> Iterator[Draft]:
    """An Accelerator that is told to accumulate, and a training loop that never enters `accumulate`."""
    for step in trace.of(OptimizerStep):
        loop = trace.step_loop(step)
        if loop is None or step.via != "direct" or modulo_guard(step, loop) is not None or step.contexts:
            continue
        backwards = [b for b in trace.within(loop, Backward) if b.via == "accelerator" and not b.contexts]
        if not backwards or backwards[0].loops != step.loops:
            continue
        accelerator = backwards[0].through.origin if backwards[0].through is not None else None
        steps = accelerator.keyword("gradient_accumulation_steps", "3") if accelerator is not None else None
        if accelerator is None or steps is None or steps.constant == 1:
            continue
        if any(accelerator is context.value for event in trace.of(Backward) for context in event.contexts):
            continue
        yield Draft(
            backwards[0].place,
            "This Accelerator is built to accumulate gradients, and the step is not under "
            "`accelerator.accumulate(model)`: every batch steps, with a loss that is divided by the number of "
            "accumulation steps.",
            (Step(steps.place, "asked for here"), Step(step.place, "the step")),
            severity=None if isinstance(steps.constant, int) else "warning",
        )
        return


def _short_window(backward: Backward, guard: Guard, scope: StepScope) -> Iterator[Draft]:
    """The last micro-batches of an epoch make a step of their own, and are divided like a full window."""
    if " or " not in guard.text or not guard.divisor:
        return
    yield Draft(
        backward.place,
        f"The step is also taken at the end of the data, after fewer than `{guard.divisor}` micro-batches; if their "
        "losses are divided by the full number, that step is too small.",
        (Step(guard.place, "steps when this holds"), Step(scope.step.place, "the step")),
        severity="note",
    )


def _handles_accumulation(trace: Trace, cls: ClassValue) -> bool:
    """Whether the class, or one it derives from, scales by itself or tells the Trainer to."""
    for base in cls.lineage():
        if "training_step" in base.methods:
            return True
        try:
            if "model_accepts_loss_kwargs" in trace.project.read_text(base.path):
                return True
        except UnreadableFile:
            return True
    return cls.bases_unknown


def _passes_on(event: Event, given: Value) -> bool:
    """Whether a value takes part in an event, or the base class's own loss is asked for."""
    if isinstance(event, MethodCall) and event.receiver.op == "super" and event.method == "compute_loss":
        return True
    held = [part for value in event.named_values() for part in (value, *value.elements())]
    return any(ancestor is given for value in held for ancestor in value.ancestors(limit=60))


def _accumulation_steps(arguments: FrameworkTrainer) -> int:
    steps = arguments.keywords.get("gradient_accumulation_steps") if arguments.what == "arguments" else None
    return steps.constant if steps is not None and isinstance(steps.constant, int) else 1


def _inner_loop(trace: Trace, scope: StepScope) -> Iterator[Draft]:
    """An inner loop that counts micro-batches, with the optimizer's step after it."""
    for backward in backwards_before(scope)[:1]:
        inner = backward.loops[len(scope.step.loops) :]
        if scope.loop is None or scope.loop not in backward.loops or len(inner) != 1 or inner[0].kind != "range":
            continue
        loop = inner[0]
        zeros = [z for z in scope.of(ZeroGrad) if isinstance(z, ZeroGrad) and clears(z, scope.step.optimizer)]
        steps = {step.place for step in scope.of(OptimizerStep)}
        if loop in scope.step.loops or loop.count == 1 or not zeros or any(loop in zero.loops for zero in zeros):
            continue
        if backward.via in _SCALES_ITSELF or backward.gradient is not None or len(steps) != 1:
            continue
        if _scaled(trace, backward) or _gradients_scaled(scope) or loop not in backward.loss.loops:
            continue
        yield Draft(
            backward.place,
            "The loss of each micro-batch is back-propagated whole, and the optimizer steps once after this loop: "
            "gradients are their sum, and the effective learning rate grows with their number. Divide the loss by it.",
            (Step(loop.place, "the micro-batches"), Step(scope.step.place, "the step")),
        )


def _accumulates(scope: StepScope, guard: Guard) -> bool:
    """Gradients are cleared only where the optimizer steps; else it is a delayed update, not accumulation."""
    zeros = [zero for zero in scope.of(ZeroGrad) if isinstance(zero, ZeroGrad) and clears(zero, scope.step.optimizer)]
    return bool(zeros) and all(guard in zero.guards for zero in zeros)


def _scaled(trace: Trace, backward: Backward) -> bool:
    """Whether something between the model and the loss divides or weighs it: in doubt it is the scaling."""
    made_from = {id(value) for value in backward.loss.ancestors()}
    losses = {id(loss.output) for loss in trace.of(LossCall) if id(loss.output) in made_from}
    for divided in trace.of(Divided):
        if id(divided.output) not in made_from:
            continue
        if losses and not any(id(part) in losses for part in divided.output.ancestors()):
            # A division inside of the network, before any loss is computed.
            continue
        if divided.operator == "/" or divided.by is None or not divided.by.is_constant:
            return True
    return any(id(loss.output) in made_from and _summed(loss) for loss in trace.of(LossCall))


def _summed(loss: LossCall) -> bool:
    reduction = loss.keywords.get("reduction")
    return reduction is not None and reduction.constant != "mean" and reduction.constant != "batchmean"


def _gradients_scaled(scope: StepScope) -> bool:
    return any(
        isinstance(update, InPlaceUpdate) and update.how in ("div_", "mul_", "/=", "*=")
        for update in scope.of(InPlaceUpdate)
    )
