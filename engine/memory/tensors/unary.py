"""Unary operators, activations and dropout: what is saved and what the backward allocates beside its result."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.broadcasting import (
    fresh_saved,
    known,
    saved_output,
)
from engine.memory.tensors.casting import (
    full_precision,
    write,
)
from engine.memory.tensors.linear_algebra import lower
from engine.memory.tensors.pointwise import (
    add,
    div,
    mul,
    sub,
)
from engine.memory.tensors.registry import FUNCTIONAL, TORCH, alias, both, functional
from engine.memory.tensors.tensor import Tensor, like, new

# -------------------------------------------------------------------------------------------------- unary operators
# name: (what is saved, temporaries of the backward besides its result, Python function for known data,
# float32 under autocast)

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
    "selu": ("self", 0, None, False),
    "celu": ("self", 0, None, False),
    "hardtanh": ("self", 0, None, False),
    "relu6": ("self", 0, None, False),
    "hardswish": ("self", 0, None, False),
    "hardsigmoid": ("self", 0, None, False),
    "logsigmoid": ("self", 0, None, False),
    "hardshrink": ("self", 0, None, False),
    "softshrink": ("self", 0, None, False),
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
    "angle": ("self", 2, None, False),
}
_INTEGER_STAYS = frozenset(
    (
        "neg",
        "abs",
        "square",
        "sign",
        "sgn",
        "ceil",
        "floor",
        "round",
        "trunc",
        "relu",
        "relu6",
        "hardtanh",
        "threshold",
        "nan_to_num",
    )
)


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
        if kwargs.get("inplace") or True in [a for a in args if type(a) is bool]:
            return op_(x)
        dtype = x.dtype
        if dtype.kind < 2 and not integer:
            dtype = machine.current.default_dtype
        elif dtype.kind == 3 and name in ("abs", "angle"):
            dtype = dtype.to_real()
        out = like(x, dtype)
        if x.requires_grad and machine.current.grad_enabled:
            record(
                out,
                (x,),
                _unary_backward,
                (x,) if saves_self else (saved_output(out),) if saves_result else (),
                temporaries,
            )
        elif x.values is not None and f is not None and not args and not kwargs:
            known(out, f, x)
        return out

    def op_(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        x.values = None
        if x.requires_grad and machine.current.grad_enabled:
            in_place_output = saves_result or name in ("leaky_relu", "elu", "selu", "celu")
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
for _name in (
    "silu",
    "gelu",
    "mish",
    "softplus",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "hardtanh",
    "relu6",
    "hardswish",
    "hardsigmoid",
    "logsigmoid",
    "hardshrink",
    "softshrink",
    "threshold",
    "relu",
    "tanh",
    "sigmoid",
):
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


for _name, _f in (
    ("isnan", math.isnan),
    ("isinf", math.isinf),
    ("isfinite", math.isfinite),
    ("isneginf", None),
    ("isposinf", None),
    ("signbit", None),
    ("logical_not", operator.not_),
):
    _boolean(_name, _f)


@both
def bitwise_not(x: Tensor) -> Tensor:
    out = like(x)
    return known(out, operator.not_, x) if x.values is not None and x.dtype.kind == 0 else out


@functional
def tanhshrink(x: Tensor) -> Tensor:
    return sub(x, tanh(x))


@functional
def softsign(x: Tensor) -> Tensor:
    return div(x, add(abs_(x), 1.0))


@functional
def rrelu(
    x: Tensor, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """In training the drawn slopes are saved beside the input."""
    leaky: Tensor = TORCH["leaky_relu_" if inplace else "leaky_relu"](x)
    return mul(x, like(x)) if training and not inplace else leaky


@functional
def prelu(x: Tensor, weight: Tensor) -> Tensor:
    if machine.current.autocast is not None:
        x, weight = lower(x), lower(weight)
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
        scaled: Tensor = TORCH["mul_"](x, noise)
        return scaled
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
    return TORCH["mul_"](x, noise) if inplace else mul(x, noise)


for _name in ("dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"):
    FUNCTIONAL[_name] = _feature_dropout


@functional
def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    if not training or p == 0:
        return x
    noise = like(x)
    return add(mul(x, noise), like(x))
