"""What each module class of the project registers, and what it keeps where nn.Module does not see it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from engine.trace import events as ev
from engine.trace.trace import Trace
from engine.trace.values import Container, Value


def define_modules(trace: Trace) -> None:
    """One ModuleDefined for each class that is a module."""
    stores: dict[int, list[ev.Store]] = defaultdict(list)
    for event in trace.events:
        if isinstance(event, ev.Store) and event.how == "attribute" and event.container is not None:
            stores[id(event.container)].append(event)
    for cls in trace.classes:
        if cls.family not in ("module", "lightning-module"):
            continue
        instance = trace.instances.get(id(cls))
        if instance is None:
            continue
        registered: dict[str, Value] = {}
        outside: list[tuple[str, str, Value, Any]] = []
        for event in stores.get(id(instance), ()):
            value = event.value
            kind = _unregistered_kind(value)
            if kind:
                if not any(name == event.attribute for name, *_ in outside):
                    outside.append((event.attribute, kind, value, event.place))
            elif value.role in ("module", "parameter") or value.buffer:
                registered[event.attribute] = value
        root = next((r for r in trace.roots if r.owner is instance), trace.roots[0])
        trace.events.append(
            ev.ModuleDefined(
                place=cls.place,
                root=root,
                cls=cls,
                instance=instance,
                registered=registered,
                unregistered=tuple(outside),
            )
        )


def _nested(container: Container) -> list[Value]:
    """The elements of a container and of the plain containers in it."""
    found = list(container.elements())
    for value in found:
        if isinstance(value, Container) and not value.registered and len(found) < 60:
            found += value.elements()
    return found


def _unregistered_kind(value: Value) -> str:
    for option in value.options():
        if isinstance(option, Container) and not option.registered:
            for item in _nested(option):
                if item.role == "module" and item.requires_grad is not False:
                    return "module"
                if item.role == "parameter":
                    return "parameter"
        elif option.op in _COPIES and option.parents and option.parents[0].made_by == "torch.nn.Parameter":
            return "copied-parameter"
        elif option.role == "tensor" and not option.buffer and option.requires_grad and _created(option):
            return "leaf"
        elif option.role == "tensor" and not option.buffer and _created(option):
            return "tensor"
    return ""


#: What gives a tensor that is computed from its operand (`to` only where something changes).
_COPIES = frozenset(["to", "cuda", "half", "double", "bfloat16", "clone", "type"])


#: Operations that only arrange what a creating function made.
_ARRANGES = frozenset(["repeat", "view", "reshape", "unsqueeze", "expand", "permute", "transpose", "flatten", "float"])


_ARRANGES |= {"tril", "triu", "t", "flip", "bool", "long", "int", "clone", "contiguous", "squeeze", "repeat_interleave"}


def _scaled(value: Value) -> bool:
    """A tensor that a number was added to, or that was multiplied by one."""
    rest = value.parents[1:]
    return (
        value.op.startswith("operator")
        and bool(rest)
        and all(part.is_constant or part.role == "number" or part.op == "parameter-of-function" for part in rest)
    )


def _created(value: Value) -> bool:
    """Whether a tensor was created on the host: by a creating function, arranged or not."""
    while value.parents and (value.op in _ARRANGES or _scaled(value)):
        value = value.parents[0]
    from_numbers = value.detached == "copied" and not any(
        part.role == "tensor" or part.op in ("call", "method-call", "load", "library-call")
        for parent in value.parents
        for part in parent.ancestors(limit=20)
    )
    return value.detached == "created" or from_numbers
