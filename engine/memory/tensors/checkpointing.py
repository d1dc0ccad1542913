"""``torch.utils.checkpoint``: what the first forward keeps and what backward recomputes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from engine.memory.tensors import machine
from engine.memory.tensors.autograd import run
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.modes import Function, autocast, saved_tensors_hooks
from engine.memory.tensors.tensor import Tensor


class _EarlyStop(BaseException):
    """Every saved tensor has been recomputed."""


class _Holder:
    __slots__ = ("__weakref__", "index")

    def __init__(self, index: int) -> None:
        self.index = index


class _Moved:
    """An argument that a saved-tensor hook keeps."""

    def __init__(self, tensor: Tensor, pack: Callable[..., Any], unpack: Callable[..., Any]) -> None:
        self.kept, self.unpack, self.requires_grad = pack(tensor), unpack, tensor.requires_grad

    def fetch(self) -> Tensor:
        """The tensor, on the device again."""
        found: Tensor = self.unpack(self.kept).alias()
        found.requires_grad = self.requires_grad
        return found


class _Frame:
    """One checkpointed call: numbers what would have been saved, and recomputes it at the first need."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], cast: DType | None
    ) -> None:
        self.function, self.kwargs, self.cast = function, kwargs, cast
        # As in torch the arguments are saved tensors too: hooks around the call move them (to the host).
        hooks = machine.current.saved_tensor_hooks[-1:]
        self.args: tuple[Any, ...] = tuple(_Moved(a, *hooks[0]) if hooks and isinstance(a, Tensor) else a for a in args)
        self.holders: list[weakref.ref[_Holder]] = []
        self.recomputed: dict[int, Tensor] | None = None

    def pack(self, tensor: Tensor) -> _Holder:
        holder = _Holder(len(self.holders))
        self.holders.append(weakref.ref(holder))
        return holder

    def unpack(self, holder: _Holder) -> Any:
        if self.recomputed is None or holder.index not in self.recomputed:
            self.recompute()
        assert self.recomputed is not None
        return self.recomputed.pop(holder.index)

    def recompute(self) -> None:
        found: dict[int, Tensor] = {}
        self.recomputed = found
        wanted = len(self.holders)
        count = 0
        alive = self.holders

        def keep(tensor: Tensor) -> Any:
            nonlocal count
            index = count
            count += 1
            if index < wanted and alive[index]() is not None:
                found[index] = tensor.alias()
            if count >= wanted:
                raise _EarlyStop
            return None

        state = machine.current
        outer_grad, outer_phase = state.grad_enabled, state.phase
        state.grad_enabled = True
        try:
            with saved_tensors_hooks(keep, _never), autocast("cuda", self.cast, self.cast is not None):
                args = [a.fetch() if isinstance(a, _Moved) else a for a in self.args]
                self.function(*args, **self.kwargs)
        except _EarlyStop as stop:
            stop.__traceback__ = None
        finally:
            state.grad_enabled, state.phase = outer_grad, outer_phase


def _never(packed: Any) -> Any:
    raise AssertionError("a recomputed graph is not run backward")


class _Reentrant(Function):
    @staticmethod
    def forward(ctx: Any, function: Any, kwargs: Any, *args: Any) -> Any:
        ctx.function, ctx.keywords = function, kwargs
        ctx.cast = machine.current.autocast
        ctx.plain = [None if isinstance(a, Tensor) else a for a in args]
        ctx.where = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.where])
        return function(*args, **kwargs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        state = machine.current
        args = list(ctx.plain)
        for i, tensor in zip(ctx.where, ctx.saved_tensors, strict=True):
            fresh = tensor.alias()
            fresh.requires_grad = tensor.requires_grad
            args[i] = fresh
        outer = state.grad_enabled
        state.grad_enabled = True
        try:
            with autocast("cuda", ctx.cast, ctx.cast is not None):
                outs = ctx.function(*args, **ctx.keywords)
        finally:
            state.grad_enabled = outer
        outs = [outs] if isinstance(outs, Tensor) else list(outs)
        pairs = [(o, g) for o, g in zip(outs, gradients, strict=False) if isinstance(o, Tensor) and o.requires_grad]
        del outs, gradients
        if pairs:
            roots, seeds = [p[0] for p in pairs], [p[1] for p in pairs]
            del pairs
            run(roots, seeds)
            del roots, seeds
        return (None, None, *[a.grad if isinstance(a, Tensor) else None for a in args])


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Reentrant unless told otherwise, as torch does."""
    state = machine.current
    state.checkpoints += state.grad_enabled
    if use_reentrant is None or use_reentrant:
        return _Reentrant.apply(function, kwargs, *args)
    if not state.grad_enabled:
        return function(*args, **kwargs)
    frame = _Frame(function, args, kwargs, state.autocast)
    with saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """The last segment is not checkpointed."""
    modules = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def piece(start: int, end: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for j in range(start, end + 1):
                x = modules[j](x)
            return x

        return forward

    size = len(modules) // segments
    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(piece(start, end), input, use_reentrant=use_reentrant)
    return piece(end + 1, len(modules) - 1)(input)
