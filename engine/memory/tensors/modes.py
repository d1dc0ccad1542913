"""Gradient modes, autocast, the gradient scaler, ``autograd.Function`` and ``autograd.grad``."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, Packed, record_many, run, wants_gradient
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.pointwise import mul
from engine.memory.tensors.registry import TORCH
from engine.memory.tensors.storage import Size, TensorError
from engine.memory.tensors.tensor import Tensor, like, new


class _GradientMode:
    enabled = False

    def __new__(cls, function: Any = None, *args: Any, **kwargs: Any) -> Any:
        self = object.__new__(cls)
        if callable(function) and not isinstance(function, (bool, Tensor)):
            self._outer = []
            return self._wrap(function)
        return self

    def __init__(self, *args: Any) -> None:
        self._outer: list[bool] = []

    def _wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self._wrap(function)

    def __enter__(self) -> Any:
        state = machine.current
        self._outer.append(state.grad_enabled)
        state.grad_enabled = self.enabled
        return self

    def __exit__(self, *exc: object) -> None:
        machine.current.grad_enabled = self._outer.pop()


class no_grad(_GradientMode):
    pass


class enable_grad(_GradientMode):
    enabled = True


class inference_mode(_GradientMode):
    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.enabled = not mode if isinstance(mode, bool) else False


class set_grad_enabled(_GradientMode):
    def __init__(self, mode: Any) -> None:
        super().__init__()
        self._before = machine.current.grad_enabled
        self.enabled = bool(mode)
        machine.current.grad_enabled = self.enabled

    def __enter__(self) -> Any:
        machine.current.grad_enabled = self.enabled
        return self

    def __exit__(self, *exc: object) -> None:
        machine.current.grad_enabled = self._before


class autocast:
    """``torch.autocast``: the copies of parameters live until the outermost context ends."""

    default_device = "cuda"

    def __init__(
        self,
        device_type: Any = None,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if isinstance(device_type, bool):
            enabled, device_type = device_type, None
        self.device = str(device_type or self.default_device).split(":")[0]
        self.enabled = bool(enabled)
        self.dtype = dtype
        self.keep = cache_enabled is None or bool(cache_enabled)
        self._outer: list[tuple[DType | None, bool]] = []

    def __enter__(self) -> autocast:
        state = machine.current
        self._outer.append((state.autocast, state.autocast_keep))
        state.autocast_depth += 1
        if self.device != "cpu":
            state.autocast = (self.dtype or dtypes.float16) if self.enabled else None
            state.autocast_keep = self.keep
        return self

    def __exit__(self, *exc: object) -> None:
        state = machine.current
        state.autocast_depth -= 1
        if state.autocast_depth == 0:
            state.autocast_cache.clear()
        state.autocast, state.autocast_keep = self._outer.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call


class CudaAutocast(autocast):
    """``torch.cuda.amp.autocast(enabled, dtype)``."""

    def __init__(self, enabled: bool = True, dtype: DType | None = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class CpuAutocast(autocast):
    def __init__(self, enabled: bool = True, dtype: DType | None = None, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler:
    """Scales the loss by a tensor of one element; unscaling and the check for infinities work in place."""

    def __init__(self, *args: Any, init_scale: float = 65536.0, enabled: bool = True, **kwargs: Any) -> None:
        self._enabled = bool(enabled)
        self._scale: Tensor | None = None
        self._initial = init_scale

    def scale(self, outputs: Any) -> Any:
        if not self._enabled:
            return outputs
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(o) for o in outputs)
        if self._scale is None:
            self._scale = new((), dtypes.float32, outputs.storage.device)
        return mul(outputs, self._scale)

    def unscale_(self, optimizer: Any) -> None:
        return None

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        return None

    def get_scale(self) -> float:
        return self._initial

    def is_enabled(self) -> bool:
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        return {"scale": self._initial} if self._enabled else {}

    def load_state_dict(self, state: Any) -> None:
        return None


# ---------------------------------------------------------------------------------------------- autograd.Function


class FunctionContext:
    """The ``ctx`` of a custom function."""

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self._saved: tuple[Any, ...] = ()
        self._node: weakref.ref[Node] | None = None
        self._plain: set[int] = set()
        self._materialise = True

    def save_for_backward(self, *tensors: Any) -> None:
        self._saved = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        node = self._node() if self._node is not None else None
        if node is not None:
            if node.released:
                raise TensorError("Trying to backward through the graph a second time")
            return tuple(s.unpack(s.content) if type(s) is Packed else s for s in node.saved)
        return self._saved

    saved_variables = saved_tensors

    def mark_dirty(self, *tensors: Any) -> None:
        return None

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._plain |= {id(t) for t in tensors}

    def set_materialize_grads(self, value: bool) -> None:
        self._materialise = value


def _function_backward(node: Node, gradients: Any) -> Any:
    function, context, positions, shapes = node.context
    gradients = list(gradients)[: len(shapes)]
    if context._materialise:
        for i, (shape, dtype, device) in enumerate(shapes):
            if gradients[i] is None:
                gradients[i] = new(shape, dtype, device)
    found = function.backward(context, *gradients)
    if not isinstance(found, (tuple, list)):
        found = (found,)
    return [found[p] if p < len(found) else None for p in positions]


class Function:
    """Subclassed with static ``forward`` and ``backward``; forward runs unrecorded."""

    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("forward of an autograd.Function")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError("backward of an autograd.Function")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        state = machine.current
        context = FunctionContext()
        positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        inputs = [args[i] for i in positions]
        wanted = wants_gradient(*inputs)
        context.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        setup = getattr(cls, "setup_context", None)
        outer = state.grad_enabled
        state.grad_enabled = False
        try:
            if setup is not None:
                result = cls.forward(*args, **kwargs)
                setup(context, args, result)
            else:
                result = cls.forward(context, *args, **kwargs)
        finally:
            state.grad_enabled = outer
        single = not isinstance(result, (tuple, list))
        outs = [result] if single else list(result)
        passed = {id(t) for t in inputs}
        outs = [o.alias() if isinstance(o, Tensor) and id(o) in passed else o for o in outs]
        if wanted:
            tensors = [o for o in outs if isinstance(o, Tensor) and id(o) not in context._plain]
            produced = {id(o) for o in outs}
            kept = tuple(t.alias() if isinstance(t, Tensor) and id(t) in produced else t for t in context._saved)
            shapes = [(o.shape, o.dtype, o.storage.device) for o in tensors]
            node = record_many(tensors, inputs, _function_backward, kept, (cls, context, positions, shapes))
            context._saved = ()
            context._node = weakref.ref(node)
        return outs[0] if single else tuple(outs)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _listed(x: Any) -> list[Any]:
    return [x] if isinstance(x, Tensor) or x is None else list(x)


def gradients_of(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """``torch.autograd.grad``."""
    roots = _listed(outputs)
    given = _listed(grad_outputs) if grad_outputs is not None else [None] * len(roots)
    seeds = [like(r) if g is None else g for r, g in zip(roots, given, strict=True)]
    keep = create_graph if retain_graph is None else bool(retain_graph)
    found: Sequence[Any] = run(roots, seeds, keep or create_graph, create_graph, _listed(inputs), True)
    if materialize_grads:
        found = [like(i) if g is None else g for i, g in zip(_listed(inputs), found, strict=True)]
    return tuple(found)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """``torch.autograd.backward``."""
    roots = _listed(tensors)
    given = _listed(grad_tensors) if grad_tensors is not None else [None] * len(roots)
    seeds = [like(r) if g is None else g for r, g in zip(roots, given, strict=True)]
    run(roots, seeds, bool(retain_graph) or create_graph, create_graph, _listed(inputs) if inputs is not None else None)


class saved_tensors_hooks:
    """``torch.autograd.graph.saved_tensors_hooks``."""

    def __init__(self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
        self.hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> Any:
        machine.current.saved_tensor_hooks.append(self.hooks)
        return self

    def __exit__(self, *exc: object) -> None:
        machine.current.saved_tensor_hooks.pop()


class save_on_cpu(saved_tensors_hooks):
    """Saved tensors move to the host and come back one at a time."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(t: Tensor) -> tuple[str, Tensor]:
            return t.storage.device, t.alias().to("cpu") if t.storage.device == "cuda" else t

        def unpack(packed: tuple[str, Tensor]) -> Tensor:
            moved: Tensor = packed[1].to(packed[0])
            return moved

        super().__init__(pack, unpack)


def jacobian(function: Callable[..., Any], inputs: Any, create_graph: bool = False, **kwargs: Any) -> Any:
    """``torch.autograd.functional.jacobian``: one backward for each output element is not played, only the result."""
    machine.current.note("jacobian: only its result is counted")
    many = _listed(inputs)
    with enable_grad():
        out = function(*many)
    found = tuple(new(Size((*out.shape, *i.shape)), i.dtype, i.storage.device) for i in many)
    return found[0] if isinstance(inputs, Tensor) else found


for _name, _value in (
    ("no_grad", no_grad),
    ("enable_grad", enable_grad),
    ("inference_mode", inference_mode),
    ("set_grad_enabled", set_grad_enabled),
    ("autocast", autocast),
):
    TORCH[_name] = _value
TORCH["is_grad_enabled"] = lambda: machine.current.grad_enabled
TORCH["is_inference_mode_enabled"] = lambda: False
TORCH["is_autocast_enabled"] = lambda *args: machine.current.autocast is not None
TORCH["get_autocast_dtype"] = lambda *args: machine.current.autocast or dtypes.float16
TORCH["get_autocast_gpu_dtype"] = TORCH["get_autocast_dtype"]
TORCH["clear_autocast_cache"] = lambda: machine.current.autocast_cache.clear()
