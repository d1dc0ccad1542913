"""How accelerate and the Trainer apply mixed precision: autocast around forward, outputs converted to float32."""

from __future__ import annotations

from typing import Any

from engine.memory.libraries.torch_data import is_tensor
from engine.memory.tensors import namespace


def to_float32(value: Any) -> Any:
    """Floating tensors of an output in float32; the originals are let go one by one."""
    if is_tensor(value):
        return value.float() if value.is_floating_point() else value
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)([to_float32(item) for item in value])
    if hasattr(value, "keys"):
        for name in list(value.keys()):
            if is_tensor(value[name]):
                value[name] = to_float32(value[name])
        return value
    return value


def wrap_forward(model: Any, dtype: Any) -> None:
    """Replace the model's forward by its mixed-precision form."""
    inner = model.forward
    autocast = namespace("torch.autocast")

    def forward(*args: Any, **kwargs: Any) -> Any:
        with autocast("cuda", dtype=dtype):
            result = inner(*args, **kwargs)
        return to_float32(result)

    model.forward = forward
