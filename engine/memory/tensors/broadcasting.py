"""Broadcast shapes, result types and strides: the empty result of an element-wise operator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.dtypes import DType, promote
from engine.memory.tensors.layout import elementwise_strides
from engine.memory.tensors.storage import Size, Storage, TensorError
from engine.memory.tensors.tensor import Tensor, UnknownInt, like, new

KNOWN = 256  # elements up to which data of constant tensors is computed along


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> Size:
    """The broadcast shape, or TensorError."""
    if a == b:
        return a if type(a) is Size else Size(a)
    if len(a) < len(b):
        a, b = b, a
    out = list(a)
    shift = len(a) - len(b)
    for i, size in enumerate(b):
        have = out[shift + i]
        if have != size:
            if have == 1:
                out[shift + i] = size
            elif size != 1:
                raise TensorError(
                    f"The size of tensor a ({have}) must match the size of tensor b ({size}): {list(a)} and {list(b)}"
                )
    return Size(out)


def result_type(a: Any, b: Any) -> DType:
    """``torch.result_type`` of two tensors or numbers."""
    if not isinstance(a, Tensor):
        a, b = b, a
    if not isinstance(a, Tensor):
        return machine.current.default_dtype if isinstance(a, float) or isinstance(b, float) else dtypes.int64
    if isinstance(b, Tensor):
        if a.dtype is b.dtype:
            return a.dtype
        if bool(a.shape) == bool(b.shape):
            return promote(a.dtype, b.dtype)
        big, small = (a, b) if a.shape else (b, a)
        if small.dtype.kind > big.dtype.kind:
            return promote(big.dtype, small.dtype)
        return big.dtype
    kind = a.dtype.kind
    if kind >= 2 or isinstance(b, bool):
        return a.dtype.to_complex() if isinstance(b, complex) and kind == 2 else a.dtype
    if isinstance(b, float):
        return machine.current.default_dtype
    return dtypes.int64 if kind == 0 else a.dtype


def out_strides(shape: Size, *operands: Any) -> tuple[int, ...] | None:
    """Strides of the result of an element-wise operator over tensors (and numbers, which say nothing)."""
    tensors = [t for t in operands if isinstance(t, Tensor)]
    if all(t.strides is None for t in tensors):
        return None
    return elementwise_strides(shape, [(t.shape, t.strides) for t in tensors])


def binary(a: Any, b: Any, dtype: DType | None = None) -> Tensor:
    """The empty result of a broadcasting operator."""
    if isinstance(a, Tensor):
        if isinstance(b, Tensor):
            sa, sb = a.storage.device, b.storage.device
            shape = a.shape if a.shape == b.shape else broadcast(a.shape, b.shape)
            device = sa
            if sa != sb:
                if a.shape and b.shape and "meta" not in (sa, sb):
                    raise TensorError(f"Expected all tensors to be on the same device, found {sa} and {sb}")
                device = sb if not a.shape else sa
            dt = dtype or (a.dtype if a.dtype is b.dtype else result_type(a, b))
            strides = None if a.strides is None and b.strides is None else out_strides(shape, a, b)
            n = 1
            for s in shape:
                n *= s
            return Tensor(shape, dt, Storage(n * dt.itemsize, device), strides)
        return like(a, dtype or result_type(a, b))
    if isinstance(b, Tensor):
        return like(b, dtype or result_type(b, a))
    return new((), dtype or result_type(a, b), "cpu")


def known(out: Tensor, f: Callable[..., Any], *operands: Any) -> Tensor:
    """Carry data along where all operands are small and known."""
    n = out.numel()
    if n > KNOWN:
        return out
    columns = []
    unknown = False
    for o in operands:
        if isinstance(o, Tensor):
            v = o.values
            if v is None:
                return out
            unknown = unknown or any(isinstance(value, UnknownInt) for value in v)
            if len(v) == n:
                columns.append(v)
            elif len(v) == 1:
                columns.append(v * n)
            else:
                return out
        else:
            columns.append([o] * n)
    if unknown and out.dtype.kind != 1:
        return out
    try:
        out.values = [f(*row) for row in zip(*columns, strict=True)]
    except (ArithmeticError, ValueError, TypeError):
        out.values = None
    if unknown and out.values is not None:
        out.values = [UnknownInt(value) for value in out.values]
    return out


def position(out: Tensor, f: Callable[[int, int], int], a: Any, b: Any) -> Tensor:
    """Carry along what is known of one unknown integer: that ``i + length`` lies ``length`` behind ``i``.

    Windows cut at drawn places (``data[i : i + length]``) have their length from this alone.
    """
    if out.shape or out.dtype.kind != 1:
        return out
    out.values = [UnknownInt(f(*(int(o.item()) if isinstance(o, Tensor) else int(o) for o in (a, b))))]
    return out


def needs(a: Any) -> bool:
    return isinstance(a, Tensor) and a.requires_grad


def tensor_or_none(a: Any) -> Tensor | None:
    return a if isinstance(a, Tensor) else None


def has_values(a: Any, b: Any) -> bool:
    return (not isinstance(a, Tensor) or a.values is not None) and (not isinstance(b, Tensor) or b.values is not None)


def sum_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Reduce a gradient to the shape it was broadcast from (or expand it)."""
    from engine.memory.tensors import shaping

    if x.shape == shape:
        return x
    if x.numel() < math.prod(shape):
        return shaping.expand(x, shape)
    out = new(tuple(shape), x.dtype, x.storage.device)
    if machine.current.grad_enabled and x.requires_grad:
        record(out, (x,), _sum_to_backward, (), x.shape)
    return out


def _sum_to_backward(node: Node, g: Tensor) -> Any:
    from engine.memory.tensors import shaping

    return (shaping.expand(g, node.context),)


def result_constant(value: Any) -> Tensor:
    out = new((), machine.current.default_dtype, "cpu")
    out.values = [value]
    return out


def saved_output(result: Tensor) -> Tensor:
    """The alias under which a node saves its own output (the output itself would make a cycle)."""
    kept = Tensor(result.shape, result.dtype, result.storage, result.strides)
    kept.saved_output = True
    return kept


def fresh_saved(x: Tensor) -> Tensor:
    return x.fresh_copy()
