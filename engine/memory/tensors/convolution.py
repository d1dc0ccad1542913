"""Convolutions, pooling and resampling."""

from __future__ import annotations

import math
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.casting import full_precision
from engine.memory.tensors.linear_algebra import lower
from engine.memory.tensors.rearranging import rearranged
from engine.memory.tensors.reduction import mean
from engine.memory.tensors.registry import FUNCTIONAL, TORCH, functional
from engine.memory.tensors.storage import TensorError
from engine.memory.tensors.tensor import CHANNELS_LAST, CHANNELS_LAST_3D, Tensor, like, new


def spread(value: Any, n: int) -> tuple[int, ...]:
    """One number for each spatial dimension."""
    if isinstance(value, (tuple, list)):
        out = tuple(int(v) for v in value)
        return out * n if len(out) == 1 else out
    return (int(value),) * n


def _format(shape: tuple[int, ...], *tensors: Tensor) -> tuple[int, ...] | None:
    memory_format = CHANNELS_LAST if len(shape) == 4 else CHANNELS_LAST_3D if len(shape) == 5 else None
    if memory_format is None:
        return None
    for t in tensors:
        if t.strides is not None and t.is_contiguous(memory_format):
            return memory_format.strides(shape)
    return None


def _convolution_backward(node: Node, g: Tensor) -> Any:
    x, weight = node.saved
    edges = node.edges
    gx = like(x) if edges[0] is not None else None
    gw = new(weight.shape, weight.dtype, weight.storage.device) if edges[1] is not None else None
    gb = new((node.context,), g.dtype, g.storage.device) if edges[2] is not None else None
    if machine.current.grad_enabled:
        if gx is not None:
            record(gx, (g, weight), _convolution_double_backward, (g, weight), None)
        if gw is not None:
            record(gw, (g, x), _convolution_double_backward, (g, x), None)
        if gb is not None and g.requires_grad:
            record(gb, (g,), _convolution_bias_backward, (), g.shape)
    return gx, gw, gb


def _convolution_double_backward(node: Node, g: Tensor) -> Any:
    a, b = node.saved
    return (like(a) if node.edges[0] is not None else None), (like(b) if node.edges[1] is not None else None)


def _convolution_bias_backward(node: Node, g: Tensor) -> Any:
    return (g.view(1, -1, *[1] * (len(node.context) - 2)).expand(node.context),)


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    n: int,
    transposed: bool = False,
    output_padding: Any = 0,
) -> Tensor:
    state = machine.current
    if state.autocast is not None:
        x, weight, bias = lower(x), lower(weight), lower(bias)
    if len(x.shape) == n + 1:
        return convolve(
            x.unsqueeze(0), weight, bias, stride, padding, dilation, groups, n, transposed, output_padding
        ).squeeze(0)
    if len(x.shape) != n + 2:
        raise TensorError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to conv{n}d, "
            f"but got input of size: {list(x.shape)}"
        )
    if x.dtype is not weight.dtype:
        raise TensorError(f"Input type ({x.dtype}) and weight type ({weight.dtype}) should be the same")
    if x.storage.device != weight.storage.device:
        raise TensorError(
            f"Input type ({x.storage.device}) and weight type ({weight.storage.device}) should be the same"
        )
    expected = weight.shape[0] if transposed else weight.shape[1] * groups
    if x.shape[1] != expected:
        raise TensorError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, "
            f"expected input{list(x.shape)} to have {expected} channels, but got {x.shape[1]} channels instead"
        )
    strides, dilations, kernel = spread(stride, n), spread(dilation, n), weight.shape[2:]
    if padding == "same":
        spatial = x.shape[2:]
    else:
        pads = (0,) * n if padding == "valid" else spread(padding, n)
        if transposed:
            extra = spread(output_padding, n)
            spatial = tuple(
                (x.shape[2 + i] - 1) * strides[i] - 2 * pads[i] + dilations[i] * (kernel[i] - 1) + extra[i] + 1
                for i in range(n)
            )
        else:
            spatial = tuple(
                (x.shape[2 + i] + 2 * pads[i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(n)
            )
    if min(spatial) <= 0:
        raise TensorError(
            f"Kernel size can't be greater than actual input size: {list(x.shape)}, kernel {list(kernel)}"
        )
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    shape = (x.shape[0], channels, *spatial)
    out = new(shape, x.dtype, x.storage.device, _format(shape, x, weight))
    if state.grad_enabled and (x.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)):
        record(out, (x, weight, bias), _convolution_backward, (x, weight), channels)
    return out


def _direct(n: int) -> None:
    def conv(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        return convolve(x, weight, bias, stride, padding, dilation, groups, n)

    def conv_transpose(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        return convolve(x, weight, bias, stride, padding, dilation, groups, n, True, output_padding)

    FUNCTIONAL[f"conv{n}d"] = TORCH[f"conv{n}d"] = conv
    FUNCTIONAL[f"conv_transpose{n}d"] = TORCH[f"conv_transpose{n}d"] = conv_transpose


for _n in (1, 2, 3):
    _direct(_n)


# --------------------------------------------------------------------------------------------------------- pooling


def _pool_backward(node: Node, g: Tensor) -> Any:
    shape, dtype, strides = node.context
    out = new(shape, dtype, g.storage.device, strides)
    if machine.current.grad_enabled and g.requires_grad:
        record(out, (g,), _pool_backward, node.saved, (g.shape, g.dtype, g.strides))
    return (out,)


def _pool_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    out = (span + stride - 1 if ceil_mode else span) // stride + 1
    if ceil_mode and (out - 1) * stride >= size + padding:
        out -= 1
    return out


def _pooled(x: Tensor, spatial: tuple[int, ...], indices: bool, keep_input: bool) -> tuple[Tensor, Tensor | None]:
    lead = x.shape[: len(x.shape) - len(spatial)]
    shape = (*lead, *spatial)
    if min(spatial) <= 0:
        raise TensorError(
            f"Given input size: {list(x.shape)}. Calculated output size: {list(shape)}. Output size is too small"
        )
    strides = _format(shape, x)
    out = new(shape, x.dtype, x.storage.device, strides)
    index = new(shape, dtypes.int64, x.storage.device, strides) if indices else None
    if x.requires_grad and machine.current.grad_enabled:
        saved: tuple[Any, ...] = (x,) if keep_input else ()
        if index is not None:
            saved = (*saved, index.alias())
        record(out, (x,), _pool_backward, saved, (x.shape, x.dtype, x.strides))
    return out, index


def _pools(n: int) -> None:
    def max_pool(
        x: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        k, p, d = spread(kernel_size, n), spread(padding, n), spread(dilation, n)
        s = spread(stride, n) if stride is not None and stride != [] else k
        spatial = tuple(_pool_size(x.shape[i - n], k[i], s[i], p[i], d[i], ceil_mode) for i in range(n))
        out, index = _pooled(x, spatial, True, True)
        return (out, index) if return_indices else out

    def avg_pool(
        x: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Tensor:
        k, p = spread(kernel_size, n), spread(padding, n)
        s = spread(stride, n) if stride is not None and stride != [] else k
        spatial = tuple(_pool_size(x.shape[i - n], k[i], s[i], p[i], 1, ceil_mode) for i in range(n))
        return _pooled(x, spatial, False, True)[0]

    def _target(x: Tensor, output_size: Any) -> tuple[int, ...]:
        wanted = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * n
        return tuple(x.shape[i - n] if o is None else int(o) for i, o in enumerate(wanted))

    def adaptive_avg_pool(x: Tensor, output_size: Any) -> Tensor:
        spatial = _target(x, output_size)
        if n < 4 and set(spatial) == {1}:
            return mean(x, tuple(range(-n, 0)), True)
        return _pooled(x, spatial, False, True)[0]

    def adaptive_max_pool(x: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        out, index = _pooled(x, _target(x, output_size), True, True)
        return (out, index) if return_indices else out

    def max_unpool(
        x: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Tensor:
        k, p = spread(kernel_size, n), spread(padding, n)
        s = spread(stride, n) if stride is not None else k
        spatial = (
            tuple(output_size)[-n:]
            if output_size is not None
            else tuple((x.shape[i - n] - 1) * s[i] - 2 * p[i] + k[i] for i in range(n))
        )
        return rearranged(x, (*x.shape[: len(x.shape) - n], *spatial))

    def lp_pool(x: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
        positive: Tensor = FUNCTIONAL["relu"](avg_pool(x**norm_type, kernel_size, stride, 0, ceil_mode))
        return positive ** (1.0 / norm_type)

    for name, f in (
        ("max_pool", max_pool),
        ("avg_pool", avg_pool),
        ("adaptive_avg_pool", adaptive_avg_pool),
        ("adaptive_max_pool", adaptive_max_pool),
        ("max_unpool", max_unpool),
        ("lp_pool", lp_pool),
    ):
        FUNCTIONAL[f"{name}{n}d"] = TORCH[f"{name}{n}d"] = f


for _n in (1, 2, 3):
    _pools(_n)


# -------------------------------------------------------------------------------------------- resampling and patches


@functional
def interpolate(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Tensor:
    n = len(x.shape) - 2
    if machine.current.autocast is not None and mode != "area":
        # every upsample_* is on autocast's float32 list (ATen/autocast_mode.h)
        x = full_precision(x)
    if size is not None:
        spatial = spread(size.tolist() if isinstance(size, Tensor) else size, n)
    else:
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * n
        spatial = tuple(math.floor(float(x.shape[2 + i] * float(factors[i]))) for i in range(n))
    if mode == "area":
        pooled: Tensor = FUNCTIONAL[f"adaptive_avg_pool{n}d"](x, spatial)
        return pooled
    shape = (*x.shape[:2], *spatial)
    out = new(shape, x.dtype, x.storage.device, _format(shape, x))
    if x.requires_grad and machine.current.grad_enabled:
        record(out, (x,), _pool_backward, (), (x.shape, x.dtype, x.strides))
    return out


FUNCTIONAL["upsample"] = FUNCTIONAL["upsample_nearest"] = FUNCTIONAL["upsample_bilinear"] = interpolate


def _sample_backward(node: Node, g: Tensor) -> Any:
    # the kernel writes the gradient of the grid also where nobody asks for it
    x, grid = node.saved
    gx, gg = (like(x) if node.edges[0] is not None else None), like(grid)
    return gx, (gg if node.edges[1] is not None else None)


@functional
def grid_sample(
    x: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = None
) -> Tensor:
    if machine.current.autocast is not None and x.dtype is not grid.dtype:
        x, grid = full_precision(x), full_precision(grid)
    out = new((*x.shape[:2], *grid.shape[1:-1]), x.dtype, x.storage.device)
    if machine.current.grad_enabled and (x.requires_grad or grid.requires_grad):
        record(out, (x, grid), _sample_backward, (x, grid))
    return out


TORCH["grid_sampler"] = grid_sample


@functional
def affine_grid(theta: Tensor, size: Any, align_corners: Any = None) -> Tensor:
    spatial = tuple(size)[2:]
    return rearranged(theta, (theta.shape[0], *spatial, len(spatial)))


@functional
def unfold(x: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    k, d, p, s = (spread(v, 2) for v in (kernel_size, dilation, padding, stride))
    counts = [(x.shape[2 + i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(2)]
    return rearranged(x, (x.shape[0], x.shape[1] * k[0] * k[1], counts[0] * counts[1]))


@functional
def fold(x: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    k, size = spread(kernel_size, 2), spread(output_size, 2)
    return rearranged(x, (x.shape[0], x.shape[1] // (k[0] * k[1]), *size))


def _spectrum(x: Tensor, shape: tuple[int, ...], dtype: dtypes.DType) -> Tensor:
    out = new(shape, dtype, x.storage.device)
    if x.requires_grad and machine.current.grad_enabled:
        # of real numbers: the gradient's formula takes the size of the input, which is saved whole for it
        saved = (x,) if x.dtype.kind == 2 else ()
        record(out, (x,), _pool_backward, saved, (x.shape, x.dtype, None))
    return out


def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
    return_complex: bool | None = None,
) -> Tensor:
    hop = hop_length or n_fft // 4
    if center:
        x = rearranged(x, (*x.shape[:-1], x.shape[-1] + n_fft))
    frames = (x.shape[-1] - n_fft) // hop + 1
    if window is not None or (win_length or n_fft) < n_fft:
        # overlapping frames become real memory where they are multiplied with the window
        x = rearranged(x, (*x.shape[:-1], frames, n_fft))
    shape = (*x.shape[: len(x.shape) - (2 if x.shape[-1] == n_fft else 1)], frames, n_fft // 2 + 1)
    if not onesided:
        shape = (*shape[:-1], n_fft)
    spectrum = _spectrum(x, shape, x.dtype.to_complex())
    turned: Tensor = TORCH["transpose"](spectrum, -1, -2)
    return turned if return_complex is not False else TORCH["view_as_real"](turned)


def istft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    hop = hop_length or n_fft // 4
    return _spectrum(x, (*x.shape[:-2], length or hop * (x.shape[-1] - 1)), x.dtype.to_real())


TORCH["stft"], TORCH["istft"] = stft, istft
Tensor.stft, Tensor.istft = stft, istft  # type: ignore[attr-defined]


def fft(x: Tensor, n: int | None = None, dim: int = -1, norm: Any = None) -> Tensor:
    shape = list(x.shape)
    shape[dim] = n or shape[dim]
    return _spectrum(x, tuple(shape), x.dtype.to_complex())


def rfft(x: Tensor, n: int | None = None, dim: int = -1, norm: Any = None) -> Tensor:
    shape = list(x.shape)
    shape[dim] = (n or shape[dim]) // 2 + 1
    return _spectrum(x, tuple(shape), x.dtype.to_complex())


def irfft(x: Tensor, n: int | None = None, dim: int = -1, norm: Any = None) -> Tensor:
    shape = list(x.shape)
    shape[dim] = n or 2 * (shape[dim] - 1)
    return _spectrum(x, tuple(shape), x.dtype.to_real())


def fft2(x: Tensor, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Tensor:
    return _spectrum(x, x.shape, x.dtype.to_complex())


def rfft2(x: Tensor, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Tensor:
    shape = list(x.shape)
    if s is not None:
        for d, size in zip(dim, s, strict=True):
            shape[d] = size
    shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    return _spectrum(x, tuple(shape), x.dtype.to_complex())


def irfft2(x: Tensor, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Tensor:
    shape = list(x.shape)
    if s is not None:
        for d, size in zip(dim, s, strict=True):
            shape[d] = size
    else:
        shape[dim[-1]] = 2 * (shape[dim[-1]] - 1)
    return _spectrum(x, tuple(shape), x.dtype.to_real())


SPECTRAL = {
    "fft": fft,
    "ifft": fft,
    "rfft": rfft,
    "irfft": irfft,
    "fft2": fft2,
    "ifft2": fft2,
    "fftn": fft2,
    "ifftn": fft2,
    "rfft2": rfft2,
    "irfft2": irfft2,
    "rfftn": rfft2,
    "irfftn": irfft2,
    "fftshift": lambda x, dim=None: rearranged(x, x.shape),
    "ifftshift": lambda x, dim=None: rearranged(x, x.shape),
}
