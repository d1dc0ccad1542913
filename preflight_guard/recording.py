"""Watches every operator of a rehearsal, and writes down which storages come and go."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hardware_catalog import Gpu, cublas_workspace_bytes
from hardware_catalog.kernels import efficient_backward, embedding_backward, flash_backward
from preflight_guard.tape import Tape

aten = torch.ops.aten

_PRODUCTS = frozenset(
    {aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default, aten.addmv.default, aten.mv.default}
)

BOUND_ABOVE = "positions chosen by a tensor's values were taken as all of them: the figures are an upper bound"
BOUND_BELOW = "a whole number read from a tensor was taken as 1: the figures may be low"


SOME_VALUE = 0.5
"""A number read from a tensor: neither zero nor one, which formulas of optimizers divide by the distance from."""


class Recorder(TorchDispatchMode):
    """A dispatch mode above the fake tensors' own; `phase` names what new storages are until more is known."""

    def __init__(self, device_type: str, gpu: Gpu | None, *, truth: bool = False) -> None:
        super().__init__()
        self.asked = False
        """Whether a truth value was read from a tensor; `truth` is what it was told."""
        self._truth = truth
        self.tape = Tape()
        self.phase = "activations"
        self.notes: dict[str, None] = {}
        self._device_type = device_type
        self._gpu = gpu
        self._live: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._count = 0
        self._handles: set[bool] = set()

    # ------------------------------------------------------------------------------------------- storages

    def track(self, tensor: torch.Tensor, category: str | None = None) -> None:
        """Write down a tensor's storage, if it is on the device and new; with a category, say what it is."""
        if tensor.device.type != self._device_type:
            return
        if tensor.layout != torch.strided:
            for part in _parts(tensor):
                self.track(part, category)
            return
        storage = tensor.untyped_storage()
        key = storage._cdata
        known = self._live.get(key)
        if known is not None:
            if category is not None:
                self.tape.categories[known[0]] = category
            return
        size = storage.nbytes()
        if size == 0:
            return
        number = self._next()
        self.tape.came(number, size, category or self.phase)
        self._live[key] = number, weakref.ref(storage, functools.partial(self._gone, key))

    def _gone(self, key: int, _: object) -> None:
        found = self._live.pop(key, None)
        if found is not None:
            self.tape.went(found[0])

    def _next(self) -> int:
        self._count += 1
        return self._count

    def alive(self) -> int:
        """Storages that something still holds."""
        return len(self._live)

    def _transient(self, sizes: Sequence[int]) -> None:
        numbers = [self._next() for _ in sizes]
        for number, size in zip(numbers, sizes, strict=True):
            self.tape.came(number, size, "workspace")
        for number in reversed(numbers):
            self.tape.went(number)

    def _product(self) -> None:
        # A handle is one of a thread, and backward runs on the device's own: a workspace each, kept for good.
        behind = self.phase == "temporaries"
        if behind not in self._handles:
            self._handles.add(behind)
            self.tape.came(self._next(), cublas_workspace_bytes(self._gpu), "workspace")

    # ------------------------------------------------------------------------------------------- operators

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run one operator on fake tensors and write down its outputs."""
        if func is aten._local_scalar_dense.default:
            return self._value(args[0])
        if func in _PRODUCTS and self._on_device(args):
            self._product()
        out = self._chosen(func, args) if func in _CHOOSING else func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self.track(leaf)
        workspaces = _WORKSPACES.get(func)
        if workspaces is not None and self._on_device(args):
            self._transient(workspaces(args))
        return out

    def _on_device(self, args: Sequence[Any]) -> bool:
        return any(isinstance(each, torch.Tensor) and each.device.type == self._device_type for each in args)

    def _value(self, tensor: torch.Tensor) -> float | int | bool:
        """What `.item()` answers of a tensor without data."""
        if tensor.dtype == torch.bool:
            self.asked = True
            return self._truth
        if tensor.is_floating_point():
            return SOME_VALUE
        self.notes[BOUND_BELOW] = None
        return 1

    def _chosen(self, func: Any, args: Sequence[Any]) -> Any:
        """Operators whose output is as large as the values say: every position is taken."""
        if func is aten.index.Tensor:
            if not any(isinstance(index, torch.Tensor) and index.dtype in _MASKS for index in args[1]):
                return func(*args)
            self.notes[BOUND_ABOVE] = None
            return func(args[0], [part for index in args[1] for part in _positions(index)])
        self.notes[BOUND_ABOVE] = None
        first = args[0]
        if func is aten.nonzero.default:
            return first.new_empty((first.numel(), first.dim()), dtype=torch.int64)
        return first.new_empty((max(first.numel(), args[1].numel()),))


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The strided tensors that a sparse one is made of; of other layouts than COO none are known."""
    return [tensor._indices(), tensor._values()] if tensor.layout == torch.sparse_coo else []


_MASKS = (torch.bool, torch.uint8)
_CHOOSING = frozenset({aten.nonzero.default, aten.masked_select.default, aten.index.Tensor})


def _positions(index: Any) -> list[Any]:
    if not isinstance(index, torch.Tensor) or index.dtype not in _MASKS:
        return [index]
    return [index.new_empty((index.numel(),), dtype=torch.int64) for _ in range(index.dim())]


def _flash(args: Sequence[Any]) -> tuple[int, ...]:
    query, key = args[1], args[2]
    return flash_backward(*query.shape, key_heads=key.shape[1], keys=key.shape[2], itemsize=key.element_size())


_WORKSPACES: Mapping[Any, Any] = {
    aten._scaled_dot_product_flash_attention_backward.default: _flash,
    aten._scaled_dot_product_efficient_attention_backward.default: lambda args: efficient_backward(
        *args[1].shape, itemsize=args[1].element_size()
    ),
    aten.embedding_dense_backward.default: lambda args: embedding_backward(args[1].numel()),
}
