"""An optimizer holds parameters that the model no longer has."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, modules_behind, same
from engine.rules.facts.layers import built_into
from engine.rules.remedies.order import built_after
from engine.rules.rule import Draft, rule
from engine.trace import Container, Place, Step, Trace, Value
from engine.trace.events import (
    Forward,
    MethodCall,
    ModuleCreated,
    OptimizerCreated,
    OptimizerStep,
    RequiresGradChange,
    Store,
    Wrapped,
)


@rule("PF208", "optimizer-parameters", "error", "The optimizer does not hold the parameters that are trained")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _adapted_later(trace)
    yield from _resized_later(trace)
    yield from _unfrozen_later(trace)
    yield from _left_out(trace)
    yield from _lost_group(trace)
    for created in trace.of(OptimizerCreated):
        held = modules_behind(created.optimizer)
        if not held:
            continue
        for store in _stores_after(trace, created):
            owner = store.container
            if store.how not in ("attribute", "item") or owner is None or not _inside(owner, held):
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


def _stores_after(trace: Trace, created: OptimizerCreated) -> Iterator[Store]:
    """What is stored after an optimizer was built: by the same code, or by other methods of an object whose constructor
    builds it, where nothing else builds or extends one."""
    yield from trace.after(created, Store)
    if not created.root.name.endswith(".__init__"):
        return
    if any(call.method == "add_param_group" for call in trace.of(MethodCall)):
        return
    if any(other.place != created.place for other in trace.family(created, OptimizerCreated)):
        return
    yield from (store for store in trace.family(created, Store) if store.root is not created.root)


def _adapted_later(trace: Trace) -> Iterator[Draft]:
    """peft puts its adapters into the model after the optimizer has collected the parameters."""
    for wrapped in trace.of(Wrapped):
        if wrapped.how != "peft":
            continue
        known = identities(wrapped.module)
        created = [
            event
            for event in trace.of(OptimizerCreated)
            if event.root is wrapped.root and not known.isdisjoint(modules_behind(event.optimizer))
        ]
        if not created or any(event.index > wrapped.index for event in created):
            continue
        if any(event.method == "add_param_group" for event in trace.of(MethodCall)):
            continue
        yield Draft(
            created[-1].place,
            "This optimizer is built before the adapters are added to the model: it holds the base weights, which are "
            "then frozen, and none of the adapters. Build it after `get_peft_model`.",
            (Step(wrapped.place, "adapters are added here"),),
        )


def _unfrozen_later(trace: Trace) -> Iterator[Draft]:
    """An optimizer takes the parameters that require gradients at that time, and others are told to afterwards."""
    changes = list(trace.of(RequiresGradChange))
    for created in trace.first_per_place(trace.of(OptimizerCreated)):
        given = created.parameters
        chosen = next(
            (
                store
                for store in trace.before(created, Store)
                if store.container is given and any("requires_grad" in guard.text for guard in store.guards)
            ),
            None,
        )
        if chosen is None or any(event.method == "add_param_group" for event in trace.of(MethodCall)):
            continue
        later = next((c for c in changes if c.enabled is True and c.index > created.index), None)
        if later is None or later.root is not created.root or any(c.index > later.index for c in _built(trace)):
            continue
        known = identities(later.target, *later.target.of)
        frozen = [c for c in changes if c.index < created.index and c.enabled is False]
        if any(not known.isdisjoint(identities(c.target, *c.target.of)) or _walks_same(c, later) for c in frozen):
            yield Draft(
                later.place,
                "These parameters were frozen when the optimizer collected those that require gradients: it does not "
                "hold them, so they are never updated. Add them with `add_param_group`.",
                (Step(created.place, "the optimizer is built here"), Step(frozen[0].place, "frozen here, before")),
            )
            return


def _built(trace: Trace) -> Iterator[OptimizerCreated]:
    return trace.of(OptimizerCreated)


def _walks_same(first: RequiresGradChange, second: RequiresGradChange) -> bool:
    """Whether both loops walk the parameters of the same module."""
    one, other = first.target.parents[:1], second.target.parents[:1]
    return bool(one and other) and not identities(*one[0].of).isdisjoint(identities(*other[0].of))


def _resized_later(trace: Trace) -> Iterator[Draft]:
    """A language model gets a new embedding after the optimizer has collected the parameters.

    https://huggingface.co/docs/transformers/main_classes/model, `resize_token_embeddings`
    """
    for resized in trace.of(MethodCall):
        if resized.method != "resize_token_embeddings":
            continue
        known = identities(resized.receiver)
        created = [
            event
            for event in trace.of(OptimizerCreated)
            if event.root is resized.root and not known.isdisjoint(modules_behind(event.optimizer))
        ]
        if not created or any(event.index > resized.index for event in created):
            continue
        yield Draft(
            created[-1].place,
            "This optimizer is built before the token embeddings are resized: it keeps the old embedding matrix, and "
            "the new one is never updated. Build it after `resize_token_embeddings`.",
            (Step(resized.place, "the embeddings are replaced here"),),
        )


def _left_out(trace: Trace) -> Iterator[Draft]:
    """A module with weights that is built here takes part in the loss, and no optimizer holds it."""
    layers = _layers_of_classes(trace)
    for forward in trace.of(Forward):
        module = forward.module.origin
        if module.place in layers:
            continue
        if forward.grad is not True or not forward.output.feeds_backward or module.op != "construct":
            continue
        if not _trainable(module) or module.requires_grad is False or module.prepared is not None:
            continue
        if module.uses & _HANDS_OUT or any(use.startswith("arg:") for use in module.uses) or forward.mode == "eval":
            continue
        optimizers = [created.optimizer for created in trace.family(forward, OptimizerCreated)]
        if not optimizers or not all(modules_behind(optimizer) for optimizer in optimizers):
            continue
        steps = [step.optimizer for step in trace.of(OptimizerStep)]
        if any(option.role != "optimizer" or not option.origin.of for step in steps for option in step.options()):
            continue
        held = frozenset[int]().union(*(modules_behind(created.optimizer) for created in trace.of(OptimizerCreated)))
        if _inside(module, held) or _holds_part(module, held, 0) or not _complete(trace, held):
            continue
        if any(event.method == "add_param_group" for event in trace.of(MethodCall)):
            continue
        around = (outer for outer in trace.family(forward, Forward) if outer.place in forward.stack)
        if any(_inside(outer.module.origin, held) for outer in around):
            # A layer of what the optimizer holds, however it came to be there.
            continue
        if any(_freezes(change, module) for change in trace.of(RequiresGradChange)):
            continue
        if any(built_into(module, created.optimizer) for created in trace.of(OptimizerCreated)):
            continue
        yield Draft(
            optimizers[0].place,
            f"The parameters of `{forward.module.name}` take part in the loss, and no optimizer holds them: they keep "
            "their initial values.",
            (Step(module.place, "built here"), Step(forward.place, "part of the loss")),
        )
        return


_HANDS_OUT = frozenset({"parameters", "named_parameters", "modules", "children", "requires_grad_", "load_state_dict"})


def _lost_group(trace: Trace) -> Iterator[Draft]:
    """A group that is filled like one that the optimizer gets, and that is not handed to it."""
    handed = {part for created in trace.of(OptimizerCreated) for part in _containers(created.parameters)}
    for created in trace.of(OptimizerCreated):
        filled = [
            store
            for store in trace.of(Store)
            if store.root is created.root
            and store.function == created.function
            and store.index < created.index
            and store.how == "append"
            and store.value.role == "parameter"
            and store.container is not None
        ]
        alike = {store.target for store in filled if id(store.container) in handed}
        lost = next((s for s in filled if id(s.container) not in handed and s.target in alike), None)
        if lost is not None:
            yield Draft(
                created.place,
                f"A group of parameters collected in `{lost.target}` is not among those that this optimizer gets; "
                "they are never updated.",
                (Step(lost.place, "collected here"),),
            )


def _containers(value: Value | None) -> set[int]:
    """All containers that a value is, or holds at any depth."""
    found: set[int] = set()
    queue = [value] if value is not None else []
    while queue and len(found) < 400:
        part = queue.pop()
        if id(part) not in found:
            found.add(id(part))
            queue += [*part.elements(), *part.options(), *part.parents]
    return found


def _freezes(change: RequiresGradChange, module: Value) -> bool:
    """Whether gradients of a module or of a part of it are switched, also by a method of its own."""
    own = module.cls is not None and change.function.split(".")[0] in {cls.name for cls in module.cls.lineage()}
    return own or same(change.target, module) or any(_inside(part, identities(module)) for part in change.target.of)


def _layers_of_classes(trace: Trace) -> set[Place]:
    """Where modules are built inside of the project's own modules: they go with these."""
    own = {cls.name for cls in trace.classes if cls.family == "module"}
    return {created.module.place for created in trace.of(ModuleCreated) if created.function.split(".")[0] in own}


def _trainable(module: Value) -> bool:
    """A layer of torch with weights, or a class of the project that has some of its own."""
    if module.cls is not None:
        return module.cls.family == "module" and module.has_parameters is True and not module.cls.bases_unknown
    return module.made_by.startswith("torch.nn.") and module.has_parameters is True


def _holds_part(module: Value, held: frozenset[int], depth: int) -> bool:
    """Whether an optimizer holds something inside of a module."""
    if depth > 6:
        return True
    parts = [option.origin for part in module.attributes.values() for option in part.options()]
    return any(id(part) in held for part in parts) or any(
        _holds_part(part, held, depth + 1) for part in parts if part.role == "module" and part is not module
    )


def _complete(trace: Trace, held: frozenset[int]) -> bool:
    """Whether all that the optimizers hold is known: modules that were made or given, and nothing gathered by loops."""
    for created in trace.of(OptimizerCreated):
        parameters = created.parameters
        listed = isinstance(parameters, Container)
        if parameters is None or (listed and not parameters.elements()):
            return False
        parts = parameters.elements() if listed else (parameters, *parameters.elements())
        if any(_of_group(part).role is None for part in parts):
            return False
    return bool(held)


def _of_group(element: Value) -> Value:
    """What an element of an optimizer's first argument holds: a group names it."""
    named = element.entries.get("params") if isinstance(element, Container) else None
    return named if named is not None else element


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
