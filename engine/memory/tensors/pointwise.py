"""Element-wise operators: result types, broadcasting, and what each saves for backward (derivatives.yaml)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.dtypes import DType, promote
from engine.memory.tensors.registry import FUNCTIONAL, TORCH, alias, both, function, functional
from engine.memory.tensors.storage import Size, Storage, TensorError, device_kind
from engine.memory.tensors.tensor import Tensor, dense_strides, is_row_major, like, new

NO_GRADIENT = (None, None)
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
                raise TensorError(f"The size of tensor a ({have}) must match the size of tensor b ({size}): {list(a)} and {list(b)}")
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


def out_strides(shape: Size, a: Tensor, b: Any) -> tuple[int, ...] | None:
    """Strides TensorIterator gives the result: those of the first operand of the full shape."""
    if a.strides is None and (not isinstance(b, Tensor) or b.strides is None):
        return None
    for t in (a, b):
        if isinstance(t, Tensor) and t.shape == shape:
            if t.strides is None:
                return None
            return dense_strides(shape, t.strides)
    return None


def binary(a: Any, b: Any, dtype: DType | None = None) -> Tensor:
    """The empty result of a broadcasting operator."""
    if isinstance(a, Tensor):
        if isinstance(b, Tensor):
            sa, sb = a.storage.device, b.storage.device
            if a.shape == b.shape:
                shape = a.shape
            else:
                shape = broadcast(a.shape, b.shape)
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
    for o in operands:
        if isinstance(o, Tensor):
            v = o.values
            if v is None:
                return out
            if len(v) == n:
                columns.append(v)
            elif len(v) == 1:
                columns.append(v * n)
            else:
                return out
        else:
            columns.append([o] * n)
    try:
        out.values = [f(*row) for row in zip(*columns, strict=True)]
    except (ArithmeticError, ValueError, TypeError):
        out.values = None
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


# ------------------------------------------------------------------------------------------------ casts and copies


def _cast_backward(node: Node, g: Tensor) -> Any:
    dtype, device = node.context
    return (convert(g, dtype, device),)


def convert(x: Tensor, dtype: DType, device: str, strides: tuple[int, ...] | bool | None = True, copy: bool = False) -> Tensor:
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


def write(x: Tensor, inputs: tuple[Tensor | None, ...], backward: Callable[[Node, Any], Any], saved: tuple[Any, ...] = (), context: Any = None) -> None:
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
    record(base, (base, *others), _copy_slices, (), (inner, positions, x.shape))
    record(x, (base,), _slice_of_base, (), base.shape)


def _copy_slices(node: Node, g: Tensor) -> Any:
    inner, positions, shape = node.context
    result = like(g)
    piece = new(shape, g.dtype, g.storage.device)
    back = inner.backward(inner, piece)
    return (result, *[back[i] for i in positions])


def _slice_of_base(node: Node, g: Tensor) -> Any:
    return (new(node.context, g.dtype, g.storage.device),)


# ------------------------------------------------------------------------------------------------ binary operators


def _add_backward(node: Node, g: Tensor) -> Any:
    scale = node.context
    if node.edges[1] is None:
        return g, None
    return (g if node.edges[0] is not None else None), g if scale == 1 else mul(g, scale)


def _sub_backward(node: Node, g: Tensor) -> Any:
    return (g if node.edges[0] is not None else None), (neg(g) if node.edges[1] is not None else None)


@both
def add(a: Any, b: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    result = binary(a, b)
    if machine.current.grad_enabled and (needs(a) or needs(b)):
        record(result, (tensor_or_none(a), tensor_or_none(b)), _add_backward, (), alpha)
    elif has_values(a, b):
        known(result, lambda x, y: x + y * alpha, a, b)
    return result


@both
def sub(a: Any, b: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    result = binary(a, b)
    if machine.current.grad_enabled and (needs(a) or needs(b)):
        record(result, (tensor_or_none(a), tensor_or_none(b)), _sub_backward)
    elif has_values(a, b):
        known(result, lambda x, y: x - y * alpha, a, b)
    return result


def _mul_backward(node: Node, g: Tensor) -> Any:
    a, b = node.saved
    ga = mul(g, b if b is not None else node.context) if node.edges[0] is not None else None
    gb = mul(g, a) if node.edges[1] is not None else None
    return ga, gb


@both
def mul(a: Any, b: Any, *, out: Any = None) -> Tensor:
    result = binary(a, b)
    if machine.current.grad_enabled:
        na, nb = needs(a), needs(b)
        if na or nb:
            if not isinstance(a, Tensor):
                a, b, na, nb = b, a, nb, na
            ta, tb = tensor_or_none(a), tensor_or_none(b)
            record(result, (ta, tb), _mul_backward, (ta if nb else None, tb if na else None), None if tb is not None else 1.0)
            return result
    if has_values(a, b):
        known(result, operator.mul, a, b)
    return result


def _div_backward(node: Node, g: Tensor) -> Any:
    a, b = node.saved
    ga = div(g, b if b is not None else 1.0) if node.edges[0] is not None else None
    gb = None
    if node.edges[1] is not None:
        gb = mul(neg(g), div(div(a, b), b))
    return ga, gb


@both
def div(a: Any, b: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    dtype = None
    if rounding_mode is None:
        dtype = result_type(a, b)
        if dtype.kind < 2:
            dtype = machine.current.default_dtype
    result = binary(a, b, dtype)
    if machine.current.grad_enabled and rounding_mode is None and (needs(a) or needs(b)):
        ta, tb = tensor_or_none(a), tensor_or_none(b)
        record(result, (ta, tb), _div_backward, (ta if needs(b) else None, tb))
        if ta is None and needs(b):
            node = result.grad_fn
            assert node is not None
            node.saved = (result_constant(a), tb)
    elif has_values(a, b):
        known(result, operator.truediv if rounding_mode is None else operator.floordiv, a, b)
    return result


def result_constant(value: Any) -> Tensor:
    out = new((), machine.current.default_dtype, "cpu")
    out.values = [value]
    return out


def _pow_backward(node: Node, g: Tensor) -> Any:
    (a,) = node.saved
    exponent = node.context
    if exponent == 0:
        return (like(g), None)
    power = pow_(a, exponent - 1)
    scaled = mul(power, exponent)
    return mul(g, scaled), None


def _pow_tensor_backward(node: Node, g: Tensor) -> Any:
    a, b, result = node.saved
    ga = mul(g, mul(pow_(a, 2), b)) if node.edges[0] is not None else None
    gb = mul(g, mul(result, log(a) if isinstance(a, Tensor) else 1.0)) if node.edges[1] is not None else None
    return ga, gb


@both
def pow_(a: Any, exponent: Any, *, out: Any = None) -> Tensor:
    if machine.current.autocast is not None and isinstance(a, Tensor):
        a = full_precision(a)
    result = binary(a, exponent)
    if machine.current.grad_enabled and (needs(a) or needs(exponent)):
        if isinstance(exponent, Tensor) or not isinstance(a, Tensor):
            record(result, (tensor_or_none(a), tensor_or_none(exponent)), _pow_tensor_backward, (a, exponent, saved_output(result)))
        else:
            record(result, (a, None), _pow_backward, (a,), exponent)
    elif has_values(a, exponent):
        known(result, operator.pow, a, exponent)
    return result


def saved_output(result: Tensor) -> Tensor:
    """The alias under which a node saves its own output (the output itself would make a cycle)."""
    kept = Tensor(result.shape, result.dtype, result.storage, result.strides)
    kept.saved_output = True
    return kept


def full_precision(x: Tensor) -> Tensor:
    """Under autocast: float32 for half precision (the operators of the fp32 list)."""
    if x.dtype.itemsize == 2 and x.dtype.kind == 2 and x.storage.device == "cuda":
        return convert(x, dtypes.float32, "cuda")
    return x


def _maximum_backward(node: Node, g: Tensor) -> Any:
    a, b = node.saved
    mask = compare(a, b)
    half = div(g, 2)
    ga = masked_fill(half, mask, 0) if node.edges[0] is not None else None
    gb = masked_fill(half, mask, 0) if node.edges[1] is not None else None
    return ga, gb


@both
def maximum(a: Tensor, b: Tensor, *, out: Any = None) -> Tensor:
    result = binary(a, b)
    if machine.current.grad_enabled and (needs(a) or needs(b)):
        record(result, (a, b), _maximum_backward, (a, b))
    return result


alias("minimum", maximum)
alias("fmax", maximum)
alias("fmin", maximum)


def _atan2_backward(node: Node, g: Tensor) -> Any:
    a, b = node.saved
    scale = mul(g, reciprocal(add(mul(a, a), mul(b, b))))
    return (mul(scale, b) if node.edges[0] is not None else None), (mul(scale, neg(a)) if node.edges[1] is not None else None)


@both
def atan2(a: Tensor, b: Tensor, *, out: Any = None) -> Tensor:
    result = binary(a, b)
    if machine.current.grad_enabled and (needs(a) or needs(b)):
        record(result, (a, b), _atan2_backward, (a, b))
    return result


alias("hypot", atan2)
alias("arctan2", atan2)


def plain_binary(name: str, f: Callable[..., Any] | None = None, dtype: DType | None = None) -> Callable[..., Tensor]:
    """An operator without a derivative."""

    def op(a: Any, b: Any, *, out: Any = None) -> Tensor:
        result = binary(a, b, dtype)
        if f is not None and has_values(a, b):
            known(result, f, a, b)
        return result

    op.__name__ = name
    alias(name, op)
    return op


def compare(a: Any, b: Any) -> Tensor:
    return binary(a, b, dtypes.bool_)


for _name, _f in (("eq", operator.eq), ("ne", operator.ne), ("lt", operator.lt), ("le", operator.le), ("gt", operator.gt), ("ge", operator.ge)):
    setattr(Tensor, f"__{_name}__", plain_binary(_name, _f, dtypes.bool_))
for _name, _f in (("logical_and", operator.and_), ("logical_or", operator.or_), ("logical_xor", operator.xor)):
    plain_binary(_name, _f, dtypes.bool_)
plain_binary("isclose", None, dtypes.bool_)
for _name, _f in (("bitwise_and", operator.and_), ("bitwise_or", operator.or_), ("bitwise_xor", operator.xor),
                  ("bitwise_left_shift", operator.lshift), ("bitwise_right_shift", operator.rshift),
                  ("floor_divide", operator.floordiv)):  # fmt: skip
    plain_binary(_name, _f)
alias("greater", TORCH["gt"])
alias("less", TORCH["lt"])
alias("not_equal", TORCH["ne"])
alias("greater_equal", TORCH["ge"])
alias("less_equal", TORCH["le"])


@both
def remainder(a: Any, b: Any, *, out: Any = None) -> Tensor:
    result = binary(a, b)
    if machine.current.grad_enabled and (needs(a) or needs(b)):
        record(result, (tensor_or_none(a), tensor_or_none(b)), _add_backward, (), 1)
    elif has_values(a, b):
        known(result, operator.mod, a, b)
    return result


alias("fmod", remainder)


@function
def equal(a: Tensor, b: Tensor) -> bool:
    return machine.current.truth


@function
def allclose(a: Tensor, b: Tensor, *args: Any, **kwargs: Any) -> bool:
    return True


# ------------------------------------------------------------------------------------------------- masks and choices


def _where_backward(node: Node, g: Tensor) -> Any:
    (condition,) = node.saved
    zero = result_constant(0.0)
    ga = where(condition, g, zero) if node.edges[0] is not None else None
    gb = where(condition, zero, g) if node.edges[1] is not None else None
    return ga, gb


@function
def where(condition: Tensor, a: Any = None, b: Any = None, *, out: Any = None) -> Any:
    if a is None:
        from engine.memory.tensors import indexing

        return indexing.nonzero(condition, as_tuple=True)
    dtype = result_type(a, b)
    shape: tuple[int, ...] = condition.shape
    for t in (a, b):
        if isinstance(t, Tensor):
            shape = broadcast(shape, t.shape)
    strides = None
    for t in (condition, a, b):
        if isinstance(t, Tensor) and t.shape == shape:
            strides = dense_strides(shape, t.strides)
            break
    result = new(shape, dtype, condition.storage.device, strides)
    if machine.current.grad_enabled and (needs(a) or needs(b)):
        record(result, (tensor_or_none(a), tensor_or_none(b)), _where_backward, (condition,))
    return result


Tensor.where = lambda x, condition, other=0: where(condition, x, other)  # type: ignore[attr-defined]


def _masked_fill_backward(node: Node, g: Tensor) -> Any:
    (mask,) = node.saved
    return (masked_fill(g, mask, 0), None)


@both
def masked_fill(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    shape = broadcast(x.shape, mask.shape)
    result = like(x) if shape == x.shape else new(shape, x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x, None), _masked_fill_backward, (mask,))
    return result


def masked_fill_(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    x.values = None
    if x.requires_grad and machine.current.grad_enabled:
        write(x, (x, None), _masked_fill_backward, (mask,))
    return x


def _clamp_backward(node: Node, g: Tensor) -> Any:
    (x,) = node.saved
    both_sides = node.context
    mask = compare(x, 0)
    if both_sides:
        other = compare(x, 0)
        mask = binary(mask, other)
    return (where(mask, g, result_constant(0.0)),)


@both
def clamp(x: Tensor, min: Any = None, max: Any = None, *, out: Any = None) -> Tensor:
    result = like(x, result_type(x, min if min is not None else max))
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        result = binary(x, min if isinstance(min, Tensor) else max)
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _clamp_backward, (x,), min is not None and max is not None)
    elif x.values is not None and not isinstance(min, Tensor) and not isinstance(max, Tensor):
        low = -math.inf if min is None else min
        high = math.inf if max is None else max
        result.values = [low if v < low else high if v > high else v for v in x.values]
    return result


def clamp_(x: Tensor, min: Any = None, max: Any = None) -> Tensor:
    x.values = None
    if x.requires_grad and machine.current.grad_enabled:
        write(x, (x,), _clamp_backward, (fresh_saved(x),), min is not None and max is not None)
    return x


alias("clip", clamp)


@both
def clamp_min(x: Tensor, min: Any) -> Tensor:
    return clamp(x, min=min)


@both
def clamp_max(x: Tensor, max: Any) -> Tensor:
    return clamp(x, max=max)


def fresh_saved(x: Tensor) -> Tensor:
    return x.fresh_copy()


def _lerp_backward(node: Node, g: Tensor) -> Any:
    weight, a, b = node.saved
    ga = mul(g, 0.5 if weight is None else sub(1, weight)) if node.edges[0] is not None else None
    gb = mul(g, 0.5 if weight is None else weight) if node.edges[1] is not None else None
    gw = mul(g, sub(b, a)) if node.edges[2] is not None else None
    return ga, gb, gw


@both
def lerp(a: Tensor, b: Tensor, weight: Any, *, out: Any = None) -> Tensor:
    result = binary(a, b)
    if isinstance(weight, Tensor) and weight.numel() > result.numel():
        result = new(broadcast(result.shape, weight.shape), a.dtype, a.storage.device)
    if machine.current.grad_enabled and (needs(a) or needs(b) or needs(weight)):
        w = tensor_or_none(weight)
        extra = (a, b) if needs(weight) else (None, None)
        record(result, (a, b, w), _lerp_backward, (w, *extra))
    return result


@both
def addcmul(x: Tensor, a: Tensor, b: Tensor, *, value: Any = 1, out: Any = None) -> Tensor:
    result = new(broadcast(x.shape, broadcast(a.shape, b.shape)), promote(x.dtype, promote(a.dtype, b.dtype)), x.storage.device)
    if machine.current.grad_enabled and (needs(x) or needs(a) or needs(b)):
        record(result, (x, a, b), _addcmul_backward, (a if needs(b) else None, b if needs(a) else None))
    return result


def _addcmul_backward(node: Node, g: Tensor) -> Any:
    a, b = node.saved
    return (
        g if node.edges[0] is not None else None,
        mul(g, b) if node.edges[1] is not None else None,
        mul(g, a) if node.edges[2] is not None else None,
    )


@both
def addcdiv(x: Tensor, a: Tensor, b: Tensor, *, value: Any = 1, out: Any = None) -> Tensor:
    return add(x, div(a, b))


# -------------------------------------------------------------------------------------------------- unary operators
# name: (what is saved, temporaries of the backward besides its result, Python function for known data, fp32 under autocast)

_UNARY: dict[str, tuple[str, int, Callable[..., Any] | None, bool]] = {
    "exp": ("result", 0, math.exp, True),
    "exp2": ("result", 1, lambda v: 2.0**v, True),
    "expm1": ("result", 1, math.expm1, True),
    "sqrt": ("result", 1, math.sqrt, False),
    "rsqrt": ("result", 2, lambda v: v**-0.5, True),
    "reciprocal": ("result", 2, lambda v: 1 / v, True),
    "tanh": ("result", 0, math.tanh, False),
    "sigmoid": ("result", 0, lambda v: 1 / (1 + math.exp(-v)), False),
    "relu": ("result", 0, lambda v: max(v, 0), False),
    "tan": ("result", 2, math.tan, True),
    "sin": ("self", 1, math.sin, False),
    "cos": ("self", 2, math.cos, False),
    "sinh": ("self", 1, math.sinh, True),
    "cosh": ("self", 1, math.cosh, True),
    "asin": ("self", 3, math.asin, True),
    "acos": ("self", 3, math.acos, True),
    "atan": ("self", 2, math.atan, False),
    "asinh": ("self", 3, math.asinh, False),
    "acosh": ("self", 3, math.acosh, False),
    "atanh": ("self", 2, math.atanh, False),
    "log": ("self", 0, math.log, True),
    "log2": ("self", 1, math.log2, True),
    "log10": ("self", 1, math.log10, True),
    "log1p": ("self", 1, math.log1p, True),
    "abs": ("self", 1, abs, False),
    "erf": ("self", 3, math.erf, False),
    "erfc": ("self", 3, math.erfc, False),
    "erfinv": ("self", 3, None, True),
    "lgamma": ("self", 1, math.lgamma, False),
    "digamma": ("self", 1, None, False),
    "square": ("self", 2, lambda v: v * v, True),
    "sinc": ("self", 4, None, False),
    "silu": ("self", 0, None, False),
    "gelu": ("self", 0, None, False),
    "mish": ("self", 0, None, False),
    "softplus": ("self", 0, None, True),
    "leaky_relu": ("self", 0, None, False),
    "elu": ("self", 0, None, False),
    "selu": ("result", 0, None, False),
    "celu": ("self", 0, None, False),
    "hardtanh": ("self", 0, None, False),
    "relu6": ("self", 0, None, False),
    "hardswish": ("self", 0, None, False),
    "hardsigmoid": ("self", 0, None, False),
    "logsigmoid": ("self", 0, None, False),
    "hardshrink": ("self", 0, None, False),
    "softshrink": ("self", 0, None, False),
    "tanhshrink": ("result", 1, None, False),
    "softsign": ("self", 3, None, False),
    "threshold": ("self", 0, None, False),
    "logit": ("self", 0, None, False),
    "neg": ("none", 0, operator.neg, False),
    "ceil": ("none", 0, math.ceil, False),
    "floor": ("none", 0, math.floor, False),
    "round": ("none", 0, round, False),
    "trunc": ("none", 0, math.trunc, False),
    "frac": ("none", 0, None, False),
    "sign": ("none", 0, lambda v: (v > 0) - (v < 0), False),
    "sgn": ("none", 0, lambda v: (v > 0) - (v < 0), False),
    "nan_to_num": ("self", 2, None, False),
    "deg2rad": ("none", 0, math.radians, False),
    "rad2deg": ("none", 0, math.degrees, False),
    "real": ("none", 0, None, False),
    "angle": ("self", 2, None, False),
}
_INTEGER_STAYS = frozenset(("neg", "abs", "square", "sign", "sgn", "ceil", "floor", "round", "trunc", "relu", "relu6", "hardtanh", "threshold", "nan_to_num"))


def _unary_backward(node: Node, g: Tensor) -> Any:
    saved = node.saved[0] if node.saved else None
    if saved is None:
        return (mul(g, -1.0),)
    if machine.current.grad_enabled:
        return (mul(g, mul(saved, 1.0)),)
    held = [like(saved) for _ in range(node.context)]
    out = like(g)
    del held
    return (out,)


def _unary(name: str) -> Callable[..., Tensor]:
    kind, temporaries, f, wide = _UNARY[name]
    saves_self, saves_result = kind == "self", kind == "result"
    integer = name in _INTEGER_STAYS

    def op(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if wide and machine.current.autocast is not None:
            x = full_precision(x)
        if kwargs.get("inplace"):
            return op_(x)
        dtype = x.dtype
        if dtype.kind < 2 and not integer:
            dtype = machine.current.default_dtype
        elif dtype.kind == 3 and name in ("abs", "angle"):
            dtype = dtype.to_real()
        out = like(x, dtype)
        if x.requires_grad and machine.current.grad_enabled:
            record(out, (x,), _unary_backward, (x,) if saves_self else (saved_output(out),) if saves_result else (), temporaries)
        elif x.values is not None and f is not None and not args and not kwargs:
            known(out, f, x)
        return out

    def op_(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        x.values = None
        if x.requires_grad and machine.current.grad_enabled:
            in_place_output = saves_result or name in ("leaky_relu", "elu", "hardtanh", "relu6", "celu")
            saved = (saved_output(x),) if in_place_output else (fresh_saved(x),) if saves_self else ()
            write(x, (x,), _unary_backward, saved, temporaries)
        return x

    op.__name__ = name
    op_.__name__ = name + "_"
    TORCH[name], TORCH[name + "_"] = op, op_
    setattr(Tensor, name, op)
    setattr(Tensor, name + "_", op_)
    return op


for _name in _UNARY:
    _unary(_name)
for _name in ("silu", "gelu", "mish", "softplus", "leaky_relu", "elu", "selu", "celu", "hardtanh", "relu6", "hardswish", "hardsigmoid",
              "logsigmoid", "hardshrink", "softshrink", "tanhshrink", "softsign", "threshold", "relu", "tanh", "sigmoid"):  # fmt: skip
    FUNCTIONAL[_name] = TORCH[_name]
    FUNCTIONAL[_name + "_"] = TORCH[_name + "_"]
del FUNCTIONAL["silu_"], FUNCTIONAL["gelu_"], FUNCTIONAL["mish_"]
exp: Callable[..., Tensor] = TORCH["exp"]
log: Callable[..., Tensor] = TORCH["log"]
neg: Callable[..., Tensor] = TORCH["neg"]
abs_: Callable[..., Tensor] = TORCH["abs"]
sqrt: Callable[..., Tensor] = TORCH["sqrt"]
rsqrt: Callable[..., Tensor] = TORCH["rsqrt"]
reciprocal: Callable[..., Tensor] = TORCH["reciprocal"]
sigmoid: Callable[..., Tensor] = TORCH["sigmoid"]
tanh: Callable[..., Tensor] = TORCH["tanh"]
relu: Callable[..., Tensor] = TORCH["relu"]
gelu: Callable[..., Tensor] = TORCH["gelu"]
silu: Callable[..., Tensor] = TORCH["silu"]
alias("negative", neg)
alias("absolute", abs_)
alias("arctan", TORCH["atan"])
alias("arccos", TORCH["acos"])
alias("arcsin", TORCH["asin"])
alias("fix", TORCH["trunc"])


def _boolean(name: str, f: Callable[..., Any] | None = None) -> None:
    def op(x: Tensor, *args: Any, out: Any = None) -> Tensor:
        result = like(x, dtypes.bool_)
        return known(result, f, x) if f is not None and x.values is not None else result

    op.__name__ = name
    alias(name, op)


for _name, _f in (("isnan", math.isnan), ("isinf", math.isinf), ("isfinite", math.isfinite), ("isneginf", None), ("isposinf", None),
                  ("signbit", None), ("logical_not", operator.not_)):  # fmt: skip
    _boolean(_name, _f)


@both
def bitwise_not(x: Tensor) -> Tensor:
    out = like(x)
    return known(out, operator.not_, x) if x.values is not None and x.dtype.kind == 0 else out


@functional
def prelu(x: Tensor, weight: Tensor) -> Tensor:
    out = like(x)
    if machine.current.grad_enabled and (x.requires_grad or weight.requires_grad):
        record(out, (x, weight), _prelu_backward, (x, weight))
    return out


def _prelu_backward(node: Node, g: Tensor) -> Any:
    x, weight = node.saved
    gx = like(x)
    gw = like(x) if node.edges[1] is not None else None
    return gx, (new(weight.shape, weight.dtype, x.storage.device) if gw is not None else None)


TORCH["prelu"] = prelu


@functional
def glu(x: Tensor, dim: int = -1) -> Tensor:
    shape = list(x.shape)
    shape[dim] //= 2
    out = new(tuple(shape), x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), lambda node, g: (like(node.saved[0]),), (x,))
    return out


# --------------------------------------------------------------------------------------------------------- dropout


def _dropout_backward(node: Node, g: Tensor) -> Any:
    return (mul(g, node.saved[0]) if machine.current.grad_enabled else like(g),)


@functional
def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if not training or p == 0 or x.numel() == 0:
        return x
    if p == 1:
        return mul(x, new(x.shape, x.dtype, x.storage.device))
    if inplace:
        noise = like(x)
        return mul_(x, noise)
    if x.storage.device != "cuda":
        return mul(x, like(x))
    out = like(x)
    mask = like(x, dtypes.bool_)
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _dropout_backward, (mask,))
    return out


TORCH["dropout"] = dropout


def _feature_dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if not training or p == 0:
        return x
    noise = new((*x.shape[:2], *[1] * (len(x.shape) - 2)), x.dtype, x.storage.device)
    return mul_(x, noise) if inplace else mul(x, noise)


for _name in ("dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"):
    FUNCTIONAL[_name] = _feature_dropout


@functional
def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    if not training or p == 0:
        return x
    noise = like(x)
    return add(mul(x, noise), like(x))


# ------------------------------------------------------------------------------------------------ in-place binaries


def _in_place_check(x: Tensor, other: Any) -> None:
    x.values = None
    if x.grad_fn is None and x.requires_grad and machine.current.grad_enabled:
        raise TensorError("a leaf Variable that requires grad is being used in an in-place operation.")
    if isinstance(other, Tensor) and other.shape != x.shape and broadcast(x.shape, other.shape) != x.shape:
        raise TensorError("output with the shape of the tensor doesn't match the broadcast shape")


def add_(x: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    _in_place_check(x, other)
    if machine.current.grad_enabled and (x.requires_grad or needs(other)):
        write(x, (x, tensor_or_none(other)), _add_backward, (), alpha)
    return x


def sub_(x: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    _in_place_check(x, other)
    if machine.current.grad_enabled and (x.requires_grad or needs(other)):
        write(x, (x, tensor_or_none(other)), _sub_backward)
    return x


def mul_(x: Tensor, other: Any) -> Tensor:
    _in_place_check(x, other)
    if machine.current.grad_enabled and (x.requires_grad or needs(other)):
        t = tensor_or_none(other)
        write(x, (x, t), _mul_backward, (fresh_saved(x) if needs(other) else None, t), 1.0)
    return x


def div_(x: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    _in_place_check(x, other)
    if machine.current.grad_enabled and (x.requires_grad or needs(other)):
        t = tensor_or_none(other)
        write(x, (x, t), _div_backward, (fresh_saved(x) if needs(other) else None, t))
    return x


def pow__(x: Tensor, exponent: Any) -> Tensor:
    _in_place_check(x, exponent)
    if machine.current.grad_enabled and x.requires_grad:
        write(x, (x, None), _pow_backward, (fresh_saved(x),), exponent)
    return x


def _plain_in_place(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    _in_place_check(x, None)
    if machine.current.grad_enabled:
        tensors = tuple(a for a in args if isinstance(a, Tensor) and a.dtype.kind >= 2)
        if x.requires_grad or any(t.requires_grad for t in tensors):
            write(x, (x, *tensors), _pass_through, (), 1 + len(tensors))
    return x


def _pass_through(node: Node, g: Tensor) -> Any:
    return (g,) * len(node.edges)


for _name, _function in {
    "add_": add_, "sub_": sub_, "mul_": mul_, "div_": div_, "pow_": pow__, "copy_": copy_, "fill_": fill_, "zero_": zero_,
    "clamp_": clamp_, "clip_": clamp_, "masked_fill_": masked_fill_, "contiguous": contiguous, "to": to, "type": type_,
    "true_divide": div, "divide": div, "multiply": mul, "subtract": sub, "addcmul_": _plain_in_place,
    "addcdiv_": _plain_in_place, "lerp_": _plain_in_place, "clamp_min_": clamp_, "clamp_max_": clamp_,
    "floor_divide_": _plain_in_place, "remainder_": _plain_in_place, "logical_not_": _plain_in_place,
    "logical_and_": _plain_in_place, "logical_or_": _plain_in_place, "bitwise_or_": _plain_in_place,
    "bitwise_and_": _plain_in_place, "eq_": _plain_in_place, "masked_scatter_": _plain_in_place,
}.items():  # fmt: skip
    setattr(Tensor, _name, _function)
for _name in ("zero_", "fill_", "clone"):
    TORCH[_name] = getattr(Tensor, _name)
TORCH["true_divide"] = TORCH["divide"] = div
TORCH["multiply"] = mul
TORCH["subtract"] = sub


def _reverse(f: Callable[..., Tensor]) -> Callable[[Tensor, Any], Tensor]:
    return lambda x, other: f(other, x)


def _rsub(x: Tensor, other: Any) -> Tensor:
    return sub(other, x)


def _rdiv(x: Tensor, other: Any) -> Tensor:
    if isinstance(other, Tensor):
        return div(other, x)
    r = reciprocal(x)
    return mul(r, other)


_T: Any = Tensor
_T.__add__ = _T.__radd__ = add
_T.__sub__, _T.__rsub__ = sub, _rsub
_T.__mul__ = _T.__rmul__ = mul
_T.__truediv__, _T.__rtruediv__ = div, _rdiv
_T.__floordiv__ = TORCH["floor_divide"]
_T.__rfloordiv__ = _reverse(TORCH["floor_divide"])
_T.__mod__ = remainder
_T.__pow__, _T.__rpow__ = pow_, _reverse(pow_)
_T.__neg__, _T.__abs__, _T.__invert__ = neg, abs_, bitwise_not
_T.__pos__ = lambda x: x
_T.__and__ = _T.__rand__ = TORCH["bitwise_and"]
_T.__or__ = _T.__ror__ = TORCH["bitwise_or"]
_T.__xor__ = _T.__rxor__ = TORCH["bitwise_xor"]
_T.__lshift__, _T.__rshift__ = TORCH["bitwise_left_shift"], TORCH["bitwise_right_shift"]
_T.__iadd__, _T.__isub__, _T.__imul__, _T.__itruediv__ = add_, sub_, mul_, div_
_T.__ior__ = _T.__iand__ = _T.__ifloordiv__ = _T.__imod__ = _plain_in_place
_T.__ipow__ = pow__
_T.rsub = _rsub


def _casting(name: str, dtype: DType) -> None:
    def method(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return convert(x, dtype, x.storage.device)

    setattr(Tensor, name, method)


for _name, _dtype in (("float", dtypes.float32), ("half", dtypes.float16), ("bfloat16", dtypes.bfloat16), ("double", dtypes.float64),
                      ("long", dtypes.int64), ("int", dtypes.int32), ("short", dtypes.int16), ("bool", dtypes.bool_), ("byte", dtypes.uint8),
                      ("char", dtypes.int8), ("cfloat", dtypes.complex64)):  # fmt: skip
    _casting(_name, _dtype)
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
