"""An optimizer holds parameters that the model no longer has."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import modules_behind, same
from engine.rules.remedies.order import built_after
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import MethodCall, OptimizerCreated, Store


@rule("PF208", "optimizer-parameters", "error", "The optimizer does not hold the parameters that are trained")
def check(trace: Trace) -> Iterator[Draft]:
    for created in trace.of(OptimizerCreated):
        held = modules_behind(created.optimizer)
        if not held:
            continue
        for store in trace.after(created, Store):
            owner = store.container
            if store.how != "attribute" or owner is None or not _inside(owner, held):
                continue
            if store.value.role != "module" or store.value.has_parameters is False:
                continue
            if _registered_later(trace, created, store):
                break
            yield Draft(
                created.place,
                f"This optimizer is built before `{store.target or store.attribute}` is replaced: it keeps the "
                "parameters "
                "of the old layer, and the new one is never updated. Build the optimizer after the model is complete.",
                (Step(store.place, "the layer is replaced here"),),
                fix=built_after(created, store),
            )
            break


def _inside(owner: object, held: frozenset[int]) -> bool:
    value = owner
    for _ in range(12):
        if value is None:
            return False
        if id(value.origin) in held:  # type: ignore[attr-defined]
            return True
        value = value.member_of  # type: ignore[attr-defined]
    return False


def _registered_later(trace: Trace, created: OptimizerCreated, store: Store) -> bool:
    for event in trace.after(store, MethodCall, OptimizerCreated):
        if isinstance(event, MethodCall) and event.method == "add_param_group":
            return True
        if isinstance(event, OptimizerCreated) and modules_behind(event.optimizer) & modules_behind(created.optimizer):
            return True
    return any(
        event.method == "add_param_group" and same(event.receiver, created.optimizer) for event in trace.of(MethodCall)
    )
