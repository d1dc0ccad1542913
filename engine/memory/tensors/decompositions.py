"""Decompositions, inverses and solutions of matrices."""

from __future__ import annotations

from typing import Any

from engine.memory.tensors import machine
from engine.memory.tensors.autograd import Node, record, record_many
from engine.memory.tensors.registry import LINALG, TORCH, both
from engine.memory.tensors.tensor import Tensor, like, new


def _dense_backward(node: Node, gradients: Any) -> Any:
    (x,) = node.saved
    held = [like(x) for _ in range(3)]
    out = like(x)
    del held
    return (out,)


def _decomposition(x: Tensor, *shapes: tuple[int, ...]) -> Any:
    outs = [new(s, x.dtype, x.storage.device) for s in shapes]
    if x.requires_grad and machine.current.grad_enabled:
        record_many(outs, (x,), _dense_backward, (x,))
    return outs[0] if len(outs) == 1 else tuple(outs)


@both
def inverse(x: Tensor) -> Any:
    return _decomposition(x, x.shape)


@both
def pinverse(x: Tensor) -> Any:
    return _decomposition(x, (*x.shape[:-2], x.shape[-1], x.shape[-2]))


@both
def det(x: Tensor) -> Any:
    return _decomposition(x, x.shape[:-2])


@both
def svd(x: Tensor, *args: Any, full_matrices: bool = False, **kwargs: Any) -> Any:
    *b, m, n = x.shape
    k = min(m, n)
    return _decomposition(x, (*b, m, k), (*b, k), (*b, k, n))


@both
def qr(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    *b, m, n = x.shape
    k = min(m, n)
    return _decomposition(x, (*b, m, k), (*b, k, n))


@both
def cholesky(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    return _decomposition(x, x.shape)


def _eigh(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    return _decomposition(x, x.shape[:-1], x.shape)


def _solve(a: Tensor, b: Tensor, *args: Any, **kwargs: Any) -> Any:
    out = like(b)
    if machine.current.grad_enabled and (a.requires_grad or b.requires_grad):
        record(out, (a, b), lambda node, g: (like(node.saved[0]), like(node.saved[1])), (a, b))
    return out


def _slogdet(x: Tensor) -> Any:
    return _decomposition(x, x.shape[:-2], x.shape[:-2])


TORCH["slogdet"] = _slogdet
Tensor.slogdet = _slogdet  # type: ignore[attr-defined]
Tensor.logdet = det  # type: ignore[attr-defined]
TORCH["logdet"] = det
LINALG.update(
    inv=inverse,
    pinv=pinverse,
    det=det,
    slogdet=_slogdet,
    svd=svd,
    qr=qr,
    cholesky=cholesky,
    eigh=_eigh,
    eig=_eigh,
    svdvals=lambda x: _decomposition(x, (*x.shape[:-2], min(x.shape[-2:]))),
    eigvalsh=lambda x, *a: _decomposition(x, x.shape[:-1]),
    solve=_solve,
    lstsq=_solve,
    solve_triangular=lambda a, b, **k: _solve(a, b),
    matrix_exp=inverse,
    matrix_power=lambda x, n: inverse(x),
)
TORCH["matrix_exp"] = inverse
TORCH["matrix_power"] = LINALG["matrix_power"]
