"""Averaged weights are computed as tracked tensors."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import viewed
from engine.rules.remedies.modes import without_gradients
from engine.rules.rule import Draft, rule
from engine.trace import Container, Step, Trace, Value
from engine.trace.events import Forward, InPlaceUpdate, Store


@rule("PF106", "ema-without-no-grad", "error", "A moving average of weights records a graph")
def check(trace: Trace) -> Iterator[Draft]:
    outputs = {id(forward.output) for forward in trace.of(Forward)}
    for store in trace.of(Store):
        if store.grad is False or store.value is None or store.value.carries_graph is not True:
            continue
        if store.how not in ("item", "accumulate", "append") or not _outlives_a_step(store) or not _averages(store):
            continue
        mixed = store.value.parents[0] if store.value.op == "clone" and store.value.parents else store.value
        source = _parameters_only(store.value, outputs)
        if any(held is not None and viewed(held) is source for held in (store.previous, store.container)):
            # A change of the parameter itself.
            continue
        if source is None or mixed.op not in ("operator", "lerp", "add", "mul", "accumulate"):
            continue
        if store.value.feeds_backward or (store.container is not None and store.container.feeds_backward):
            continue
        yield Draft(
            store.place,
            f"The average in `{store.target}` is computed from parameters with gradients recorded: each update "
            "extends one graph that is never freed. Update it under `torch.no_grad()`.",
            (Step(source.place, "the parameters"),),
            fix=without_gradients(trace, store.place),
        )
    yield from _lists(trace, outputs)
    for update in trace.of(InPlaceUpdate):
        if update.grad is not True or update.target.role != "parameter":
            continue
        if update.how == "data":
            # Assigning to `.data` takes the numbers only, whatever graph the new tensor has.
            continue
        if update.how == "data":
            # What is assigned to `.data` takes no history with it.
            continue
        others = [v for operand in update.operands for v in operand.ancestors(limit=60) if v.role == "parameter"]
        by_gradient = any(v.op == "grad" for operand in update.operands for v in operand.ancestors(limit=60))
        of_other = [v for v in others if v is not update.target and not by_gradient]
        if not of_other or update.target.detached:
            continue
        if update.target.requires_grad is False:
            yield from _frozen_average(trace, update)
            continue
        yield Draft(
            update.place,
            "A parameter is averaged in place with gradients recorded: PyTorch refuses that for a leaf that requires "
            "gradients, and records history for others. Do it under `torch.no_grad()`.",
            (Step(of_other[0].place, "the other model's parameters"),),
            fix=without_gradients(trace, update.place, update.loop),
        )


def _lists(trace: Trace, outputs: set[int]) -> Iterator[Draft]:
    """An attribute that holds the averages of all parameters, and is made anew from them in each update."""
    for store in trace.first_per_place(trace.of(Store)):
        if store.how != "attribute" or store.grad is False or not isinstance(store.value, Container):
            continue
        before = {id(part) for part in store.previous.elements()} if store.previous is not None else set()
        for mixed in store.value.elements() if before else ():
            source = _parameters_only(mixed, outputs) if mixed.carries_graph is True else None
            scaled = (part for part in mixed.ancestors(limit=30) if part.op in _SCALES)
            if source is None or not any(part.comes_from(before) for part in scaled):
                continue
            yield Draft(
                store.place,
                f"The averages in `{store.target}` are computed from parameters with gradients recorded: each update "
                "extends one graph that is never freed. Update them under `torch.no_grad()`.",
                (Step(source.place, "the parameters"),),
                fix=without_gradients(trace, store.place),
            )
            break


def _frozen_average(trace: Trace, update: InPlaceUpdate) -> Iterator[Draft]:
    """A frozen copy takes the graph of the parameters that are mixed into it."""
    live = [
        part
        for operand in update.operands
        for part in operand.ancestors(through_detach=False, limit=60)
        if part.role == "parameter" and part.requires_grad is not False and not part.detached
    ]
    if live and not any(operand.carries_graph is False and operand.role != "parameter" for operand in update.operands):
        yield Draft(
            update.place,
            "The average needs no gradients, and what is mixed into it does: from the first update on it carries "
            "a graph, which each update extends. Update it under `torch.no_grad()`.",
            (Step(live[0].place, "the trained model's parameters"),),
            fix=without_gradients(trace, update.place, update.loop),
        )


def _outlives_a_step(store: Store) -> bool:
    """A container made in this function and kept by nothing lives on only over the training loops around it."""
    container = store.container
    if not isinstance(container, Container):
        return store.how == "item"
    return bool(container.held_as) or any(loop.trains for loop in store.crossing)


def _averages(store: Store) -> bool:
    """Whether the new value mixes the old one, scaled, with something: adding to a tensor is no average."""
    before = {
        id(option) for value in (store.previous, store.container) if value is not None for option in value.options()
    }

    def old(value: Value) -> bool:
        return any(id(part) in before or id(part.member_of) in before for part in value.ancestors(limit=60))

    if store.how == "accumulate" and store.value is not store.result:
        return old(store.value)
    return any(part.op in _SCALES and old(part) for part in store.value.ancestors(limit=60))


_SCALES = frozenset({"operator*", "operator/", "lerp", "mul", "div"})


def _parameters_only(value: Value, outputs: set[int]) -> Value | None:
    found = None
    for part in value.ancestors(through_detach=False):
        if id(part) in outputs:
            return None
        if part.role == "parameter":
            found = found or part
    return found
