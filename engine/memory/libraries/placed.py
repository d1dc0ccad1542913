"""Batches on the device, as the wrappers of accelerate and DeepSpeed hand them out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.memory.libraries.torch_data import is_tensor


def move(value: Any, device: Any = "cuda") -> Any:
    """A batch on the device, whatever its structure."""
    if is_tensor(value):
        return value.to(device)
    if isinstance(value, dict):
        return type(value)({key: move(item, device) for key, item in value.items()})
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)([move(item, device) for item in value])
    return value


class DeviceLoader:
    """A loader whose batches come on the device."""

    open_record = True

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.dataset = getattr(loader, "dataset", None)
        self.batch_size = getattr(loader, "batch_size", None)

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        for batch in self.loader:
            yield move(batch)
            del batch
