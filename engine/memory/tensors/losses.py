"""Losses: what each keeps between forward and backward, and the transients of both."""

from __future__ import annotations

from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.broadcasting import broadcast
from engine.memory.tensors.casting import convert, full_precision
from engine.memory.tensors.pointwise import add, compare, div, mul, pow_, sub
from engine.memory.tensors.reduction import mean, sum_
from engine.memory.tensors.registry import FUNCTIONAL, TORCH, functional
from engine.memory.tensors.softmax import softmax_like
from engine.memory.tensors.storage import TensorError
from engine.memory.tensors.tensor import Tensor, like, new
from engine.memory.tensors.unary import neg


def _reduction(reduction: str, size_average: Any, reduce: Any) -> str:
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "mean" if size_average in (None, True) else "sum"


def reduced(x: Tensor, reduction: str) -> Tensor:
    return mean(x) if reduction == "mean" else sum_(x) if reduction == "sum" else x


def _nll_backward(node: Node, g: Tensor) -> Any:
    x = node.saved[0]
    out = new(x.shape, x.dtype, x.storage.device)
    if machine.current.grad_enabled and g.requires_grad:
        record(
            out,
            (g,),
            lambda n, gg: (new(n.context[0], n.context[1], gg.storage.device),),
            (node.saved[1],),
            (g.shape, g.dtype),
        )
    return (out,)


@functional
def nll_loss(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    reduction = _reduction(reduction, size_average, reduce)
    if machine.current.autocast is not None:
        x = full_precision(x)
    batch = (x.shape[0], *x.shape[2:]) if len(x.shape) > 1 else ()
    if target.shape != batch:
        raise TensorError(f"Expected target size {list(batch)}, got {list(target.shape)}")
    out = new(batch if reduction == "none" else (), x.dtype, x.storage.device)
    total = new((), x.dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _nll_backward, (x, target, weight, total))
    return out


@functional
def cross_entropy(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    reduction = _reduction(reduction, size_average, reduce)
    dim = 0 if len(x.shape) == 1 else 1
    if target.dtype.kind == 2 and target.shape == x.shape:
        logs = softmax_like(x, dim, x.dtype, False)
        classes = x.shape[dim]
        if label_smoothing > 0:
            target = add(mul(target, 1 - label_smoothing), label_smoothing / classes)
        product = mul(logs, target)
        if weight is not None:
            product = mul(product, weight)
        summed = neg(sum_(product, dim)) if reduction == "none" else neg(sum_(product))
        return div(summed, max(x.numel() // classes, 1)) if reduction == "mean" else summed
    logs = softmax_like(x, dim, x.dtype, False)
    if label_smoothing > 0:
        nll = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
        smooth = neg(sum_(logs if weight is None else mul(logs, weight.view(1, -1, *[1] * (len(x.shape) - 2))), dim))
        mask = compare(target, ignore_index)
        smooth = smooth.masked_fill_(mask, 0.0)
        if reduction == "mean":
            smooth = div(sum_(smooth), sub(mask.numel(), sum_(mask)))
        elif reduction == "sum":
            smooth = sum_(smooth)
        return add(mul(nll, 1 - label_smoothing), mul(smooth, label_smoothing / x.shape[dim]))
    return nll_loss(logs, target, weight, None, ignore_index, None, reduction)


# ------------------------------------------------------------------------------------------------ element-wise losses


def _pair_backward(node: Node, g: Tensor) -> Any:
    x, target = node.saved
    if machine.current.grad_enabled:
        difference = mul(sub(x, target), g)
        return difference, (neg(difference) if node.edges[1] is not None else None)
    gx = like(x) if node.edges[0] is not None else None
    gt = like(target) if node.edges[1] is not None else None
    return gx, gt


def _pairwise(x: Tensor, target: Tensor, reduction: str, temporaries: int = 0) -> Tensor:
    if machine.current.autocast is not None:
        x, target = full_precision(x), full_precision(target)
    shape = broadcast(x.shape, target.shape)
    if x.shape != shape:
        x = x.expand(shape)
    if target.shape != shape:
        target = target.expand(shape)
    dtype = dtypes.promote(x.dtype, target.dtype)
    if target.dtype is not dtype:
        target = convert(target, dtype, target.storage.device)
    if x.dtype is not dtype:
        x = convert(x, dtype, x.storage.device)
    elementwise = new(shape, dtype, x.storage.device)
    held = [new(shape, dtype, x.storage.device) for _ in range(temporaries)]
    out = elementwise if reduction == "none" else new((), dtype, x.storage.device)
    del held
    if machine.current.grad_enabled and (x.requires_grad or target.requires_grad):
        record(out, (x, target), _pair_backward, (x, target))
    return out


@functional
def mse_loss(
    x: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Tensor:
    return _pairwise(x, target, _reduction(reduction, size_average, reduce))


@functional
def smooth_l1_loss(
    x: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    return _pairwise(x, target, _reduction(reduction, size_average, reduce))


@functional
def huber_loss(x: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Tensor:
    return _pairwise(x, target, reduction)


@functional
def binary_cross_entropy(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    return _pairwise(x, target, _reduction(reduction, size_average, reduce))


@functional
def l1_loss(
    x: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Tensor:
    if machine.current.autocast is not None:
        x, target = full_precision(x), full_precision(target)
    return reduced(sub(x, target).abs(), _reduction(reduction, size_average, reduce))


def _bce_logits_backward(node: Node, g: Tensor) -> Any:
    x, target = node.saved[0], node.saved[1]
    out = x.sigmoid()
    if machine.current.grad_enabled:
        out = mul(sub(out, target), g)
    elif len(node.saved) > 3 and node.saved[3] is not None:
        held = like(x), like(x)
        del held
    # otherwise everything is written into the one buffer (binary_cross_entropy_with_logits_backward)
    gt = None
    if node.edges[1] is not None:
        gt = mul(neg(x), g)
    return out, gt


@functional
def binary_cross_entropy_with_logits(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    reduction = _reduction(reduction, size_average, reduce)
    if machine.current.autocast is not None:
        x, target = full_precision(x), full_precision(target)
    if x.shape != target.shape:
        raise TensorError(f"Target size ({list(target.shape)}) must be the same as input size ({list(x.shape)})")
    logs = like(x)
    elementwise = like(x)
    held = like(x) if pos_weight is not None or weight is not None else None
    del logs
    out = elementwise if reduction == "none" else new((), x.dtype, x.storage.device)
    del elementwise, held
    if machine.current.grad_enabled and (x.requires_grad or target.requires_grad):
        record(out, (x, target), _bce_logits_backward, (x, target, weight, pos_weight))
    return out


@functional
def kl_div(
    x: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    if machine.current.autocast is not None:
        x, target = full_precision(x), full_precision(target)
    if log_target:
        out = mul(target.exp(), sub(target, x))
    else:
        first = mul(target, target) if target.requires_grad else like(target)
        out = sub(first, mul(target, x))
    if reduction == "batchmean":
        return div(sum_(out), x.shape[0] if x.shape else 1)
    return reduced(out, _reduction(reduction, size_average, reduce))


@functional
def hinge_embedding_loss(
    x: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    return reduced(sub(margin, x).clamp_min(0), reduction)


@functional
def margin_ranking_loss(
    a: Tensor,
    b: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    return reduced((neg(target) * (a - b) + margin).clamp_min(0), reduction)


@functional
def cosine_embedding_loss(
    a: Tensor,
    b: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    product = sum_(a * b, 1)
    sizes = (sum_(a * a, 1) + 1e-12) * (sum_(b * b, 1) + 1e-12)
    return reduced(sub(1, product / sizes.sqrt()), reduction)


@functional
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    from engine.memory.tensors.reduction import pairwise_distance

    return reduced(
        (pairwise_distance(anchor, positive) - pairwise_distance(anchor, negative) + margin).clamp_min(0), reduction
    )


@functional
def soft_margin_loss(
    x: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    return reduced((neg(target) * x).exp().log1p(), reduction)


@functional
def multi_margin_loss(
    x: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    return nll_loss(x, target, None, None, -100, None, reduction)


FUNCTIONAL["multilabel_margin_loss"] = mse_loss


@functional
def multilabel_soft_margin_loss(
    x: Tensor, target: Tensor, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    logsigmoid = FUNCTIONAL["logsigmoid"]
    loss = neg(target * logsigmoid(x) + sub(1, target) * logsigmoid(neg(x)))
    return reduced(sum_(loss, -1) / x.shape[-1], reduction)


@functional
def poisson_nll_loss(
    x: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    return reduced(x.exp() - target * x if log_input else x - target * (x + eps).log(), reduction)


@functional
def gaussian_nll_loss(
    x: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    variance = var.clone() if isinstance(var, Tensor) else var
    loss = 0.5 * ((variance.log() if isinstance(variance, Tensor) else 0.0) + pow_(sub(x, target), 2) / variance)
    return reduced(loss, reduction)


def _ctc_backward(node: Node, g: Tensor) -> Any:
    x = node.saved[0]
    return (new(x.shape, x.dtype, x.storage.device),)


@functional
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    if machine.current.autocast is not None:
        log_probs = full_precision(log_probs)
    t, n = log_probs.shape[0], log_probs.shape[1] if len(log_probs.shape) == 3 else 1
    longest = targets.shape[-1] if len(targets.shape) == 2 else -(-targets.shape[0] // max(n, 1))
    losses = new((n,), log_probs.dtype, log_probs.storage.device)
    log_alpha = new((n, t, 2 * longest + 1), log_probs.dtype, log_probs.storage.device)
    if log_probs.requires_grad and machine.current.grad_enabled:
        record(losses, (log_probs,), _ctc_backward, (log_probs, targets, losses.alias(), log_alpha))
    return reduced(losses, reduction)


for _name in (
    "nll_loss",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "ctc_loss",
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "triplet_margin_loss",
    "poisson_nll_loss",
):
    TORCH[_name] = FUNCTIONAL[_name]
