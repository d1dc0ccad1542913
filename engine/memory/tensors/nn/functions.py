"""``nn.init`` and ``nn.utils``: initialisers do nothing; clipping, weight norm and spectral norm."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from engine.memory.tensors.autograd import Node, record, wants_gradient
from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.nn.recurrent import PackedSequence, pack_padded_sequence, pad_packed_sequence, pad_sequence
from engine.memory.tensors.pointwise import div
from engine.memory.tensors.shaping import cat
from engine.memory.tensors.tensor import Parameter, Tensor, like, new


def _initialise(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(tensor, Tensor):
        tensor.values = None
    return tensor


INIT: dict[str, Any] = dict.fromkeys(
    (
        "uniform_",
        "normal_",
        "constant_",
        "ones_",
        "zeros_",
        "eye_",
        "dirac_",
        "xavier_uniform_",
        "xavier_normal_",
        "kaiming_uniform_",
        "kaiming_normal_",
        "trunc_normal_",
        "orthogonal_",
        "sparse_",
        "xavier_uniform",
        "xavier_normal",
        "kaiming_uniform",
        "kaiming_normal",
        "normal",
        "uniform",
        "constant",
    ),
    _initialise,
)


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    return {"tanh": 5 / 3, "relu": 2**0.5, "leaky_relu": 2**0.5, "selu": 0.75}.get(nonlinearity, 1.0)


def fan(tensor: Tensor) -> tuple[int, int]:
    receptive = prod(tensor.shape[2:])
    return tensor.shape[1] * receptive, tensor.shape[0] * receptive


INIT.update(
    calculate_gain=calculate_gain,
    _calculate_fan_in_and_fan_out=fan,
    _calculate_correct_fan=lambda tensor, mode: fan(tensor)[0 if mode == "fan_in" else 1],
)


def _with_gradients(parameters: Any) -> list[Tensor]:
    items: Iterable[Any] = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p for p in items if p.grad is not None]


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """One small norm for each gradient, then a scaling in place."""
    params = _with_gradients(parameters)
    if not params:
        return new((), _default(), "cpu")
    norms = [new((), p.grad.dtype, p.grad.storage.device) for p in params if p.grad is not None]
    stacked = new((len(norms),), norms[0].dtype, norms[0].storage.device)
    total = new((), norms[0].dtype, norms[0].storage.device)
    del norms, stacked
    return total


def _default() -> Any:
    from engine.memory.tensors import machine

    return machine.current.default_dtype


def get_total_norm(tensors: Any, *args: Any, **kwargs: Any) -> Tensor:
    first = next(iter(tensors))
    return new((), first.dtype, first.storage.device)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    return None


def parameters_to_vector(parameters: Any) -> Tensor:
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vector: Tensor, parameters: Any) -> None:
    for p in parameters:
        p.data = Tensor(p.shape, vector.dtype, vector.storage)


# ---------------------------------------------------------------------------------------------- reparametrisations


def _weight_norm_backward(node: Node, gradient: Tensor) -> Any:
    v, g = node.saved[:2]
    return (like(v) if node.edges[0] is not None else None), (like(g) if node.edges[1] is not None else None)


def _normed(v: Tensor, g: Tensor) -> Tensor:
    out = like(v)
    if wants_gradient(v, g):
        record(out, (v, g), _weight_norm_backward, (v, g, like(g)))
    return out


def _replace(module: Any, name: str, compute: Callable[[], Tensor]) -> None:
    """Recompute ``module.name`` before each forward."""

    def before(target: Any, args: Any) -> None:
        target.__dict__[name] = compute()

    module.register_forward_pre_hook(before)
    module.__dict__[name] = compute().detach()


def weight_norm(module: Any, name: str = "weight", dim: Any = 0) -> Any:
    weight = module._parameters.pop(name)
    kept = [
        s if i == (dim if dim is not None else -1) % len(weight.shape) and dim is not None else 1
        for i, s in enumerate(weight.shape)
    ]
    g = Parameter(new(tuple(kept), weight.dtype, weight.storage.device))
    v = Parameter(weight)
    module.register_parameter(name + "_g", g)
    module.register_parameter(name + "_v", v)
    _replace(module, name, lambda: _normed(module._parameters[name + "_v"], module._parameters[name + "_g"]))
    return module


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    weight = module._parameters.pop(name)
    module.register_parameter(name + "_orig", Parameter(weight))
    rows = weight.shape[0]
    module.register_buffer(name + "_u", new((rows,), weight.dtype, weight.storage.device))
    module.register_buffer(name + "_v", new((weight.numel() // rows,), weight.dtype, weight.storage.device))

    def compute() -> Tensor:
        original = module._parameters[name + "_orig"]
        matrix = original.reshape(rows, -1)
        sigma = module._buffers[name + "_u"].dot(matrix.mv(module._buffers[name + "_v"]))
        return div(original, sigma)

    _replace(module, name, compute)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    if name + "_v" in module._parameters:
        weight = module._parameters.pop(name + "_v")
        module._parameters.pop(name + "_g")
        module._forward_pre_hooks.clear()
        module.__dict__.pop(name, None)
        module.register_parameter(name, weight)
    return module


def orthogonal(module: Any, name: str = "weight", *args: Any, **kwargs: Any) -> Any:
    return module


class _Parametrised(Module):
    pass


def register_parametrization(module: Any, name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    original = module._parameters.pop(name)
    holder = _Parametrised()
    holder.original = Parameter(original)
    holder.transform = parametrization
    if "parametrizations" not in module._modules:
        module.parametrizations = _Parametrised()
    module.parametrizations.add_module(name, holder)
    _replace(module, name, lambda: holder.transform(holder.original))
    return module


UTILS: dict[str, Any] = {
    "clip_grad_norm_": clip_grad_norm_,
    "clip_grad_norm": clip_grad_norm_,
    "clip_grad_value_": clip_grad_value_,
    "get_total_norm": get_total_norm,
    "clip_grads_with_norm_": lambda parameters, max_norm, total_norm, foreach=None: None,
    "parameters_to_vector": parameters_to_vector,
    "vector_to_parameters": vector_to_parameters,
    "weight_norm": weight_norm,
    "spectral_norm": spectral_norm,
    "remove_weight_norm": remove_weight_norm,
    "remove_spectral_norm": lambda module, name="weight": module,
}
PARAMETRIZATIONS: dict[str, Any] = {
    "weight_norm": weight_norm,
    "spectral_norm": spectral_norm,
    "orthogonal": orthogonal,
}
PARAMETRIZE: dict[str, Any] = {
    "register_parametrization": register_parametrization,
    "is_parametrized": lambda module, name=None: "parametrizations" in module._modules,
    "remove_parametrizations": lambda module, name, leave_parametrized=True: remove_weight_norm(module, name),
}
RNN: dict[str, Any] = {
    "pack_padded_sequence": pack_padded_sequence,
    "pad_packed_sequence": pad_packed_sequence,
    "pad_sequence": pad_sequence,
    "pack_sequence": lambda sequences, enforce_sorted=True: PackedSequence(pad_sequence(sequences)),
    "PackedSequence": PackedSequence,
}
