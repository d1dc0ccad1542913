"""In-place operators and the bindings of Python's operators to tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.memory.tensors import machine
from engine.memory.tensors.autograd import Node
from engine.memory.tensors.broadcasting import (
    broadcast,
    fresh_saved,
    needs,
    tensor_or_none,
)
from engine.memory.tensors.casting import (
    contiguous,
    copy_,
    fill_,
    to,
    type_,
    write,
    zero_,
)
from engine.memory.tensors.pointwise import (
    _add_backward,
    _div_backward,
    _mul_backward,
    _pow_backward,
    _sub_backward,
    add,
    clamp_,
    div,
    masked_fill_,
    mul,
    pow_,
    remainder,
    sub,
)
from engine.memory.tensors.registry import TORCH
from engine.memory.tensors.storage import TensorError
from engine.memory.tensors.tensor import Tensor
from engine.memory.tensors.unary import (
    abs_,
    bitwise_not,
    neg,
    reciprocal,
)

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
    "add_": add_,
    "sub_": sub_,
    "mul_": mul_,
    "div_": div_,
    "pow_": pow__,
    "copy_": copy_,
    "fill_": fill_,
    "zero_": zero_,
    "clamp_": clamp_,
    "clip_": clamp_,
    "masked_fill_": masked_fill_,
    "contiguous": contiguous,
    "to": to,
    "type": type_,
    "true_divide": div,
    "divide": div,
    "multiply": mul,
    "subtract": sub,
    "addcmul_": _plain_in_place,
    "addcdiv_": _plain_in_place,
    "lerp_": _plain_in_place,
    "clamp_min_": clamp_,
    "clamp_max_": clamp_,
    "floor_divide_": _plain_in_place,
    "remainder_": _plain_in_place,
    "logical_not_": _plain_in_place,
    "logical_and_": _plain_in_place,
    "logical_or_": _plain_in_place,
    "bitwise_or_": _plain_in_place,
    "bitwise_and_": _plain_in_place,
    "eq_": _plain_in_place,
    "masked_scatter_": _plain_in_place,
}.items():
    setattr(Tensor, _name, _function)
TORCH["mul_"] = mul_
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
