"""`torch` as a program sees it: the shadow tensors by dotted name, and the data loaders."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from engine.memory.adjustments import optimizer_class
from engine.memory.libraries import torch_data
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import Namespace as TorchNamespace
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

_OWN: dict[str, Any] = {
    "torch.utils.data": torch_data.make_module,
    "torch.utils.tensorboard": torch_data.make_tensorboard,
}
_SPLIT_MODULES = frozenset(
    {
        "torch.nn.modules",
        "torch.optim",
        "torch.cuda.amp",
        "torch.nn.parallel",
        "torch.nn.utils",
        "torch.amp",
        "torch.autograd",
    }
)
_TAKES_ARRAYS = frozenset(
    {"torch.from_numpy", "torch.as_tensor", "torch.tensor", "torch.FloatTensor", "torch.LongTensor"}
)


def _over_arrays(function: Any) -> Any:
    """A constructor that also takes arrays and token ids."""

    def construct(value: Any = (), *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, Unknown):
            return value
        if hasattr(value, "to_tensor"):
            made = value.to_tensor()
            options = {key: item for key, item in kwargs.items() if key in ("dtype", "device") and item is not None}
            return made.to(**options) if options else made
        if isinstance(value, (list, tuple)) and value and hasattr(value[0], "to_tensor"):
            made = namespace("torch.stack")([item.to_tensor() for item in value])
            options = {key: item for key, item in kwargs.items() if key in ("dtype", "device") and item is not None}
            return made.to(**options) if options else made
        return function(value, *args, **kwargs)

    return construct


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
    if dotted in _TAKES_ARRAYS and found is not None:
        found = _over_arrays(found)
    if dotted.startswith("torch.optim.") and interpreter.state.get("changes") and isinstance(found, type):
        found = optimizer_class(interpreter, dotted.rpartition(".")[2], found)
    parent, _, leaf = dotted.rpartition(".")
    if found is None and leaf.islower() and parent in _SPLIT_MODULES:
        # torch.nn.modules.conv, torch.optim.adamw ...: files whose names their package offers too.
        found = Namespace(dotted, {"__name__": dotted}, missing=lambda name: provide(interpreter, f"{parent}.{name}"))
    if found is None and any(own.startswith(dotted + ".") for own in _OWN):
        found = inspect
    if inspect.ismodule(found) or isinstance(found, TorchNamespace):
        found = Namespace(dotted, {"__name__": dotted}, missing=lambda name: provide(interpreter, f"{dotted}.{name}"))
    if found is not None:
        cache[dotted] = found
    return found
