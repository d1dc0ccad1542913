"""Layer, batch, group, instance and RMS norms: output, float32 statistics, and the saved input."""

from __future__ import annotations

from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.broadcasting import sum_to
from engine.memory.tensors.casting import contiguous, convert, full_precision
from engine.memory.tensors.pointwise import add, mul, pow_
from engine.memory.tensors.rearranging import repeat
from engine.memory.tensors.reduction import mean
from engine.memory.tensors.registry import TORCH, functional
from engine.memory.tensors.shaping import reshape
from engine.memory.tensors.storage import TensorError
from engine.memory.tensors.tensor import CHANNELS_LAST, Tensor, like, new
from engine.memory.tensors.unary import rsqrt


def _norm_backward(node: Node, g: Tensor) -> Any:
    x = node.saved[0]
    edges = node.edges
    if machine.current.grad_enabled:
        return _differentiable(node, g)
    gx = like(x) if edges[0] is not None else None
    weight, bias = node.saved[1], node.context
    gw = new(weight.shape, weight.dtype, weight.storage.device) if edges[1] is not None else None
    gb = new(bias[0], bias[1], x.storage.device) if edges[2] is not None else None
    return gx, gw, gb


def _differentiable(node: Node, g: Tensor) -> Any:
    # Double backward: the gradient depends on the input, the weight and the incoming gradient.
    x, weight = node.saved[0], node.saved[1]
    scaled = mul(mul(g, 1.0), mul(x, 1.0))
    if weight is not None and len(weight.shape) == 1 and weight.shape[0] == x.shape[-1]:
        scaled = mul(scaled, weight)
    gw = mul(g, x) if node.edges[1] is not None else None
    if gw is not None and weight is not None:
        gw = _channel_sum(gw, weight.shape)
    gb = _channel_sum(mul(g, 1.0), node.context[0]) if node.edges[2] is not None else None
    return scaled, gw, gb


def _channel_sum(g: Tensor, shape: tuple[int, ...]) -> Tensor:
    if len(shape) == 1 and g.shape[-1] != shape[0] and len(g.shape) > 1 and g.shape[1] == shape[0]:
        return g.sum([d for d in range(len(g.shape)) if d != 1])
    return sum_to(g, shape)


def _statistics(shape: tuple[int, ...], x: Tensor) -> Tensor:
    dtype = dtypes.float32 if x.dtype.itemsize == 2 else x.dtype
    return new(shape, dtype, x.storage.device)


def _recorded(out: Tensor, x: Tensor, weight: Tensor | None, bias: Tensor | None, *statistics: Tensor) -> Tensor:
    if machine.current.grad_enabled and (
        x.requires_grad or (weight is not None and weight.requires_grad) or (bias is not None and bias.requires_grad)
    ):
        record(
            out,
            (x, weight, bias),
            _norm_backward,
            (x, weight, *statistics),
            None if bias is None else (bias.shape, bias.dtype),
        )
    return out


@functional
def layer_norm(
    x: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    if machine.current.autocast is not None:
        x = full_precision(x)
        weight, bias = weight and full_precision(weight), bias and full_precision(bias)
    wanted = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    n = len(wanted)
    if x.shape[len(x.shape) - n :] != wanted:
        raise TensorError(
            f"Given normalized_shape={list(wanted)}, expected input with shape [*, {list(wanted)}], "
            f"but got {list(x.shape)}"
        )
    # The kernel reads a contiguous copy that does not outlive it; what is saved is the input itself.
    out = new(x.shape, x.dtype, x.storage.device)
    shape = (*x.shape[: len(x.shape) - n], *[1] * n)
    return _recorded(out, x, weight, bias, _statistics(shape, x), _statistics(shape, x))


@functional
def rms_norm(x: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    wanted = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    out_dtype = x.dtype if weight is None else dtypes.promote(x.dtype, weight.dtype)
    if weight is not None and weight.dtype is not x.dtype:
        wide = convert(x, dtypes.float32, x.storage.device)
        normal = mul(wide, rsqrt(add(mean(pow_(wide, 2), [-1 - i for i in range(len(wanted))], True), eps or 1e-6)))
        return convert(mul(normal, weight), out_dtype, x.storage.device)
    out = new(x.shape, x.dtype, x.storage.device)
    shape = (*x.shape[: len(x.shape) - len(wanted)], *[1] * len(wanted))
    return _recorded(out, x, weight, None, _statistics(shape, x))


@functional
def batch_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    channels = x.shape[1]
    out = like(x)
    if training:
        return _recorded(out, x, weight, bias, _statistics((channels,), x), _statistics((channels,), x))
    return _recorded(out, x, weight, bias)


@functional
def group_norm(
    x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    if machine.current.autocast is not None:
        x = full_precision(x)
        weight, bias = weight and full_precision(weight), bias and full_precision(bias)
    if x.shape[1] % num_groups:
        raise TensorError(
            f"Expected number of channels in input ({x.shape[1]}) to be divisible by num_groups ({num_groups})"
        )
    if not (len(x.shape) == 4 and x.is_contiguous(CHANNELS_LAST)):
        x = contiguous(x)
    out = like(x)
    shape = (x.shape[0], num_groups)
    return _recorded(out, x, weight, bias, new(shape, x.dtype, x.storage.device), new(shape, x.dtype, x.storage.device))


@functional
def instance_norm(
    x: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    n, c = x.shape[0], x.shape[1]
    flat = reshape(contiguous(x), 1, n * c, *x.shape[2:])
    out = batch_norm(
        flat,
        None,
        None,
        repeat(weight, n) if weight is not None else None,
        repeat(bias, n) if bias is not None else None,
        True,
    )
    return reshape(out, x.shape)


@functional
def local_response_norm(x: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    squares = mul(x, x)
    averaged = mul(squares, 1.0)
    scaled = pow_(add(mul(averaged, alpha), k), beta)
    return x / scaled


for _name in ("layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm"):
    TORCH[_name] = globals()[_name]
TORCH["native_layer_norm"] = lambda x, shape, weight, bias, eps: (layer_norm(x, shape, weight, bias, eps), None, None)
