"""Indexing, gather and scatter, embeddings, and shapes that depend on data."""

from __future__ import annotations

from math import prod
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.broadcasting import broadcast, needs
from engine.memory.tensors.casting import copy_, write
from engine.memory.tensors.layout import is_row_major
from engine.memory.tensors.registry import FUNCTIONAL, TORCH, both, functional
from engine.memory.tensors.shaping import piece, reshape, view_of
from engine.memory.tensors.storage import Size, TensorError
from engine.memory.tensors.tensor import Tensor, like, new
from hardware_catalog.kernels import embedding_backward


def _scattered(node: Node, g: Tensor) -> Any:
    shape, dtype = node.context
    out = new(shape, dtype, g.storage.device)
    if machine.current.grad_enabled and g.requires_grad:
        record(out, (g,), _scattered, node.saved, (g.shape, g.dtype))
    return (out,)


def _as_index(entry: Any) -> Any:
    if isinstance(entry, (list, range)):
        from engine.memory.tensors.creation import tensor

        return tensor(list(entry))
    if isinstance(entry, Tensor) and entry.dtype.kind == 1 and not entry.shape and entry.storage.device == "cpu":
        return int(entry.item())
    return entry


def getitem(x: Tensor, key: Any) -> Tensor:
    """Basic indexing gives one view (its backward writes into zeros of the full size); advanced indexing copies."""
    entries = list(key) if isinstance(key, tuple) else [key]
    entries = [_as_index(e) for e in entries]
    if x.values is not None and len(x.shape) == 1 and len(entries) == 1:
        only = entries[0]
        if isinstance(only, int):
            out = Tensor(Size(()), x.dtype, x.storage)
            out.values = [x.values[only]]
            return out
    used = sum(
        len(e.shape) if isinstance(e, Tensor) and e.dtype is dtypes.bool_ else 1
        for e in entries
        if e is not None and e is not Ellipsis and not isinstance(e, bool)
    )
    missing = len(x.shape) - used
    if missing < 0:
        raise TensorError(f"too many indices for tensor of dimension {len(x.shape)}")
    if Ellipsis in [e for e in entries if not isinstance(e, Tensor)]:
        at = next(i for i, e in enumerate(entries) if e is Ellipsis)
        entries[at : at + 1] = [slice(None)] * missing
    old = x.stride_of()
    shape: list[int] = []
    strides: list[int] = []
    advanced: list[tuple[int, Tensor]] = []
    dim = 0
    sliced = False
    for e in entries:
        if e is None:
            shape.append(1)
            strides.append(1)
        elif isinstance(e, slice):
            size = x.shape[dim]
            start, stop, step = (None if b is None else int(b) for b in (e.start, e.stop, e.step))
            count = len(range(*slice(start, stop, step).indices(size)))
            sliced = sliced or count != size
            shape.append(count)
            strides.append(old[dim] * (step or 1))
            dim += 1
        elif isinstance(e, bool):
            shape.append(1 if e else 0)
            strides.append(1)
        elif isinstance(e, Tensor):
            advanced.append((len(shape), e))
            width = len(e.shape) if e.dtype is dtypes.bool_ else 1
            for _ in range(width):
                shape.append(x.shape[dim])
                strides.append(old[dim])
                dim += 1
        else:
            number = int(e)
            if not -x.shape[dim] <= number < x.shape[dim]:
                raise IndexError(f"index {number} is out of bounds for dimension {dim} with size {x.shape[dim]}")
            sliced = True
            dim += 1
    shape += x.shape[dim:]
    strides += old[dim:]
    kept = None if is_row_major(shape, strides) else tuple(strides)
    if sliced:
        view = piece(x, tuple(shape), kept)
        if x.values is not None and len(x.shape) == 1 and len(entries) == 1 and isinstance(entries[0], slice):
            view.values = x.values[entries[0]]
    elif tuple(shape) != x.shape:
        view = view_of(x, tuple(shape), kept)
        if x.requires_grad and machine.current.grad_enabled:
            record(view, (x,), lambda node, g: (reshape(g, node.context),), (), x.shape)
    elif advanced:
        view = x
    else:
        view = view_of(x, x.shape, x.strides)
        if x.requires_grad and machine.current.grad_enabled:
            record(view, (x,), lambda node, g: (g,))
    return _index(view, advanced) if advanced else view


def _index(x: Tensor, advanced: list[tuple[int, Tensor]]) -> Tensor:
    gone: list[int] = []
    broadcasted: tuple[int, ...] = ()
    for position, index in advanced:
        if index.dtype is dtypes.bool_:
            if index.values is not None:
                count = sum(bool(v) for v in index.values)
            else:
                machine.current.note("boolean index: every element is taken")
                count = index.numel()
            gone += range(position, position + len(index.shape))
            broadcasted = broadcast(broadcasted, (count,))
            if index.storage.device == "cuda":
                new((count, len(index.shape)), dtypes.int64, "cuda")
        else:
            gone.append(position)
            broadcasted = broadcast(broadcasted, index.shape)
    adjacent = gone == list(range(gone[0], gone[0] + len(gone)))
    rest = [s for i, s in enumerate(x.shape) if i not in gone]
    at = gone[0] if adjacent else 0
    out = new((*rest[:at], *broadcasted, *rest[at:]), x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _index_backward, tuple(i for _, i in advanced), (x.shape, x.dtype))
    return out


def _index_backward(node: Node, g: Tensor) -> Any:
    # index_put_ with accumulate sorts the linear indices
    shape, dtype = node.context
    out = new(shape, dtype, g.storage.device)
    if machine.current.grad_enabled and g.requires_grad:
        record(out, (g,), _scattered, node.saved, (g.shape, g.dtype))
    return (out,)


def setitem(x: Tensor, key: Any, value: Any) -> None:
    x.values = None
    if not machine.current.grad_enabled or not (x.requires_grad or needs(value)):
        entries = key if isinstance(key, tuple) else (key,)
        if not any(isinstance(e, Tensor) for e in entries):
            getitem(x.alias(), key)
        return
    entries = key if isinstance(key, tuple) else (key,)
    if any(isinstance(e, (Tensor, list)) for e in entries):
        source = value if isinstance(value, Tensor) and value.requires_grad else None
        record(
            x,
            (x, source),
            _index_put_backward,
            tuple(e for e in entries if isinstance(e, Tensor)),
            None if source is None else source.shape,
        )
        return
    view = getitem(x, key)
    copy_(view, value if isinstance(value, Tensor) else new((), x.dtype, "cpu"))


def _index_put_backward(node: Node, g: Tensor) -> Any:
    gx = like(g) if node.edges[0] is not None else None
    gv = new(node.context, g.dtype, g.storage.device) if node.edges[1] is not None else None
    return gx, gv


_T: Any = Tensor
_T.__getitem__ = getitem
_T.__setitem__ = setitem


@both
def gather(x: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Any = None) -> Tensor:
    # gather_backward takes self, so the whole input is saved beside the index (derivatives.yaml).
    result = new(index.shape, x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _scattered, (x, index), (x.shape, x.dtype))
    return result


@both
def take_along_dim(x: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    if dim is None:
        return gather(reshape(x, -1), 0, reshape(indices, -1))
    shape = [max(a, b) for a, b in zip(x.shape, indices.shape, strict=True)]
    shape[dim] = indices.shape[dim]
    return gather(x, dim, indices.expand(shape))


@both
def take(x: Tensor, index: Tensor) -> Tensor:
    return gather(reshape(x, -1), 0, reshape(index, -1)).reshape(index.shape)


@both
def index_select(x: Tensor, dim: int, index: Tensor, *, out: Any = None) -> Tensor:
    dim %= len(x.shape)
    result = new((*x.shape[:dim], index.numel(), *x.shape[dim + 1 :]), x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _scattered, (index,), (x.shape, x.dtype))
    return result


@both
def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    machine.current.note("masked_select: every element is taken")
    shape = broadcast(x.shape, mask.shape)
    out = new((prod(shape),), x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _scattered, (x, mask), (x.shape, x.dtype))
    return out


@both
def nonzero(x: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    if x.values is not None:
        count = sum(bool(v) for v in x.values)
    else:
        machine.current.note("nonzero: every element is taken as nonzero")
        count = x.numel()
    result = new((count, len(x.shape)), dtypes.int64, x.storage.device)
    return result.unbind(1) if as_tuple else result


@both
def argwhere(x: Tensor) -> Any:
    return nonzero(x)


def _scatter_backward(node: Node, g: Tensor) -> Any:
    gx = like(g) if node.edges[0] is not None and node.context[1] else g if node.edges[0] is not None else None
    gs = None
    if len(node.edges) > 1 and node.edges[1] is not None:
        gs = new(node.context[0], g.dtype, g.storage.device)
    return gx, gs


def _scatter(name: str, overwrites: bool, keeps_source: bool = False) -> None:
    # The gradient of index_add's and index_copy's source has the source's own shape, so the source is kept
    # (derivatives.yaml: `expand_as(source)`).
    def op_(x: Tensor, dim: int, index: Tensor, src: Any = None, *args: Any, **kwargs: Any) -> Tensor:
        x.values = None
        src = kwargs.get("value", src) if src is None else src
        source = src if isinstance(src, Tensor) else None
        if machine.current.grad_enabled and (x.requires_grad or needs(source)):
            context = (source.shape if source is not None and source.shape else index.shape, overwrites)
            write(x, (x, source), _scatter_backward, (index, source) if keeps_source else (index,), context)
        return x

    def op(x: Tensor, dim: int, index: Tensor, src: Any = None, *args: Any, **kwargs: Any) -> Tensor:
        out = like(x)
        src = kwargs.get("value", src) if src is None else src
        source = src if isinstance(src, Tensor) else None
        if machine.current.grad_enabled and (x.requires_grad or needs(source)):
            context = (source.shape if source is not None and source.shape else index.shape, overwrites)
            record(out, (x, source), _scatter_backward, (index, source) if keeps_source else (index,), context)
        return out

    TORCH[name] = op
    setattr(Tensor, name, op)
    setattr(Tensor, name + "_", op_)


for _name, _overwrites in (
    ("scatter", True),
    ("scatter_add", False),
    ("scatter_reduce", True),
    ("index_add", False),
    ("index_copy", True),
    ("index_fill", True),
    ("index_reduce", True),
):
    _scatter(_name, _overwrites, keeps_source=_name in ("index_add", "index_copy"))


def _reduce_by_index(
    x: Tensor, dim: int, index: Tensor, src: Any, reduce: str = "sum", *, include_self: bool = True
) -> Tensor:
    out = like(x)
    if machine.current.grad_enabled and (x.requires_grad or needs(src)):
        record(out, (x, src), _scatter_backward, (index, x, src, out.alias()), (src.shape, True))
    return out


TORCH["scatter_reduce"] = _reduce_by_index
_T.scatter_reduce = _reduce_by_index


def index_put_(x: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    setitem(x, tuple(indices), values)
    return x


_T.index_put_ = index_put_
_T.index_put = lambda x, indices, values, accumulate=False: index_put_(x.clone(), indices, values, accumulate)
_T.masked_scatter = lambda x, mask, source: index_put_(x.clone(), (mask,), source)
TORCH["index_put"] = _T.index_put
TORCH["select_scatter"] = TORCH["slice_scatter"] = lambda x, src, *args, **kwargs: like(x)


# ------------------------------------------------------------------------------------------------------ embeddings


def _embedding_backward(node: Node, g: Tensor) -> Any:
    (index,) = node.saved
    shape, dtype, sparse = node.context
    if sparse:
        return (new(shape, dtype, g.storage.device),)
    out = new(shape, g.dtype, g.storage.device)
    if index.storage.device == "cuda":
        machine.current.allocator.transient(*embedding_backward(index.numel()))
    if machine.current.grad_enabled and g.requires_grad:
        record(out, (g,), _scattered, (index,), (g.shape, g.dtype))
    return (out,)


@functional
def embedding(
    index: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    if index.dtype.kind != 1:
        raise TensorError("Expected tensor for argument 'indices' to have scalar type Long or Int")
    if index.storage.device != weight.storage.device and "meta" not in (index.storage.device, weight.storage.device):
        raise TensorError(
            f"Expected all tensors to be on the same device, found {weight.storage.device} and {index.storage.device}"
        )
    out = new((*index.shape, weight.shape[1]), weight.dtype, weight.storage.device)
    if weight.requires_grad and machine.current.grad_enabled:
        record(out, (weight,), _embedding_backward, (index,), (weight.shape, weight.dtype, sparse))
    return out


@functional
def embedding_bag(
    index: Tensor, weight: Tensor, offsets: Tensor | None = None, *args: Any, mode: str = "mean", **kwargs: Any
) -> Tensor:
    bags = index.shape[0] if offsets is None or len(index.shape) == 2 else offsets.shape[0]
    out = new((bags, weight.shape[1]), weight.dtype, weight.storage.device)
    if weight.requires_grad and machine.current.grad_enabled:
        bag_of = new((index.numel(),), dtypes.int64, weight.storage.device)
        record(out, (weight,), _bag_backward, (index, offsets, bag_of), (weight.shape, weight.dtype, False))
    return out


def _bag_backward(node: Node, g: Tensor) -> Any:
    shape, dtype, _ = node.context
    return (new(shape, dtype, g.storage.device),)


TORCH["embedding"] = lambda weight, index, *args, **kwargs: embedding(index, weight)
FUNCTIONAL["embedding"] = embedding
