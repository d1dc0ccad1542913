"""``torch.nn``: layers, functional forms, and what stands around them."""

from __future__ import annotations

from typing import Any

from engine.memory.tensors.facade.device import sdpa_kernel
from engine.memory.tensors.facade.differentiation import functional_call
from engine.memory.tensors.facade.inert import Namespace, namespace_of
from engine.memory.tensors.nn import (
    containers,
    functional_layers,
    functions,
    layers,
    module,
    parallel,
    recurrent,
    transformer,
)
from engine.memory.tensors.registry import FUNCTIONAL
from engine.memory.tensors.tensor import Parameter


def networks() -> Namespace:
    entries: dict[str, Any] = dict(layers.exported())
    entries["Module"] = module.Module
    for name in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        entries[name] = getattr(containers, name)
    for name in ("RNN", "LSTM", "GRU", "RNNBase", "RNNCell", "LSTMCell", "GRUCell"):
        entries[name] = getattr(recurrent, name)
    for name in (
        "MultiheadAttention",
        "Transformer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
    ):
        entries[name] = getattr(transformer, name)
    entries.update(parallel.PARALLEL)
    entries["Parameter"] = Parameter
    entries["Buffer"] = lambda data, persistent=True: data
    entries["functional"] = namespace_of("torch.nn.functional", FUNCTIONAL)
    entries["init"] = namespace_of("torch.nn.init", functions.INIT)
    rnn = namespace_of("torch.nn.utils.rnn", functions.RNN)
    extra = {
        "rnn": rnn,
        "parametrizations": namespace_of("torch.nn.utils.parametrizations", functions.PARAMETRIZATIONS),
        "parametrize": namespace_of("torch.nn.utils.parametrize", functions.PARAMETRIZE),
    }
    stateless = namespace_of("torch.nn.utils.stateless", {"functional_call": functional_call})
    entries["utils"] = namespace_of(
        "torch.nn.utils",
        functions.UTILS
        | extra
        | {"stateless": stateless, "clip_grad": namespace_of("torch.nn.utils.clip_grad", functions.UTILS)},
    )
    entries["parallel"] = namespace_of("torch.nn.parallel", parallel.PARALLEL)
    entries["parameter"] = namespace_of("torch.nn.parameter", {"Parameter": Parameter, "Buffer": entries["Buffer"]})
    kernels = namespace_of(
        "torch.nn.attention.SDPBackend",
        {"FLASH_ATTENTION": "flash", "EFFICIENT_ATTENTION": "efficient", "MATH": "math", "CUDNN_ATTENTION": "flash"},
    )
    entries["attention"] = namespace_of("torch.nn.attention", {"sdpa_kernel": sdpa_kernel, "SDPBackend": kernels})
    everything = namespace_of("torch.nn.modules", dict(entries))
    for part in (
        "module",
        "container",
        "linear",
        "conv",
        "batchnorm",
        "normalization",
        "activation",
        "loss",
        "rnn",
        "transformer",
        "sparse",
        "dropout",
        "pooling",
        "upsampling",
        "instancenorm",
    ):
        setattr(
            everything,
            part,
            namespace_of(
                f"torch.nn.modules.{part}",
                dict(entries)
                | {
                    "_BatchNorm": layers._BatchNorm,
                    "_ConvNd": layers._Conv,
                    "_ConvTransposeNd": layers._ConvTranspose,
                    "_NormBase": layers._BatchNorm,
                    "_Loss": functional_layers.Loss,
                    "_WeightedLoss": functional_layers.WeightedLoss,
                    "_DropoutNd": module.Module,
                    "_InstanceNorm": layers._InstanceNorm,
                },
            ),
        )
    everything.__dict__["utils"] = namespace_of(
        "torch.nn.modules.utils",
        {f"_{word}": _tupled(n) for n, word in enumerate(("single", "pair", "triple", "quadruple"), 1)},
    )
    entries["modules"] = everything
    return namespace_of("torch.nn", entries)


def _tupled(n: int) -> Any:
    return lambda x: tuple(x) if isinstance(x, (tuple, list)) else (x,) * n
