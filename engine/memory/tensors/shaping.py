"""Views and rearrangements: reshape, transpose, expand, split, cat, pad and what their backwards allocate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record, record_many
from engine.memory.tensors.broadcasting import broadcast
from engine.memory.tensors.casting import contiguous, convert
from engine.memory.tensors.layout import is_row_major
from engine.memory.tensors.registry import TORCH, alias, both, function
from engine.memory.tensors.storage import Size, TensorError
from engine.memory.tensors.tensor import Tensor, new


def view_of(x: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> Tensor:
    """A tensor over the same storage; in-place writes through it reach its base."""
    out = Tensor(shape, x.dtype, x.storage, strides)
    out.base = x if x.base is None else x.base
    return out


def dims(arguments: tuple[Any, ...]) -> tuple[int, ...]:
    """``f(1, 2)`` and ``f((1, 2))`` alike, as plain integers."""
    if (
        len(arguments) == 1
        and not isinstance(arguments[0], int)
        and not (isinstance(arguments[0], Tensor) and not arguments[0].shape)
    ):
        arguments = tuple(arguments[0])
    return tuple(int(a) for a in arguments)


def view_strides(x: Tensor, shape: Sequence[int]) -> tuple[int, ...] | bool | None:
    """Strides of ``x`` seen as ``shape``; None: contiguous; False: impossible without a copy (computeStride)."""
    if x.strides is None or is_row_major(x.shape, x.strides):
        return None
    old, strides = x.shape, x.strides
    if prod(old) == 0:
        return None
    out = [0] * len(shape)
    view_d = len(shape) - 1
    chunk = strides[-1]
    tensor_numel = 1
    view_numel = 1
    for d in range(len(old) - 1, -1, -1):
        tensor_numel *= old[d]
        if d == 0 or (old[d - 1] != 1 and strides[d - 1] != tensor_numel * chunk):
            while view_d >= 0 and (view_numel < tensor_numel or shape[view_d] == 1):
                out[view_d] = view_numel * chunk
                view_numel *= shape[view_d]
                view_d -= 1
            if view_numel != tensor_numel:
                return False
            if d > 0:
                chunk = strides[d - 1]
                tensor_numel = view_numel = 1
    if view_d != -1:
        return False
    return None if is_row_major(shape, out) else tuple(out)


def infer(shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """Fill in -1."""
    if -1 in shape:
        rest = 1
        for s in shape:
            if s != -1:
                rest *= s
        if rest == 0 or numel % rest:
            raise TensorError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(numel // rest if s == -1 else s for s in shape)
    if prod(shape) != numel:
        raise TensorError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return shape


def _reshape_backward(node: Node, g: Tensor) -> Any:
    return (reshape(g, node.context),)


def _as_view(x: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> Tensor:
    out = view_of(x, shape, strides)
    out.values = x.values
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _reshape_backward, (), x.shape)
    return out


@both
def reshape(x: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    wanted = infer(dims(shape or (kwargs["shape"],)), prod(x.shape))
    if wanted == x.shape and x.strides is None:
        return _as_view(x, wanted, None)
    strides = view_strides(x, wanted)
    if strides is False:
        return _as_view(contiguous(x), wanted, None)
    return _as_view(x, wanted, strides)  # type: ignore[arg-type]


def view(x: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    if shape and isinstance(shape[0], dtypes.DType):
        return view_dtype(x, shape[0])
    wanted = infer(dims(shape), prod(x.shape))
    strides = view_strides(x, wanted)
    if strides is False:
        raise TensorError("view size is not compatible with input tensor's size and stride. Use .reshape(...) instead.")
    return _as_view(x, wanted, strides)  # type: ignore[arg-type]


def view_dtype(x: Tensor, dtype: dtypes.DType) -> Tensor:
    shape = list(x.shape)
    if dtype.itemsize != x.dtype.itemsize:
        shape[-1] = shape[-1] * x.dtype.itemsize // dtype.itemsize
    out = Tensor(Size(shape), dtype, x.storage)
    out.base = x.base or x
    return out


@both
def flatten(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    n = len(x.shape)
    if n == 0:
        return reshape(x, 1)
    start, end = start_dim % n, end_dim % n
    if start == end:
        return x
    return reshape(x, (*x.shape[:start], prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


@both
def unflatten(x: Tensor, dim: int, sizes: Any) -> Tensor:
    dim %= len(x.shape)
    sizes = infer(tuple(s if isinstance(s, int) else s[1] for s in sizes), x.shape[dim])
    return reshape(x, (*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))


@both
def ravel(x: Tensor) -> Tensor:
    return reshape(x, -1)


def _permute_backward(node: Node, g: Tensor) -> Any:
    order = node.context
    inverse = [0] * len(order)
    for i, d in enumerate(order):
        inverse[d] = i
    return (permute(g, inverse),)


@both
def permute(x: Tensor, *order: Any, **kwargs: Any) -> Tensor:
    n = len(x.shape)
    wanted = tuple(d % n for d in dims(order or (kwargs["dims"],)))
    if len(wanted) != n:
        raise TensorError("permute: number of dimensions does not match")
    old = x.stride_of()
    shape = tuple([x.shape[d] for d in wanted])
    strides: tuple[int, ...] | None = tuple([old[d] for d in wanted])
    if wanted == tuple(range(n)):
        strides = x.strides
    elif is_row_major(shape, strides or ()):
        strides = None
    out = view_of(x, shape, strides)
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _permute_backward, (), wanted)
    return out


@both
def transpose(x: Tensor, dim0: int, dim1: int) -> Tensor:
    n = len(x.shape)
    order = list(range(n))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(x, [d % n for d in order])


alias("swapaxes", transpose)
alias("swapdims", transpose)


@both
def t(x: Tensor) -> Tensor:
    return x if len(x.shape) < 2 else transpose(x, 0, 1)


@both
def movedim(x: Tensor, source: Any, destination: Any) -> Tensor:
    n = len(x.shape)
    src = [source % n] if isinstance(source, int) else [s % n for s in source]
    dst = [destination % n] if isinstance(destination, int) else [d % n for d in destination]
    order: list[int] = [-1] * n
    for s, d in zip(src, dst, strict=True):
        order[d] = s
    rest = iter(d for d in range(n) if d not in src)
    return permute(x, [next(rest) if o < 0 else o for o in order])


alias("moveaxis", movedim)
Tensor.T = property(lambda x: permute(x, list(range(len(x.shape)))[::-1]))  # type: ignore[attr-defined]
Tensor.mT = property(lambda x: transpose(x, -1, -2))  # type: ignore[attr-defined]
Tensor.H = property(lambda x: transpose(x, -1, -2))  # type: ignore[attr-defined]


@both
def squeeze(x: Tensor, dim: Any = None) -> Tensor:
    n = len(x.shape)
    drop = range(n) if dim is None else [d % n for d in (dim if isinstance(dim, (tuple, list)) else [dim])] if n else []
    keep = [d for d in range(n) if not (d in drop and x.shape[d] == 1)]
    strides = None if x.strides is None else tuple(x.strides[d] for d in keep)
    return _as_view(x, tuple(x.shape[d] for d in keep), strides)


@both
def unsqueeze(x: Tensor, dim: int) -> Tensor:
    n = len(x.shape)
    dim %= n + 1
    strides = None
    if x.strides is not None:
        step = x.shape[dim] * x.strides[dim] if dim < n else 1
        strides = (*x.strides[:dim], step, *x.strides[dim:])
    return _as_view(x, (*x.shape[:dim], 1, *x.shape[dim:]), strides)


def _expand_backward(node: Node, g: Tensor) -> Any:
    from engine.memory.tensors.broadcasting import sum_to

    return (sum_to(g, node.context),)


@both
def expand(x: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    wanted = list(dims(shape or (kwargs["size"],)))
    shift = len(wanted) - len(x.shape)
    old = x.stride_of()
    strides = []
    for i, size in enumerate(wanted):
        have = x.shape[i - shift] if i >= shift else 1
        if size == -1:
            wanted[i] = size = have
        if have != size and have != 1:
            raise TensorError(f"The expanded size of the tensor ({size}) must match the existing size ({have})")
        strides.append(0 if have != size or i < shift else old[i - shift])
    if tuple(wanted) == x.shape:
        return _as_view(x, x.shape, x.strides)
    out = view_of(x, tuple(wanted), tuple(strides))
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _expand_backward, (), x.shape)
    return out


def expand_as(x: Tensor, other: Tensor) -> Tensor:
    return expand(x, other.shape)


@both
def broadcast_to(x: Tensor, size: Any) -> Tensor:
    return expand(x, size)


@function
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    items = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    shape: tuple[int, ...] = ()
    for x in items:
        shape = broadcast(shape, x.shape)
    return tuple(expand(x, shape) for x in items)


@function
def broadcast_shapes(*shapes: Any) -> Size:
    shape: tuple[int, ...] = ()
    for s in shapes:
        shape = broadcast(shape, tuple(s) if not isinstance(s, int) else (s,))
    return Size(shape)


# ----------------------------------------------------------------------------------------------- pieces and joining


def _slice_backward(node: Node, g: Tensor) -> Any:
    if machine.current.grad_enabled and g.requires_grad:
        out = new(node.context, g.dtype, g.storage.device)
        record(out, (g,), _take_like, (), g.shape)
        return (out,)
    return (new(node.context, g.dtype, g.storage.device),)


def _take_like(node: Node, g: Tensor) -> Any:
    return (new(node.context, g.dtype, g.storage.device),)


def piece(
    x: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None, base_shape: tuple[int, ...] | None = None
) -> Tensor:
    """A slice or selection: its backward writes into zeros of the full size."""
    out = view_of(x, shape, strides)
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _slice_backward, (), base_shape or x.shape)
    return out


def _with_size(x: Tensor, dim: int, size: int, step: int = 1) -> Tensor:
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    old = x.stride_of()
    strides = old if step == 1 else (*old[:dim], old[dim] * step, *old[dim + 1 :])
    return piece(x, shape, None if is_row_major(shape, strides) else strides)


@both
def narrow(x: Tensor, dim: int, start: Any, length: int) -> Tensor:
    return _with_size(x, dim % len(x.shape), int(length))


@both
def select(x: Tensor, dim: int, index: int) -> Tensor:
    dim %= len(x.shape)
    strides = x.stride_of()
    shape, kept = (*x.shape[:dim], *x.shape[dim + 1 :]), (*strides[:dim], *strides[dim + 1 :])
    out = piece(x, shape, None if is_row_major(shape, kept) else kept)
    if x.values is not None and len(x.shape) == 1:
        out.values = [x.values[int(index)]]
    return out


def _split_backward(node: Node, gradients: list[Tensor | None]) -> Any:
    shape, dim, dtype, device = node.context
    kept = [g for g in gradients if g is not None]
    if machine.current.grad_enabled:
        sizes = node.shape
        return (
            cat(
                [g if g is not None else new(sizes[i], dtype, device) for i, g in enumerate(gradients[: len(sizes)])],
                dim,
            ),
        )
    zeros = [new(node.shape[i], dtype, device) for i, g in enumerate(gradients[: len(node.shape)]) if g is None]
    out = new(shape, dtype, device)
    del kept, zeros
    return (out,)


MAX_PIECES = 1 << 18
"""Views that one operation makes at most; each is an object of its own."""


def _check_pieces(count: int) -> None:
    if count > MAX_PIECES:
        raise TensorError(f"{count} pieces of one tensor are more than a shadow run makes")


@both
def split(x: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None) -> tuple[Tensor, ...]:
    """`split_size` is what the method calls its first argument."""
    split_size_or_sections = split_size if split_size_or_sections is None else split_size_or_sections
    dim %= len(x.shape)
    total = x.shape[dim]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        _check_pieces(total // max(1, step))
        sizes = [min(step, total - i) for i in range(0, total, step)] or [0]
    else:
        sizes = [int(s) for s in split_size_or_sections]
        if sum(sizes) != total:
            raise TensorError(f"split_with_sizes expects split_sizes to sum exactly to {total}, got {sizes}")
    old = x.stride_of()
    outs = []
    for size in sizes:
        shape = (*x.shape[:dim], size, *x.shape[dim + 1 :])
        outs.append(view_of(x, shape, None if is_row_major(shape, old) else old))
    if x.requires_grad and machine.current.grad_enabled:
        record_many(outs, (x,), _split_backward, (), (x.shape, dim, x.dtype, x.storage.device))
    return tuple(outs)


def split_with_sizes(x: Tensor, sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    return split(x, list(sizes), dim)


@both
def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    total = x.shape[dim]
    return split(x, max((total + chunks - 1) // chunks, 1), dim)


@both
def tensor_split(x: Tensor, sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    total = x.shape[dim]
    if isinstance(sections, int):
        _check_pieces(sections)
        sizes = [total // sections + (1 if i < total % sections else 0) for i in range(sections)]
    else:
        edges = [0, *sections, total]
        sizes = [b - a for a, b in pairwise(edges)]
    return split(x, sizes, dim)


def _unbind_backward(node: Node, gradients: list[Tensor | None]) -> Any:
    shape, _, dtype, device = node.context
    zeros = [new(node.shape[0], dtype, device) for g in gradients[: len(node.shape)] if g is None]
    out = new(shape, dtype, device)
    del zeros
    return (out,)


@both
def unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    dim %= len(x.shape)
    _check_pieces(x.shape[dim])
    old = x.stride_of()
    shape, strides = (*x.shape[:dim], *x.shape[dim + 1 :]), (*old[:dim], *old[dim + 1 :])
    kept = None if is_row_major(shape, strides) else strides
    outs = [view_of(x, shape, kept) for _ in range(x.shape[dim])]
    if x.values is not None:
        step = prod(shape)
        if dim == 0:
            for i, o in enumerate(outs):
                o.values = x.values[i * step : (i + 1) * step]
    if outs and x.requires_grad and machine.current.grad_enabled:
        record_many(outs, (x,), _unbind_backward, (), (x.shape, dim, x.dtype, x.storage.device))
    return tuple(outs)


def _cat_backward(node: Node, g: Tensor) -> Any:
    dim, sizes = node.context
    old = g.stride_of()
    out: list[Tensor | None] = []
    for edge, size in zip(node.edges, sizes, strict=True):
        if edge is None:
            out.append(None)
            continue
        shape = (*g.shape[:dim], size, *g.shape[dim + 1 :])
        if machine.current.grad_enabled:
            out.append(narrow(g, dim, 0, size))
        else:
            out.append(Tensor(shape, g.dtype, g.storage, None if is_row_major(shape, old) else old))
    return out


@function
def cat(tensors: Any, dim: int = 0, *, out: Any = None, axis: int | None = None) -> Tensor:
    items = [x for x in tensors if x.shape != (0,)] or list(tensors)[:1]
    first = items[0]
    dim = (dim if axis is None else axis) % len(first.shape)
    dtype = first.dtype
    total = 0
    for x in items:
        if x.dtype is not dtype:
            dtype = dtypes.promote(dtype, x.dtype)
        total += x.shape[dim]
        if len(x.shape) != len(first.shape) or any(
            a != b for i, (a, b) in enumerate(zip(x.shape, first.shape, strict=False)) if i != dim
        ):
            raise TensorError(
                f"Sizes of tensors must match except in dimension {dim}: {[tuple(x.shape) for x in items]}"
            )
    if machine.current.autocast is not None and any(x.dtype is not dtype for x in items):
        items = [convert(x, dtype, x.storage.device) for x in items]
    shape = (*first.shape[:dim], total, *first.shape[dim + 1 :])
    strides = None
    if first.strides is not None and all(x.strides is not None for x in items):
        from engine.memory.tensors.tensor import CHANNELS_LAST

        if len(shape) == 4 and all(x.is_contiguous(CHANNELS_LAST) for x in items):
            strides = CHANNELS_LAST.strides(shape)
    result = new(shape, dtype, first.storage.device, strides)
    if machine.current.grad_enabled and any(x.requires_grad for x in items):
        record(result, items, _cat_backward, (), (dim, [x.shape[dim] for x in items]))
    elif len(shape) == 1 and all(x.values is not None for x in items):
        result.values = [v for x in items for v in x.values or ()]
    return result


TORCH["concat"] = TORCH["concatenate"] = cat


def _stack_backward(node: Node, g: Tensor) -> Any:
    pieces = unbind(g, node.context)
    return [p if e is not None else None for p, e in zip(pieces, node.edges, strict=True)]


@function
def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> Tensor:
    items = list(tensors)
    if not items:
        raise TensorError("stack expects a non-empty TensorList")
    n = len(items[0].shape)
    dim %= n + 1
    dtype = items[0].dtype
    for x in items:
        dtype = dtypes.promote(dtype, x.dtype)
        if x.shape != items[0].shape:
            raise TensorError("stack expects each tensor to be equal size")
    shape = items[0].shape
    result = new((*shape[:dim], len(items), *shape[dim:]), dtype, items[0].storage.device)
    if machine.current.grad_enabled and any(x.requires_grad for x in items):
        record(result, items, _stack_backward, (), dim)
    elif not shape and all(x.values is not None for x in items):
        result.values = [x.values[0] for x in items]
    return result


def _joining(name: str, dim: int) -> None:
    def op(tensors: Any, *, out: Any = None) -> Tensor:
        items = [x if len(x.shape) > dim else unsqueeze(x, dim) if len(x.shape) else reshape(x, 1) for x in tensors]
        return cat(items, 0 if name == "hstack" and len(items[0].shape) == 1 else dim)

    TORCH[name] = op


_joining("hstack", 1)
_joining("dstack", 2)


@function
def vstack(tensors: Any, *, out: Any = None) -> Tensor:
    return cat([unsqueeze(x, 0) if len(x.shape) == 1 else x for x in tensors], 0)


@function
def column_stack(tensors: Any) -> Tensor:
    return cat([unsqueeze(x, 1) if len(x.shape) == 1 else x for x in tensors], 1)
