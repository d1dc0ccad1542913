"""Softmax and its relatives: the output is what backward needs."""

from __future__ import annotations

from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.broadcasting import saved_output
from engine.memory.tensors.casting import convert, full_precision
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.pointwise import mul, sub
from engine.memory.tensors.reduction import AXIS, accumulation_dtype, reduced_shape, sum_, with_kept
from engine.memory.tensors.registry import FUNCTIONAL, SPECIAL, alias, both, functional
from engine.memory.tensors.tensor import Tensor, like, new


def _softmax_backward(node: Node, g: Tensor) -> Any:
    result = node.saved[0]
    if machine.current.grad_enabled:
        weighted = mul(g, result)
        return (sub(weighted, mul(result, sum_(weighted, node.context[0], True))),)
    return (like(result, node.context[1]),)


OLDEST_CURRENT = 75
"""Architecture (sm) before which a device is run with libraries of its time; see `engine.memory.evidence`."""


def softmax_like(x: Tensor, dim: int, dtype: DType | None, autocast: bool = True) -> Tensor:
    """softmax and log_softmax: the output is saved. A half input with dtype=float32 is converted inside the kernel."""
    if dtype is None and autocast and accumulation_dtype(x) is not x.dtype:
        dtype = dtypes.float32
    if (
        dtype is not None
        and dtype is not x.dtype
        and not (x.storage.device == "cuda" and x.dtype is dtypes.float16 and dtype is dtypes.float32)
    ):
        x = convert(x, dtype, x.storage.device)
    out_dtype = dtype or x.dtype
    out = new(x.shape, out_dtype, x.storage.device)
    if x.strides is not None:
        x = x.alias() if not x.requires_grad else x
    if x.requires_grad and machine.current.grad_enabled:
        # Until torch 1.11 the input was kept beside the output, for its dtype alone.
        kept = (saved_output(out), x) if machine.current.compute < OLDEST_CURRENT else (saved_output(out),)
        record(out, (x,), _softmax_backward, kept, (dim, x.dtype))
    return out


def softmax(x: Tensor, dim: Any = None, *args: Any, dtype: DType | None = None, **kwargs: Any) -> Tensor:
    if dtype is None and args and isinstance(args[-1], DType):
        dtype = args[-1]
    return softmax_like(x, -1 if dim is None else dim, dtype)


for _name in ("softmax", "log_softmax"):
    alias(_name, softmax)
    FUNCTIONAL[_name] = softmax
    SPECIAL[_name] = softmax


@functional
def softmin(x: Tensor, dim: Any = None, **kwargs: Any) -> Tensor:
    return softmax(-x, dim)


@functional
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    noise = -like(logits).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if hard:
        index = soft.max(dim, keepdim=True)[1]
        one_hot = like(logits).scatter_(dim, index, 1.0)
        straight: Tensor = one_hot - soft.detach() + soft
        return straight
    return soft


def _logsumexp_backward(node: Node, g: Tensor) -> Any:
    x, result = node.saved
    shape, dim = node.context
    shifted = sub(x, with_kept(result, shape, dim))
    weights = shifted.exp()
    return (mul(with_kept(g, shape, dim), weights),)


@both
def logsumexp(x: Tensor, dim: AXIS, keepdim: bool = False, **kwargs: Any) -> Tensor:
    if machine.current.autocast is not None:
        x = full_precision(x)
    maxes = new(reduced_shape(x, dim, True), x.dtype, x.storage.device)
    shifted = like(x)
    result = new(reduced_shape(x, dim, keepdim), x.dtype, x.storage.device)
    del shifted, maxes
    if x.requires_grad and machine.current.grad_enabled:
        record(result, (x,), _logsumexp_backward, (x, saved_output(result)), (x.shape, dim))
    return result


SPECIAL["logsumexp"] = logsumexp
