"""The base of all optimizers."""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from engine.memory.tensors import machine
from engine.memory.tensors.autograd import RemovableHandle
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.tensor import Tensor, like


class Optimizer:
    """``step`` runs ``update`` on each group's parameters that have gradients; states appear at the first step."""

    def __init__(self, params: Any, defaults: dict[str, Any] | None = None) -> None:
        self.defaults = dict(defaults or {})
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self._step_hooks: tuple[list[Any], list[Any]] = ([], [])
        self._in_step = False
        groups: list[Any] = [params] if isinstance(params, Tensor) else list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        machine.current.optimizers.append(weakref.ref(self))
        owner = next((cls for cls in type(self).__mro__ if "step" in vars(cls)), Optimizer)
        if "__preflight_program__" in vars(owner):
            self.step = self._watched(self.step)  # type: ignore[method-assign]

    def _watched(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """A ``step`` that the program writes itself, seen as one step however it is made up."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            state = machine.current
            if self._in_step:
                return step(*args, **kwargs)
            outer_phase, outer_category = state.phase, state.current_category
            state.phase, self._in_step = "optimizer", True
            try:
                loss = step(*args, **kwargs)
            finally:
                state.phase, self._in_step = outer_phase, False
                state.current_category = outer_category
            for held in list(self.state.values()):
                for value in held.values() if isinstance(held, dict) else ():
                    if isinstance(value, Tensor):
                        value.storage.relabel("optimizer")
            if state.on_step is not None:
                state.on_step(self)
            return loss

        return watched

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        group = dict(param_group)
        params = group["params"]
        params = [params] if isinstance(params, Tensor) else list(params)
        group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]
        for key, value in self.defaults.items():
            group.setdefault(key, value)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        if set_to_none:
            for group in self.param_groups:
                for p in group["params"]:
                    p.grad = None

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        state = machine.current
        loss = None
        if closure is not None:
            outer = state.grad_enabled
            state.grad_enabled = True
            try:
                loss = closure()
            finally:
                state.grad_enabled = outer
        self.apply_step()
        return loss

    def apply_step(self) -> None:
        """The update itself, without gradients, with allocations booked as temporaries."""
        state = machine.current
        outer_grad, outer_phase, outer_category = state.grad_enabled, state.phase, state.current_category
        state.grad_enabled = False
        state.phase = "optimizer"
        try:
            for hook in list(self._step_hooks[0]):
                hook(self, (), {})
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                if params:
                    self.update(group, params)
            for hook in list(self._step_hooks[1]):
                hook(self, (), {})
        finally:
            state.grad_enabled = outer_grad
            state.phase = outer_phase
            state.current_category = outer_category
        if state.on_step is not None and not self._in_step:
            state.on_step(self)

    def update(self, group: dict[str, Any], params: list[Tensor]) -> None:
        """One group's update; a subclass written in the program overrides ``step`` instead."""

    def state_tensor(self, p: Tensor, dtype: DType | None = None) -> Tensor:
        """A state of the shape of ``p``, booked under the optimizer."""
        out = like(p, dtype)
        out.storage.relabel("optimizer")
        return out

    def state_dict(self) -> dict[str, Any]:
        index = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        groups = [
            {k: v for k, v in g.items() if k != "params"} | {"params": [index[id(p)] for p in g["params"]]}
            for g in self.param_groups
        ]
        return {"state": {index.get(id(p), 0): s for p, s in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: Any) -> None:
        return None

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        self._step_hooks[0].append(hook)
        return RemovableHandle(self._step_hooks[0], hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        self._step_hooks[1].append(hook)
        return RemovableHandle(self._step_hooks[1], hook)

    def __repr__(self) -> str:
        return f"{type(self).__name__} ({len(self.param_groups)} groups)"


def grouped(params: Iterable[Tensor]) -> list[list[Tensor]]:
    """Parameters by device and dtype, as the foreach implementations group them."""
    groups: dict[tuple[str, str], list[Tensor]] = {}
    for p in params:
        groups.setdefault((p.storage.device, p.dtype.name), []).append(p)
    return list(groups.values())


def uses_foreach(group: dict[str, Any], params: list[Tensor]) -> bool:
    """torch's default: foreach where every parameter is on the GPU and neither foreach nor fused was chosen."""
    foreach, fused = group.get("foreach"), group.get("fused")
    if foreach is not None:
        return bool(foreach) and not fused
    return not fused and not group.get("differentiable") and all(p.storage.device == "cuda" for p in params)
