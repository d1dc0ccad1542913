"""Tensors from nothing: zeros, ranges, random numbers and data written in the program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Node, record
from engine.memory.tensors.broadcasting import KNOWN
from engine.memory.tensors.casting import convert
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.layout import dense_strides
from engine.memory.tensors.registry import FUNCTIONAL, TORCH, function
from engine.memory.tensors.shaping import dims
from engine.memory.tensors.storage import Size, device_kind
from engine.memory.tensors.tensor import Tensor, new


def _finish(x: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        x.requires_grad = True
    return x


def _sized(name: str, default: Callable[[], DType], value: Any = None) -> Callable[..., Tensor]:
    def op(
        *size: Any,
        dtype: DType | None = None,
        device: Any = None,
        requires_grad: bool = False,
        out: Any = None,
        layout: Any = None,
        pin_memory: bool = False,
        generator: Any = None,
        names: Any = None,
        memory_format: Any = None,
        **kwargs: Any,
    ) -> Tensor:
        if "size" in kwargs:
            size = (kwargs["size"],)
        shape = dims(size) if size else ()
        x = new(Size(shape), dtype or default(), device_kind(device))
        if value is not None and math.prod(shape) <= KNOWN:
            x.values = [value] * math.prod(shape)
        return _finish(x, requires_grad)

    op.__name__ = name
    TORCH[name] = op
    return op


def _default() -> DType:
    return machine.current.default_dtype


zeros = _sized("zeros", _default, 0.0)
ones = _sized("ones", _default, 1.0)
empty = _sized("empty", _default)
rand = _sized("rand", _default)
randn = _sized("randn", _default)


@function
def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    **kwargs: Any,
) -> Tensor:
    if dtype is None:
        dtype = (
            dtypes.bool_
            if isinstance(fill_value, bool)
            else dtypes.int64
            if isinstance(fill_value, int)
            else _default()
        )
        if isinstance(fill_value, Tensor):
            dtype = fill_value.dtype
    x = new(Size(dims((size,))), dtype, device_kind(device))
    if x.numel() <= KNOWN and not isinstance(fill_value, Tensor):
        x.values = [fill_value] * x.numel()
    return _finish(x, requires_grad)


@function
def randint(
    *args: Any,
    low: int = 0,
    high: int | None = None,
    size: Any = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    **kwargs: Any,
) -> Tensor:
    shape = size if size is not None else args[-1]
    return new(Size(dims((shape,))), dtype or dtypes.int64, device_kind(device))


@function
def randperm(n: int, *, dtype: DType | None = None, device: Any = None, **kwargs: Any) -> Tensor:
    return new((int(n),), dtype or dtypes.int64, device_kind(device))


@function
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, device: Any = None, dtype: DType | None = None, **kwargs: Any
) -> Tensor:
    for t in (mean, std):
        if isinstance(t, Tensor):
            return new(t.shape, t.dtype, t.storage.device)
    return new(Size(dims((size,))), dtype or _default(), device_kind(device))


def _like(name: str, value: Any = None) -> None:
    def op(
        x: Tensor,
        *args: Any,
        dtype: DType | None = None,
        device: Any = None,
        requires_grad: bool = False,
        **kwargs: Any,
    ) -> Tensor:
        kind = x.storage.device if device is None else device_kind(device)
        out = new(x.shape, dtype or x.dtype, kind, dense_strides(x.shape, x.strides))
        fill = args[0] if name == "full_like" and args else kwargs.get("fill_value", value)
        if fill is not None and not isinstance(fill, Tensor) and out.numel() <= KNOWN:
            out.values = [fill] * out.numel()
        return _finish(out, requires_grad)

    op.__name__ = name
    TORCH[name] = op


for _name, _value in (
    ("zeros_like", 0),
    ("ones_like", 1),
    ("empty_like", None),
    ("full_like", None),
    ("rand_like", None),
    ("randn_like", None),
    ("randint_like", None),
):
    _like(_name, _value)


def _from_tensor(name: str) -> None:
    plain = TORCH[name]

    def op(x: Tensor, *size: Any, dtype: DType | None = None, device: Any = None, **kwargs: Any) -> Any:
        if name == "full":
            return full(
                size[0] if size else kwargs.pop("size"),
                size[1] if len(size) > 1 else kwargs["fill_value"],
                dtype=dtype or x.dtype,
                device=device or x.storage.device,
            )
        return plain(*size, dtype=dtype or x.dtype, device=device or x.storage.device, **kwargs)

    setattr(Tensor, "new_" + name, op)


for _name in ("zeros", "ones", "empty", "full"):
    _from_tensor(_name)


@function
def arange(
    *args: Any,
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    **kwargs: Any,
) -> Tensor:
    if out is not None:
        dtype, device = out.dtype, out.storage.device
    numbers = [a.item() if isinstance(a, Tensor) else a for a in args]
    if len(numbers) == 1:
        end = numbers[0]
    elif numbers:
        start, end = numbers[0], numbers[1]
        if len(numbers) > 2:
            step = numbers[2]
    if dtype is None:
        dtype = _default() if any(isinstance(v, float) for v in (start, end, step)) else dtypes.int64
    n = max(math.ceil((end - start) / step), 0)
    x = new((n,), dtype, device_kind(device))
    if n <= KNOWN:
        x.values = [start + i * step for i in range(n)]
        if dtype.kind == 2:
            x.values = [float(v) for v in x.values]
    return _finish(x, requires_grad)


@function
def linspace(
    start: Any, end: Any, steps: int, *, dtype: DType | None = None, device: Any = None, **kwargs: Any
) -> Tensor:
    x = new((int(steps),), dtype or _default(), device_kind(device))
    if steps <= KNOWN and not isinstance(start, Tensor) and not isinstance(end, Tensor):
        x.values = [start + (end - start) * i / max(steps - 1, 1) for i in range(int(steps))]
    return x


@function
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    device: Any = None,
    **kwargs: Any,
) -> Tensor:
    return new((int(steps),), dtype or _default(), device_kind(device))


@function
def eye(n: int, m: int | None = None, *, dtype: DType | None = None, device: Any = None, **kwargs: Any) -> Tensor:
    return new((n, n if m is None else m), dtype or _default(), device_kind(device))


@function
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Any = None, **kwargs: Any
) -> Tensor:
    count = sum(max(min(i + 1 + offset, col), 0) for i in range(row))
    return new((2, count), dtype or dtypes.int64, device_kind(device))


@function
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Any = None, **kwargs: Any
) -> Tensor:
    count = sum(max(col - max(i + offset, 0), 0) for i in range(row))
    return new((2, count), dtype or dtypes.int64, device_kind(device))


def _data(data: Any) -> tuple[tuple[int, ...], list[Any], str]:
    """Shape, flat values and device of nested Python data."""
    if isinstance(data, Tensor):
        return (
            data.shape,
            data.values if data.values is not None else [data.item()] * min(data.numel(), KNOWN + 1),
            data.storage.device,
        )
    if isinstance(data, (list, tuple, range)):
        if len(data) == 0:
            return (0,), [], "cpu"
        if isinstance(data[0], (bool, int, float)):
            return (len(data),), list(data), "cpu"
        shape, flat, device = _data(data[0])
        values = list(flat)
        for entry in data[1:]:
            values += _data(entry)[1]
        return (len(data), *shape), values, device
    return (), [data], "cpu"


@function
def tensor(
    data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    if isinstance(data, Tensor):
        out = convert(
            data.detach(),
            dtype or data.dtype,
            data.storage.device if device is None else device_kind(device),
            copy=True,
        )
        return _finish(out, requires_grad)
    if hasattr(data, "shape") and hasattr(data, "dtype") and not isinstance(data, Tensor):
        return _finish(
            new(Size(tuple(data.shape)), dtype or dtypes.NAMES.get(str(data.dtype), _default()), device_kind(device)),
            requires_grad,
        )
    shape, values, _ = _data(data)
    if dtype is None:
        dtype = (
            _default()
            if not values or any(isinstance(v, float) for v in values)
            else dtypes.bool_
            if all(isinstance(v, bool) for v in values)
            else dtypes.int64
        )
        if any(type(v).__name__ == "complex" for v in values):
            dtype = dtypes.complex64
    out = new(Size(shape), dtype, device_kind(device))
    if len(values) == out.numel() and len(values) <= 1 << 14:
        out.values = (
            [float(v) for v in values]
            if dtype.kind == 2 and all(isinstance(v, (int, float)) for v in values)
            else values
        )
    return _finish(out, requires_grad)


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    if isinstance(data, Tensor):
        return convert(data, dtype or data.dtype, data.storage.device if device is None else device_kind(device))
    return tensor(data, dtype=dtype, device=device)


for _name in ("as_tensor", "asarray", "from_numpy", "scalar_tensor"):
    TORCH[_name] = as_tensor
_T: Any = Tensor
_T.new_tensor = lambda x, data, dtype=None, device=None, **k: tensor(
    data, dtype=dtype or x.dtype, device=device or x.storage.device
)
_T.new = lambda x, *size, **k: new(Size(dims(size) if size else (0,)), x.dtype, x.storage.device)


def _randomised(name: str) -> None:
    def op(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        x.values = None
        return x

    setattr(Tensor, name, op)


for _name in ("normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_", "log_normal_", "geometric_"):
    _randomised(_name)


def bernoulli(x: Tensor, p: Any = None, **kwargs: Any) -> Tensor:
    return new(x.shape, x.dtype, x.storage.device)


def multinomial(x: Tensor, num_samples: int, replacement: bool = False, **kwargs: Any) -> Tensor:
    return new((*x.shape[:-1], num_samples), dtypes.int64, x.storage.device)


for _name, _function in (("bernoulli", bernoulli), ("multinomial", multinomial), ("poisson", bernoulli)):
    TORCH[_name] = _function
    setattr(Tensor, _name, _function)


@function
def complex(real: Tensor, imag: Tensor, **kwargs: Any) -> Tensor:
    out = new(real.shape, real.dtype.to_complex(), real.storage.device)
    if machine.current.grad_enabled and (real.requires_grad or imag.requires_grad):
        record(out, (real, imag), _parts_of_gradient, (real, imag), real.dtype)
    return out


def _parts_of_gradient(node: Node, g: Tensor) -> Any:
    return tuple(None if edge is None else new(g.shape, node.context, g.storage.device) for edge in node.edges)


@function
def polar(magnitude: Tensor, angle: Tensor, **kwargs: Any) -> Tensor:
    out = new(angle.shape, angle.dtype.to_complex(), angle.storage.device)
    if machine.current.grad_enabled and (magnitude.requires_grad or angle.requires_grad):
        record(out, (magnitude, angle), _parts_of_gradient, (out.alias(),), angle.dtype)
    return out


@function
def hann_window(
    length: int, periodic: bool = True, *, dtype: DType | None = None, device: Any = None, **kwargs: Any
) -> Tensor:
    return new((length,), dtype or _default(), device_kind(device))


TORCH["hamming_window"] = TORCH["blackman_window"] = hann_window


def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    if num_classes < 0:
        machine.current.note("one_hot without num_classes: the number of classes is not known")
        num_classes = (max(x.values) + 1) if x.values else 2
    return new((*x.shape, num_classes), dtypes.int64, x.storage.device)


FUNCTIONAL["one_hot"] = one_hot


def typed_constructor(dtype: DType, device: str) -> Callable[..., Tensor]:
    """``torch.FloatTensor`` and its kin: from sizes or from data."""

    def build(*args: Any, **kwargs: Any) -> Tensor:
        if args and not isinstance(args[0], int):
            return tensor(args[0], dtype=dtype, device=device)
        return new(Size(dims(args) if args else (0,)), dtype, device)

    return build


for _name, _dtype in (
    ("FloatTensor", dtypes.float32),
    ("HalfTensor", dtypes.float16),
    ("BFloat16Tensor", dtypes.bfloat16),
    ("LongTensor", dtypes.int64),
    ("IntTensor", dtypes.int32),
    ("BoolTensor", dtypes.bool_),
    ("ByteTensor", dtypes.uint8),
    ("DoubleTensor", dtypes.float64),
):
    TORCH[_name] = typed_constructor(_dtype, "cpu")
CUDA_CONSTRUCTORS = {
    "FloatTensor": typed_constructor(dtypes.float32, "cuda"),
    "HalfTensor": typed_constructor(dtypes.float16, "cuda"),
    "LongTensor": typed_constructor(dtypes.int64, "cuda"),
    "BoolTensor": typed_constructor(dtypes.bool_, "cuda"),
    "ByteTensor": typed_constructor(dtypes.uint8, "cuda"),
    "IntTensor": typed_constructor(dtypes.int32, "cuda"),
}
