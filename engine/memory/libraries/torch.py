"""`torch` as a program sees it: the shadow tensors by dotted name, and the data loaders."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from engine.memory.libraries import torch_data
from engine.memory.program.namespaces import Namespace
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

_OWN: dict[str, Any] = {
    "torch.utils.data": torch_data.make_module,
    "torch.utils.tensorboard": torch_data.make_tensorboard,
}


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """A name of torch; None where the shadow tensors lack it."""
    cache: dict[str, Any] = interpreter.state.setdefault("torch names", {})
    if dotted in cache:
        return cache[dotted]
    for prefix, make in _OWN.items():
        if dotted == prefix:
            cache[dotted] = make(interpreter)
            return cache[dotted]
        if dotted.startswith(prefix + "."):
            value = provide(interpreter, prefix)
            for part in dotted[len(prefix) + 1 :].split("."):
                value = getattr(value, part, None)
            return value
    found = namespace(dotted)
    if found is None and any(own.startswith(dotted + ".") for own in _OWN):
        found = inspect
    if inspect.ismodule(found) or type(found).__name__ in ("ModuleNamespace", "NamespaceModule"):
        found = Namespace(dotted, {"__name__": dotted}, missing=lambda name: provide(interpreter, f"{dotted}.{name}"))
    if found is not None:
        cache[dotted] = found
    return found
