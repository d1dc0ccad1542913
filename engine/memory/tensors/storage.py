"""Devices, sizes and storages: what owns bytes in the simulated allocator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.memory.tensors import machine
from hardware_catalog.allocator import CATEGORY_INDEX, Allocator, Block


class TensorError(RuntimeError):
    """What torch would refuse: shapes that do not fit, a second backward through a freed graph."""


class Size(tuple[int, ...]):
    """``torch.Size``."""

    __slots__ = ()

    def numel(self) -> int:
        n = 1
        for s in self:
            n *= s
        return n

    def __getitem__(self, key: Any) -> Any:
        got = tuple.__getitem__(self, key)
        return Size(got) if got.__class__ is tuple else got

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class Device:
    """``torch.device``; every accelerator index is the one simulated device."""

    __slots__ = ("index", "type")

    def __init__(self, kind: Any = "cpu", index: int | None = None) -> None:
        if isinstance(kind, Device):
            kind, index = kind.type, kind.index
        elif isinstance(kind, int):
            kind, index = "cuda", kind
        elif ":" in kind:
            kind, number = kind.split(":", 1)
            index = int(number) if number.isdigit() else None
        self.type: str = kind
        self.index = index

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            other = Device(other)
        return isinstance(other, Device) and other.type == self.type and (other.index or 0) == (self.index or 0)

    def __hash__(self) -> int:
        return hash(self.type)

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )

    def __enter__(self) -> Device:
        state = machine.current
        _outer_devices.append(state.default_device)
        state.default_device = self.type
        return self

    def __exit__(self, *exc: object) -> None:
        machine.current.default_device = _outer_devices.pop()


_outer_devices: list[str] = []
_DEVICES = {"cpu": Device("cpu"), "cuda": Device("cuda", 0), "meta": Device("meta")}


def device_of(kind: str) -> Device:
    found = _DEVICES.get(kind)
    if found is None:
        found = _DEVICES[kind] = Device(kind)
    return found


ACCELERATORS = frozenset(("cuda", "xpu", "hip", "mps", "npu"))


def device_kind(device: Any) -> str:
    """'cuda', 'cpu' or 'meta' for whatever was passed as a device."""
    if device is None:
        return machine.current.default_device
    if isinstance(device, Device):
        kind = device.type
    elif isinstance(device, str):
        kind = device.split(":", 1)[0]
    elif isinstance(device, int):
        kind = "cuda"
    else:
        kind = str(getattr(device, "type", "cuda"))
    return "cuda" if kind in ACCELERATORS else kind


class Storage:
    """Bytes on a device; frees its block when the last tensor over it goes."""

    __slots__ = ("__weakref__", "_allocator", "block", "device", "number_of_bytes")

    def __init__(self, number_of_bytes: int, device: str) -> None:
        self.number_of_bytes = number_of_bytes
        self.device = device
        self.block: Block | None = None
        if device == "cuda" and number_of_bytes > 0:
            state = machine.current
            self._allocator: Allocator = state.allocator
            self.block = state.allocator.allocate(number_of_bytes, state.current_category)

    def __del__(self) -> None:
        block = self.block
        if block is not None:
            self.block = None
            self._allocator.release(block)

    def relabel(self, category: str) -> None:
        """Book the bytes under another category."""
        if self.block is not None:
            self._allocator.recategorise(self.block, CATEGORY_INDEX[category])

    @property
    def category(self) -> int:
        return -1 if self.block is None else self.block.category

    def resize(self, number_of_bytes: int) -> None:
        """``resize_``: give the bytes back and take as many as asked."""
        block, category = self.block, 0
        if block is not None:
            category = block.category
            self.block = None
            self._allocator.release(block)
        self.number_of_bytes = number_of_bytes
        if self.device == "cuda" and number_of_bytes > 0:
            state = machine.current
            self._allocator = state.allocator
            self.block = state.allocator.allocate(
                number_of_bytes, category if block is not None else state.current_category
            )

    # what user code asks of ``untyped_storage()``
    def nbytes(self) -> int:
        return self.number_of_bytes

    def size(self) -> int:
        return self.number_of_bytes

    def data_ptr(self) -> int:
        return id(self)

    def resize_(self, number_of_bytes: int) -> Storage:
        self.resize(number_of_bytes)
        return self


def contiguous_strides(shape: Iterable[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides: list[int] = []
    step = 1
    for size in reversed(tuple(shape)):
        strides.append(step)
        step *= size if size > 1 else 1
    strides.reverse()
    return tuple(strides)
