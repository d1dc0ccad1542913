"""Copies in another order or size (flip, repeat, pad), windows, and storages re-read as other types."""

from __future__ import annotations

from math import prod
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.casting import convert
from engine.memory.tensors.registry import FUNCTIONAL, TORCH, alias, both, function, functional
from engine.memory.tensors.shaping import (
    dims,
    expand,
    expand_as,
    flatten,
    piece,
    reshape,
    select,
    split_with_sizes,
    squeeze,
    t,
    transpose,
    unflatten,
    unsqueeze,
    view,
    view_of,
)
from engine.memory.tensors.storage import Size, TensorError, contiguous_strides
from engine.memory.tensors.tensor import Tensor, like, new


def _new_like_input(node: Node, g: Tensor) -> Any:
    shape, dtype = node.context
    out = new(shape, dtype, g.storage.device)
    if machine.current.grad_enabled and g.requires_grad:
        record(out, (g,), _new_like_input, (), (g.shape, g.dtype))
    return (out,)


def rearranged(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A copy in another shape that saves nothing (flip, roll, repeat, pad ...)."""
    out = new(shape, x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _new_like_input, (), (x.shape, x.dtype))
    return out


@both
def flip(x: Tensor, *order: Any, **kwargs: Any) -> Tensor:
    out = rearranged(x, x.shape)
    if x.values is not None and len(x.shape) == 1:
        out.values = x.values[::-1]
    return out


@both
def fliplr(x: Tensor) -> Tensor:
    return rearranged(x, x.shape)


alias("flipud", fliplr)


@both
def roll(x: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    count = 1 if isinstance(shifts, int) else len(shifts)
    out = x
    for _ in range(count):
        out = rearranged(out, out.shape)
    return out


@both
def rot90(x: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    shape = list(x.shape)
    if k % 2:
        shape[dims[0]], shape[dims[1]] = shape[dims[1]], shape[dims[0]]
    return rearranged(x, tuple(shape))


def repeat(x: Tensor, *sizes: Any) -> Tensor:
    counts = dims(sizes)
    shift = len(counts) - len(x.shape)
    shape = tuple(c * (x.shape[i - shift] if i >= shift else 1) for i, c in enumerate(counts))
    return rearranged(x, shape)


Tensor.repeat = repeat  # type: ignore[attr-defined]


@both
def tile(x: Tensor, *sizes: Any) -> Tensor:
    counts = dims(sizes)
    counts = (1,) * (len(x.shape) - len(counts)) + counts
    return repeat(x, counts)


@both
def repeat_interleave(
    x: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    if dim is None:
        x, dim = reshape(x, -1), 0
    dim %= len(x.shape)
    if output_size is not None:
        total = output_size
    elif isinstance(repeats, int):
        total = x.shape[dim] * repeats
    elif repeats.values is not None:
        total = sum(repeats.values) if len(repeats.values) > 1 else repeats.values[0] * x.shape[dim]
    else:
        machine.current.note("repeat_interleave with unknown counts: taken as 1")
        total = x.shape[dim]
    if isinstance(repeats, int) and machine.current.grad_enabled and x.requires_grad:
        # self.unsqueeze(dim+1).expand(...).clone().flatten(): a copy whose backward sums
        wide = expand(unsqueeze(x, dim + 1), (*x.shape[: dim + 1], repeats, *x.shape[dim + 1 :]))
        return flatten(convert(wide, wide.dtype, wide.storage.device, None, copy=True), dim, dim + 1)
    return rearranged(x, (*x.shape[:dim], total, *x.shape[dim + 1 :]))


@functional
def pad(x: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    shape = list(x.shape)
    amounts = [int(p) for p in pad]
    if not any(amounts) and mode == "constant":
        return convert(x, x.dtype, x.storage.device, copy=True)
    for i in range(len(amounts) // 2):
        shape[-1 - i] += amounts[2 * i] + amounts[2 * i + 1]
    if min(shape, default=0) < 0:
        raise TensorError("padding larger than the input")
    out = new(tuple(shape), x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        if mode == "constant":
            record(out, (x,), _pad_backward, (), x.shape)
        else:
            record(out, (x,), _new_like_input, (x,), (x.shape, x.dtype))
    return out


def _pad_backward(node: Node, g: Tensor) -> Any:
    # constant_pad_nd_backward narrows the gradient and clones it
    out = new(node.context, g.dtype, g.storage.device)
    if machine.current.grad_enabled and g.requires_grad:
        record(out, (g,), _new_like_input, (), (g.shape, g.dtype))
    return (out,)


def unfold_dimension(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    dim = dimension % len(x.shape)
    count = (x.shape[dim] - size) // step + 1
    old = x.stride_of()
    shape = (*x.shape[:dim], count, *x.shape[dim + 1 :], size)
    out = view_of(x, shape, (*old[:dim], old[dim] * step, *old[dim + 1 :], old[dim]))
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _new_like_input, (), (x.shape, x.dtype))
    return out


@both
def as_strided(x: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    shape, strides = tuple(size), tuple(stride)
    out = view_of(x, shape, None if strides == contiguous_strides(shape) else strides)
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _new_like_input, (), (x.shape, x.dtype))
    return out


@functional
def pixel_shuffle(x: Tensor, upscale_factor: int) -> Tensor:
    *lead, c, h, w = x.shape
    r = upscale_factor
    return rearranged(x, (*lead, c // (r * r), h * r, w * r))


@functional
def pixel_unshuffle(x: Tensor, downscale_factor: int) -> Tensor:
    *lead, c, h, w = x.shape
    r = downscale_factor
    return rearranged(x, (*lead, c * r * r, h // r, w // r))


@functional
def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    return rearranged(x, x.shape)


TORCH["channel_shuffle"], TORCH["pixel_shuffle"], TORCH["pixel_unshuffle"] = (
    channel_shuffle,
    pixel_shuffle,
    pixel_unshuffle,
)


@both
def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    n = len(x.shape)
    a, b = dim1 % n, dim2 % n
    old = x.stride_of()
    length = max(min(x.shape[a], x.shape[b] - offset) if offset >= 0 else min(x.shape[a] + offset, x.shape[b]), 0)
    keep = [d for d in range(n) if d not in (a, b)]
    return piece(x, (*[x.shape[d] for d in keep], length), (*[old[d] for d in keep], old[a] + old[b]))


@both
def diag(x: Tensor, diagonal_: int = 0, **kwargs: Any) -> Tensor:
    if len(x.shape) == 1:
        n = x.shape[0] + abs(diagonal_)
        return rearranged(x, (n, n))
    return rearranged(x, (min(x.shape),))


@both
def diag_embed(x: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    return rearranged(x, (*x.shape, x.shape[-1]))


@both
def tril(x: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    result = like(x)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _new_like_input, (), (x.shape, x.dtype))
    return result


alias("triu", tril)


@function
def view_as_real(x: Tensor) -> Tensor:
    return _reinterpreted(x, (*x.shape, 2), x.dtype.to_real())


@function
def view_as_complex(x: Tensor) -> Tensor:
    return _reinterpreted(x, x.shape[:-1], x.dtype.to_complex())


def _part(x: Tensor, index: int) -> Tensor:
    """The real or imaginary part: every second number of the same storage."""
    if x.dtype.kind != 3:
        return x if index == 0 else like(x)
    return select(view_as_real(x), -1, index)


TORCH["real"], TORCH["imag"] = (lambda x: _part(x, 0)), (lambda x: _part(x, 1))
Tensor.real = property(TORCH["real"])  # type: ignore[attr-defined]
Tensor.imag = property(TORCH["imag"])  # type: ignore[attr-defined]


def _reinterpreted(x: Tensor, shape: tuple[int, ...], dtype: dtypes.DType) -> Tensor:
    out = Tensor(Size(shape), dtype, x.storage)
    if x.requires_grad and machine.current.grad_enabled:
        record(
            out, (x,), lambda node, g: (Tensor(node.context[0], node.context[1], g.storage),), (), (x.shape, x.dtype)
        )
    return out


@function
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    items = list(tensors[0]) if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else list(tensors)
    lengths = [x.numel() for x in items]
    outs = []
    for i, x in enumerate(items):
        shape = [1] * len(items)
        shape[i] = lengths[i]
        outs.append(expand(reshape(x, shape), lengths))
    if indexing == "xy" and len(outs) >= 2:
        outs = [transpose(o, 0, 1) for o in outs]
    return tuple(outs)


@function
def cartesian_prod(*tensors: Tensor) -> Tensor:
    n = prod(x.numel() for x in tensors)
    return new((n, len(tensors)), tensors[0].dtype, tensors[0].storage.device)


def resize_(x: Tensor, *shape: Any) -> Tensor:
    wanted = dims(shape)
    needed = prod(wanted) * x.dtype.itemsize
    if needed > x.storage.number_of_bytes:
        x.storage.resize(needed)
    x.shape, x.strides = Size(wanted), None
    return x


def set_(x: Tensor, source: Any = None, *args: Any, **kwargs: Any) -> Tensor:
    if isinstance(source, Tensor):
        x.data = source
    return x


def squeeze_(x: Tensor, dim: Any = None) -> Tensor:
    y = squeeze(x, dim)
    x.shape, x.strides = y.shape, y.strides
    return x


def unsqueeze_(x: Tensor, dim: int) -> Tensor:
    y = unsqueeze(x, dim)
    x.shape, x.strides = y.shape, y.strides
    return x


_T: Any = Tensor
for _name, _function in {
    "view": view,
    "expand_as": expand_as,
    "split_with_sizes": split_with_sizes,
    "unfold": unfold_dimension,
    "resize_": resize_,
    "set_": set_,
    "squeeze_": squeeze_,
    "unsqueeze_": unsqueeze_,
    "view_as": lambda x, other: view(x, other.shape),
    "reshape_as": lambda x, other: reshape(x, other.shape),
    "t_": lambda x: set_(x, t(x)),
    "transpose_": lambda x, a, b: set_(x, transpose(x, a, b)),
    "tril_": lambda x, diagonal=0: x,
    "triu_": lambda x, diagonal=0: x,
    "align_to": lambda x, *names: x,
    "rename": lambda x, *names: x,
}.items():
    setattr(_T, _name, _function)
TORCH["split_with_sizes"] = split_with_sizes
FUNCTIONAL["unflatten"] = unflatten
