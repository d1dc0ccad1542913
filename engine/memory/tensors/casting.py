"""Casts, copies between devices, and writes in place (a write through a view reaches its base)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.broadcasting import (
    needs,
    result_type,
)
from engine.memory.tensors.dtypes import DType, promote
from engine.memory.tensors.layout import dense_strides, is_row_major
from engine.memory.tensors.registry import TORCH, both
from engine.memory.tensors.storage import Size, Storage, device_kind
from engine.memory.tensors.tensor import Tensor, like, new

# ------------------------------------------------------------------------------------------------ casts and copies


def _cast_backward(node: Node, g: Tensor) -> Any:
    dtype, device = node.context
    return (convert(g, dtype, device),)


def convert(
    x: Tensor, dtype: DType, device: str, strides: tuple[int, ...] | bool | None = True, copy: bool = False
) -> Tensor:
    """``_to_copy``: the tensor itself where nothing changes."""
    if x.dtype is dtype and x.storage.device == device and not copy and strides is True:
        return x
    if strides is True:
        strides = dense_strides(x.shape, x.strides)
    out = Tensor(x.shape, dtype, Storage(x.numel() * dtype.itemsize, device), strides)  # type: ignore[arg-type]
    if x.values is not None:
        cast: Callable[[Any], Any] = (int, int, float, complex)[dtype.kind] if dtype.kind else bool
        out.values = [cast(v) for v in x.values]
    if x.requires_grad and machine.current.grad_enabled and dtype.kind >= 2:
        record(out, (x,), _cast_backward, (), (x.dtype, x.storage.device))
    return out


@both
def clone(x: Tensor, *, memory_format: Any = None) -> Tensor:
    strides: Any = True
    if memory_format is not None and memory_format.name != "preserve_format":
        strides = memory_format.strides(x.shape)
    return convert(x, x.dtype, x.storage.device, strides, copy=True)


def contiguous(x: Tensor, memory_format: Any = None) -> Tensor:
    if x.is_contiguous(memory_format):
        return x
    strides = memory_format.strides(x.shape) if memory_format is not None else None
    return convert(x, x.dtype, x.storage.device, strides, copy=True)


def to(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    dtype, device, copy = x.dtype, x.storage.device, bool(kwargs.get("copy", False))
    memory_format = kwargs.get("memory_format")
    for arg in (*args, kwargs.get("dtype"), kwargs.get("device"), kwargs.get("other")):
        if arg is None or isinstance(arg, bool):
            continue
        if isinstance(arg, DType):
            dtype = arg
        elif isinstance(arg, Tensor):
            dtype, device = arg.dtype, arg.storage.device
        else:
            device = device_kind(arg)
    if memory_format is not None and memory_format.channels == len(x.shape):
        strides = memory_format.strides(x.shape)
        if x.strides != strides:
            return convert(x, dtype, device, strides, copy=True)
    return convert(x, dtype, device, True, copy)


def type_(x: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    if dtype is None:
        return "torch.cuda.FloatTensor" if x.is_cuda else "torch.FloatTensor"
    if isinstance(dtype, str):
        name = dtype.split(".")[-1].replace("Tensor", "").lower()
        return to(x, dtypes.NAMES[name], "cuda" if ".cuda." in dtype else x.storage.device)
    return to(x, dtype)


def copy_(x: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    if isinstance(source, Tensor):
        x.values = list(source.values) if source.values is not None and source.shape == x.shape else None
        if machine.current.grad_enabled and (x.requires_grad or source.requires_grad) and x.dtype.kind >= 2:
            write(x, (None, source), _copy_backward)
    return x


def _copy_backward(node: Node, g: Tensor) -> Any:
    return (None, g)


def fill_(x: Tensor, value: Any = 0) -> Tensor:
    x.values = None
    if machine.current.grad_enabled and (x.requires_grad or needs(value)):
        write(x, (x,), _zero_gradient)
    return x


def zero_(x: Tensor) -> Tensor:
    return fill_(x, 0)


def _zero_gradient(node: Node, g: Tensor) -> Any:
    return (new(g.shape, g.dtype, g.storage.device),)


# ------------------------------------------------------------------------------------------------- writing in place


def write(
    x: Tensor,
    inputs: tuple[Tensor | None, ...],
    backward: Callable[[Node, Any], Any],
    saved: tuple[Any, ...] = (),
    context: Any = None,
) -> None:
    """Record an in-place operator on ``x``; a view makes its base depend on it (CopySlices)."""
    base = x.base
    if base is None or base.dtype is not x.dtype:
        record(x, inputs, backward, saved, context)
        return
    record(x, inputs, backward, saved, context)
    inner = x.grad_fn
    assert inner is not None
    inner.edges = [e if t is not x else None for e, t in zip(inner.edges, inputs, strict=True)]
    others = [t for t in inputs if t is not x and t is not None]
    positions = [i for i, t in enumerate(inputs) if t is not x and t is not None]
    # What the operator saves belongs to the node that backward reaches, so that it goes with it.
    kept, inner.saved = inner.saved, ()
    record(base, (base, *others), _copy_slices, (), (inner, positions, x.shape))
    assert base.grad_fn is not None
    base.grad_fn.saved = kept
    record(x, (base,), _slice_of_base, (), base.shape)


def _copy_slices(node: Node, g: Tensor) -> Any:
    inner, positions, shape = node.context
    result = like(g)
    piece = new(shape, g.dtype, g.storage.device)
    inner.saved = node.saved
    back = inner.backward(inner, piece)
    inner.saved = ()
    return (result, *[back[i] for i in positions])


def _slice_of_base(node: Node, g: Tensor) -> Any:
    # The view is replayed on the base: one of all its elements hands the gradient on in another shape.
    if g.numel() == prod(node.context):
        return (Tensor(Size(node.context), g.dtype, g.storage),)
    return (new(node.context, g.dtype, g.storage.device),)


def full_precision(x: Tensor) -> Tensor:
    """Under autocast: float32 for half precision (the operators of the fp32 list)."""
    if x.dtype.itemsize == 2 and x.dtype.kind == 2 and x.storage.device == "cuda":
        return convert(x, dtypes.float32, "cuda")
    return x


def _casting(name: str, dtype: DType) -> None:
    def method(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return convert(x, dtype, x.storage.device)

    setattr(Tensor, name, method)


for _name, _dtype in (
    ("float", dtypes.float32),
    ("half", dtypes.float16),
    ("bfloat16", dtypes.bfloat16),
    ("double", dtypes.float64),
    ("long", dtypes.int64),
    ("int", dtypes.int32),
    ("short", dtypes.int16),
    ("bool", dtypes.bool_),
    ("byte", dtypes.uint8),
    ("char", dtypes.int8),
    ("cfloat", dtypes.complex64),
):
    _casting(_name, _dtype)
_T: Any = Tensor
_T.cuda = lambda x, *args, **kwargs: convert(x, x.dtype, "cuda")
_T.cpu = lambda x, *args, **kwargs: convert(x, x.dtype, "cpu")
_T.numpy = lambda x, *args, **kwargs: x
_T.to_dense = lambda x, *args, **kwargs: x
_T.type_as = lambda x, other: convert(x, other.dtype, other.storage.device)
_T.conj = lambda x: x
_T.resolve_conj = lambda x: x
_T.requires_grad_ = Tensor.requires_grad_
TORCH["result_type"] = result_type
TORCH["promote_types"] = promote
TORCH["can_cast"] = lambda a, b: a.kind <= b.kind
TORCH["is_row_major"] = is_row_major
del TORCH["is_row_major"]
