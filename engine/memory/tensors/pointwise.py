"""Element-wise operators of two operands and masks, with what each saves for backward (derivatives.yaml)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.broadcasting import (
    binary,
    broadcast,
    fresh_saved,
    has_values,
    known,
    needs,
    out_strides,
    position,
    result_constant,
    result_type,
    saved_output,
    tensor_or_none,
)
from engine.memory.tensors.casting import (
    full_precision,
    write,
)
from engine.memory.tensors.dtypes import DType, promote
from engine.memory.tensors.registry import TORCH, alias, both, function
from engine.memory.tensors.storage import Size
from engine.memory.tensors.tensor import Tensor, like, new

# ------------------------------------------------------------------------------------------------ binary operators


def _add_backward(node: Node, g: Tensor) -> Any:
    scale = node.context
    if node.edges[1] is None:
        return g, None
    return (g if node.edges[0] is not None else None), g if scale == 1 else mul(g, scale)


def _sub_backward(node: Node, g: Tensor) -> Any:
    return (g if node.edges[0] is not None else None), (_unary_named("neg")(g) if node.edges[1] is not None else None)


@both
def add(a: Any, b: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    result = binary(a, b)
    if machine.current.grad_enabled and (needs(a) or needs(b)):
        record(result, (tensor_or_none(a), tensor_or_none(b)), _add_backward, (), alpha)
    elif has_values(a, b):
        known(result, lambda x, y: x + y * alpha, a, b)
    elif not result.shape:
        position(result, lambda x, y: x + y * alpha, a, b)
    return result


@both
def sub(a: Any, b: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    result = binary(a, b)
    if machine.current.grad_enabled and (needs(a) or needs(b)):
        record(result, (tensor_or_none(a), tensor_or_none(b)), _sub_backward)
    elif has_values(a, b):
        known(result, lambda x, y: x - y * alpha, a, b)
    elif not result.shape:
        position(result, lambda x, y: x - y * alpha, a, b)
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
            record(
                result,
                (ta, tb),
                _mul_backward,
                (ta if nb else None, tb if na else None),
                None if tb is not None else 1.0,
            )
            return result
    if has_values(a, b):
        known(result, operator.mul, a, b)
    elif not result.shape:
        position(result, operator.mul, a, b)
    return result


def _div_backward(node: Node, g: Tensor) -> Any:
    a, b = node.saved
    ga = div(g, b if b is not None else 1.0) if node.edges[0] is not None else None
    gb = None
    if node.edges[1] is not None:
        gb = mul(_unary_named("neg")(g), div(div(a, b), b))
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
    gb = (
        mul(g, mul(result, _unary_named("log")(a) if isinstance(a, Tensor) else 1.0))
        if node.edges[1] is not None
        else None
    )
    return ga, gb


@both
def pow_(a: Any, exponent: Any, *, out: Any = None) -> Tensor:
    if machine.current.autocast is not None and isinstance(a, Tensor):
        a = full_precision(a)
    result = binary(a, exponent)
    if machine.current.grad_enabled and (needs(a) or needs(exponent)):
        if isinstance(exponent, Tensor) or not isinstance(a, Tensor):
            record(
                result,
                (tensor_or_none(a), tensor_or_none(exponent)),
                _pow_tensor_backward,
                (a, exponent, saved_output(result)),
            )
        else:
            record(result, (a, None), _pow_backward, (a,), exponent)
    elif has_values(a, exponent):
        known(result, operator.pow, a, exponent)
    return result


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
    scale = mul(g, _unary_named("reciprocal")(add(mul(a, a), mul(b, b))))
    return (mul(scale, b) if node.edges[0] is not None else None), (
        mul(scale, _unary_named("neg")(a)) if node.edges[1] is not None else None
    )


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


for _name, _f in (
    ("eq", operator.eq),
    ("ne", operator.ne),
    ("lt", operator.lt),
    ("le", operator.le),
    ("gt", operator.gt),
    ("ge", operator.ge),
):
    setattr(Tensor, f"__{_name}__", plain_binary(_name, _f, dtypes.bool_))
for _name, _f in (("logical_and", operator.and_), ("logical_or", operator.or_), ("logical_xor", operator.xor)):
    plain_binary(_name, _f, dtypes.bool_)
plain_binary("isclose", None, dtypes.bool_)
for _name, _f in (
    ("bitwise_and", operator.and_),
    ("bitwise_or", operator.or_),
    ("bitwise_xor", operator.xor),
    ("bitwise_left_shift", operator.lshift),
    ("bitwise_right_shift", operator.rshift),
    ("floor_divide", operator.floordiv),
):
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
        operands = (tensor_or_none(a), tensor_or_none(b))
        record(result, operands, _remainder_backward, operands if needs(b) else (), 1)
    elif has_values(a, b):
        known(result, operator.mod, a, b)
    return result


def _remainder_backward(node: Node, g: Tensor) -> Any:
    """Of the divisor: minus the gradient times the whole quotient."""
    gb = None
    if node.edges[1] is not None:
        quotient = div(*node.saved)
        gb = mul(mul(g, -1.0), quotient)
    return (g if node.edges[0] is not None else None), gb


alias("fmod", remainder)


@both
def logaddexp(a: Tensor, b: Tensor, *, out: Any = None) -> Tensor:
    result = binary(a, b)
    if machine.current.grad_enabled and (needs(a) or needs(b)):
        record(result, (a, b), _logaddexp_backward, (a, b))
    return result


def _logaddexp_backward(node: Node, g: Tensor) -> Any:
    # grad / (1 + exp(other - self)), and the other way round
    a, b = node.saved
    first = div(g, add(_unary_named("exp")(sub(b, a)), 1)) if node.edges[0] is not None else None
    second = div(g, add(_unary_named("exp")(sub(a, b)), 1)) if node.edges[1] is not None else None
    return first, second


alias("logaddexp2", logaddexp)


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
    result = new(shape, dtype, condition.storage.device, out_strides(Size(shape), condition, a, b))
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
    x = node.saved[0]
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
        bounds = tuple(bound for bound in (min, max) if isinstance(bound, Tensor))
        record(result, (x,), _clamp_backward, (x, *bounds), min is not None and max is not None)
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
    shape = broadcast(x.shape, broadcast(a.shape, b.shape))
    dtype = promote(x.dtype, promote(a.dtype, b.dtype))
    result = new(shape, dtype, x.storage.device, out_strides(shape, x, a, b))
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


def _unary_named(name: str) -> Callable[..., Tensor]:
    # The unary operators are built upon these; they are looked up when a backward runs.
    found: Callable[..., Tensor] = TORCH[name]
    return found
