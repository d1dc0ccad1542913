"""Layers, parameters or tensors where nn.Module does not see them."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities
from engine.rules.remedies.registration import built_once, registered_buffer, registered_list
from engine.rules.rule import Draft, rule
from engine.trace import Container, Place, Step, Trace, Value
from engine.trace.events import (
    Divided,
    Event,
    FunctionCall,
    ModuleCreated,
    ModuleDefined,
    Return,
    Store,
    Transfer,
)


@rule("PF103", "unregistered-state", "error", "A module holds state that PyTorch does not see")
def check(trace: Trace) -> Iterator[Draft]:
    for defined in trace.of(ModuleDefined):
        added = [value for name, value in defined.instance.attributes.items() if "@" in name]
        registered = _everything([*defined.registered.values(), *added])
        for attribute, kind, value, place in defined.unregistered:
            if attribute in defined.registered or _deliberate(value) or registered & _everything([value]):
                continue
            if kind == "module" and _found_in(value, defined):
                continue
            if kind == "copied-parameter":
                yield Draft(
                    place,
                    f"`self.{attribute}` holds what `.{value.op}()` computed from an `nn.Parameter`: a plain tensor, "
                    "which `parameters()` does not list, so no optimizer trains it. Make the tensor as it should be "
                    "first, and wrap it in `nn.Parameter` last.",
                    (Step(value.parents[0].place, "the parameter"),) if value.parents else (),
                )
                continue
            if kind == "leaf":
                yield Draft(
                    place,
                    f"`self.{attribute}` asks for gradients and is a plain tensor: `parameters()` does not list it, so "
                    "no optimizer trains it, and `.to()` leaves it behind. Make it an `nn.Parameter`.",
                    (Step(value.place, "made here"),) if value.place != place else (),
                )
                continue
            if kind == "tensor":
                yield from _plain_tensor(trace, attribute, value, defined)
                continue
            layers = [part for option in value.options() for part in option.elements()]
            if kind == "module" and layers and not any(_has_state(part) for part in layers):
                continue
            what = "layers" if kind == "module" else "parameters"
            remedy = "nn.ModuleList" if kind == "module" else "nn.ParameterList"
            yield Draft(
                place,
                f"`self.{attribute}` keeps {what} in a plain container: `parameters()`, `state_dict()` and "
                "`.to()` do not "
                f"see them, so they are neither trained, saved nor moved. Use `{remedy}`.",
                (Step(value.place, "made here"),) if value.place != place else (),
                fix=registered_list(attribute, kind, value, place),
            )
    for created in trace.of(ModuleCreated):
        if created.inside_forward and _matters(created.module):
            yield Draft(
                created.place,
                "This module is built in each forward pass: it is always in training mode and its parameters, if any, "
                "are new each time. Build it in `__init__`.",
                fix=built_once(created.place),
            )


def _has_state(module: Value) -> bool:
    """Whether a module may hold parameters or buffers: one that only computes loses nothing outside of a ModuleList."""
    if module.role != "module":
        return True
    return module.has_parameters is not False or any(part.buffer for part in module.attributes.values())


def _everything(values: object) -> set[int]:
    found: set[int] = set()
    queue = list(values)  # type: ignore[call-overload]
    while queue and len(found) < 500:
        value = queue.pop()
        for identity in identities(value):
            if identity in found:
                continue
            found.add(identity)
        for option in value.options():
            queue += [part for part in (*option.elements(), *option.attributes.values()) if id(part) not in found]
    return found


def _found_in(value: Value, defined: ModuleDefined) -> bool:
    """Whether the modules were found in one that is registered, by a walk or a key: the list is an index of them."""
    whole = {identity for registered in defined.registered.values() for identity in identities(registered)}
    parts: list[Value] = list(value.options())
    for part in parts:
        if len(parts) < _NESTED:
            parts += [item for element in part.elements() for item in element.options()]
    modules = [part for part in parts if part.role == "module"]
    return bool(modules) and all(_walked(part) or (part.op in _REACHED and part.comes_from(whole)) for part in modules)


def _walked(part: Value) -> bool:
    """Whether a module was met on a walk over a whole: it is registered there."""
    return part.op == "attribute" and any(source.op in _WALKS for source in part.parents)


_WALKS = frozenset({"modules", "named_modules", "children", "named_children"})


_REACHED = frozenset({"attribute", "element", "getitem", "data-element"})
_NESTED = 60
"""Elements of nested containers that are looked at."""


def _deliberate(value: Value) -> bool:
    """A tuple around one module, or around modules that were made elsewhere, hides them on purpose; frozen modules need
    no optimizer."""
    if isinstance(value, Container) and value.shape_name == "tuple":
        layers = list(value.elements())
        several = value.open or len(layers) > 1
        return not (several and all(layer.op == "construct" for layer in layers))
    parts = [part.origin for part in value.elements()] or [value.origin]
    return all(part.requires_grad is False for part in parts)


def _plain_tensor(trace: Trace, attribute: str, value: Value, defined: ModuleDefined) -> Iterator[Draft]:
    known = identities(value)
    for transfer in trace.of(Transfer):
        if known.isdisjoint(identities(transfer.value)) or "forward" not in transfer.function:
            continue
        if any(s.attribute == attribute and s.function == transfer.function for s in trace.of(Store)):
            continue
        yield Draft(
            transfer.place,
            f"`self.{attribute}` is a plain tensor, so `.to()` on the module leaves it behind and each forward "
            "pass copies "
            "it to the device. Register it as a buffer.",
            (Step(value.place, "made here"),),
            severity="warning",
            fix=registered_buffer(attribute, value, value.place.path)
            if value.place.path == transfer.place.path
            else None,
        )
        return
    yield from _left_behind(trace, attribute, value, defined)


def _left_behind(trace: Trace, attribute: str, value: Value, defined: ModuleDefined) -> Iterator[Draft]:
    """A tensor that is computed with as it stands, in a module that is moved or that others may move."""
    # Each instance of the class has a tensor of its own, made in the same place.
    known = {option.origin.place for option in value.options()}
    stored = [
        store
        for store in trace.of(Store)
        if store.attribute == attribute and store.container is not None and store.container.cls is defined.cls
    ]
    if value.shape == () or len({store.place for store in stored}) != 1:
        return
    if any("device" in part.keywords for part in value.ancestors(limit=40)):
        # Made where it is used.
        return
    used: Event | None = next(
        (use for use in trace.of(FunctionCall, Divided) if _computes_with(use, known, defined)), None
    )
    used = used or next((r for r in trace.of(Return) if _returns_mixture(r, known, defined)), None)
    if used is None:
        return
    moved = next(
        (
            transfer
            for transfer in trace.of(Transfer)
            if transfer.how != "cpu" and transfer.value.origin.cls is defined.cls and transfer.value.role == "module"
        ),
        None,
    )
    evidence = [Step(used.place, "computed with here")]
    if moved is not None:
        evidence.append(Step(moved.place, "the module is moved here"))
    yield Draft(
        stored[0].place,
        f"`self.{attribute}` is a plain tensor: `.to()` on the module leaves it behind, so on a GPU this computes with "
        "tensors of two devices and raises, and `state_dict` does not hold it. Register it as a buffer.",
        tuple(evidence),
        severity="warning" if moved is not None else "note",
    )


def _computes_with(use: Event, known: set[Place], defined: ModuleDefined) -> bool:
    """Whether an operation in a method of the module takes the tensor and what was computed from an input."""
    if use.function.rpartition(".")[0] != defined.cls.name or use.function.endswith(".__init__"):
        return False
    if isinstance(use, Divided):
        operands = [value for value in (use.value, use.by) if value is not None]
    elif isinstance(use, FunctionCall) and use.name.startswith("torch."):
        operands = [*use.arguments, *use.keywords.values()]
    else:
        return False
    own = [value for value in operands if any(option.origin.place in known for option in value.options())]
    others = [value for value in operands if value not in own and value.role in ("tensor", None)]
    given = any(part.op in _GIVEN for value in others for part in value.ancestors(limit=200))
    return bool(own) and given


def _returns_mixture(returned: Return, known: set[Place], defined: ModuleDefined) -> bool:
    """Whether a method of the module returns what an operation makes of the tensor and of an input."""
    if returned.function.rpartition(".")[0] != defined.cls.name or returned.value is None:
        return False
    for part in returned.value.ancestors(limit=600):
        if len(part.parents) < 2 or part.op in ("to", "type_as", "forward-result", "call"):
            continue
        own = [value for value in part.parents if _view_of(value, known)]
        others = [value for value in part.parents if value not in own and value.role in ("tensor", None)]
        if own and any(item.op in _GIVEN for value in others for item in value.ancestors(limit=200)):
            return True
    return False


def _view_of(value: Value, known: set[Place]) -> bool:
    """The tensor itself, a part of it, or a comparison of it with a number."""
    for _ in range(6):
        if any(option.origin.place in known for option in value.options()):
            return True
        tensors = [part for part in value.parents if not part.is_constant and part.role not in ("number", "string")]
        if value.op not in _ARRANGED or not tensors:
            return False
        value = tensors[0]
    return False


_ARRANGED = frozenset({"getitem", "compare", "view", "reshape", "expand", "unsqueeze", "transpose", "permute", "float"})


_GIVEN = frozenset({"parameter-of-function", "call", "forward-result", "data-element", "to", "cuda"})


def _matters(module: Value) -> bool:
    name = module.made_by.rpartition(".")[2]
    return "Dropout" in name or module.has_parameters is True
