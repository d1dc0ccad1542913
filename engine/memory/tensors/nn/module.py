"""``nn.Module``."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

from engine.memory.evidence import EAGER
from engine.memory.tensors import machine
from engine.memory.tensors.autograd import RemovableHandle
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.storage import device_kind
from engine.memory.tensors.tensor import Parameter, Tensor

Incompatible = namedtuple("Incompatible", ["missing_keys", "unexpected_keys"])


class Module:
    """Registers parameters, buffers and submodules on assignment; a call runs ``forward`` and the hooks."""

    training: bool
    dump_patches = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._prepare()

    def _prepare(self) -> None:
        if "_parameters" not in self.__dict__:
            self.__dict__.update(
                training=True,
                _parameters={},
                _buffers={},
                _modules={},
                _forward_hooks=[],
                _forward_pre_hooks=[],
                _backward_hooks=[],
                _transient=set(),
            )

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if "_parameters" not in state:
            self._prepare()
        if isinstance(value, Parameter):
            state.pop(name, None)
            self._buffers.pop(name, None)
            self._modules.pop(name, None)
            self._parameters[name] = value
        elif isinstance(value, Module):
            state.pop(name, None)
            self._parameters.pop(name, None)
            self._buffers.pop(name, None)
            self._modules[name] = value
        elif name in self._parameters:
            self._parameters[name] = value
        elif name in self._buffers:
            self._buffers[name] = value
            if isinstance(value, Tensor):
                value.storage.relabel("buffers")
        elif name in self._modules:
            self._modules[name] = value
        else:
            descriptor = getattr(type(self), name, None)
            if isinstance(descriptor, property):
                object.__setattr__(self, name, value)
            else:
                state[name] = value

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            entries = state.get(table)
            if entries is not None and name in entries:
                return entries[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                return
        object.__delattr__(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        watch = machine.current.on_call
        if watch is None:
            return self._call(args, kwargs)
        watch("begin", self, args, kwargs)
        try:
            return self._call(args, kwargs)
        finally:
            watch("end", self, (), {})

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        state = self.__dict__
        if state["_forward_pre_hooks"]:
            for hook, wants_kwargs in list(state["_forward_pre_hooks"]):
                changed = hook(self, args, kwargs) if wants_kwargs else hook(self, args)
                if changed is not None:
                    if wants_kwargs:
                        args, kwargs = changed
                    else:
                        args = changed if isinstance(changed, tuple) else (changed,)
        out = self.forward(*args, **kwargs)
        if state["_forward_hooks"]:
            for hook, wants_kwargs in list(state["_forward_hooks"]):
                changed = hook(self, args, kwargs, out) if wants_kwargs else hook(self, args, out)
                if changed is not None:
                    out = changed
        return out

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ----------------------------------------------------------------------------------------- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        self._prepare()
        self.__dict__.pop(name, None)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        self._prepare()
        self.__dict__.pop(name, None)
        self._buffers[name] = tensor
        if not persistent:
            self._transient.add(name)
        if tensor is not None:
            tensor.storage.relabel("buffers")

    def register_module(self, name: str, module: Module | None) -> None:
        self._prepare()
        self._modules[name] = module

    add_module = register_module

    def get_submodule(self, target: str) -> Any:
        module: Any = self
        for part in target.split(".") if target else ():
            module = getattr(module, part)
        return module

    def get_parameter(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        return getattr(self.get_submodule(path), name)

    get_buffer = get_parameter

    def _register(self, table: list[Any], entry: Any) -> RemovableHandle:
        table.append(entry)
        return RemovableHandle(table, entry)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        return self._register(self._forward_hooks, (hook, with_kwargs))

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        return self._register(self._forward_pre_hooks, (hook, with_kwargs))

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        return self._register(self._backward_hooks, hook)

    register_backward_hook = register_full_backward_hook
    register_full_backward_pre_hook = register_full_backward_hook

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return RemovableHandle([], hook)

    register_state_dict_pre_hook = register_load_state_dict_post_hook
    register_load_state_dict_pre_hook = register_load_state_dict_post_hook
    _register_load_state_dict_pre_hook = register_load_state_dict_post_hook
    _register_state_dict_hook = register_load_state_dict_post_hook

    # ---------------------------------------------------------------------------------------------- walking

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen: set[int] = set()
        for name, module in list(self._modules.items()):
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        memo = set() if memo is None else memo
        pending: list[tuple[str, Module]] = [(prefix, self)]
        while pending:
            path, module = pending.pop()
            if id(module) in memo:
                continue
            if remove_duplicate:
                memo.add(id(module))
            yield path, module
            below = list(module._modules.items())
            pending += [(f"{path}.{name}" if path else name, each) for name, each in below[::-1] if each is not None]

    def _named(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, value in list(getattr(module, table).items()):
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield path + ("." if path else "") + name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    # ------------------------------------------------------------------------------------------------ state

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        out = OrderedDict() if destination is None else destination
        for name, p in self._parameters.items():
            if p is not None:
                out[prefix + name] = p if keep_vars else p.detach()
        for name, b in self._buffers.items():
            if b is not None and name not in self._transient:
                out[prefix + name] = b if keep_vars else b.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=out, prefix=prefix + name + ".", keep_vars=keep_vars)
        return out

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        return Incompatible([], [])

    def train(self, mode: bool = True) -> Any:
        for module in self.modules():
            module.training = mode
        if "training" not in self.__dict__:
            self.training = mode
        return self

    def eval(self) -> Any:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        for p in self.parameters():
            p.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for p in self.parameters():
            if set_to_none:
                p.grad = None

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        for module in self.modules() if recurse else [self]:
            for p in module._parameters.values():
                if p is not None:
                    fresh = fn(p.alias())
                    if fresh.storage is not p.storage:
                        p.data = fresh
                        if p.grad is not None:
                            p.grad.data = fn(p.grad.alias())
                            p.grad.storage.relabel("gradients")
                    elif fresh.strides != p.strides:
                        p.data = fresh
            buffers = module._buffers
            for name, b in buffers.items():
                if b is not None:
                    moved = fn(b)
                    moved.storage.relabel("buffers")
                    buffers[name] = moved
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        dtype, device = kwargs.get("dtype"), kwargs.get("device")
        memory_format = kwargs.get("memory_format")
        for a in args:
            if isinstance(a, DType):
                dtype = a
            elif isinstance(a, Tensor):
                dtype, device = a.dtype, a.device
            elif a is not None and not isinstance(a, bool):
                device = a
        kind = None if device is None else device_kind(device)

        def move(t: Tensor) -> Tensor:
            wanted = dtype if dtype is not None and t.dtype.kind >= 2 else t.dtype
            extra = (
                {"memory_format": memory_format}
                if memory_format is not None and len(t.shape) == memory_format.channels
                else {}
            )
            moved: Tensor = t.to(wanted, kind if kind is not None else t.storage.device, **extra)
            return moved

        return self._apply(move)

    def cuda(self, device: Any = None) -> Any:
        return self.to("cuda")

    def cpu(self) -> Any:
        return self.to("cpu")

    def xpu(self, device: Any = None) -> Any:
        return self.to("cuda")

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        return self.to(device)

    def float(self) -> Any:
        from engine.memory.tensors import dtypes

        return self.to(dtypes.float32)

    def half(self) -> Any:
        from engine.memory.tensors import dtypes

        return self.to(dtypes.float16)

    def bfloat16(self) -> Any:
        from engine.memory.tensors import dtypes

        return self.to(dtypes.bfloat16)

    def double(self) -> Any:
        from engine.memory.tensors import dtypes

        return self.to(dtypes.float64)

    def type(self, dtype: Any) -> Any:
        return self.to(dtype)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        machine.current.note(EAGER)

    def share_memory(self) -> Any:
        return self

    def extra_repr(self) -> str:
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._parameters, *self._buffers, *self._modules]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        from copy import deepcopy

        fresh = type(self).__new__(type(self))
        memo[id(self)] = fresh
        for key, value in self.__dict__.items():
            fresh.__dict__[key] = deepcopy(value, memo)
        for table, category in (("_parameters", "parameters"), ("_buffers", "buffers")):
            for t in fresh.__dict__.get(table, {}).values():
                if t is not None:
                    t.storage.relabel(category)
        return fresh
