"""Sums, means, norms, sorting and scans."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from math import prod as product
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.broadcasting import known, saved_output
from engine.memory.tensors.casting import convert, full_precision
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.pointwise import div, mul, sub
from engine.memory.tensors.registry import LINALG, TORCH, alias, both, function, functional
from engine.memory.tensors.shaping import expand, reshape
from engine.memory.tensors.storage import Size
from engine.memory.tensors.tensor import Tensor, like, new

ValuesIndices = namedtuple("ValuesIndices", ["values", "indices"])
AXIS = Any


def reduced_shape(x: Tensor, dim: AXIS, keepdim: bool) -> Size:
    """Shape after reducing ``dim`` (None or empty: all)."""
    n = len(x.shape)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return Size((1,) * n if keepdim else ())
    gone = {dim % n if n else 0} if isinstance(dim, int) else {int(d) % n for d in dim}
    if keepdim:
        return Size(1 if i in gone else s for i, s in enumerate(x.shape))
    return Size(s for i, s in enumerate(x.shape) if i not in gone)


def with_kept(g: Tensor, shape: Size, dim: AXIS) -> Tensor:
    """A reduced gradient with its dimensions put back as ones."""
    if len(g.shape) == len(shape):
        return g
    n = len(shape)
    gone = (
        set(range(n)) if dim is None else {dim % n} if isinstance(dim, int) else {d % n for d in dim} or set(range(n))
    )
    return reshape(g, tuple(1 if i in gone else s for i, s in enumerate(shape)))


def _sum_backward(node: Node, g: Tensor) -> Any:
    shape, dim = node.context
    return (expand(with_kept(g, shape, dim), shape),)


def _axis(dim: AXIS, kwargs: dict[str, Any]) -> AXIS:
    axis = kwargs.get("axis")
    dim = axis if dim is None else dim
    return tuple(dim) if isinstance(dim, list) else dim


def accumulation_dtype(x: Tensor) -> DType:
    """Float32 for half precision under autocast: sums, scans and norms read their input as it is, without a copy."""
    if machine.current.autocast is not None and x.is_cuda and x.dtype.kind == 2 and x.dtype.itemsize == 2:
        return dtypes.float32
    return x.dtype


@both
def sum_(
    x: Tensor, dim: AXIS = None, keepdim: bool = False, *, dtype: DType | None = None, out: Any = None, **kwargs: Any
) -> Tensor:
    dim, keepdim = _axis(dim, kwargs), bool(kwargs.get("keepdims", keepdim))
    if dtype is None:
        dtype = dtypes.int64 if x.dtype.kind < 2 else accumulation_dtype(x)
    elif x.dtype is not dtype and x.dtype.kind == 2 and x.dtype.itemsize > 2:
        x = convert(x, dtype, x.storage.device)
    result = new(reduced_shape(x, dim, keepdim), dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _sum_backward, (), (x.shape, dim))
    elif x.values is not None and dim is None:
        result.values = [sum(x.values)]
    return result


def _mean_backward(node: Node, g: Tensor) -> Any:
    shape, dim, count = node.context
    return (div(expand(with_kept(g, shape, dim), shape), count),)


@both
def mean(
    x: Tensor, dim: AXIS = None, keepdim: bool = False, *, dtype: DType | None = None, out: Any = None, **kwargs: Any
) -> Tensor:
    dim, keepdim = _axis(dim, kwargs), bool(kwargs.get("keepdims", keepdim))
    if dtype is not None:
        x = convert(x, dtype, x.storage.device)
    result = new(reduced_shape(x, dim, keepdim), x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _mean_backward, (), (x.shape, dim, max(x.numel() // max(result.numel(), 1), 1)))
    elif x.values is not None and dim is None and x.values:
        result.values = [sum(x.values) / len(x.values)]
    return result


TORCH["nanmean"] = mean
TORCH["nansum"] = Tensor.nansum = sum_  # type: ignore[attr-defined]


def _prod_backward(node: Node, g: Tensor) -> Any:
    x, result = node.saved
    shape, dim = node.context
    return (div(mul(with_kept(g, shape, dim), with_kept(result, shape, dim)), x),)


@both
def prod(x: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    result = new(
        reduced_shape(x, dim, keepdim), dtype or (dtypes.int64 if x.dtype.kind < 2 else x.dtype), x.storage.device
    )
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _prod_backward, (x, saved_output(result)), (x.shape, dim))
    elif x.values is not None and dim is None:
        result.values = [product(x.values)]
    return result


def _var_backward(node: Node, g: Tensor) -> Any:
    x = node.saved[0]
    shape, dim = node.context
    scaled = mul(with_kept(g, shape, dim), 2.0)
    centred = sub(x, mean(x, dim, True))
    return (mul(scaled, centred),)


@both
def var(
    x: Tensor, dim: AXIS = None, unbiased: Any = True, keepdim: bool = False, *, correction: Any = None, **kwargs: Any
) -> Tensor:
    if isinstance(dim, bool):
        dim = None
    dim, keepdim = _axis(dim, kwargs), bool(kwargs.get("keepdims", keepdim))
    result = new(reduced_shape(x, dim, keepdim), x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _var_backward, (x,), (x.shape, dim))
    return result


def _std_backward(node: Node, g: Tensor) -> Any:
    x, result = node.saved
    shape, dim = node.context
    scaled = mul(with_kept(div(g, mul(result, 2.0)), shape, dim), 2.0)
    centred = sub(x, mean(x, dim, True))
    return (mul(scaled, centred),)


@both
def std(
    x: Tensor, dim: AXIS = None, unbiased: Any = True, keepdim: bool = False, *, correction: Any = None, **kwargs: Any
) -> Tensor:
    if isinstance(dim, bool):
        dim = None
    dim = _axis(dim, kwargs)
    result = new(reduced_shape(x, dim, keepdim), x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _std_backward, (x, saved_output(result)), (x.shape, dim))
    return result


@function
def var_mean(
    x: Tensor, dim: AXIS = None, unbiased: Any = True, keepdim: bool = False, **kwargs: Any
) -> tuple[Tensor, Tensor]:
    return var(x, dim, unbiased, keepdim), mean(x, dim, keepdim)


@function
def std_mean(
    x: Tensor, dim: AXIS = None, unbiased: Any = True, keepdim: bool = False, **kwargs: Any
) -> tuple[Tensor, Tensor]:
    return std(x, dim, unbiased, keepdim), mean(x, dim, keepdim)


# ------------------------------------------------------------------------------------------ extremes and sorting


def _scatter_backward(node: Node, gradients: Any) -> Any:
    g = gradients[0] if isinstance(gradients, list) else gradients
    if g is None:
        return (None,)
    shape = node.context
    return (new(shape, g.dtype, g.storage.device),)


def _all_extreme_backward(node: Node, g: Tensor) -> Any:
    x = node.saved[0]
    mask = like(x, dtypes.bool_)
    return (mul(g, mask) if machine.current.grad_enabled else like(x) if mask is not None else None,)


def _extreme(name: str, pick: Callable[..., Any]) -> Callable[..., Any]:
    from engine.memory.tensors.pointwise import maximum

    def op(x: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None, **kwargs: Any) -> Any:
        dim = kwargs.get("axis", dim)
        if isinstance(dim, Tensor):
            return maximum(x, dim)
        if dim is None:
            result = new((), x.dtype, x.storage.device)
            if x.requires_grad and machine.current.grad_enabled:
                record(result, (x,), _all_extreme_backward, (x, saved_output(result)))
            elif x.values:
                result.values = [pick(x.values)]
            return result
        shape = reduced_shape(x, dim, keepdim)
        values, indices = new(shape, x.dtype, x.storage.device), new(shape, dtypes.int64, x.storage.device)
        if x.requires_grad and machine.current.grad_enabled:
            record(values, (x,), _scatter_backward, (indices.alias(),), x.shape)
        return ValuesIndices(values, indices)

    op.__name__ = name
    alias(name, op)
    return op


max_ = _extreme("max", max)
min_ = _extreme("min", min)
_extreme("median", max)
_extreme("nanmedian", max)
_extreme("mode", max)
_extreme("cummax", max)


@both
def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return max_(x, dim, keepdim)


@both
def amax(x: Tensor, dim: AXIS = (), keepdim: bool = False, **kwargs: Any) -> Tensor:
    result = new(reduced_shape(x, dim, keepdim), x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _all_extreme_backward, (x, saved_output(result)))
    return result


alias("amin", amax)


@function
def aminmax(x: Tensor, *, dim: Any = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return amax(x, dim, keepdim), amax(x, dim, keepdim)


Tensor.aminmax = aminmax  # type: ignore[attr-defined]


@both
def argmax(x: Tensor, dim: AXIS = None, keepdim: bool = False, **kwargs: Any) -> Tensor:
    return new(reduced_shape(x, dim, keepdim), dtypes.int64, x.storage.device)


alias("argmin", argmax)


@both
def all_(x: Tensor, dim: AXIS = None, keepdim: bool = False, **kwargs: Any) -> Tensor:
    out = new(reduced_shape(x, dim, keepdim), dtypes.bool_, x.storage.device)
    return known(out, bool, x) if x.values is not None and len(x.values) == 1 else out


@both
def any_(x: Tensor, dim: AXIS = None, keepdim: bool = False, **kwargs: Any) -> Tensor:
    return all_(x, dim, keepdim)


@both
def count_nonzero(x: Tensor, dim: AXIS = None) -> Tensor:
    return new(reduced_shape(x, dim, False), dtypes.int64, x.storage.device)


def _selected(x: Tensor, shape: tuple[int, ...]) -> Any:
    values, indices = new(shape, x.dtype, x.storage.device), new(shape, dtypes.int64, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(values, (x,), _scatter_backward, (indices.alias(),), x.shape)
    return ValuesIndices(values, indices)


@both
def topk(x: Tensor, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True, **kwargs: Any) -> Any:
    shape = list(x.shape)
    shape[dim] = int(k)
    return _selected(x, tuple(shape))


@both
def sort(x: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, **kwargs: Any) -> Any:
    return _selected(x, x.shape)


@both
def argsort(x: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    values = new(x.shape, x.dtype, x.storage.device)
    indices = new(x.shape, dtypes.int64, x.storage.device)
    del values
    return indices


@both
def msort(x: Tensor) -> Any:
    return _selected(x, x.shape).values


@both
def quantile(x: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, **kwargs: Any) -> Tensor:
    held = new(x.shape, x.dtype, x.storage.device)
    shape = reduced_shape(x, dim, keepdim)
    if isinstance(q, Tensor) and q.shape:
        shape = Size((q.shape[0], *shape))
    order = new(x.shape, dtypes.int64, x.storage.device)
    out = new(shape, x.dtype, x.storage.device)
    del held
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _of_sorted, (order,), (x.shape, x.dtype))
    return out


def _of_sorted(node: Node, g: Tensor) -> Any:
    shape, dtype = node.context
    held = new(shape, dtype, g.storage.device)
    out = new(shape, dtype, g.storage.device)
    del held
    return (out,)


alias("nanquantile", quantile)


def _scan_backward(node: Node, g: Tensor) -> Any:
    # flip, cumsum, flip: two temporaries beside the result
    return (g if not g.shape else like(g),)


@both
def cumsum(x: Tensor, dim: int, *, dtype: DType | None = None, out: Any = None) -> Tensor:
    result = like(x, dtype or (dtypes.int64 if x.dtype.kind < 2 else accumulation_dtype(x)))
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _cumsum_backward, (), x.dtype)
    elif x.values is not None and len(x.shape) == 1:
        total = 0
        values = []
        for v in x.values:
            total += v
            values.append(total)
        result.values = values
    return result


def _cumsum_backward(node: Node, g: Tensor) -> Any:
    first = like(g)
    second = like(g)
    del first
    return (mul(g, 1.0) if machine.current.grad_enabled else like(second),)


@both
def cumprod(x: Tensor, dim: int, *, dtype: DType | None = None, out: Any = None) -> Tensor:
    if machine.current.autocast is not None:
        x = full_precision(x)
    result = like(x)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _cumprod_backward, (x, saved_output(result)))
    return result


def _cumprod_backward(node: Node, g: Tensor) -> Any:
    held = [like(g) for _ in range(4)]
    out = like(g)
    del held
    return (out,)


alias("logcumsumexp", cumprod)


@both
def diff(x: Tensor, n: int = 1, dim: int = -1, **kwargs: Any) -> Tensor:
    for _ in range(n):
        length = x.shape[dim]
        x = sub(x.narrow(dim, 1, length - 1), x.narrow(dim, 0, length - 1))
    return x


# --------------------------------------------------------------------------------------------------------- norms


def _norm_backward(node: Node, g: Tensor) -> Any:
    x, result = node.saved
    shape, dim, p = node.context
    ratio = div(with_kept(g, shape, dim), with_kept(result, shape, dim))
    if p != 2:
        held = like(x)
        return (mul(held, ratio),)
    scaled = mul(x, ratio)
    masked = scaled if machine.current.grad_enabled else like(scaled)
    return (masked,)


@both
def norm(
    x: Tensor, p: Any = "fro", dim: AXIS = None, keepdim: bool = False, dtype: DType | None = None, out: Any = None
) -> Tensor:
    result = new(reduced_shape(x, dim, keepdim), (dtype or accumulation_dtype(x)).to_real(), x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(
            result,
            (x,),
            _norm_backward,
            (x, saved_output(result)),
            (x.shape, dim, 2 if p in ("fro", None, 2, 2.0) else p),
        )
    return result


def vector_norm(
    x: Tensor, ord: Any = 2, dim: AXIS = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    return norm(x, ord, dim, keepdim, dtype)


LINALG["vector_norm"] = vector_norm
LINALG["norm"] = lambda x, ord=None, dim=None, keepdim=False, dtype=None: norm(x, ord, dim, keepdim, dtype)
LINALG["matrix_norm"] = lambda x, ord="fro", dim=(-2, -1), keepdim=False, dtype=None: norm(x, 2, dim, keepdim, dtype)


@functional
def normalize(x: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    denominator = norm(x, p, dim, True).clamp_min(eps)
    return div(x, expand(denominator, x.shape))


@functional
def cosine_similarity(a: Tensor, b: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    if machine.current.autocast is not None:
        a, b = full_precision(a), full_precision(b)
    na, nb = norm(a, 2, dim, True).clamp_min(eps), norm(b, 2, dim, True).clamp_min(eps)
    return sum_(mul(div(a, na), div(b, nb)), dim)


TORCH["cosine_similarity"] = cosine_similarity


@both
def dist(a: Tensor, b: Tensor, p: float = 2) -> Tensor:
    return norm(sub(a, b), p)


@functional
def pairwise_distance(a: Tensor, b: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    return norm(sub(a, b) + eps, p, -1, keepdim)


@function
def histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    return new((bins,), x.dtype, x.storage.device)


@both
def bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    return new((max(minlength, 1),), dtypes.int64, x.storage.device)


@both
def unique(
    x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    machine.current.note("unique: every element is taken as distinct")
    n = x.numel() if dim is None else x.shape[dim]
    shape = (n,) if dim is None else x.shape
    values = new(shape, x.dtype, x.storage.device)
    extra = []
    if return_inverse:
        extra.append(new(x.shape if dim is None else (n,), dtypes.int64, x.storage.device))
    if return_counts:
        extra.append(new((n,), dtypes.int64, x.storage.device))
    return (values, *extra) if extra else values


alias("unique_consecutive", unique)


@function
def searchsorted(sorted_sequence: Tensor, values: Any, **kwargs: Any) -> Tensor:
    return (
        like(values, dtypes.int64)
        if isinstance(values, Tensor)
        else new((), dtypes.int64, sorted_sequence.storage.device)
    )


@function
def bucketize(x: Tensor, boundaries: Tensor, **kwargs: Any) -> Tensor:
    return like(x, dtypes.int32 if kwargs.get("out_int32") else dtypes.int64)
