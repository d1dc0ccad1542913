"""``torch.autograd`` and ``torch.func``."""

from __future__ import annotations

from typing import Any

from engine.memory.tensors import (
    machine,
    modes,
    trees,
)
from engine.memory.tensors.facade.inert import Inert, Namespace, namespace_of
from engine.memory.tensors.tensor import Tensor


def autograd() -> Namespace:
    profiler = namespace_of("torch.autograd.profiler", {"record_function": Inert, "profile": Inert, "emit_nvtx": Inert})
    return namespace_of(
        "torch.autograd",
        {
            "Function": modes.Function,
            "grad": modes.gradients_of,
            "backward": modes.backward,
            "Variable": variable,
            "no_grad": modes.no_grad,
            "enable_grad": modes.enable_grad,
            "set_grad_enabled": modes.set_grad_enabled,
            "inference_mode": modes.inference_mode,
            "set_detect_anomaly": Inert,
            "detect_anomaly": Inert,
            "profiler": profiler,
            "function": namespace_of(
                "torch.autograd.function",
                {
                    "Function": modes.Function,
                    "once_differentiable": modes.once_differentiable,
                    "FunctionCtx": modes.FunctionContext,
                },
            ),
            "graph": namespace_of(
                "torch.autograd.graph",
                {"saved_tensors_hooks": modes.saved_tensors_hooks, "save_on_cpu": modes.save_on_cpu},
            ),
            "functional": namespace_of(
                "torch.autograd.functional", {"jacobian": modes.jacobian, "hessian": modes.jacobian}
            ),
        },
    )


def variable(data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
    return data.requires_grad_() if requires_grad else data


def functional_call(target: Any, parameters: Any, args: Any = (), kwargs: Any = None, **rest: Any) -> Any:
    items = parameters if isinstance(parameters, dict) else {k: v for d in parameters for k, v in d.items()}
    replaced: list[tuple[dict[str, Any], str, Any]] = []
    for path, value in items.items():
        owner_path, _, name = path.rpartition(".")
        owner = target.get_submodule(owner_path)
        for table in (owner._parameters, owner._buffers):
            if name in table:
                replaced.append((table, name, table[name]))
                table[name] = value
    try:
        return target(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for table, name, value in replaced:
            table[name] = value


def func_grad(function: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    value_and = grad_and_value(function, argnums, has_aux)
    return lambda *args, **kwargs: (
        (value_and(*args, **kwargs)[0], value_and(*args, **kwargs)[1][1]) if has_aux else value_and(*args, **kwargs)[0]
    )


def grad_and_value(function: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    """Gradients with respect to the tensors of one argument, by an ordinary backward."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with modes.enable_grad():
            value = function(*args, **kwargs)
        loss = value[0] if has_aux else value
        leaves, spec = trees.tree_flatten(args[argnums if isinstance(argnums, int) else argnums[0]])
        found = modes.gradients_of(loss, [x for x in leaves if isinstance(x, Tensor)], allow_unused=True)
        return trees.tree_unflatten(list(found), spec), value

    return call


def vmap(function: Any, in_dims: Any = 0, out_dims: Any = 0, **kwargs: Any) -> Any:
    machine.current.note("vmap: the function is run on the whole batch")
    return function
