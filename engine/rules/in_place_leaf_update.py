"""A parameter is changed in a way that raises, or does not change it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import viewed
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import (
    Detach,
    Event,
    InPlaceUpdate,
    OptimizerCreated,
    OptimizerStep,
    Rebound,
    RequiresGradChange,
)


@rule("PF212", "in-place-leaf-update", "error", "A parameter is updated in place with gradients recorded, or rebound")
def check(trace: Trace) -> Iterator[Draft]:
    for update in trace.of(InPlaceUpdate):
        # `p[mask] += v` writes the item back into the parameter; `p[mask].add_(v)` changes a copy.
        target = viewed(update.target, items=update.how in ("augmented", "item"))
        if update.grad is not True or target.role != "parameter" or target.requires_grad is False or target.detached:
            continue
        operands = [part for operand in update.operands for part in operand.ancestors(limit=60)]
        averaged = any(part.role == "parameter" and part is not target for part in operands)
        if update.how == "data" or (averaged and not any(part.op == "grad" for part in operands)):
            continue
        yield Draft(
            update.place,
            "A leaf that requires gradients is changed in place while gradients are recorded: PyTorch raises "
            "here. Do it "
            "under `torch.no_grad()`.",
            (Step(target.place, "the parameter"),),
        )
    for update in trace.of(InPlaceUpdate):
        target = update.target
        asked = target.keywords.get("requires_grad") if target.detached == "created" else None
        if update.grad is True and asked is not None and asked.constant is True and update.how != "data":
            yield Draft(
                update.place,
                "A leaf that requires gradients is changed in place while gradients are recorded: PyTorch raises "
                "here. Do it under `torch.no_grad()`.",
                (Step(target.place, "made with `requires_grad=True`"),),
            )
    yield from _let_go(trace)
    for rebound in trace.of(Rebound):
        if not _from_gradient(rebound):
            continue
        if rebound.grad is False:
            yield from _dropped(trace, rebound)
            continue
        if rebound.target.role != "parameter":
            if rebound.target.detached != "created":
                # What was asked for gradients later has often been cut out of a graph, step by step.
                continue
            yield from _made_here(trace, rebound)
            continue
        yield Draft(
            rebound.place,
            "This binds the loop variable to a new tensor: the parameter in the model does not change.",
            (Step(rebound.target.place, "the parameter"),),
        )


def _let_go(trace: Trace) -> Iterator[Draft]:
    """A tensor that an optimizer holds, whose name gets a new leaf in the loop that steps the optimizer."""
    for rebound in trace.first_per_place(trace.of(Rebound)):
        loop = rebound.loop
        leaf = any(change.target is rebound.value and change.enabled for change in trace.of(RequiresGradChange))
        if loop is None or not leaf or rebound.guards:
            continue
        for step in trace.within(loop, OptimizerStep):
            made = next((c for c in trace.of(OptimizerCreated) if c.optimizer is step.optimizer.origin), None)
            if made is None or loop in made.loops or step.loop is not loop or step.index > rebound.index:
                continue
            if made.parameters is not None and any(part is rebound.target for part in made.parameters.elements()):
                yield Draft(
                    rebound.place,
                    "This binds the name to a new tensor, and the optimizer keeps the old one: from the next step on, "
                    "it updates what nothing uses. Change the tensor in place under `torch.no_grad()`.",
                    (Step(made.place, "the optimizer is given the tensor here"), Step(step.place, "it steps here")),
                )
                break


def _dropped(trace: Trace, rebound: Rebound) -> Iterator[Draft]:
    """An update of a loop's variable under `no_grad`, whose result goes nowhere."""
    value = rebound.value
    if rebound.target.op != "element" or not any(part.op == "grad" for part in value.ancestors(limit=20)):
        return
    if value.uses or any(
        part is value
        for event in trace.after(rebound, Event)
        if event.place != rebound.place
        for named in event.named_values()
        for part in named.ancestors(limit=30)
    ):
        return
    yield Draft(
        rebound.place,
        "This binds the loop variable to a new tensor, and nothing uses it: the parameter does not change. Update it "
        "in place.",
        (Step(rebound.target.place, "the parameter"),),
    )


def _made_here(trace: Trace, rebound: Rebound) -> Iterator[Draft]:
    """A leaf whose name gets the result of an update by its own gradient, and that is not made a leaf again."""
    steps = any(part.op == "grad" for part in rebound.value.ancestors(limit=20))
    again = any(
        part is rebound.value
        for event in trace.of(Detach, RequiresGradChange)
        for value in event.named_values()
        for part in value.ancestors(limit=4)
    )
    if steps and not again:
        yield Draft(
            rebound.place,
            "This binds the name to the result of an operation, which is no leaf: after the next backward its `.grad` "
            "is None. Update it in place under `torch.no_grad()`.",
            (Step(rebound.target.place, "made with `requires_grad=True`"),),
        )


def _from_gradient(rebound: Rebound) -> bool:
    """Whether the new value is an update: computed from the parameter and something else."""
    return rebound.value.op.startswith("operator")
