"""Layers with parameters or state of their own: linear, convolution, normalisation, embedding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.memory.tensors import machine
from engine.memory.tensors.convolution import spread
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.nn.functional_layers import FUNCTIONS_AS_MODULES
from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.registry import FUNCTIONAL
from engine.memory.tensors.storage import device_kind
from engine.memory.tensors.tensor import Parameter, Tensor, new

F = FUNCTIONAL


def weight_of(shape: tuple[int, ...], device: Any = None, dtype: DType | None = None) -> Parameter:
    """A parameter on the default device and of the default type unless said otherwise."""
    return Parameter(new(shape, dtype or machine.current.default_dtype, device_kind(device)))


class Identity(Module):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, x: Any) -> Any:
        return x


class Linear(Module):
    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: DType | None = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = int(in_features), int(out_features)
        self.weight = weight_of((self.out_features, self.in_features), device, dtype)
        self.register_parameter("bias", weight_of((self.out_features,), device, dtype) if bias else None)

    def forward(self, input: Tensor) -> Any:
        parameters = self._parameters
        if "weight" in parameters and "bias" in parameters:
            return F["linear"](input, parameters["weight"], parameters["bias"])
        return F["linear"](input, self.weight, self.bias)

    def reset_parameters(self) -> None:
        return None


class LazyLinear(Linear):
    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: DType | None = None) -> None:
        Module.__init__(self)
        self.in_features, self.out_features = 0, out_features
        self._lazy = (bias, device, dtype)

    def forward(self, input: Tensor) -> Any:
        if "weight" not in self._parameters:
            bias, _, dtype = self._lazy
            self.in_features = input.shape[-1]
            self.weight = weight_of((self.out_features, self.in_features), input.device, dtype)
            self.register_parameter("bias", weight_of((self.out_features,), input.device, dtype) if bias else None)
        return super().forward(input)


class Bilinear(Module):
    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.weight = weight_of((out_features, in1_features, in2_features), device, dtype)
        self.register_parameter("bias", weight_of((out_features,), device, dtype) if bias else None)

    def forward(self, a: Tensor, b: Tensor) -> Any:
        return F["bilinear"](a, b, self.weight, self.bias)


class Embedding(Module):
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx, self.sparse = (
            int(num_embeddings),
            int(embedding_dim),
            padding_idx,
            sparse,
        )
        self.weight = (
            Parameter(_weight, not _freeze)
            if _weight is not None
            else weight_of((self.num_embeddings, self.embedding_dim), device, dtype)
        )

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **kwargs: Any) -> Any:
        return cls(embeddings.shape[0], embeddings.shape[1], _weight=embeddings, _freeze=freeze)

    def forward(self, input: Tensor) -> Any:
        return F["embedding"](input, self.weight, self.padding_idx, sparse=self.sparse)

    def reset_parameters(self) -> None:
        return None


class EmbeddingBag(Embedding):
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *args: Any,
        mode: str = "mean",
        sparse: bool = False,
        device: Any = None,
        dtype: DType | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, sparse=sparse, device=device, dtype=dtype)
        self.mode = mode

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Any = None) -> Any:
        return F["embedding_bag"](input, self.weight, offsets, mode=self.mode)


# --------------------------------------------------------------------------------------------------- convolutions


class _Conv(Module):
    n = 2
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        n = self.n
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            int(in_channels),
            int(out_channels),
            int(groups),
            padding_mode,
        )
        if self.in_channels % self.groups or self.out_channels % self.groups:
            raise ValueError("in_channels and out_channels must be divisible by groups")
        self.kernel_size, self.stride, self.dilation = spread(kernel_size, n), spread(stride, n), spread(dilation, n)
        self.padding = padding if isinstance(padding, str) else spread(padding, n)
        lead = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = weight_of((*lead, *self.kernel_size), device, dtype)
        self.register_parameter("bias", weight_of((out_channels,), device, dtype) if bias else None)

    def forward(self, x: Tensor) -> Any:
        return self._conv_forward(x, self.weight, self.bias)

    def _conv_forward(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
        n = self.n
        if self.padding_mode != "zeros" and not isinstance(self.padding, str):
            amounts = [p for size in reversed(self.padding) for p in (size, size)]
            x = F["pad"](x, amounts, mode=self.padding_mode)
            return F[f"conv{n}d"](x, weight, bias, self.stride, 0, self.dilation, self.groups)
        return F[f"conv{n}d"](x, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def reset_parameters(self) -> None:
        return None


class _ConvTranspose(_Conv):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )
        self.output_padding = spread(output_padding, self.n)

    def forward(self, x: Tensor, output_size: Any = None) -> Any:
        return F[f"conv_transpose{self.n}d"](
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )


Conv1d, Conv2d, Conv3d = (type(f"Conv{n}d", (_Conv,), {"n": n}) for n in (1, 2, 3))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = (
    type(f"ConvTranspose{n}d", (_ConvTranspose,), {"n": n}) for n in (1, 2, 3)
)


# -------------------------------------------------------------------------------------------------- normalisation


class LayerNorm(Module):
    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter(
            "weight", weight_of(self.normalized_shape, device, dtype) if elementwise_affine else None
        )
        self.register_parameter(
            "bias", weight_of(self.normalized_shape, device, dtype) if elementwise_affine and bias else None
        )

    def forward(self, x: Tensor) -> Any:
        return F["layer_norm"](x, self.normalized_shape, self.weight, self.bias, self.eps)

    def reset_parameters(self) -> None:
        return None


class RMSNorm(LayerNorm):
    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(normalized_shape, eps or 1e-6, elementwise_affine, False, device, dtype)

    def forward(self, x: Tensor) -> Any:
        return F["rms_norm"](x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.register_parameter("weight", weight_of((num_channels,), device, dtype) if affine else None)
        self.register_parameter("bias", weight_of((num_channels,), device, dtype) if affine else None)

    def forward(self, x: Tensor) -> Any:
        return F["group_norm"](x, self.num_groups, self.weight, self.bias, self.eps)

    def reset_parameters(self) -> None:
        return None


class _BatchNorm(Module):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: DType | None = None,
        process_group: Any = None,
    ) -> None:
        from engine.memory.tensors import dtypes

        super().__init__()
        self.num_features, self.eps, self.momentum, self.affine, self.track_running_stats = (
            int(num_features),
            eps,
            momentum,
            affine,
            track_running_stats,
        )
        shape = (self.num_features,)
        self.register_parameter("weight", weight_of(shape, device, dtype) if affine else None)
        self.register_parameter("bias", weight_of(shape, device, dtype) if affine else None)
        kind = device_kind(device)
        for name in ("running_mean", "running_var"):
            self.register_buffer(
                name, new(shape, dtype or machine.current.default_dtype, kind) if track_running_stats else None
            )
        self.register_buffer("num_batches_tracked", new((), dtypes.int64, kind) if track_running_stats else None)

    def forward(self, x: Tensor) -> Any:
        training = self.training or self._buffers.get("running_mean") is None
        return F["batch_norm"](
            x, self.running_mean, self.running_var, self.weight, self.bias, training, self.momentum, self.eps
        )

    def reset_running_stats(self) -> None:
        return None

    reset_parameters = reset_running_stats


class BatchNorm1d(_BatchNorm):
    pass


class BatchNorm2d(_BatchNorm):
    pass


class BatchNorm3d(_BatchNorm):
    pass


class SyncBatchNorm(_BatchNorm):
    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        return module


class _InstanceNorm(_BatchNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, x: Tensor) -> Any:
        return F["instance_norm"](x, None, None, self.weight, self.bias)


class InstanceNorm1d(_InstanceNorm):
    pass


class InstanceNorm2d(_InstanceNorm):
    pass


class InstanceNorm3d(_InstanceNorm):
    pass


class LocalResponseNorm(Module):
    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: Tensor) -> Any:
        return F["local_response_norm"](x, self.size)


class Flatten(Module):
    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Any:
        return x.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, x: Tensor) -> Any:
        return x.unflatten(self.dim, self.unflattened_size)


class PReLU(Module):
    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: DType | None = None
    ) -> None:
        super().__init__()
        self.weight = weight_of((num_parameters,), device, dtype)

    def forward(self, x: Tensor) -> Any:
        return F["prelu"](x, self.weight)


class RReLU(Module):
    def __init__(self, lower: float = 0.125, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, x: Tensor) -> Any:
        return F["leaky_relu"](x, inplace=self.inplace)


class Softmax2d(Module):
    def forward(self, x: Tensor) -> Any:
        return F["softmax"](x, -3)


def exported() -> dict[str, Callable[..., Any]]:
    """Every layer by name."""
    found: dict[str, Callable[..., Any]] = dict(FUNCTIONS_AS_MODULES)
    for name, value in globals().items():
        if isinstance(value, type) and issubclass(value, Module) and not name.startswith("_"):
            found[name] = value
    return found
